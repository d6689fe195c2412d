"""Clear commands of users, but for ``publish``. Source: docs/wire.md#clear-commands.

Runners and wheel functions are run in processes of their own (:mod:`saltlite.master.runs`): a
runner's caller is answered at once, a wheel function's when it is done. Whoever asks is
authenticated first, and is named in events and records by what was proven, not by what was said.

A login (``mk_token``) is answered when its password was checked, which tells a stranger nothing by
the time that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core import tags
from saltlite.core.ids import valid_function
from saltlite.core.messages import FOLLOW, as_map, as_text, clear_refusal
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import StoreError, WireError
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.commands.follow import grant_ticket
from saltlite.master.commands.login import (
    Unknown,
    authenticate,
    begin_login,
    is_life,
    make_token,
    open_login,
    read_token,
    refuse_run,
)
from saltlite.master.commands.matching import reads_pillars
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.loginproof import FIELD
from saltlite.master.refusals import printable
from saltlite.master.run_requests import RunRequest

NAME_SHOWN: Final = 256
"""So much of the name that a stranger gives is told to him again."""

USER_REFUSED: Final = refuse_run("user")
_NO_ARGUMENTS: Final = frozenset(
    ("cmd", "fun", "arg", "kwarg", "client", "user", "key", "token", "eauth", "username",
     "password", "full_return", "print_event")
)  # fmt: skip
"""Fields of a load that are never an argument of the function."""


def ping(_ctx: MasterContext, load: Mapping[str, Any]) -> Plain:
    """The load itself: the master is there."""
    return load


def runner(ctx: MasterContext, load: Mapping[str, object]) -> PlainMap | Later:
    """Start a runner; its tag and jid, at once. The value comes as an event."""
    user = _authenticate_user(ctx, load, "runner")
    if not isinstance(user, AuthenticatedUser):
        return user
    request = _make_run_request(ctx, load, "runner", user)
    try:
        ctx.runs.start(request)
    except StoreError as error:
        return clear_refusal("SaltSystemError", str(error))
    # Salt's clients listen to this tag with /new and /ret appended.
    reply: PlainMap = {"tag": tags.run_new(request.jid).removesuffix("/new"), "jid": request.jid}
    ticket = grant_ticket(ctx, load.get(FOLLOW), request.jid)
    return {**reply, FOLLOW: ticket} if ticket else reply


def wheel(ctx: MasterContext, load: Mapping[str, object]) -> PlainMap | Later:
    """Start a wheel function; its caller is answered when it is done."""
    user = _authenticate_user(ctx, load, "wheel")
    if not isinstance(user, AuthenticatedUser):
        return user
    later = Later()
    try:
        ctx.runs.start(_make_run_request(ctx, load, "wheel", user, ticket=later.ticket))
    except StoreError as error:
        return clear_refusal("SaltSystemError", str(error))
    return later


def mk_token(ctx: MasterContext, load: Mapping[str, object]) -> Plain | Later:
    """Log in; the new token with what is known of it, ``""`` if the password is wrong.

    Of the load nothing but module, name, password and the token's life is looked at
    (CVE-2016-3176).
    """
    if load.get(FIELD) is None:
        life = load.get("token_expire")
        kept = {"cmd": "mk_token", **({"token_expire": life} if is_life(life) else {})}
        later = begin_login(ctx, kept, load, "")
        if later is None:
            ctx.refusals.refuse("mk_token", f"eauth {load.get('eauth')!r:.40}")
        return later or ""
    # The second time: LoginServer has found the password right.
    proof = open_login(ctx, load)
    if proof is None:
        ctx.refusals.refuse("mk_token", "an old or false proof")
        return ""
    try:
        return make_token(ctx, proof, load.get("token_expire"))
    except StoreError as error:
        ctx.tell_of_store("No token is made", error)
        return ""


def get_token(ctx: MasterContext, load: Mapping[str, object]) -> Plain:
    """What is on record of a token, ``{}`` if nothing is; ``False`` where none is named."""
    if not load.get("token"):
        return False
    try:
        record = read_token(ctx, load["token"])
    except StoreError as error:
        ctx.tell_of_store("A token cannot be read", error)
        return {}
    if record is None:
        return {}
    return {**record.told, "token": load["token"]}


def del_token(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Remove the token that is shown: whoever has it may end it. Whether there was one."""
    try:
        return ctx.login_tokens.forget(load.get("token"))
    except StoreError as error:
        ctx.tell_of_store("A token is not removed", error)
        return False


