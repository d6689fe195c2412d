"""Sizes, options and reports of lvm2."""

from __future__ import annotations

import pytest

from saltlite.errors import UsageError
from saltlite.highstate.resource import Verdict
from saltlite.providers.lvm import report
from saltlite.states import lvm

PVDISPLAY = """\
  WARNING: a line: with colons
  "/dev/sdb" is a new physical volume of "1.00 GiB"
  /dev/sdb:#orphans_lvm2:2097152:-1:0:0:-1:0:0:0:0:cG0f
  /dev/sda2:vg0:976768002:-1:8:8:-1:4096:119234:12:119222:Vw1l
"""


def test_a_report_has_rows_by_their_first_column() -> None:
    found = report.parse(PVDISPLAY, report.PHYSICAL)
    assert list(found) == ["/dev/sdb", "/dev/sda2"]
    assert found["/dev/sda2"]["Volume Group Name"] == "vg0"
    assert found["/dev/sda2"]["Free Physical Extents"] == "12"


@pytest.mark.parametrize(
    ("size", "sectors"),
    [("10", 20480), ("1G", 2097152), ("0.5g", 1048576), ("8MiB", 16384), ("7s", 7), (3, 6144)],
)
def test_a_size_is_a_number_of_sectors(size: object, sectors: int) -> None:
    assert report.sectors(size) == sectors


@pytest.mark.parametrize("size", ["big", "-1G", "10%", "1G G", ""])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        report.sectors(size)


def test_unknown_options_are_refused_when_they_are_declared() -> None:
    assert report.flags("x", {"zero": "n", "nosync": True, "__id__": "x"}, report.OF_LVCREATE) == [
        "--zero", "n", "--nosync",
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"^lvm\.lv_present: speed is not one of activate, "):
        lvm.lv_present("lv0", "vg0", size="1G", speed=3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"size": "1G"}, "vgname must be specified"),
        ({"vgname": "vg0"}, "One of extents or size"),
        ({"vgname": "vg0", "size": "1G", "extents": 1}, "Only one of extents or size"),
        ({"vgname": "v", "size": "1G", "thinpool": True, "thinvolume": True}, "Only one of thinv"),
    ],
)
def test_volumes_that_cannot_be_are_refused(given: dict[str, object], told: str) -> None:
    declared = lvm.lv_present("lv0", **given)
    assert isinstance(declared, Verdict)
    assert declared.result is False
    assert told in declared.comment
