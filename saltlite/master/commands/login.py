"""Who sends a clear command: a token, a name with a password, or a local user's key.

The first that is shown counts, in that order, and it alone: who shows a token that is no good is
not let in by his key. A password is checked elsewhere (:mod:`saltlite.master.loginserver`), and the
request comes again with a proof. Source: docs/wire.md#clear-commands.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.access import find_fault_in_entries, user_entries
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.messages import LOGIN_UNKNOWN, TOKEN_UNKNOWN, USER_UNKNOWN, clear_refusal
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import StoreError, WireError
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.loginproof import FIELD, LoginProof, open_proof
from saltlite.master.logins import LOAD_LIMIT_BYTES, drop_credentials, read_login
from saltlite.master.refusals import printable
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

RECHECK_S: Final = 300.0
"""How old a token may be before its module is asked whether the user still may use it."""

LOOKED_AT_MOST: Final = 10_000

BY_MODULE: Final = "auth_list_by_module"
"""In a token's record: its list was made by a module, and counts whatever the options say."""

NOT_SHOWN: Final = ("entries", BY_MODULE)
"""Of a token's record, what nobody is told."""

TOKEN_LIFE_MOST_S: Final = 10 * 365 * 86400.0

_ERRORS: Final = {
    "user": USER_UNKNOWN,
    "token": TOKEN_UNKNOWN,
    "eauth": LOGIN_UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody: what was shown is no good. ``proof`` is its kind: token, eauth, or user."""

    proof: str


def refuse_run(proof: str, name: str = "") -> PlainMap:
    """The reply to who may not have a runner or wheel function run, or is not known."""
    who = f" for user {name}." if name else ""
    return clear_refusal(_ERRORS[proof], f'Authentication failure of type "{proof}" occurred{who}')


@dataclass(frozen=True, slots=True)
class ShownCredentials:
    """What of a load says who asks, beside a local key."""

    token: Any = field(default=None, repr=False)
    eauth: Any = None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is on record of a token. ``told`` is the part that others may see.

    ``auth_list_by_module`` is :data:`BY_MODULE`; ``entries`` came from a module beside the options.
    """

    start: float
    name: str
    eauth: str
    told: Mapping[str, Any]
    groups: Any = None
    auth_list: Any = None
    auth_list_by_module: Any = False
    entries: Any = None


def authenticate(
    ctx: MasterContext, load: Mapping[str, object], shown: Mapping[str, object], reply: Plain
) -> AuthenticatedUser | Unknown | Later:
    """Who sends ``load``. ``Later``: it comes again when the password was found right.

    ``shown`` is the part of the load with token, eauth, username and password; ``reply`` what the
    caller gets if they are wrong.

    Raises:
        LoginsBusy: they cannot be checked now.
    """
    given = read_fields(ShownCredentials, shown)
    try:
        # First: a load that comes back from LoginServer shows nothing else any more.
        if load.get(FIELD) is not None:
            return _believe_proof(ctx, load[FIELD])
        if given.token is not None:
            return _user_of_token(ctx, load, given.token, reply)
    except StoreError as error:
        raise WireError(str(error)) from error
    if given.eauth is not None:
        return begin_login(ctx, load, shown, reply) or Unknown("eauth")
    name, key = load.get("user"), load.get("key")
    if not isinstance(name, str) or not isinstance(key, str):
        return Unknown("user")
    return ctx.access.authenticate(name, key) or Unknown("user")


def shows_login(shown: Mapping[str, object]) -> bool:
    """Whether a token, or a way to log in, is shown; else the local key counts."""
    given = read_fields(ShownCredentials, shown)
    return given.token is not None or given.eauth is not None


def is_known(ctx: MasterContext, load: Mapping[str, object], shown: Mapping[str, Any]) -> bool:
    """Whether it is known who sends ``load``, with no password still to be checked."""
    if load.get(FIELD) is not None:
        return open_login(ctx, load) is not None
    given = read_fields(ShownCredentials, shown)
    if given.token is not None:
        try:
            record = read_token(ctx, given.token)
        except StoreError:
            return False  # the handler will say so
        return record is not None and not _is_due(ctx, given.token, record)
    # A password is for LoginServer alone; to ask here would have it checked twice.
    if given.eauth is not None:
        return False
    return isinstance(authenticate(ctx, load, shown, ""), AuthenticatedUser)


def begin_login(
    ctx: MasterContext, load: Mapping[str, object], shown: Mapping[str, object], reply: Plain
) -> Later | None:
    """Have a name and a password checked; ``None`` if there is no way to log in at all.

    Raises:
        LoginsBusy: they cannot be checked now.
        WireError: the load is too large to wait.
    """
    if not ctx.config.access.external_auth:
        return None
    return _begin_check(ctx, load, read_login(shown), reply)


def _begin_check(
    ctx: MasterContext, load: Mapping[str, object], who: Mapping[str, str], reply: Plain
) -> Later:
    """Hand a load over that waits for the check of ``who``; raises as :func:`begin_login`."""
    frame = pack(reply)
    kept = drop_credentials(load)
    # It waits in the memory of LoginServer, and anybody may send one.
    size = len(frame) + len(pack(kept))
    if size > LOAD_LIMIT_BYTES:
        raise WireError(f"a load of {size} bytes with a login")
    later = Later()
    ctx.logins.begin(later.ticket, kept, {**who, "refused": frame, "size_bytes": size})
    return later


def open_login(ctx: MasterContext, load: Mapping[str, object]) -> LoginProof | None:
    """The proof that comes with a load."""
    return open_proof(ctx.shared.login_secret, load.get(FIELD), ctx.steady_s())


def make_token(ctx: MasterContext, proof: LoginProof, asked_life: object) -> dict[str, Any]:
    """A token for who has logged in, as it is told to him.

    Raises:
        StoreError: it cannot be kept.
    """
    options = ctx.config.access
    life_s = options.token_expire
    if _may_ask_for_life(options.token_expire_user_override, proof) and is_life(asked_life):
        life_s = asked_life  # type: ignore[assignment]  # a number: see is_life
    start = ctx.wall_s()
    record: dict[str, Any] = {
        "start": start,
        "expire": start + life_s,
        "name": proof.name,
        "eauth": proof.eauth,
    }
    if proof.groups:
        record["groups"] = proof.groups
    if proof.whole is not None:
        record |= {"auth_list": _check_entries(proof, proof.whole), BY_MODULE: True}
    elif options.keep_acl_in_token:
        record["auth_list"] = find_entries(
            ctx, proof.eauth, proof.name, proof.groups, proof.entries
        )
    # What the module said beside the options, which are read anew at each use.
    elif proof.entries is not None:
        record["entries"] = proof.entries
    token = ctx.login_tokens.make(record)
    shown = {name: one for name, one in record.items() if name not in NOT_SHOWN}
    return {**shown, "token": token}


def find_entries(
    ctx: MasterContext, eauth: str, name: str, groups: list[str], more: list[Any] | None
) -> list[Any]:
    """The access list of who logged in, by today's configuration."""
    options = ctx.config.access
    block = options.external_auth.get(eauth, {})
    permissive = options.permissive_acl
    found = user_entries(block, name, groups, permissive=permissive, is_named=bool(more))
    if more and (fault := find_fault_in_entries(more)):
        log.error(
            "eauth %s: the entries of %s count for nothing: %s", eauth, printable(name), fault
        )
        return found
    return [*found, *(more or [])]


def _check_entries(proof: LoginProof, entries: list[Any]) -> list[Any]:
    """An access list that a module made; nothing of one with a fault."""
    fault = find_fault_in_entries(entries)
    if fault:
        log.error(
            "eauth %s: the list of %s allows nothing: %s", proof.eauth, printable(proof.name), fault
        )
    return [] if fault else entries


def read_token(ctx: MasterContext, token: object) -> TokenRecord | None:
    """What is on record of a token that is still good; ``None`` if it is not.

    Raises:
        StoreError: it cannot be read now.
    """
    kept = ctx.login_tokens.find(token, ctx.wall_s())
    if kept is None:
        return None
    told = {name: one for name, one in kept.items() if name not in NOT_SHOWN}
    record = read_fields(TokenRecord, {**kept, "told": told})
    # Removing a module from external_auth also ends the tokens it gave.
    return record if record.eauth in ctx.config.access.external_auth else None


def _believe_proof(ctx: MasterContext, text: object) -> AuthenticatedUser | Unknown:
    """Who has been checked.

    Raises:
        StoreError: his token cannot be read now.
    """
    proof = open_proof(ctx.shared.login_secret, text, ctx.steady_s())
    if proof is None:
        return Unknown("eauth")
    if proof.token:
        _note_welcome(ctx, proof.token)
        # Once more: it may have been removed while its owner was looked at.
        record = read_token(ctx, proof.token)
        return Unknown("token") if record is None else _user_of_record(ctx, record)
    if proof.whole is not None:
        return AuthenticatedUser(proof.name, _check_entries(proof, proof.whole), "eauth")
    entries = find_entries(ctx, proof.eauth, proof.name, proof.groups, proof.entries)
    return AuthenticatedUser(proof.name, entries, "eauth")


def _user_of_token(
    ctx: MasterContext, load: Mapping[str, object], token: object, reply: Plain
) -> AuthenticatedUser | Unknown | Later:
    record = read_token(ctx, token)
    if record is None:
        return Unknown("token")
    if _is_due(ctx, str(token), record):
        return _look_again(ctx, load, str(token), record, reply)
    return _user_of_record(ctx, record)


def _user_of_record(ctx: MasterContext, record: TokenRecord) -> AuthenticatedUser:
    kept = record.auth_list
    counts = ctx.config.access.keep_acl_in_token or record.auth_list_by_module is True
    if counts and isinstance(kept, (list, tuple)):
        return AuthenticatedUser(record.name, list(kept), "token")
    groups = list(record.groups or [])
    entries = find_entries(ctx, record.eauth, record.name, groups, record.entries)
    return AuthenticatedUser(record.name, entries, "token")


def _is_due(ctx: MasterContext, token: str, record: TokenRecord) -> bool:
    """Whether it is some time ago that the owner of a token was found to be welcome."""
    if ctx.wall_s() - record.start < RECHECK_S:
        return False
    # Not 0 by default: the steady clock starts with the machine and may still be small.
    return ctx.steady_s() - ctx.looked_at.get(token, -RECHECK_S) >= RECHECK_S


def _note_welcome(ctx: MasterContext, token: str) -> None:
    if len(ctx.looked_at) >= LOOKED_AT_MOST:
        # Harmless: a forgotten owner is only checked once more.
        ctx.looked_at.clear()
    ctx.looked_at[token] = ctx.steady_s()


def _look_again(
    ctx: MasterContext, load: Mapping[str, Any], token: str, record: TokenRecord, reply: Plain
) -> Later:
    """Have a module asked whether the owner of a token may still use it (CVE-2022-22967)."""
    who = {"eauth": record.eauth, "username": record.name, "password": "", "token": token}
    return _begin_check(ctx, load, who, reply)


def _may_ask_for_life(override: object, proof: LoginProof) -> bool:
    """Whether ``token_expire_user_override`` lets a login say how long its token lives."""
    if isinstance(override, Mapping):
        users = override.get(proof.eauth)
        return isinstance(users, (list, tuple)) and proof.name in users
    return override is True


def is_life(value: object) -> bool:
    """Whether this may be the life of a token, in seconds."""
    return type(value) in (int, float) and 0 <= value <= TOKEN_LIFE_MOST_S  # type: ignore[operator]
