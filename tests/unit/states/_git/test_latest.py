"""``git.latest`` as real Salt 3006.30 did it: the answer, and what each branch is and tracks.

tests/cases/data/git/latest.json, by record/git_latest. ``ours`` is what ours does where it departs
from Salt on purpose (docs/differences.md).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from git_places import left, make_upstream, prepare
from repository import DATA

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

CASES = json.loads((DATA / "git" / "latest.json").read_text())

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("upstream")
    make_upstream(base)
    return base


def apply(case: dict[str, Any], place: Path) -> Verdict:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    given = {"name": f"{place}/up.git", "target": f"{place}/t", **case["with"]}
    found = realise(resolve("git.latest", ctx).call(**given), ctx, test=False)
    assert isinstance(found, Verdict)
    return found


def name_of(case: dict[str, Any]) -> str:
    return json.dumps([case["with"], case.get("before", [])])


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_latest(
    case: dict[str, Any], upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(upstream, tmp_path, dirs_exist_ok=True)
    for what in case.get("before", []):
        prepare(tmp_path, what)
    said = apply(case, tmp_path)
    found = {
        "result": said.result,
        "changes": json.loads(json.dumps(said.changes).replace(str(tmp_path), "P")),
        "comment": said.comment.replace(str(tmp_path), "P"),
        "leaves": left(tmp_path),
    }
    wanted = {name: case[name] for name in found}
    assert found == {**wanted, **case.get("ours", {})}
