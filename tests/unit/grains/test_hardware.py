"""Grains of graphics and firmware from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

from saltlite.grains import hardware

LSPCI = """\
Slot:\t00:00.0
Class:\tHost bridge
Vendor:\tIntel Corporation
Device:\t440FX

Slot:\t00:02.0
Class:\tVGA compatible controller
Vendor:\tNVIDIA Corporation
Device:\tGP104 [GeForce GTX 1080]

Slot:\t00:03.0
Class:\t3D controller
Vendor:\tAdvanced Micro Devices, Inc. [AMD/ATI]
Device:\tVega 10

Slot:\t00:04.0
Class:\tDisplay controller
Vendor:\tWeird Vendor
Device:\tThing
"""


def test_gpus():
    assert hardware.parse_lspci(LSPCI) == [
        {"vendor": "nvidia", "model": "GP104 [GeForce GTX 1080]"},
        {"vendor": "amd", "model": "Vega 10"},
        {"vendor": "unknown", "model": "Thing"},
    ]


def test_firmware():
    values = {"uuid": "4C4C4544\n", "serialnumber": "SER\n", "boardname": None, "biosvendor": " \n"}
    assert hardware.dmi_grains(values) == {"uuid": "4c4c4544", "serialnumber": "SER"}
