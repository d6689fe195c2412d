"""The minion that runs on this machine: it is asked by an event on its bus, and answers there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext, NoEvents

ANSWER_WAIT_S = 30.0
CONNECT_WAIT_S = 5.0


def has_no_minion(ctx: MinionContext) -> bool:
    """Whether there is no minion to ask."""
    return ctx.listen is None or isinstance(ctx.events, NoEvents)


def ask_minion(
    ctx: MinionContext, tag: str, question: Mapping[str, Any], answer_tag: str
) -> Mapping[str, Any] | None:
    """Fire ``question`` with ``tag``; the data of the answer, ``None`` if there is none in time."""
    if ctx.listen is None or has_no_minion(ctx):
        return None
    heard = ctx.listen(answer_tag)
    try:
        if not heard.connect_confirmed(CONNECT_WAIT_S):
            return None
        ctx.events.fire(tag, dict(question))
        event = heard.get(ANSWER_WAIT_S)
    finally:
        heard.close()
    return None if event is None else event.data