def _authenticate_user(
    ctx: MasterContext, load: Mapping[str, object], kind: str
) -> AuthenticatedUser | PlainMap | Later:
    """Who asks, if he may; else the reply that says no, or that it comes later."""
    shown = "eauth" if load.get("token") is None else "token"
    named = {"user": "", **load}  # Salt asks for no name beside a key: the key is root's then
    name = load.get("username") if shown == "eauth" else None
    refusal = refuse_run(shown, name[:NAME_SHOWN] if isinstance(name, str) else "")
    user = authenticate(ctx, named, load, refusal)
    if isinstance(user, Later):
        return user
    if isinstance(user, Unknown):
        ctx.refusals.refuse(kind, f"not authenticated by {user.proof}")
        return refusal if user.proof == "eauth" else refuse_run(user.proof)
    return refuse_call(ctx, user, load, kind) or user


def refuse_call(
    ctx: MasterContext, user: AuthenticatedUser, load: Mapping[str, object], kind: str
) -> PlainMap | None:
    """The reply to who may not have this ``runner`` or ``wheel`` function run; ``None``: he may."""
    fun = load.get("fun")
    # Without rules no argument matters; one that is malformed is refused later.
    if user.rules is None and isinstance(fun, str) and ctx.access.allows_run(user, kind, fun):
        return None
    arg, kwarg = _read_arguments(load)
    if isinstance(fun, str) and ctx.access.allows_run(user, kind, fun, arg, kwarg):
        return None
    ctx.refusals.refuse(kind, f"user {printable(user.name, 80)}: {fun!r:.80} is not allowed")
    return refuse_run(user.proof, "" if user.proof == "user" else user.name)


def _make_run_request(
    ctx: MasterContext,
    load: Mapping[str, object],
    kind: str,
    user: AuthenticatedUser,
    *,
    ticket: bytes = b"",
) -> RunRequest:
    """What to run. Arguments are in ``arg`` and ``kwarg``, keywords also beside ``fun``."""
    fun = as_text(load.get("fun"), "fun")
    if not valid_function(fun):
        raise WireError("fun is not the name of a function")
    arg, kwarg = _read_arguments(load)
    return RunRequest(
        kind=kind,
        fun=fun,
        jid=ctx.shared.jids.next(ctx.now()),
        user=user.name,
        arg=arg,
        kwarg=kwarg,
        ticket=ticket,
        # Patterns would tell a limited user the pillar of others letter by letter.
        pillar_patterns=reads_pillars(ctx, user),
    )


def _is_of_clients(named: Mapping[str, object]) -> bool:
    """Whether ``kwarg`` holds both kinds of arguments, as Salt's own clients send them."""
    if set(named) != {"arg", "kwarg"}:
        return False
    return isinstance(named["arg"], (list, tuple)) and isinstance(named["kwarg"], dict)


def _read_arguments(load: Mapping[str, object]) -> tuple[list[Any], dict[str, Any]]:
    """Positional arguments and keywords of a runner or wheel function."""
    arg = load.get("arg")
    listed = [] if arg is None else list(arg) if isinstance(arg, (list, tuple)) else [arg]
    # Names with __ are of Salt's clients (__jid__) and of logins, and no keywords.
    beside = {
        name: value
        for name, value in load.items()
        if name not in _NO_ARGUMENTS and not name.startswith("__")
    }
    named = {} if load.get("kwarg") is None else as_map(load.get("kwarg"), "kwarg")
    if _is_of_clients(named):
        listed = [*listed, *named["arg"]]
        named = as_map(named["kwarg"], "kwarg")
    return listed, {**beside, **{as_text(name, "kwarg"): one for name, one in named.items()}}
