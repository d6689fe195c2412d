"""Trees of states, applied in an overlay of the root, against what real Salt 3006.30 made of them.

Recorded by tests/cases/record/applied_trees. Where ours differs on purpose (docs/differences.md),
``departures.yaml`` beside the records says how.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from applied_trees import RUNS, TREES, applied, names
from isolated import unshare
from programs import need
from repository import read_yaml

DEPARTURES = read_yaml(TREES / "departures.yaml")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    unshare()  # skips where there are no namespaces
    need("git", "ip")
    return applied(sys.executable, "ours", tmp_path_factory.mktemp("trees"))


def with_departures(tree: str, run: str, recorded: dict[str, Any]) -> dict[str, Any]:
    listed = DEPARTURES.get(tree, {}).get(run, {})
    assert set(listed) <= set(recorded)
    return {tag: {**said, **listed.get(tag, {})} for tag, said in recorded.items()}


@pytest.mark.parametrize("tree", names())
def test_a_tree_comes_out_as_in_salt(ours: dict[str, Any], tree: str) -> None:
    recorded = json.loads((TREES / "answers" / f"{tree}.json").read_text())
    for run in RUNS:
        expected = with_departures(tree, run, recorded[run])
        assert ours[tree][run] == expected, run
        assert list(ours[tree][run]) == list(expected), run
    assert ours[tree]["touched"] == {}
    left = {**recorded["left"], **DEPARTURES.get(tree, {}).get("left", {})}
    assert ours[tree]["left"] == {path: its for path, its in left.items() if its != "not there"}
