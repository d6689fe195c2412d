"""Clones of repositories on this disk: what is said, what changes, and the law of test runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states.registry import resolve

CASES = Path(__file__).parents[2] / "cases" / "states" / "git.yaml"
WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2020-01-01T00:00:00Z"))
}

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(cwd: Path, *words: str) -> None:
    env = {**os.environ, **WHO, "HOME": str(cwd.parent)}
    subprocess.run(["git", *words], cwd=cwd, env=env, check=True, capture_output=True)


def commit(tree: Path, name: str, text: str, message: str) -> None:
    (tree / name).write_text(text)
    git(tree, "add", name)
    git(tree, "commit", "-q", "-m", message)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "w"
    work.mkdir()
    git(work, "init", "-q", "-b", "master", ".")
    commit(work, "f", "1\n", "one")
    git(work, "tag", "v1")
    commit(work, "f", "2\n", "two")
    git(work, "checkout", "-q", "-b", "develop")
    commit(work, "d", "3\n", "dev")
    git(work, "checkout", "-q", "master")
    git(work, "clone", "-q", "--bare", ".", "../up.git")
    return tmp_path


def prepare(place: Path, what: str) -> None:
    """One of the words in the cases: what is done before a declaration."""
    target, work = place / "t", place / "w"
    if what == "clone":
        git(place, "clone", "-q", "up.git", "t")
    elif what == "push":
        commit(work, "f", "2\n4\n", "three")
        git(work, "push", "-q", "../up.git", "master")
    elif what == "tag":
        git(work, "tag", "v2")
        git(work, "push", "-q", "../up.git", "v2")
    elif what == "dirty":
        (target / "f").write_text("dirty\n")
    elif what == "local":
        commit(target, "l", "l\n", "local")
    elif what == "occupied":
        target.mkdir()
        (target / "x").write_text("x")
    elif what == "file":
        target.write_text("")


def run(place: Path, case: dict[str, Any], *, test: bool) -> Verdict:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    given = {k: v.format(P=place) if isinstance(v, str) else v for k, v in case["with"].items()}
    if case["fun"] == "git.latest":
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
        for number, case in enumerate(yaml.safe_load(CASES.read_text()))
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
    assert shape(real.changes) == yaml.safe_load(
        yaml.safe_dump(case.get("changes", {})).replace("{P}", str(place))
    )
    if real.result:
        assert foretold.changes == real.changes
        again = run(place, case, test=False)
        assert (again.result, again.changes) == (True, {})
        assert "would" not in again.comment
