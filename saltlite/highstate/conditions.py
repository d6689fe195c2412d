"""``onlyif``, ``unless``, ``creates``, ``check_cmd``: whether a state is to run, and has worked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.chunk import ABSENT, Chunk
from saltlite.highstate.resource import Verdict

_OF_COMMANDS = ("cwd", "env", "prepend_path", "umask", "timeout", "success_retcodes")
"""Arguments of ``cmd`` states that their conditions run with, too."""


def find_skip_reason(ctx: MinionContext, chunk: Chunk) -> Verdict | None:
    """Why a state is not to run; ``None`` if it is.

    All conditions are looked at, and all are told. Source: observed on Salt 3006.30.
    """
    said: list[tuple[bool, str]] = []
    options = chunk.options
    if _is_condition(options.onlyif):
        met = all(
            _entry_holds(ctx, chunk, entry, usual=True) for entry in _as_entries(options.onlyif)
        )
        said.append((not met, f"onlyif condition is {'true' if met else 'false'}"))
    if _is_condition(options.unless):
        met = all(
            # It takes all entries to keep the state from running.
            _entry_holds(ctx, chunk, entry, usual=False)
            for entry in _as_entries(options.unless)
        )
        said.append((met, f"unless condition is {'true' if met else 'false'}"))
    if options.creates is not ABSENT:
        said.append(_check_creates(options.creates))
    if not any(skip for skip, _ in said):
        return None
    comment = "\n".join(text for _, text in said if text)
    return Verdict(result=True, comment=comment, more={"skip_watch": True})


def run_check_cmd(ctx: MinionContext, chunk: Chunk) -> tuple[bool, str]:
    """The result and the comment that ``check_cmd`` puts in the place of a state's own."""
    entries = _as_entries(chunk.options.check_cmd)
    good = all(_runs_well(ctx, chunk, str(entry)) for entry in entries)
    word = "succeeded" if good else "failed"
    return good, f"check_cmd determined the state {word}"


def _is_condition(given: object) -> bool:
    """Whether something is a condition; a bare ``True`` or ``False`` is none, as in Salt."""
    return bool(given) and not isinstance(given, bool)


def _as_entries(given: object) -> Iterable[Any]:
    return given if isinstance(given, (list, tuple)) else [given]


def _entry_holds(ctx: MinionContext, chunk: Chunk, entry: object, *, usual: bool) -> bool:
    """Whether one entry is true; ``usual`` for what is neither a command nor a function."""
    if isinstance(entry, str):
        return _runs_well(ctx, chunk, entry)
    if isinstance(entry, Mapping) and "fun" in entry:
        return bool(_call_entry(ctx, entry))
    return usual


def _runs_well(ctx: MinionContext, chunk: Chunk, command: str) -> bool:
    given = chunk.arguments
    # A condition that is not met is no error of the job.
    options = {"ignore_retcode": True, "python_shell": True}
    if chunk.state == "cmd":
        options |= {name: given[name] for name in _OF_COMMANDS if name in given}
    options |= {name: given[name] for name in ("runas", "shell") if given.get(name)}
    return bool(ctx.functions.call("cmd.retcode", command, **options) == 0)


def _call_entry(ctx: MinionContext, entry: Mapping[str, object]) -> Any:
    """The value of ``{fun: mod.fun, args: [], ...}``, or what ``get_return`` names in it."""
    kwargs = {str(key): value for key, value in entry.items() if key != "fun"}
    given = kwargs.pop("args", None) or []
    path = kwargs.pop("get_return", None)
    args = given if isinstance(given, (list, tuple)) else [given]
    # What a function called before has left is nothing that this one says.
    ctx.retcode = 0
    value = ctx.functions.call(str(entry["fun"]), *args, **kwargs)
    if ctx.retcode:
        return False
    if path is None:
        return value
    for key in str(path).split(":"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _check_creates(given: object) -> tuple[bool, str]:
    if isinstance(given, str):
        there = os.path.exists(given)
        return there, f"{given} exists" if there else ""
    # One missing path is enough to run.
    there = all(os.path.exists(str(path)) for path in _as_entries(given))
    return there, "All files in creates exist" if there else ""
