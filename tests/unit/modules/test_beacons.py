"""``beacons.*``: the answers of Salt 3006.30, and where ours are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from beacon_minion import BeaconMinion

OWN = {"ps": [{"processes": {"sleep": "running"}}, {"interval": 5}]}
PILLAR = {"frompillar": [{"percent": "1%"}, {"beacon_module": "memusage"}, {"interval": 5}]}
SWAP = [{"percent": "1%"}, {"beacon_module": "swapusage"}]


@pytest.fixture
def minion(tmp_path: Path) -> BeaconMinion:
    return BeaconMinion(tmp_path, OWN, PILLAR)


def call(minion: BeaconMinion, name: str, *args: Any, **kwargs: Any) -> Any:
    return minion.ctx.functions.call(f"beacons.{name}", *args, **kwargs)


def configured(minion: BeaconMinion) -> dict[str, Any]:
    found: dict[str, Any] = call(minion, "list", return_yaml=False)
    return found


@pytest.mark.parametrize(
    ("calls", "comment", "result"),
    [
        ([("add", "swap", SWAP)], "Added beacon: swap.", True),
        (
            [("add", "swap", {"percent": "1%", "beacon_module": "swapusage"})],
            "Added beacon: swap.",
            True,
        ),
        ([("add", "ps", SWAP)], "Beacon ps is already configured.", True),
        ([("add", "frompillar", SWAP)], "Beacon frompillar is already configured.", True),
        ([("add", "nosuch", [])], 'Beacon "nosuch" is not available.', False),
        (
            [("add", "swap", [{"beacon_module": "swapusage"}])],
            "Beacon swap configuration invalid, not adding.\n"
            "Configuration for swapusage beacon requires percent.",
            False,
        ),
        (
            [("add", "swap", "text")],
            "Beacon swap configuration invalid, not adding.\n"
            "Configuration for swap beacon must be a list of maps.",
            False,
        ),
        ([("modify", "zzz", [])], "Beacon zzz is not configured.", True),
        ([("modify", "ps", OWN["ps"])], "Job ps in correct state", True),
        (
            [("modify", "ps", [{"interval": 1}])],
            "Beacon ps configuration invalid, not modifying.\n"
            "Configuration for ps beacon requires processes.",
            False,
        ),
        ([("delete", "ps")], "Deleted beacon: ps.", True),
        ([("delete", "zzz")], "Deleted beacon: zzz.", True),
        (
            [("delete", "frompillar")],
            "Cannot delete beacon item frompillar, it is configured in pillar.",
            False,
        ),
        ([("enable",)], "Enabled beacons on minion.", True),
        ([("disable",)], "Disabled beacons on minion.", True),
        ([("disable_beacon", "ps")], "Disabled beacon ps on minion.", True),
        ([("disable_beacon", "ps"), ("enable_beacon", "ps")], "Enabled beacon ps on minion.", True),
        ([("enable_beacon", "zzz")], "Beacon zzz is not currently configured.", False),
        ([("enable_beacon", "")], "Beacon name is required.", False),
        (
            [("disable_beacon", "frompillar")],
            "Cannot disable beacon item frompillar, it is configured in pillar.",
            False,
        ),
        ([("reset",)], "Beacon configuration reset.", True),
    ],
)
def test_answers(minion: BeaconMinion, calls: Any, comment: str, result: bool) -> None:
    for name, *args in calls:
        answer = call(minion, name, *args)
    assert answer == {"comment": comment, "result": result}


@pytest.mark.parametrize(
    ("name", "args", "comment"),
    [
        ("add", ("swap", SWAP), "Beacon: swap would be added."),
        ("modify", ("ps", SWAP), "Beacon: ps would be modified."),
        ("delete", ("ps",), "Beacon: ps would be deleted."),
        ("enable", (), "Beacons would be enabled."),
        ("disable", (), "Beacons would be disabled."),
        ("enable_beacon", ("ps",), "Beacon ps would be enabled."),
        ("disable_beacon", ("ps",), "Beacons would be disabled."),
        ("reset", (), "Beacons would be reset."),
    ],
)
def test_test_changes_nothing(minion: BeaconMinion, name: str, args: Any, comment: str) -> None:
    before = configured(minion)
    assert call(minion, name, *args, test=True) == {"comment": comment, "result": True}
    assert configured(minion) == before


def test_modify_tells_the_difference(minion: BeaconMinion) -> None:
    answer = call(minion, "modify", "ps", [{"processes": {"a": "stopped"}}, {"interval": 5}])
    assert answer == {
        "comment": "Modified beacon: ps.",
        "result": True,
        "changes": {
            "diff": "--- \n+++ \n@@ -1,2 +1,2 @@\n"
            "-processes:{'sleep': 'running'}\n+processes:{'a': 'stopped'}\n interval:5\n"
        },
    }
    assert configured(minion)["ps"][0] == {"processes": {"a": "stopped"}}


def test_modify_of_one_of_the_pillar_fails(minion: BeaconMinion) -> None:
    answer = call(minion, "modify", "frompillar", SWAP)
    assert (answer["comment"], answer["result"]) == (
        "Cannot modify beacon item frompillar, it is configured in pillar.",
        False,
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"ps", "frompillar"}),
        ({"include_pillar": False}, {"ps"}),
        ({"include_opts": False}, {"frompillar"}),
        ({"include_opts": False, "include_pillar": False}, set()),
    ],
)
def test_what_is_listed(minion: BeaconMinion, options: Any, names: set[str]) -> None:
    assert set(call(minion, "list", return_yaml=False, **options)) == names


def test_lists_are_yaml(minion: BeaconMinion) -> None:
    assert yaml.safe_load(call(minion, "list")) == {"beacons": {**PILLAR, **OWN}}
    available = yaml.safe_load(call(minion, "list_available"))["beacons"]
    assert {"inotify", "service", "diskusage", "load", "memusage", "ps", "log"} <= set(available)
    call(minion, "delete", "ps")
    assert call(minion, "list", include_pillar=False) == "beacons: {}\n"


def test_a_switched_beacon_says_so_in_its_configuration(minion: BeaconMinion) -> None:
    call(minion, "disable_beacon", "ps")
    call(minion, "disable")
    found = configured(minion)
    assert found["ps"] == [*OWN["ps"], {"enabled": False}]
    assert found["enabled"] is False


def test_save_writes_all_but_the_pillars(minion: BeaconMinion, tmp_path: Path) -> None:
    path = tmp_path / "etc" / "minion.d" / "beacons.conf"
    saved = {"comment": f"Beacons saved to {path}.", "result": True}
    assert call(minion, "save", test=True) == saved
    assert not path.exists()
    assert call(minion, "save") == saved
    assert yaml.safe_load(path.read_text()) == {"beacons": OWN}
    call(minion, "reset")
    assert call(minion, "save") == saved
    assert path.read_text() == ""


def test_without_a_minion_nothing_is_claimed(minion: BeaconMinion) -> None:
    minion.ctx.listen = None
    assert call(minion, "disable")["result"] is False
    assert call(minion, "add", "swap", SWAP)["result"] is False
    assert call(minion, "save")["result"] is False
    assert configured(minion) == {}
