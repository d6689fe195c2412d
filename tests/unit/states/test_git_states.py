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
from saltlite.loader.states import resolve

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


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree ``w`` with three commits, and ``up.git``: what each case gets a copy of."""
    base = tmp_path_factory.mktemp("upstream")
    work = base / "w"
    work.mkdir()
    git(work, "init", "-q", "-b", "master", ".")
    commit(work, "f", "1\n", "one")
    git(work, "tag", "v1")
    commit(work, "f", "2\n", "two")
    git(work, "checkout", "-q", "-b", "develop")
    commit(work, "d", "3\n", "dev")
    git(work, "checkout", "-q", "master")
    git(work, "clone", "-q", "--bare", ".", "../up.git")
    return base


@pytest.fixture
def place(upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(upstream, tmp_path, dirs_exist_ok=True)
    return tmp_path


COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "clone": [(".", "clone", "-q", "up.git", "t")],
    "bare": [(".", "clone", "-q", "--bare", "up.git", "t")],
    "tag": [("w", "tag", "v2"), ("w", "push", "-q", "../up.git", "v2")],
    "setting": [("w", "config", "a.b", "1")],
    "another": [("w", "config", "--add", "a.b", "2")],
    "at v1": [("t", "checkout", "-q", "v1")],
    "other": [("t", "remote", "set-url", "origin", "https://u:secret@elsewhere/x.git")],
}
"""Words of the cases for what is done before a declaration: where git runs, and its words."""


def prepare(place: Path, what: str) -> None:
    """Do what one of the words in the cases stands for."""
    target, work = place / "t", place / "w"
    for where, *words in COMMANDS.get(what, []):
        git(place / where, *words)
    if what == "push":
        commit(work, "f", "2\n4\n", "three")
        git(work, "push", "-q", "../up.git", "master")
    elif what == "dirty":
        (target / "f").write_text("dirty\n")
    elif what == "local":
        commit(target, "l", "l\n", "local")
    elif what in ("occupied", "empty"):
        target.mkdir()
        if what == "occupied":
            (target / "x").write_text("x")
    elif what == "file":
        target.write_text("")
    else:
        assert what in COMMANDS


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
    assert "secret" not in said + foretold.comment
    assert shape(real.changes) == yaml.safe_load(
        yaml.safe_dump(case.get("changes", {})).replace("{P}", str(place))
    )
    if real.result:
        assert foretold.changes == case.get("foretold", real.changes)
        again = run(place, case, test=False)
        assert (again.result, again.changes) == (True, {})
        assert "would" not in again.comment
