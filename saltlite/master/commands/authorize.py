"""``authorize``: may the caller do all of this? Nothing is done.

salt-api asks before it runs the first of several calls, so that a request that is refused has run
nothing. Not in Salt. Source: docs/wire.md, "authorize".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.messages import AUTHENTICATION_REFUSED
from saltlite.core.plain import PlainMap
from saltlite.errors import WireError
from saltlite.master.commands import clear, publish
from saltlite.master.commands.login import Unknown, authenticate, is_known
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later

LOADS_MOST: Final = 100


def authorize(ctx: MasterContext, load: Mapping[str, object]) -> PlainMap | Later:
    """``{"refused": None}``, or the error that the first refused load would be answered with."""
    user = authenticate(ctx, load, load, AUTHENTICATION_REFUSED)
    if isinstance(user, Later):
        return user
    if isinstance(user, Unknown):
        ctx.refusals.refuse("authorize", f"not authenticated by {user.proof}")
        return AUTHENTICATION_REFUSED
    loads = load.get("loads")
    if not isinstance(loads, list) or len(loads) > LOADS_MOST:
        raise WireError("loads is not a list")
    # Credentials inside the loads do not count: each is judged for the sender of this one.
    for one in loads:
        refusal = _refuse_load(ctx, user, one)
        if refusal is not None:
            return {"refused": refusal["error"]}
    return {"refused": None}


def is_slow(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether finding the minions of one of the jobs may take long; of those who may ask at all."""
    loads = load.get("loads")
    if not isinstance(loads, (list, tuple)) or len(loads) > LOADS_MOST:
        return False
    jobs = (one for one in loads if isinstance(one, Mapping) and one.get("cmd") == "publish")
    # Targets first: finding out who asks may need a look at the disk.
    return any(publish.has_slow_target(ctx, one) for one in jobs) and is_known(ctx, load, load)


def _refuse_load(ctx: MasterContext, user: Any, load: Any) -> PlainMap | None:
    """The error reply for one load, ``None`` if it is allowed."""
    if not isinstance(load, Mapping):
        raise WireError("a load is not a map")
    command = load.get("cmd")
    if command == "publish":
        return publish.refuse_call(ctx, user, load)
    if command in ("runner", "wheel"):
        return clear.refuse_call(ctx, user, load, command)
    raise WireError("a load has no command that can be asked about")
