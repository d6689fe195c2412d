"""Clones of repositories on this disk: what is said, what changes, and the law of test runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from git_places import make_upstream, prepare
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

CASES = DATA / "states" / "git.yaml"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What each case gets a copy of."""
    base = tmp_path_factory.mktemp("upstream")
    make_upstream(base)
    return base


@pytest.fixture
def place(upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(upstream, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run(place: Path, case: dict[str, Any], *, test: bool) -> Verdict:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    given = {k: v.format(P=place) if isinstance(v, str) else v for k, v in case["with"].items()}
    if case["fun"] in ("git.latest", "git.cloned", "git.detached"):
        given = {"name": f"{place}/up.git", "target": f"{place}/t", **given}
    found = realise(resolve(case["fun"], ctx).call(**given), ctx, test=test)
    assert isinstance(found, Verdict)
    return found


def shape(changes: Any) -> Any:
    """Changes without hashes: whether there is one."""
    if isinstance(changes, dict):
        return {key: shape(value) for key, value in changes.items()}
    if isinstance(changes, str) and len(changes) == 40:
        return "sha"
    return changes


def snapshot(place: Path) -> dict[str, bytes]:
    files = (path for path in place.rglob("*") if path.is_file() and path.name != "index")
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{number}-{case['fun']}")
        for number, case in enumerate(read_yaml(CASES))
    ],
)
def test_clones_as_salt_does(place: Path, case: dict[str, Any]) -> None:
    for what in case.get("before", []):
        prepare(place, what)
    before = snapshot(place)
    foretold = run(place, case, test=True)
    assert snapshot(place) == before
    real = run(place, case, test=False)
    said = real.comment.replace(str(place), "P")
    assert real.result is case.get("result", True), said
    assert case["says"] in said
    assert "secret" not in said + foretold.comment
    assert shape(real.changes) == yaml.safe_load(
        yaml.safe_dump(case.get("changes", {})).replace("{P}", str(place))
    )
    if real.result:
        assert foretold.changes == case.get("foretold", real.changes)
        again = run(place, case, test=False)
        assert (again.result, again.changes) == (True, {})
        assert "would" not in again.comment
