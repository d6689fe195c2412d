"""Fire events: on the minion's own bus, or on the master's."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext, NoEvents
from saltlite.core.keywords import own_keywords

log = logging.getLogger(__name__)


def fire(ctx: MinionContext, data: object, tag: str) -> bool:
    """Fire an event on the minion's own bus; ``False`` without one, and for data that are no map.

    CLI Example:

        salt '*' event.fire '{"data":"my event data"}' 'tag'
    """
    if isinstance(ctx.events, NoEvents) or not isinstance(data, Mapping):
        return False
    ctx.events.fire(str(tag), dict(data))
    return True


def fire_master(
    ctx: MinionContext, data: Any, tag: str, preload: Mapping[str, Any] | None = None
) -> bool:
    """Fire an event on the master's bus; ``False`` without a master, and if it refuses the event.

    CLI Example:

        salt '*' event.fire_master '{"data":"my event data"}' 'tag'
    """
    if ctx.master_side is not None:
        ctx.events.fire(str(tag), _as_map(data))
        return True
    if ctx.master is None:
        return False
    load = {"cmd": "_minion_event", "tag": str(tag), "data": data, "pretag": None}
    reply = ctx.master.request({**load, **(preload or {}), "id": ctx.config.identity.id})
    from saltlite.core.messages import event_refusal  # all messages, for this alone

    refusal = event_refusal(reply)
    if refusal is not None:
        log.error("The master refuses the event %.256r: %s", str(tag), refusal)
    return refusal is None


def send(
    ctx: MinionContext,
    tag: str,
    data: object = None,
    preload: Mapping[str, object] | None = None,
    with_env: object = False,
    with_grains: object = False,
    with_pillar: object = False,
    with_env_opts: bool = False,
    **kwargs: Any,
) -> bool:
    """Fire an event on the master's bus, with data of the minion if wanted.

    ``with_env``, ``with_grains`` and ``with_pillar`` are ``True`` for all or a list of names.
    Further keyword arguments are part of the event.

    CLI Example:

        salt-call event.send myco/mytag foo=Foo bar=Bar
        salt-call event.send 'myco/mytag' '{foo: Foo, bar: Bar}'
    """
    body: dict[str, Any] = {}
    for name, wanted, source in (
        ("environ", with_env, os.environ),
        ("grains", with_grains, ctx.grains),
        ("pillar", with_pillar, ctx.pillar),
    ):
        if wanted:
            body[name] = _pick_values(source, wanted)
    if with_env_opts:
        body |= {
            "saltenv": ctx.config.files.saltenv or "base",
            "pillarenv": ctx.config.pillar.pillarenv,
        }
    body |= own_keywords(kwargs)
    if data is not None:
        body |= _as_map(data)
    return fire_master(ctx, body, tag, preload)


def _pick_values(source: Mapping[str, object], wanted: object) -> dict[str, Any]:
    if isinstance(wanted, (list, tuple)):
        return {str(name): source.get(str(name), "") for name in wanted}
    return dict(source)


def _as_map(data: object) -> dict[str, Any]:
    return dict(data) if isinstance(data, Mapping) else {"data": data}
