"""``key.*``: minion keys. Shapes: docs/wire.md#clear-commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from saltlite.core.ids import valid_minion_id
from saltlite.errors import FunctionError
from saltlite.keyring import (
    ACCEPTED,
    STATES,
    UNACCEPTED,
    KeyClient,
    Keys,
    states_of,
)
from saltlite.runner_context import RunnerContext

LOCAL = "local"


def list_(ctx: RunnerContext, match: str) -> Keys:
    """List the keys in a state: ``acc``, ``pre``, ``rej``, ``den``; ``all`` is as ``list_all``.

    CLI Example:

        wheel.cmd("key.list", ["all"])
    """
    if match == "all":
        return list_all(ctx)
    return _open_keys(ctx).list_all(states_of(str(match)))


def list_all(ctx: RunnerContext) -> Keys:
    """List all keys by state, and the master's own.

    CLI Example:

        wheel.cmd("key.list_all")
    """
    return {**_open_keys(ctx).list_all(), LOCAL: sorted(ctx.key_material.local())}


def name_match(ctx: RunnerContext, match: str) -> Keys:
    """List the keys whose ids fit a glob.

    CLI Example:

        wheel.cmd("key.name_match", ["web*"])
    """
    return _open_keys(ctx).name_match(match)


def glob_match(ctx: RunnerContext, match: str) -> Keys:
    """List the keys whose ids fit a glob; what Salt 3008 calls ``key.name_match``.

    CLI Example:

        wheel.cmd("key.glob_match", ["web*"])
    """
    return name_match(ctx, match)


def accept(
    ctx: RunnerContext, match: str, include_rejected: bool = False, include_denied: bool = False
) -> Keys:
    """Accept waiting keys whose ids fit a glob; all accepted ids that fit.

    CLI Example:

        wheel.cmd("key.accept", ["web1"])
    """
    keys = _open_keys(ctx)
    keys.accept(
        keys.to_accept(match, include_rejected=include_rejected, include_denied=include_denied)
    )
    return keys.name_match(match)


def accept_dict(
    ctx: RunnerContext,
    match: Mapping[str, Iterable[str]],
    include_rejected: bool = False,
    include_denied: bool = False,
) -> Keys:
    """Accept keys that are named by state: ``{"minions_pre": ["web1"]}``.

    CLI Example:

        wheel.cmd("key.accept_dict", [{"minions_pre": ["web1"]}])
    """
    keys = _open_keys(ctx)
    states = [UNACCEPTED]
    states += ["minions_rejected"] if include_rejected else []
    states += ["minions_denied"] if include_denied else []
    match = _by_state(match)
    keys.accept({state: match[state] for state in states if state in match})
    return _list_remaining(keys, match)


def reject(
    ctx: RunnerContext, match: str, include_accepted: bool = False, include_denied: bool = False
) -> Keys:
    """Reject waiting keys whose ids fit a glob; the states of all ids that fit.

    CLI Example:

        wheel.cmd("key.reject", ["web1"])
    """
    keys = _open_keys(ctx)
    keys.reject(
        keys.to_reject(match, include_accepted=include_accepted, include_denied=include_denied)
    )
    return keys.name_match(match)


def reject_dict(
    ctx: RunnerContext,
    match: Mapping[str, Iterable[str]],
    include_accepted: bool = False,
    include_denied: bool = False,
) -> Keys:
    """Reject keys that are named by state.

    CLI Example:

        wheel.cmd("key.reject_dict", [{"minions_pre": ["web1"]}])
    """
    keys = _open_keys(ctx)
    states = [UNACCEPTED]
    states += [ACCEPTED] if include_accepted else []
    states += ["minions_denied"] if include_denied else []
    match = _by_state(match)
    keys.reject({state: match[state] for state in states if state in match})
    return _list_remaining(keys, match)


def delete(ctx: RunnerContext, match: str) -> Keys:
    """Forget the minions whose ids fit a glob; what is left of them: nothing.

    CLI Example:

        wheel.cmd("key.delete", ["web1"])
    """
    keys = _open_keys(ctx)
    keys.delete(keys.name_match(match))
    return keys.name_match(match)


def delete_dict(ctx: RunnerContext, match: Mapping[str, Iterable[str]]) -> Keys:
    """Forget minions that are named by state.

    CLI Example:

        wheel.cmd("key.delete_dict", [{"minions": ["web1"]}])
    """
    keys = _open_keys(ctx)
    match = _by_state(match)
    keys.delete({state: match[state] for state in STATES if state in match})
    return _list_remaining(keys, match)


def key_str(ctx: RunnerContext, match: str) -> dict[str, dict[str, str]]:
    """Return the public keys whose ids fit a glob.

    CLI Example:

        wheel.cmd("key.key_str", ["web1"])
    """
    return _open_keys(ctx).key_str(match)


def print_(ctx: RunnerContext, match: str) -> dict[str, dict[str, str]]:
    """Return the public keys whose ids fit a glob; another name of ``key.key_str``.

    CLI Example:

        wheel.cmd("key.print", ["web1"])
    """
    return key_str(ctx, match)


def master_key_str(ctx: RunnerContext) -> dict[str, dict[str, str]]:
    """Return the master's public key.

    CLI Example:

        wheel.cmd("key.master_key_str")
    """
    return {LOCAL: _master_pub(ctx)}


def finger(
    ctx: RunnerContext, match: str, hash_type: str | None = None
) -> dict[str, dict[str, str]]:
    """Return the fingerprints of the keys whose ids fit a glob, and of the master's own public key.

    CLI Example:

        wheel.cmd("key.finger", ["web1"])
    """
    kind = hash_type or ctx.config.files.hash_type
    found = _open_keys(ctx).finger(match, lambda pem: ctx.key_material.fingerprint(pem, kind))
    own = {name: pem for name, pem in _master_pub(ctx).items() if fnmatchcase(name, match)}
    prints = {name: ctx.key_material.fingerprint(pem, kind) for name, pem in own.items()}
    return {**found, LOCAL: prints} if prints else found


def finger_master(ctx: RunnerContext, hash_type: str | None = None) -> dict[str, dict[str, str]]:
    """Return the fingerprint of the master's public key.

    CLI Example:

        wheel.cmd("key.finger_master")
    """
    kind = hash_type or ctx.config.files.hash_type
    prints = {
        name: ctx.key_material.fingerprint(pem, kind) for name, pem in _master_pub(ctx).items()
    }
    return {LOCAL: prints}


def gen(ctx: RunnerContext, id_: str | None = None, keysize: int = 2048) -> dict[str, str]:
    """Make a key pair and return it; nothing is kept.

    CLI Example:

        wheel.cmd("key.gen", kwarg={"id_": "web1"})
    """
    if id_ is not None:
        _check_id(id_)
    private, public = ctx.key_material.generate(int(keysize))
    return {"priv": private, "pub": public}


def gen_accept(
    ctx: RunnerContext, id_: str, keysize: int = 2048, force: bool = False
) -> dict[str, str]:
    """Make a key pair for a minion, accept it, and return it.

    Where the minion has an accepted key already, nothing is done and nothing returned, unless
    forced.

    CLI Example:

        wheel.cmd("key.gen_accept", ["web1"])
    """
    _check_id(id_)
    if id_ in ctx.keys.list(ACCEPTED) and not force:
        return {}
    pair = gen(ctx, id_, keysize)
    admitted = ctx.key_material.admit(id_, pair["pub"], replace=force)
    return pair if admitted else {}


def _open_keys(ctx: RunnerContext) -> KeyClient:
    return KeyClient(ctx.keys)


def _by_state(match: Mapping[str, Iterable[str]]) -> Mapping[str, Iterable[str]]:
    """``match``, if it is what it has to be: a text in place of a list is read letter by letter."""
    lists = match.values() if isinstance(match, Mapping) else [None]
    if not all(isinstance(ids, (list, tuple)) for ids in lists):
        raise FunctionError("keys are named by state: {'minions_pre': ['id', ...]}")
    return match


def _list_remaining(keys: KeyClient, match: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    names = {name for listed in match.values() for name in listed}
    found = {state: [one for one in ids if one in names] for state, ids in keys.list_all().items()}
    return {state: ids for state, ids in found.items() if ids}


def _master_pub(ctx: RunnerContext) -> dict[str, str]:
    return {
        name: pem for name, pem in ctx.key_material.local().items() if name == "master.pub" and pem
    }


def _check_id(id_: str) -> None:
    if not valid_minion_id(id_):
        raise ValueError(f"this cannot be a minion's id: {id_!r}")
