"""``beacon.*``: they converge, foresee what they do, and say what they did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from beacon_minion import BeaconMinion

from saltlite.highstate.resource import realise
from saltlite.loader.states import resolve

OWN = {"ps": [{"processes": {"sleep": "running"}}, {"interval": 5}]}
SWAP = {"percent": "1%", "beacon_module": "swapusage"}


@pytest.fixture
def minion(tmp_path: Path) -> BeaconMinion:
    return BeaconMinion(tmp_path, OWN)


def apply(minion: BeaconMinion, state: str, *, test: bool = False, **kwargs: Any) -> Any:
    declared = resolve(f"beacon.{state}", minion.ctx).call(**kwargs)
    return realise(declared, minion.ctx, test=test)


CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("present", {"name": "swap", **SWAP}, "Adding swap to beacons", {"swap": "added"}),
    (
        "present",
        {"name": "ps", "beacon_data": OWN["ps"]},
        "Job ps in correct state",
        {},
    ),
    (
        "present",
        {"name": "ps", "processes": {"sleep": "running"}, "interval": 6},
        "Modifying ps in beacons",
        {
            "diff": "--- \n+++ \n@@ -1,2 +1,2 @@\n"
            " processes:{'sleep': 'running'}\n-interval:5\n+interval:6\n"
        },
    ),
    ("absent", {"name": "ps"}, "Removed ps from beacons", {"ps": "removed"}),
    ("absent", {"name": "zzz"}, "zzz not configured in beacons", {}),
    ("disabled", {"name": "ps"}, "Disabled beacon ps.", {"ps": "disabled"}),
    ("enabled", {"name": "ps"}, "Beacon ps is enabled", {}),
    ("enabled", {"name": "zzz"}, "zzz is not a configured beacon", {}),
]


@pytest.mark.parametrize(("name", "kwargs", "comment", "changes"), CASES)
def test_a_declaration(
    minion: BeaconMinion, name: str, kwargs: Any, comment: str, changes: Any
) -> None:
    foreseen = apply(minion, name, test=True, **kwargs)
    assert foreseen.result is (None if changes else True)
    assert foreseen.changes == changes
    done = apply(minion, name, **kwargs)
    assert (done.result, done.comment, done.changes) == (True, comment, changes)
    again = apply(minion, name, **kwargs)
    assert (again.result, again.changes) == (True, {})


def test_present_leaves_a_switch_as_it_is_unless_it_says_so(minion: BeaconMinion) -> None:
    apply(minion, "disabled", name="ps")
    assert apply(minion, "present", name="ps", beacon_data=OWN["ps"]).changes == {}
    assert apply(minion, "enabled", name="ps").changes == {"ps": "enabled"}


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"percnt": "1%", "beacon_module": "swapusage"}, "requires percent"),
        ({"beacon_module": "nope"}, "is not available"),
    ],
)
def test_what_cannot_run_is_a_failure(minion: BeaconMinion, kwargs: Any, words: str) -> None:
    done = apply(minion, "present", name="x", **kwargs)
    assert done.result is False
    assert words in done.comment


def test_saved_is_what_is_there(minion: BeaconMinion, tmp_path: Path) -> None:
    path = tmp_path / "etc" / "minion.d" / "beacons.conf"
    apply(minion, "present", name="swap", **SWAP)
    done = apply(minion, "present", name="swap", save=True, **SWAP)
    assert (done.result, done.changes) == (True, {"saved": True})
    assert set(yaml.safe_load(path.read_text())["beacons"]) == {"ps", "swap"}
    assert apply(minion, "present", name="swap", save=True, **SWAP).changes == {}
    apply(minion, "absent", name="swap", save=True)
    assert set(yaml.safe_load(path.read_text())["beacons"]) == {"ps"}
    assert apply(minion, "absent", name="swap", save=True).changes == {}
