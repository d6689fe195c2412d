"""``multi_returner``: several returners as one; option ``multi_returner``, a list of names.

Writing goes to all of them, reading to the first that has an answer. Source:
docs/modules.md#what-a-file-finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.errors import FunctionUnavailable
from saltlite.jobs.returner_context import ReturnerContext
from saltlite.loader.returners import Returner, resolve

OPTION = "multi_returner"


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Give a return to all."""
    for one in _list_returners(ctx, "returner"):
        one.call("returner", dict(ret))


def save_load(
    ctx: ReturnerContext, jid: str, load: Mapping[str, object], minions: Sequence[str] | None = None
) -> None:
    """Give a job to all."""
    for one in _list_returners(ctx, "save_load"):
        one.call("save_load", jid, dict(load), minions)


def event_return(ctx: ReturnerContext, events: Sequence[Mapping[str, object]]) -> None:
    """Give events to all."""
    for one in _list_returners(ctx, "event_return"):
        one.call("event_return", events)


def get_load(ctx: ReturnerContext, jid: str) -> Any:
    """A job, from the first that knows it."""
    return _first_answer(ctx, "get_load", jid)


def get_jid(ctx: ReturnerContext, jid: str) -> Any:
    """The returns of a job, from the first that has some."""
    return _first_answer(ctx, "get_jid", jid)


def get_jids(ctx: ReturnerContext) -> dict[str, Any]:
    """The jobs of all."""
    found: dict[str, Any] = {}
    for one in _list_returners(ctx, "get_jids"):
        found = {**(one.call("get_jids") or {}), **found}
    return found


def clean_old_jobs(ctx: ReturnerContext) -> None:
    """Have all forget old jobs."""
    for one in _list_returners(ctx, "clean_old_jobs"):
        one.call("clean_old_jobs")


def prep_jid(ctx: ReturnerContext, nocache: bool = False, passed_jid: str | None = None) -> Any:
    """A jid, from the first that makes some."""
    return _first_answer(ctx, "prep_jid", nocache, passed_jid)


def _first_answer(ctx: ReturnerContext, function: str, *args: Any) -> Any:
    answers = (one.call(function, *args) for one in _list_returners(ctx, function))
    return next((answer for answer in answers if answer), None)


def _list_returners(ctx: ReturnerContext, function: str) -> Iterator[Returner]:
    """The returners of the option that have ``function``."""
    names = ctx.config.extra.get(OPTION)
    if not isinstance(names, (list, tuple)) or not names:
        raise FunctionUnavailable(f"{OPTION}.{function}", f"the option {OPTION} names no returner")
    for name in names:
        if name != OPTION:
            found = resolve(str(name), ctx)
            if found.can(function):
                yield found
