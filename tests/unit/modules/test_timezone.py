"""``timezone``: the zone of the machine, and its hardware clock."""

from __future__ import annotations

import pytest
from recorded_host import Recorded, caller


@pytest.mark.parametrize(
    ("files", "zone"),
    [
        ({"link /etc/localtime": "/usr/share/zoneinfo/Europe/Berlin"}, "Europe/Berlin"),
        ({"link /etc/localtime": "../usr/share/zoneinfo/UTC"}, "UTC"),
        ({"/etc/timezone": "America/Denver\n"}, "America/Denver"),
    ],
)
def test_time_zone_of_the_machine(files, zone):
    assert caller(Recorded(files=files))("timezone.get_zone") == zone


def test_hardware_clock():
    assert caller(Recorded())("timezone.get_hwclock") == "UTC"
    local = caller(Recorded(files={"/etc/adjtime": "0\n0\nLOCAL\n"}))
    assert local("timezone.get_hwclock") == "localtime"
