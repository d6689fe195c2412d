"""Directories that are as others, by ``rsync``. Comments observed on Salt 3006.30."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules import rsync

_DELETED = "deleting "
_TALK = ("sending ", "receiving ", "created directory", "sent ", "total size")


def synchronized(
    ctx: MinionContext,
    name: str,
    source: str,
    delete: bool = False,
    force: bool = False,
    update: bool = False,
    passwordfile: str | None = None,
    exclude: object = None,
    excludefrom: str | None = None,
    prepare: bool = False,
    dryrun: bool = False,
    additional_opts: object = None,
) -> Declared:
    """The directory ``name`` is as ``source``, a path, ``host:path`` or ``salt://``.

    ``prepare`` makes the directory; without it, one that is not there is a failure. ``delete``:
    what ``source`` does not have goes. ``dryrun`` only tells.
    """
    if not os.path.isdir(name) and not prepare:
        return Verdict(result=False, comment=f"Destination directory {name} was not found.")
    options = {
        "delete": delete,
        "force": force,
        "update": update,
        "passwordfile": passwordfile,
        "exclude": exclude,
        "excludefrom": excludefrom,
        "additional_opts": additional_opts,
    }
    copy = _Copy(source, name, options)
    foreseen = copy.run_rsync(ctx, dryrun=True)
    if dryrun:
        return Verdict(result=None, comment=foreseen.comment, changes=foreseen.changes)
    if not foreseen.changes:
        return Verdict(result=True, comment=foreseen.comment)

    def run(ctx: MinionContext) -> Verdict:
        if prepare:
            disk.make_way(Path(name))
        done = copy.run_rsync(ctx, dryrun=False)
        return Verdict(result=True, comment=done.comment, changes=done.changes)

    return Action(would=foreseen.comment, run=run, changes=foreseen.changes)


@dataclass(frozen=True, slots=True)
class _Made:
    """What rsync did, or would do."""

    comment: str
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is copied where."""

    source: str
    target: str
    options: Mapping[str, Any]

    def run_rsync(self, ctx: MinionContext, *, dryrun: bool) -> _Made:
        """Run rsync, perhaps only to hear what it would do; raises FunctionError if it fails."""
        done = ctx.follow(rsync.rsync, self.source, self.target, dryrun=dryrun, **self.options)
        if done["retcode"] != 0:
            raise FunctionError(str(done["stderr"] or done["stdout"]))
        lines = str(done["stdout"]).splitlines()
        return _Made(_find_summary(lines), _parse_changes(lines))


def _parse_changes(lines: Sequence[str]) -> dict[str, str]:
    names = [line for line in lines if line not in ("", "./") and not line.startswith(_TALK)]
    gone = [line.removeprefix(_DELETED) for line in names if line.startswith(_DELETED)]
    new = [line for line in names if not line.startswith(_DELETED)]
    if not names:
        return {}
    return {"copied": "\n".join(new) or "N/A", "deleted": "\n".join(gone) or "N/A"}


def _find_summary(lines: Sequence[str]) -> str:
    last = [line for line in lines if line.startswith(("sent ", "total size"))]
    parts = [part for line in last for part in line.split("  ")]
    return "\n".join(f"- {part}" for part in parts)
