"""``publish``: a user asks for a job. Source: docs/wire.md#clear-commands.

The order is: authenticate, then everything else (docs/security.md#rules). Real Salt matches minions
first and lets a stranger make it work; see docs/differences.md. The job is on disk before it goes
out, and the list of minions that was authorised is the list that is expected.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from saltlite.channel.publication import topics
from saltlite.core import tags
from saltlite.core.dataclasses import replace
from saltlite.core.ids import TELL_OUTPUT, TELL_STATES, TELLING_MOST
from saltlite.core.jid import usable_jid
from saltlite.core.job_times import read_moment
from saltlite.core.messages import (
    ASKED_AT,
    AUTHENTICATION_REFUSED,
    FOLLOW,
    NO_MINIONS,
    PublishLoad,
    PublishReply,
)
from saltlite.core.messages import clear_refusal as error
from saltlite.core.plain import Plain, PlainMap
from saltlite.core.targets import Expected, Target, is_compared_whole
from saltlite.errors import PatternTooSlow, StoreError, WireError
from saltlite.jobs.marks import JOB
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.commands import matching
from saltlite.master.commands.follow import grant_ticket
from saltlite.master.commands.login import Unknown, authenticate, is_known, shows_login
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.jobcache import is_same_job
from saltlite.master.loginproof import FIELD
from saltlite.master.logins import CREDENTIALS
from saltlite.master.publishrights import (
    Publisher,
    Refused,
    decide,
    drop_unknown,
    list_granted_fields,
)
from saltlite.master.refusals import printable

log = logging.getLogger(__name__)

NOT_AUTHORISED: Final = error("AuthorizationError", "Authorization error occurred.")

ASKED_BY: Final = "peer_of"
"""In the kept load of a job: the minion that asked for it."""

AUTH_LIST: Final = "auth_list"
"""In the ``kwargs`` of a syndic's publish: what the user may do who asked the master above."""

FIND_JOB: Final = "saltutil.find_job"

JID_TRIES: Final = 100

_BY_ID: Final = ("glob", "list", "pcre")
"""The kinds of targets that look at nothing but a minion's id."""

_JOB_OPTIONS: Final = (
    "metadata",
    "module_executors",
    "executor_opts",
    "ret_config",
    "ret_kwargs",
    "master_id",
    "start_event",
    TELL_OUTPUT,
    TELL_STATES,
)
"""Of ``kwargs``, what becomes part of the job. Source: docs/wire.md#publications."""


def publish(ctx: MasterContext, load: Mapping[str, object]) -> PlainMap | Later:
    """Publish a job for an authenticated user."""
    user = authenticate(ctx, load, _find_credentials(load), AUTHENTICATION_REFUSED)
    if isinstance(user, Later):
        return user
    if isinstance(user, Unknown):
        # Whoever is not known learns nothing about the form either.
        ctx.refusals.refuse("publish", f"not authenticated by {user.proof}")
        return AUTHENTICATION_REFUSED
    try:
        wanted = PublishLoad.from_wire(_without_credentials(load))
    except WireError as problem:
        return {"error": str(problem)}
    # After a login the name is the proven one, not the one in the load.
    if user.proof != "user":
        wanted = replace(wanted, user=user.name, key=None)
    return publish_as(ctx, user, wanted)


def publish_as(ctx: MasterContext, user: AuthenticatedUser, wanted: PublishLoad) -> PlainMap:
    """Publish a job for a user who is known, if they may; for requests, and for reactions."""
    # Checked for everybody: the blacklist also binds users without limits.
    if ctx.access.is_blacklisted(user.name, wanted.functions):
        who = printable(user.name, 80)
        ctx.refusals.refuse("publish", f"user {who}: {wanted.functions} is blacklisted")
        return NOT_AUTHORISED
    return _publish_as(ctx, user, wanted)


def refuse_call(
    ctx: MasterContext, user: AuthenticatedUser, load: Mapping[str, object]
) -> PlainMap | None:
    """The reply to who may not publish this; ``None``: he may. Nothing is published.

    Raises:
        WireError: it is no publish load.
    """
    wanted = PublishLoad.from_wire(_without_credentials(load))
    if ctx.access.is_blacklisted(user.name, wanted.functions):
        return NOT_AUTHORISED
    publisher = _publisher_of(ctx, user)
    wanted = drop_unknown(publisher, wanted)
    try:
        decision = decide(publisher, wanted, _matching_for(ctx, user))
    except PatternTooSlow as problem:
        return {"error": f"Not published: {problem}"}
    return _refusal_reply(decision) if isinstance(decision, Refused) else None


