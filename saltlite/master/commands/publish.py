"""``publish``: a user asks for a job. Source: protocol.md 11.1.

The order is: authenticate, then everything else (security.md 1.3, S2). Real Salt matches minions
first and lets a stranger make it work; see docs/differences.md. The job is on disk before it goes
out, and the list of minions that was authorised is the list that is expected.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from saltlite.channel.publication import topics
from saltlite.core import tags
from saltlite.core.ids import valid_function
from saltlite.core.messages import PublishLoad, PublishReply
from saltlite.core.messages import refused as error
from saltlite.core.plain import Plain, PlainMap
from saltlite.core.targets import Expected, Target
from saltlite.errors import StoreError, TargetError, WireError
from saltlite.master.acl import User
from saltlite.master.commands import matching
from saltlite.master.commands.returns import remember_asked
from saltlite.master.context import MasterContext
from saltlite.master.refusals import printable

log = logging.getLogger(__name__)

NOT_AUTHENTICATED: Final = error("AuthenticationError", "Authentication error occurred.")
NOT_AUTHORISED: Final = error("AuthorizationError", "Authorization error occurred.")

_JOB_OPTIONS: Final = (
    "metadata",
    "module_executors",
    "executor_opts",
    "ret_config",
    "ret_kwargs",
    "master_id",
    "start_event",
)
"""Of ``kwargs``, what becomes part of the job. Source: protocol.md 10.3."""


def publish(ctx: MasterContext, load: Mapping[str, Any]) -> PlainMap:
    """Publish a job for an authenticated local user."""
    try:
        wanted = PublishLoad.from_wire(load)
    except WireError as problem:
        # Whoever is not known learns nothing about the form either.
        user = _authenticate(ctx, load.get("user"), load.get("key"))
        return NOT_AUTHENTICATED if user is None else {"error": str(problem)}
    user = _authenticate(ctx, wanted.user, wanted.key)
    if user is None:
        ctx.refusals.refuse("publish", "not authenticated")
        return NOT_AUTHENTICATED
    if ctx.access.blacklisted(user.name, wanted.functions):
        ctx.refusals.refuse("publish", f"user {user.name}: {wanted.functions} is blacklisted")
        return NOT_AUTHORISED
    return _publish(ctx, user, wanted)


def _authenticate(ctx: MasterContext, user: object, key: object) -> User | None:
    if not isinstance(user, str) or not isinstance(key, str):
        return None
    return ctx.access.authenticate(user, key)


def _publish(ctx: MasterContext, user: User, wanted: PublishLoad) -> PlainMap:
    if not all(map(valid_function, wanted.functions)) and user.rules is not None:
        return NOT_AUTHORISED
    delimiter = wanted.kwargs.get("delimiter")
    target = Target(wanted.tgt, wanted.tgt_type, delimiter if isinstance(delimiter, str) else ":")
    try:
        meant = matching.minions_of(ctx, target)
    except TargetError as problem:
        log.info("User %s: %s", user.name, problem)
        meant = Expected(set(), [])
    if not _is_allowed(ctx, user, wanted, meant):
        ctx.refusals.refuse("publish", f"user {user.name}: {wanted.functions} is not allowed")
        return NOT_AUTHORISED
    if not meant.minions and not ctx.config.extra.get("order_masters"):
        return PublishReply(
            None, [], error=f"Master could not resolve minions for target {wanted.tgt}"
        ).to_wire()
    return send_job(ctx, wanted, sorted(meant.minions), missing=list(meant.missing))


def _is_allowed(ctx: MasterContext, user: User, wanted: PublishLoad, meant: Expected) -> bool:
    def matching_rule(expression: str) -> set[str]:
        try:
            return set(
                matching.minions_of(ctx, Target(expression, "compound"), greedy=False).minions
            )
        except TargetError:
            return set()

    minions = sorted(meant.minions)
    return ctx.access.allows(user, wanted.functions, minions, matching_rule, wanted.arguments)


def send_job(
    ctx: MasterContext,
    wanted: PublishLoad,
    minions: Sequence[str],
    *,
    missing: Sequence[str] = (),
    asked_by: str | None = None,
) -> PlainMap:
    """Record a job, announce it, hand it to the Publisher; the reply for the user.

    ``asked_by`` is the minion that asked, with peer publishing.
    """
    jid = wanted.jid or ctx.shared.jids.next(ctx.now())
    record = _record(wanted, jid)
    try:
        if not ctx.jobs.new_job(jid, record, minions):
            problem = f"Job {jid} exists already"
            ctx.events.fire(tags.job_error(jid), {**record, "error": problem})
            return {"error": problem}
        remember_asked(ctx, jid, frozenset(minions))
        ctx.mirror.job(jid, record, minions)
        _announce(ctx, wanted, jid, minions, missing)
        job = _job(wanted, jid, asked_by, ctx.config.jobs.ext_job_cache)
        ctx.publisher.publish(job, _topics(ctx, wanted, minions))
    except StoreError as problem_:
        who = printable(wanted.user, 80)
        log.error("Job %s of user %s is not published: %s", jid, who, problem_)
        return {"error": f"The job was not published: {problem_}"}
    who, what = printable(wanted.user, 80), printable(str(wanted.fun), 160)
    log.info("User %s published job %s: %s on %d minions", who, jid, what, len(minions))
    return PublishReply(jid, list(minions), list(missing)).to_wire()


def _record(wanted: PublishLoad, jid: str) -> dict[str, Plain]:
    """The publish load as it is kept: without credentials."""
    load: dict[str, Plain] = {**wanted.to_wire(), "jid": jid}
    load.pop("key", None)
    secrets = ("token", "eauth", "username", "password", "key")
    if wanted.kwargs:
        load["kwargs"] = {k: v for k, v in wanted.kwargs.items() if k not in secrets}
    return load


def _announce(
    ctx: MasterContext,
    wanted: PublishLoad,
    jid: str,
    minions: Sequence[str],
    missing: Sequence[str],
) -> None:
    ctx.events.fire(
        tags.job_new(jid),
        {
            "jid": jid,
            "tgt_type": wanted.tgt_type,
            "tgt": wanted.tgt,
            "user": wanted.user,
            "fun": wanted.fun,
            "arg": wanted.arg,
            "minions": list(minions),
            "missing": list(missing),
        },
    )


def _job(
    wanted: PublishLoad, jid: str, asked_by: str | None, ext_job_cache: str
) -> dict[str, Plain]:
    """The job map that minions get. Source: protocol.md 10.3.

    They give their returns to ``ext_job_cache`` as well.
    """
    job: dict[str, Plain] = {
        "fun": wanted.fun,
        "arg": wanted.arg,
        "tgt": wanted.tgt,
        "jid": jid,
        "ret": ",".join(name for name in (wanted.ret, ext_job_cache) if name),
        "tgt_type": wanted.tgt_type,
    }
    if asked_by is not None:
        job["id"] = asked_by
    if wanted.user:
        job["user"] = wanted.user
    delimiter = wanted.kwargs.get("delimiter")
    if delimiter and delimiter != ":":
        job["delimiter"] = delimiter
    for name in _JOB_OPTIONS:
        if wanted.kwargs.get(name) is not None:
            job[name] = wanted.kwargs[name]
    return job


def _topics(ctx: MasterContext, wanted: PublishLoad, minions: Sequence[str]) -> list[bytes]:
    if not ctx.config.network.zmq_filtering:
        return []
    return topics(wanted.tgt_type, wanted.tgt, minions)
