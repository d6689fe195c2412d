"""Clear commands of users, but for ``publish``. Source: protocol.md 11.2.

Runners and wheel functions are run in processes of their own (:mod:`saltlite.master.runs`): a
runner's caller is answered at once, a wheel function's when it is done. Whoever asks is
authenticated first, and is named in events and records by what was proven, not by what was said.

Logins (``mk_token``) are not built: they are answered in their refused form, and nothing is looked
at that could tell a stranger anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core import tags
from saltlite.core.ids import valid_function
from saltlite.core.messages import as_map, as_text, refused
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import StoreError, WireError
from saltlite.master.acl import User
from saltlite.master.context import MasterContext
from saltlite.master.late import Later
from saltlite.master.refusals import printable
from saltlite.master.runs import RunRequest

USER_REFUSED: Final = refused(
    "UserAuthenticationError", 'Authentication failure of type "user" occurred'
)
_KIND_REFUSED: Final = {
    "token": refused("TokenAuthenticationError", 'Authentication failure of type "token" occurred'),
    "eauth": refused("EauthAuthenticationError", 'Authentication failure of type "eauth" occurred'),
}
_NO_ARGUMENTS: Final = frozenset(
    ("cmd", "fun", "arg", "kwarg", "client", "user", "key", "token", "eauth", "username",
     "password", "full_return", "print_event")
)  # fmt: skip
"""Fields of a load that are never an argument of the function."""


def ping(_ctx: MasterContext, load: Mapping[str, Any]) -> Plain:
    """The load itself: the master is there."""
    return load


def runner(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap:
    """Start a runner; its tag and jid, at once. The value comes as an event."""
    user = _user(ctx, load, "runner")
    if not isinstance(user, User):
        return user
    request = _request(ctx, load, "runner", user)
    try:
        ctx.runs.start(request)
    except StoreError as error:
        return refused("SaltSystemError", str(error))
    return {"tag": tags.run_new(request.jid).removesuffix("/new"), "jid": request.jid}


def wheel(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap | Later:
    """Start a wheel function; its caller is answered when it is done."""
    user = _user(ctx, load, "wheel")
    if not isinstance(user, User):
        return user
    later = Later()
    try:
        ctx.runs.start(_request(ctx, load, "wheel", user, ticket=later.ticket))
    except StoreError as error:
        return refused("SaltSystemError", str(error))
    return later


def mk_token(ctx: MasterContext, load: Mapping[str, Any]) -> str:
    """No way to log in is built: as for a wrong password."""
    ctx.refusals.refuse("mk_token", f"eauth {load.get('eauth')!r:.40}")
    return ""


def get_token(_ctx: MasterContext, load: Mapping[str, Any]) -> Plain:
    """No token is known."""
    return {} if load.get("token") else False


def _user(ctx: MasterContext, load: Mapping[str, Any], kind: str) -> User | PlainMap:
    """Who asks, if he may; else the reply that says no."""
    for credential, refusal in _KIND_REFUSED.items():
        if credential in load:
            ctx.refusals.refuse(kind, f"{credential} is not built")
            return refusal
    name, key, fun = load.get("user"), load.get("key"), load.get("fun")
    user = ctx.access.authenticate(
        name if isinstance(name, str) else "", key if isinstance(key, str) else None
    )
    if user is None:
        ctx.refusals.refuse(kind, "not authenticated")
        return USER_REFUSED
    if not isinstance(fun, str) or not ctx.access.allows_run(user, kind, fun):
        ctx.refusals.refuse(kind, f"user {printable(user.name, 80)}: {fun!r:.80} is not allowed")
        return USER_REFUSED
    return user


def _request(
    ctx: MasterContext, load: Mapping[str, Any], kind: str, user: User, *, ticket: bytes = b""
) -> RunRequest:
    """What to run. Arguments are in ``arg`` and ``kwarg``, keywords also beside ``fun``."""
    fun = as_text(load.get("fun"), "fun")
    if not valid_function(fun):
        raise WireError("fun is not the name of a function")
    arg = load.get("arg")
    listed = [] if arg is None else list(arg) if isinstance(arg, (list, tuple)) else [arg]
    beside = {
        name: value
        for name, value in load.items()
        if name not in _NO_ARGUMENTS and not name.startswith("__")
    }
    named = {} if load.get("kwarg") is None else as_map(load.get("kwarg"), "kwarg")
    return RunRequest(
        kind=kind,
        fun=fun,
        jid=ctx.shared.jids.next(ctx.now()),
        user=user.name,
        arg=listed,
        kwarg={**beside, **{as_text(name, "kwarg"): value for name, value in named.items()}},
        ticket=ticket,
    )