def is_slow(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether finding the minions may take long; only of those who may ask at all."""
    # The target first: finding out who asks may need a look at the disk.
    return has_slow_target(ctx, load) and is_known(ctx, load, _find_credentials(load))


def has_slow_target(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether finding the minions of a job may take long, whoever asks."""
    tgt, tgt_type = load.get("tgt"), load.get("tgt_type", "glob")
    if not isinstance(tgt, (str, list)) or not isinstance(tgt_type, str):
        return False
    kwargs = load.get("kwargs")
    delimiter = kwargs.get("delimiter") if isinstance(kwargs, Mapping) else None
    target = Target(tgt, tgt_type, delimiter if isinstance(delimiter, str) else ":")
    return matching.is_slow(ctx, target)


def _find_credentials(load: Mapping[str, object]) -> Mapping[str, Any]:
    """Where a publish shows token, name and password."""
    kwargs = load.get("kwargs")
    return kwargs if isinstance(kwargs, Mapping) else {}


def _without_credentials(load: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in load.items() if name != FIELD}
    if isinstance(load.get("kwargs"), Mapping) and shows_login(_find_credentials(load)):
        kept["kwargs"] = {k: v for k, v in load["kwargs"].items() if k not in CREDENTIALS}
    return kept


def _publish_as(ctx: MasterContext, user: AuthenticatedUser, wanted: PublishLoad) -> PlainMap:
    publisher = _publisher_of(ctx, user)
    wanted = drop_unknown(publisher, wanted)
    try:
        decision = decide(publisher, wanted, _matching_for(ctx, user))
    except PatternTooSlow as problem:
        ctx.refusals.refuse("publish", f"user {printable(user.name, 80)}: {problem}")
        return PublishReply(None, [], error=f"Not published: {problem}").to_wire()
    except WireError as problem:
        return {"error": str(problem)}
    if isinstance(decision, Refused):
        ctx.refusals.refuse("publish", f"user {printable(user.name, 80)}: {decision.reason}")
        return _refusal_reply(decision)
    # Jobs are cleaned by their jids: one from the future would stay until then.
    if wanted.jid and not usable_jid(wanted.jid, ctx.now()):
        return {"error": f"jid: {wanted.jid} is not the time of a job, or lies in the future"}
    limits = _read_auth_list(user, wanted)
    if limits is not None and not _allows_below(ctx, user, wanted, decision, limits):
        ctx.refusals.refuse("publish", f"a syndic: {wanted.functions} is not in its auth_list")
        return NOT_AUTHORISED
    # A limited user's right is judged by the minions that are meant, so there have to be some.
    goes_below = ctx.config.syndic.order_masters and user.rules is None and not decision.problem
    if not decision.minions and not goes_below:
        problem_ = decision.problem or f"{NO_MINIONS} {wanted.tgt}"
        return PublishReply(None, [], error=problem_).to_wire()
    reply = send_job(
        ctx, wanted, decision, limits=limits if user.rules is None else list(user.rules)
    )
    return _with_ticket(ctx, wanted, reply)


def _read_auth_list(user: AuthenticatedUser, wanted: PublishLoad) -> list[Any] | None:
    """What a syndic says that the user of the master above may do; ``None``: everything.

    What is no list allows nothing.
    """
    given = wanted.kwargs.get(AUTH_LIST)
    # Nobody with rights of his own could set it.
    if user.rules is not None or not given:
        return None
    return list(given) if isinstance(given, (list, tuple)) else []


def _allows_below(
    ctx: MasterContext,
    user: AuthenticatedUser,
    wanted: PublishLoad,
    meant: Expected,
    limits: Sequence[object],
) -> bool:
    """Whether a user of the master above, with these rights, may run the job on our minions."""
    if wanted.functions == [FIND_JOB]:
        return True
    above = AuthenticatedUser(user.name, limits)
    rule = partial(matching.minions_of_rule, ctx)
    minions = sorted(meant.minions)
    return ctx.access.allows(above, wanted.functions, minions, rule, wanted.arguments)


def _with_ticket(ctx: MasterContext, wanted: PublishLoad, reply: PlainMap) -> PlainMap:
    """The reply, with the ticket to follow the job if one is wanted."""
    load = reply.get("load")
    if isinstance(load, dict) and isinstance(load.get("jid"), str):
        ticket = grant_ticket(ctx, wanted.extra.get(FOLLOW), load["jid"])
        if ticket:
            return {**reply, "load": {**load, FOLLOW: ticket}}
    return reply


def _refusal_reply(decision: Refused) -> PlainMap:
    if not decision.advice:
        return NOT_AUTHORISED
    return error("AuthorizationError", f"Authorization error occurred: {decision.advice}")


def _matching_for(ctx: MasterContext, user: AuthenticatedUser) -> Callable[[Target], Expected]:
    """What finds the minions of a target; a limited user has only so much time for slow ones."""
    # A user without limits could stop the master anyway; a budget would protect nothing.
    if user.rules is None:
        return partial(matching.minions_of, ctx)
    return partial(matching.minions_asked_by, ctx, f"user {user.name}")


def _publisher_of(ctx: MasterContext, user: AuthenticatedUser) -> Publisher:
    """What the access list of a local user says."""
    if user.rules is None:
        return Publisher(user.name, limited=False)

    rule = partial(matching.minions_of_rule, ctx)

    def allows(
        functions: Sequence[str], arguments: Sequence[Sequence[object]], minions: Sequence[str]
    ) -> bool:
        return ctx.access.allows(user, functions, minions, rule, arguments)

    return Publisher(
        user.name,
        fields=list_granted_fields(user.rules),
        allows=allows,
        reads_pillars=partial(matching.reads_pillars, ctx, user),
    )


def send_job(
    ctx: MasterContext,
    wanted: PublishLoad,
    meant: Expected,
    *,
    asked_by: str | None = None,
    limits: Sequence[Any] | None = None,
) -> PlainMap:
    """Record a job, announce it, hand it to the Publisher; the reply for the user.

    Those who may return are on record with the job; the reply names those to wait for. ``asked_by``
    is the minion that asked, with peer publishing. ``limits`` are the rules of who may not do
    everything; minions are then named one by one where the target looks at more than their ids:
    what it matches when the job arrives is not what it matched when it was allowed
    (CVE-2022-22941). So they are where whole values are compared, of which Salt's minions know
    nothing, and for the minions of masters below, whose rights nobody has looked at.
    """
    authorised_only = limits is not None or is_compared_whole(wanted.tgt_type)
    is_upper = ctx.config.syndic.order_masters
    minions, missing = sorted(meant.minions), list(meant.missing)
    # Also those of which nothing is cached: the target may mean them.
    asked = minions if authorised_only else sorted(meant.all_asked)
    if is_upper:
        from saltlite.master.syndics import without_syndics

        options, cachedir = ctx.config.syndic, ctx.shared.cachedir
        minions = without_syndics(options, cachedir, minions)
        asked = without_syndics(options, cachedir, asked)
    jid = wanted.jid or ctx.shared.jids.next(ctx.now())
    try:
        # On record, then announced, then sent: no return comes before its job is known.
        jid = _new_job(ctx, wanted, jid, asked, asked_by)
        if not jid:
            return _answer_taken(ctx, wanted, asked_by)
        # In this worker only; the others read it from the store with the first return.
        ctx.asked.remember(jid, asked)
        ctx.mirror.job(jid, _make_record(wanted, jid, asked_by), asked)
        _fire_new_job(ctx, wanted, jid, minions, missing)
        job = _make_job(ctx, wanted, jid, asked_by)
        if (authorised_only and wanted.tgt_type not in _BY_ID) or (is_upper and asked_by):
            job |= {"tgt": list(asked), "tgt_type": "list"}
        if is_upper:
            # An empty list gives all rights, so that no rights are a rule that gives none.
            rules = [] if limits is None else list(limits) or [{}]
            job |= {"to": _patience_of(ctx, wanted), AUTH_LIST: rules}
        stored_us = ctx.wall_us()
        if len(minions) > TELLING_MOST:
            job.pop(TELL_STATES, None)
            job.pop(TELL_OUTPUT, None)
        notice = ctx.publisher.publish(job, _topics_of(ctx, wanted, asked))
        asked_us = read_moment(wanted.extra.get(ASKED_AT))
        ctx.marks.note(JOB, jid, "", asked_us, ctx.came_us, ctx.taken_us, stored_us, ctx.wall_us())
    except StoreError as problem_:
        ctx.tell_of_store(
            f"Job {jid} of user {printable(wanted.user, 80)} is not published", problem_
        )
        return {"error": f"The job was not published: {problem_}"}
    who, what = printable(wanted.user, 80), printable(str(wanted.fun), 160)
    log.info("User %s published job %s: %s on %d minions", who, jid, what, len(minions))
    return PublishReply(jid, minions, missing, notice=notice).to_wire()


def _new_job(
    ctx: MasterContext, wanted: PublishLoad, jid: str, minions: Sequence[str], asked_by: str | None
) -> str:
    """Put a job on record and give back its id; ``""`` if the id that was asked for is taken.

    An id of ours is taken only if the clock was set back meanwhile; then the next one is free.
    """
    for _ in range(JID_TRIES):
        record = _make_record(wanted, jid, asked_by)
        if ctx.jobs.new_job(jid, record, minions):
            return jid
        if wanted.jid:
            return ""
        jid = ctx.shared.jids.next(ctx.now())
    raise StoreError(f"{JID_TRIES} job ids in a row are taken")


def _answer_taken(ctx: MasterContext, wanted: PublishLoad, asked_by: str | None) -> PlainMap:
    """The reply to who named a job id that is taken.

    Two masters above may send a syndic the same job: it is not published again, and no mistake.
    """
    record = ctx.jobs.job(wanted.jid) if AUTH_LIST in wanted.kwargs else None
    if record is not None and is_same_job(record.load, wanted.to_wire()):
        return PublishReply(wanted.jid, record.minions).to_wire()
    problem = f"Job {wanted.jid} exists already"
    load = _make_record(wanted, wanted.jid, asked_by)
    ctx.events.fire(tags.job_error(wanted.jid), {**load, "error": problem})
    return {"error": problem}


def _patience_of(ctx: MasterContext, wanted: PublishLoad) -> int:
    """``to``: how many seconds who asked will wait; each syndic takes one off."""
    return int(ctx.config.jobs.timeout) if wanted.to is None else wanted.to


def _make_record(wanted: PublishLoad, jid: str, asked_by: str | None) -> dict[str, Plain]:
    """The publish load as it is kept: what this release knows, without credentials."""
    load: dict[str, Plain] = {**replace(wanted, extra={}).to_wire(), "jid": jid}
    # Runners and returners read what is on record, and need no proofs.
    load.pop("key", None)
    if asked_by is not None:
        load[ASKED_BY] = asked_by
    if wanted.kwargs:
        load["kwargs"] = {k: v for k, v in wanted.kwargs.items() if k not in CREDENTIALS}
    return load


def _fire_new_job(
    ctx: MasterContext,
    wanted: PublishLoad,
    jid: str,
    minions: Sequence[str],
    missing: Sequence[str],
) -> None:
    ctx.events.fire(jid, {"minions": list(minions)})  # Salt 3006 and 3007 do so, for old listeners
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


def _make_job(
    ctx: MasterContext, wanted: PublishLoad, jid: str, asked_by: str | None
) -> dict[str, Plain]:
    """The job map that minions get. Source: docs/wire.md#publications.

    They give their returns to ``ext_job_cache`` as well.
    """
    options = ctx.config.jobs
    job: dict[str, Plain] = {
        "fun": wanted.fun,
        "arg": wanted.arg,
        "tgt": wanted.tgt,
        "jid": jid,
        # Minions give their returns to each of these.
        "ret": ",".join(name for name in (wanted.ret, options.ext_job_cache) if name),
        "tgt_type": wanted.tgt_type,
    }
    if options.job_not_after:
        # For a saltlite minion that was away; Salt's do not know the field.
        job["not_after"] = int(ctx.wall_s()) + options.job_not_after
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


def _topics_of(ctx: MasterContext, wanted: PublishLoad, minions: Sequence[str]) -> list[bytes]:
    if not ctx.config.network.zmq_filtering:
        return []
    to_syndics = ctx.config.syndic.order_masters
    return topics(wanted.tgt_type, wanted.tgt, minions, to_syndics=to_syndics)
