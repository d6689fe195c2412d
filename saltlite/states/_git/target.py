"""What the states of git find at their target: who asks, what is there, and how it is said."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Verdict
from saltlite.openat import reach

CLONING = "cloning the remote repository"

FULL = regex(r"[0-9a-f]{40}$")


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """Who asks for a repository, and with which credentials."""

    user: str | None = None
    identity: Any = None
    https_user: str | None = None
    https_pass: str | None = None
    output_encoding: str | None = None

    def local(self) -> dict[str, Any]:
        """For commands that stay on this machine."""
        given = {"user": self.user, "output_encoding": self.output_encoding}
        return {name: value for name, value in given.items() if value}

    def remote(self) -> dict[str, Any]:
        """For commands that ask the other side."""
        return {**self.local(), **({"identity": self.identity} if self.identity else {})}

    def login(self) -> dict[str, Any]:
        """For commands that take an address."""
        given = {"https_user": self.https_user, "https_pass": self.https_pass}
        return {name: value for name, value in given.items() if value}


def sentences(said: Sequence[str]) -> str:
    """Several remarks as sentences; a single one has no full stop."""
    return said[0] if len(said) == 1 else ". ".join(said) + "."


def refuse(comment: str) -> Verdict:
    """A declaration that cannot be."""
    return Verdict(result=False, comment=comment)


def commit_of(refs: Mapping[str, str], rev: str) -> str:
    """The hash of a branch, tag or ``HEAD`` among the references of the other side.

    A whole hash is taken as it is; ``""`` if there is no such revision.
    """
    tag = f"refs/tags/{rev}"
    names = ("HEAD",) if rev == "HEAD" else (f"refs/heads/{rev}", f"{tag}^{{}}", tag)
    found = next((refs[name] for name in names if name in refs), "")
    return found or (rev if FULL.match(rev) else "")


def explain_occupied(path: str, force: str, then: str, comma: str = "") -> str:
    """Why nothing is done in a directory that has something else in it."""
    return (
        f"Target '{path}' exists, is non-empty{comma} and is not a git repository. Set the"
        f" '{force}' option to True to remove this directory's contents and proceed with {then}"
    )


def regular_file(path: str) -> str:
    """Why nothing is done where there is a file."""
    return f"Target '{path}' exists and is a regular file, cannot proceed"


def is_work_tree(ctx: MinionContext, path: str) -> bool:
    """Whether there is a work tree."""
    return ctx.host.exists(os.path.join(path, ".git"))


def is_bare(ctx: MinionContext, path: str) -> bool:
    """Whether there is a bare repository."""
    return all(ctx.host.exists(os.path.join(path, each)) for each in ("HEAD", "objects", "refs"))


def parse_revision(
    ctx: MinionContext, cwd: str, rev: str, given: Mapping[str, object], *words: str
) -> str | None:
    """What ``rev-parse`` makes of it, ``None`` if there is no such thing."""
    call = ctx.functions.call
    try:
        return str(call("git.rev_parse", cwd, rev, opts=["--verify", "--quiet", *words], **given))
    except FunctionError:
        return None


def empty_dir(path: str) -> None:
    """Remove what is in a directory, and the directory; not the root of all."""
    if os.path.realpath(path) == "/":
        raise FunctionError("The contents of / are not removed")
    try:
        with reach(path) as spot:
            spot.remove()
    except OSError as error:
        raise FunctionError(f"Unable to remove {path}: {error.strerror}") from error


def last_words(error: SaltliteError) -> str:
    """What git said, without the command."""
    return str(error).partition(" failed: ")[2] or str(error)


def stray_arguments(given: Mapping[str, object]) -> str:
    """Return what is said of arguments that are none; empty without any."""
    stray = [f"{name}={value}" for name, value in given.items() if not name.startswith("__")]
    if not stray:
        return ""
    return f"The following keyword arguments are not valid: {', '.join(stray)}"
