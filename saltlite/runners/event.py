"""``event.*``: the master's event bus."""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.runner_context import RunnerContext


def send(ctx: RunnerContext, tag: str, data: object = None) -> bool:
    """Fire an event on the master's bus.

    CLI Example:

        salt-run event.send my/custom/event '{"foo": "bar"}'
    """
    if data is not None and not isinstance(data, Mapping):
        raise ValueError("the data of an event are a map")
    ctx.events.fire(str(tag), dict(data or {}))
    return True
