"""``authorize``: may the caller do all of this? Nothing is done.

salt-api asks before it runs the first of several calls, so that a request that is refused has run
nothing. Not in Salt. Source: docs/wire.md, "authorize".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.messages import refused
from saltlite.core.plain import PlainMap
from saltlite.errors import WireError
from saltlite.master.commands import clear, publish
from saltlite.master.commands.login import Unknown, authenticate
from saltlite.master.context import MasterContext
from saltlite.master.late import Later

LOADS_MOST: Final = 100
NOT_AUTHENTICATED: Final = refused("AuthenticationError", "Authentication error occurred.")


def authorize(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap | Later:
    """``{"refused": None}``, or the error that the first refused load would be answered with."""
    user = authenticate(ctx, load, load, NOT_AUTHENTICATED)
    if isinstance(user, Later):
        return user
    if isinstance(user, Unknown):
        ctx.refusals.refuse("authorize", f"not authenticated by {user.proof}")
        return NOT_AUTHENTICATED
    loads = load.get("loads")
    if not isinstance(loads, list) or len(loads) > LOADS_MOST:
        raise WireError("loads is not a list")
    for one in loads:
        refusal = _refuse(ctx, user, one)
        if refusal is not None:
            return {"refused": refusal["error"]}
    return {"refused": None}


def _refuse(ctx: MasterContext, user: Any, load: Any) -> PlainMap | None:
    """The error reply for one load, ``None`` if it is allowed."""
    if not isinstance(load, Mapping):
        raise WireError("a load is not a map")
    command = load.get("cmd")
    if command == "publish":
        return publish.refuse_call(ctx, user, load)
    if command in ("runner", "wheel"):
        return clear.refuse_call(ctx, user, load, command)
    raise WireError("a load has no command that can be asked about")
