"""Repositories on this disk for the cases of ``git.latest``, and what a run leaves of them.

Dates and names are fixed, so that hashes are the same wherever the cases run. Nothing but the
standard library is imported: the recorder runs this with the Python of a real Salt.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2020-01-01T00:00:00Z"))
}
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "clone": [(".", "clone", "-q", "up.git", "t")],
    "bare": [(".", "clone", "-q", "--bare", "up.git", "t")],
    "tag": [("w", "tag", "v2"), ("w", "push", "-q", "../up.git", "v2")],
    "setting": [("w", "config", "a.b", "1")],
    "another": [("w", "config", "--add", "a.b", "2")],
    "at v1": [("t", "checkout", "-q", "v1")],
    "at develop": [("t", "checkout", "-q", "develop")],
    "has develop": [("t", "branch", "-q", "develop", "origin/develop")],
    "no tracking": [("t", "branch", "-q", "--unset-upstream")],
    "other": [("t", "remote", "set-url", "origin", "https://u:secret@elsewhere/x.git")],
    "own tag": [("t", "tag", "mine")],
}
"""What one of the words in the cases stands for: where git runs, and its words."""


def git(cwd: Path, *words: str) -> str:
    """Run git as somebody who has a name, with ``cwd``'s parent as home."""
    env = {**os.environ, **WHO, "HOME": str(cwd.parent)}
    return subprocess.run(
        ["git", *words], cwd=cwd, env=env, check=True, capture_output=True, text=True
    ).stdout


def commit(tree: Path, name: str, text: str, message: str) -> None:
    """Commit one file."""
    (tree / name).write_text(text)
    git(tree, "add", name)
    git(tree, "commit", "-q", "-m", message)


def make_upstream(base: Path) -> None:
    """Make a work tree ``w`` with commits on three branches, and ``up.git``, its bare clone."""
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


def _push(work: Path, branch: str, text: str) -> None:
    git(work, "checkout", "-q", branch)
    commit(work, "f", text, "three")
    git(work, "push", "-q", "../up.git", branch)
    git(work, "checkout", "-q", "master")


def _fork(work: Path) -> None:
    """Add a branch ``side`` that is no descendant of master."""
    git(work, "checkout", "-q", "-b", "side", "v1")
    commit(work, "s", "side\n", "side")
    git(work, "push", "-q", "../up.git", "side")
    git(work, "checkout", "-q", "master")


def _occupy(target: Path, *names: str) -> None:
    target.mkdir()
    for name in names:
        (target / name).write_text("x")


def prepare(place: Path, what: str) -> None:
    """Do what one of the words in the cases stands for."""
    target, work = place / "t", place / "w"
    acts = {
        "push": lambda: _push(work, "master", "2\n4\n"),
        "push develop": lambda: _push(work, "develop", "2\n5\n"),
        "side": lambda: _fork(work),
        "dirty": lambda: (target / "f").write_text("dirty\n"),
        "local": lambda: commit(target, "l", "l\n", "local"),
        "occupied": lambda: _occupy(target, "x"),
        "empty": lambda: _occupy(target),
        "file": lambda: target.write_text(""),
    }
    if what in acts:
        acts[what]()
        return
    for where, *words in COMMANDS[what]:
        git(place / where, *words)


def left(place: Path) -> dict[str, Any] | None:
    """Tell what is in the target: its branches with what they track, HEAD, tags, changes."""
    target = place / "t"
    if not (target / ".git").exists():
        return None
    form = "%(refname) %(objectname) %(upstream:short)"
    refs = git(target, "for-each-ref", f"--format={form}", "refs/heads", "refs/tags")
    head = (target / ".git" / "HEAD").read_text().strip()
    return {
        "head": head,
        "refs": [line.strip() for line in refs.splitlines()],
        "remotes": git(target, "remote", "-v").replace(str(place), "P").split("\n")[:-1],
        "status": git(target, "status", "--porcelain").splitlines(),
    }
