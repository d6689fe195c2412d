"""``event.*``: fire an event on the master's bus."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Action, Declared, Verdict


def send(
    ctx: MinionContext,
    name: str,
    data: object = None,
    preload: object = None,
    with_env: bool = False,
    with_grains: bool = False,
    with_pillar: bool = False,
    show_changed: bool = True,
    **kwargs: Any,
) -> Declared:
    """Fire an event with the tag ``name`` each time. ``with_*`` add grains, pillar, environment."""
    changes = {"tag": name, "data": data} if show_changed else {}
    options = {"with_env": with_env, "with_grains": with_grains, "with_pillar": with_pillar}

    def act(ctx: MinionContext) -> Verdict:
        fired = ctx.functions.call("event.send", name, data, preload=preload, **options)
        return Verdict(result=bool(fired), comment="Event fired", changes=changes)

    return Action(would="Event would have been fired", run=act, changes=changes)


fire_master = send


def wait(name: str, sfun: object = None, data: object = None) -> Declared:
    """Fire an event only if something that is watched has changed; arguments as ``event.send``."""
    return Verdict(result=True, comment="")


def mod_watch(ctx: MinionContext, name: str, sfun: str, **kwargs: Any) -> Declared:
    """What a change in something watched sets off."""
    return send(ctx, name, **kwargs)
