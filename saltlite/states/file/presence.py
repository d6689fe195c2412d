"""Whether something is there, whatever is in it."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared, Verdict
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file import moves
from saltlite.states._file.checks import explain_bad_name, failure
from saltlite.states._file.presence import AbsentPath, Node


def absent(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing at a path."""
    return explain_bad_name(name, "absent") or AbsentPath(os.path.expanduser(name))


def exists(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Something has to be at a path."""
    if not name:
        return failure("Must provide name to file.exists")
    if os.path.exists(os.path.expanduser(name)):
        return Verdict(result=True, comment=f"Path {name} exists")
    return failure(f"Specified path {name} does not exist")


def missing(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing may be at a path."""
    if not name:
        return failure("Must provide name to file.missing")
    if os.path.exists(os.path.expanduser(name)):
        return failure(f"Specified path {name} exists")
    return Verdict(result=True, comment=f"Path {name} is missing")


def mknod(
    ctx: MinionContext,
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: object = None,
    group: object = None,
    mode: object = "0600",
) -> Declared:
    """A device or named pipe."""
    if ntype not in ("c", "b", "p"):
        return failure(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block"
            " ('b'), and pipe ('p')"
        )
    wanted = DesiredPermissions(user=user, group=group, mode=mode)
    name = os.path.expanduser(name)
    return Node(name=name, kind=ntype, major=int(major), minor=int(minor), wanted=wanted)


def touch(
    ctx: MinionContext,
    name: str,
    atime: object = None,
    mtime: object = None,
    makedirs: bool = False,
) -> Declared:
    """A file with its times set."""
    wrong = explain_bad_name(name, "touch")
    if wrong:
        return wrong
    return moves.touch(os.path.expanduser(name), atime, mtime, makedirs=makedirs)
