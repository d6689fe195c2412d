"""What an administrator says to runs of states: what may not run, which run shall pause or end.

What is disabled is a list in the grain ``state_runs_disabled``, as in Salt. What is said to a run
is a file, ``cachedir/state_pause/<jid>``: a JSON map of state id, or ``__all__``, to ``{"kill":
true}`` or ``{"duration": seconds}``; it goes with the run. It may be said before the run begins,
and then goes after a day if none came. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.disk import entries_of, hold_lock, write_file
from saltlite.errors import UsageError

_JID = regex(r"[0-9]{20}(_[0-9]+)?")
GRAIN = "state_runs_disabled"
HIGHSTATE = "highstate"
ALL = "__all__"
DIRECTORY = "state_pause"
LOCK = ".state_pause.lock"
POLL_S = 0.5
KEPT_S = 24 * 3600
"""How long something counts that was said to a run that has not begun."""
MOST = 1000
"""To so many runs that have not begun something may be said, the latest ones."""

HIGHSTATE_DISABLED = {
    "name": "Salt highstate run is disabled. To re-enable, run state.enable highstate",
    "result": "False",
    "comment": "Disabled",
}


# --- what may not run ----------------------------------------------------------------------------


def list_disabled(grains: Mapping[str, object]) -> list[str]:
    """The SLS names and globs that may not run; ``highstate`` is the top file's run."""
    found = grains.get(GRAIN)
    return [str(name) for name in found] if isinstance(found, (list, tuple)) else []


def switch(
    grains: Mapping[str, object], names: Iterable[str], *, off: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Disable or enable: Salt's answer, with a line for each name, and the grain then."""
    now, told = list_disabled(grains), []
    word = "disabled" if off else "enabled"
    for name in names:
        if (name in now) is off:
            told.append(f"Info: {name} state already {word}.")
            continue
        now = [*now, name] if off else [each for each in now if each != name]
        told.append(f"Info: {name} state {word}.")
    return {"res": True, "msg": "\n".join(told)}, {GRAIN: now}


def list_refusals(ctx: MinionContext, names: Iterable[str]) -> list[str]:
    """A sentence for each SLS that is disabled."""
    patterns = list_disabled(ctx.grains)
    found = []
    for name in names if patterns else ():
        by = next((each for each in patterns if fnmatch.fnmatchcase(name, each)), None)
        if by is not None:
            said = "" if by == name else f' by "{by}"'
            found.append(
                f'The state file "{name}" is currently disabled{said}, to re-enable, run '
                f"state.enable {by}."
            )
    return found


# --- what is said to a run -----------------------------------------------------------------------


def pauses(ctx: MinionContext, jid: str) -> dict[str, Any]:
    """What is said to a run; nothing for most."""
    try:
        found = json.loads(_control_path(ctx, jid).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def all_pauses(ctx: MinionContext) -> dict[str, Any]:
    """Of each run to which something is said."""
    names = sorted(entry.name for entry, _status in entries_of(_control_directory(ctx)))
    found = {name: pauses(ctx, name) for name in names if not name.startswith(".")}
    return {name: said for name, said in found.items() if said}


def say(ctx: MinionContext, jid: str, ident: str, what: Mapping[str, object] | None) -> None:
    """Say something to a run, also to one to come, about a state id; ``None`` takes it back.

    Raises:
        UsageError: ``jid`` is no job id.
    """
    if not _JID.fullmatch(jid):
        raise UsageError(f"{jid[:40]!r} is no job id: it must be 20 digits")
    # Whoever may write here can stop runs.
    _control_directory(ctx).mkdir(mode=0o700, parents=True, exist_ok=True)
    went_on = _goes_on(ctx, jid)
    # Two callers may say something to the same run at once.
    with hold_lock(Path(ctx.config.paths.cachedir, LOCK)):
        said = pauses(ctx, jid)
        if what is None:
            said.pop(ident, None)
        else:
            said[ident] = dict(what)
        if not said:
            forget(ctx, jid)
            return
        _forget_unheard(ctx)
        write_file(_control_path(ctx, jid), json.dumps(said).encode(), mode=0o600)
        if went_on and not _goes_on(ctx, jid):  # the run has ended meanwhile
            forget(ctx, jid)


def _goes_on(ctx: MinionContext, jid: str) -> bool:
    return Path(ctx.config.paths.cachedir, "proc", Path(jid).name).exists()


def _forget_unheard(ctx: MinionContext) -> None:
    """Drop what was said to runs that have ended since or never began: the old, the too many."""
    waiting = [
        (status.st_mtime, entry.name)
        for entry, status in entries_of(_control_directory(ctx))
        if not entry.name.startswith(".") and not _goes_on(ctx, entry.name)
    ]
    newest = sorted(waiting, reverse=True)
    # Of the wall clock, as the times of files are.
    oldest_s = time.time() - KEPT_S
    for number, (said_s, jid) in enumerate(newest, 1):
        if number >= MOST or said_s < oldest_s:
            forget(ctx, jid)


def forget(ctx: MinionContext, jid: str) -> None:
    """Take back all that was said to a run."""
    with contextlib.suppress(OSError):
        _control_path(ctx, jid).unlink()


def may_go_on(ctx: MinionContext, jid: str, ident: str) -> bool:
    """Wait while a run is to pause before a state; whether it may go on then."""
    # Asked before every state, and nearly always this is all of it.
    if not jid or not os.path.exists(f"{ctx.config.paths.cachedir}/{DIRECTORY}/{jid}"):
        return True
    begun_s = time.monotonic()
    while True:
        said = pauses(ctx, jid)
        own = [said[key] for key in (ident, ALL) if isinstance(said.get(key), dict)]
        if any(each.get("kill") for each in own):
            return False
        held = [each.get("duration") for each in own]
        passed_s = time.monotonic() - begun_s
        if all(isinstance(each, (int, float)) and passed_s >= each for each in held):
            return True
        time.sleep(POLL_S)


def _control_directory(ctx: MinionContext) -> Path:
    return Path(ctx.config.paths.cachedir, DIRECTORY)


def _control_path(ctx: MinionContext, jid: str) -> Path:
    # The last part alone: a jid comes from whoever calls.
    return _control_directory(ctx) / Path(jid).name
