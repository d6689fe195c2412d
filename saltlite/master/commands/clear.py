"""Clear commands of users, but for ``publish``. Source: protocol.md 11.2.

Logins (``mk_token``) and runners and wheel functions over the wire are not built: they are
answered in their refused form, and nothing is looked at that could tell a stranger anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.messages import refused
from saltlite.core.plain import Plain, PlainMap
from saltlite.master.context import MasterContext

USER_REFUSED: Final = refused(
    "UserAuthenticationError", 'Authentication failure of type "user" occurred'
)
_KIND_REFUSED: Final = {
    "token": refused("TokenAuthenticationError", 'Authentication failure of type "token" occurred'),
    "eauth": refused("EauthAuthenticationError", 'Authentication failure of type "eauth" occurred'),
}


def ping(_ctx: MasterContext, load: Mapping[str, Any]) -> Plain:
    """The load itself: the master is there."""
    return load


def runner(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap:
    """A runner over the wire; ``salt-run`` runs its runners itself."""
    return _not_built(ctx, load, "runner")


def wheel(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap:
    """A wheel function over the wire; ``salt-key`` does its work itself."""
    return _not_built(ctx, load, "wheel")


def mk_token(ctx: MasterContext, load: Mapping[str, Any]) -> str:
    """No way to log in is built: as for a wrong password."""
    ctx.refusals.refuse("mk_token", f"eauth {load.get('eauth')!r:.40}")
    return ""


def get_token(_ctx: MasterContext, load: Mapping[str, Any]) -> Plain:
    """No token is known."""
    return {} if load.get("token") else False


def _not_built(ctx: MasterContext, load: Mapping[str, Any], kind: str) -> PlainMap:
    for credential, refusal in _KIND_REFUSED.items():
        if credential in load:
            ctx.refusals.refuse(kind, f"{credential} is not built")
            return refusal
    user = load.get("user")
    key = load.get("key")
    known = ctx.access.authenticate(
        user if isinstance(user, str) else "", key if isinstance(key, str) else None
    )
    if known is None or known.rules is not None:
        ctx.refusals.refuse(kind, "not authenticated")
        return USER_REFUSED
    return refused("SaltInvocationError", f"{kind} functions are not available over the wire.")
