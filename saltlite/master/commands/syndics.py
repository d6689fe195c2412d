"""What syndics send: returns and events of the minions below them. Loaded with the first of it.

A syndic speaks for any minion but those whose keys are accepted here: these speak for themselves.
Replies to ``_syndic_return``: ``None``, all that may be on record is; ``""``, it could not be
recorded now, send it again; ``{}``, this is no syndic. Source: docs/wire.md#_syndic_return;
docs/syndic.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.channel.master import OpenedRequest
from saltlite.core.ids import UNASKED_JID, UNSTORED_JID, valid_jid, valid_minion_id
from saltlite.core.jid import usable_jid
from saltlite.core.messages import (
    JobReturn,
    MinionEvent,
    MinionEvents,
    PublishLoad,
    SyndicReturn,
    read_syndic_returns,
)
from saltlite.errors import WireError
from saltlite.master.commands.events import may_use
from saltlite.master.commands.returns import Due, settle
from saltlite.master.context import MasterContext
from saltlite.master.logins import CREDENTIALS
from saltlite.master.syndics import OF_SYNDIC, is_meant
from saltlite.transport.codec import pack_bin

log = logging.getLogger(__name__)

EVENTS_MOST: Final = 10_000
"""Events in one request of a syndic: it gathers those of all its minions."""

SYNDIC_EVENTS_PER_S: Final = 5_000.0
NEW_JOBS_PER_S: Final = 500.0
"""Jobs of lower masters' own that a syndic may put on record here."""

LOAD_LIMIT_BYTES: Final = 1024 * 1024
AT_ONCE: Final = 500
"""Returns in one transaction, so that nobody waits long for the store."""

UNKNOWN_FUNCTION: Final = "unknown-function"
UNKNOWN_TARGET: Final = "unknown-target"
"""Salt's words for a job of which nothing but its returns is known."""

# --- returns -----------------------------------------------------------------------------


def take_returns(ctx: MasterContext, request: OpenedRequest) -> None:
    """Put what a syndic's minions returned on record, and on the bus.

    What may not be there is left out and counted. Raises as ``accept_return``.
    """
    if ctx.config.keys.require_minion_sign_messages:
        # The signatures of minions end at their own master.
        raise WireError("require_minion_sign_messages is set, and returns of syndics have none")
    due = list(_find_due(ctx, request.id, read_syndic_returns(request.load)))
    for start in range(0, len(due), AT_ONCE):
        settle(ctx, due[start : start + AT_ONCE])


def _find_due(ctx: MasterContext, syndic: str, parts: list[SyndicReturn]) -> Iterator[Due]:
    jobs: dict[str, Mapping[str, Any] | None] = {}
    for part in parts:
        if part.jid not in jobs:
            jobs[part.jid] = _find_job(ctx, syndic, part)
        job = jobs[part.jid]
        if job is None:
            _refuse_return(ctx, syndic, f"{part.jid} is no job, or one too many")
            continue
        for minion_id, fields in part.returns.items():
            problem = _find_problem(ctx, syndic, minion_id, part.jid, job)
            if problem:
                _refuse_return(ctx, syndic, problem)
                continue
            load = _make_load(part, minion_id, fields)
            if load is None:
                _refuse_return(ctx, syndic, f"the return of {minion_id} to {part.jid} is malformed")
            else:
                yield Due(part.jid, minion_id, load)


def _find_job(ctx: MasterContext, syndic: str, part: SyndicReturn) -> Mapping[str, Any] | None:
    """The job's load on record; of a lower master's own one a record is made."""
    if part.jid in (UNASKED_JID, UNSTORED_JID):
        return None
    record = ctx.jobs.job(part.jid)
    if record is not None:
        return record.load
    if not usable_jid(part.jid, ctx.now()):
        return None
    if not ctx.rates.allows("syndic jobs", syndic, NEW_JOBS_PER_S, ctx.steady_s()):
        return None
    load = _read_job(syndic, part)
    if load is None:
        return None
    # Of two workers that are told of it one makes the record; both may go on.
    ctx.jobs.new_job(part.jid, load, [])
    ctx.mirror.job(part.jid, load, [])
    return load


def _read_job(syndic: str, part: SyndicReturn) -> dict[str, Any] | None:
    """What goes on record of a job of a lower master's own; ``None`` if it is no job."""
    # A syndic of 3006 looks for it in the minion's cachedir, and sends an empty one.
    told = part.load or {"fun": part.fun or UNKNOWN_FUNCTION, "tgt": UNKNOWN_TARGET}
    try:
        read = PublishLoad.from_wire(told)
        load = {**read.to_wire(), "jid": part.jid, OF_SYNDIC: syndic}
    except WireError:
        return None
    kwargs = {name: one for name, one in read.kwargs.items() if name not in CREDENTIALS}
    kept: dict[str, Any] = {name: load[name] for name in _KEPT if name in load}
    load = {**kept, "kwargs": kwargs}
    return load if len(pack_bin(load)) <= LOAD_LIMIT_BYTES else None


_KEPT: Final = ("cmd", "fun", "arg", "tgt", "tgt_type", "ret", "jid", "user", OF_SYNDIC)


def _find_problem(
    ctx: MasterContext, syndic: str, minion_id: str, jid: str, job: Mapping[str, Any]
) -> str:
    """Why a syndic may not return for a minion, ``""`` if it may."""
    if not valid_minion_id(minion_id):
        return f"{minion_id!r:.80} is no minion id"
    if not _may_speak_for(ctx, syndic, minion_id):
        return (
            f"{minion_id} has an accepted key here and returns by itself; if it is below the "
            "syndic now, delete that key"
        )
    return "" if is_meant(job, minion_id) else f"{minion_id} was not asked {jid}"


def _may_speak_for(ctx: MasterContext, syndic: str, minion_id: str) -> bool:
    """Its own id may be that of a minion below as well: lower masters have one each."""
    return minion_id == syndic or ctx.keys.load_accepted(minion_id) is None


def _make_load(part: SyndicReturn, minion_id: str, fields: Mapping[str, Any]) -> Any:
    """The return as if the minion had sent it; ``None`` if it could not have."""
    load = {"cmd": "_return", "jid": part.jid, "id": minion_id, "fun": part.fun}
    for name in ("return", "retcode", "success", "fun_args"):
        if name in fields:
            load[name] = fields[name]
    if part.out:
        load["out"] = part.out
    if part.master_id:
        load["master_id"] = part.master_id
    try:
        JobReturn.from_wire(load)
    except WireError:
        return None
    return load


def _refuse_return(ctx: MasterContext, syndic: str, why: str) -> None:
    ctx.refusals.refuse("_syndic_return", f"syndic {syndic}: {why}")


# --- events ------------------------------------------------------------------------------


def take_events(ctx: MasterContext, request: OpenedRequest) -> dict[str, str] | None:
    """Put the events of a syndic's bus on this one, each below ``syndic/<id>/``.

    Those that a minion might fire here are fired under their own tags as well. One that names
    minions of a job makes them expected.
    """
    events = MinionEvents.from_wire(request.load, most=EVENTS_MOST)
    count = max(1, len(events.events))
    if not ctx.rates.allows(
        "syndic events", request.id, SYNDIC_EVENTS_PER_S, ctx.steady_s(), count=count
    ):
        return _refuse_events(ctx, request, f"more than {SYNDIC_EVENTS_PER_S:g} events a second")
    if events.pretag not in (None, f"syndic/{request.id}"):
        return _refuse_events(ctx, request, f"the pretag {events.pretag!r}")
    for event in events.events:
        _take_event(ctx, request, event, pretag=events.pretag)
    return None


def _refuse_events(ctx: MasterContext, request: OpenedRequest, why: str) -> dict[str, str]:
    ctx.refusals.refuse("event", f"syndic {request.id}: {why}")
    return {"refused": why}


def _take_event(
    ctx: MasterContext, request: OpenedRequest, event: MinionEvent, *, pretag: str | None
) -> None:
    data = event.data if isinstance(event.data, dict) else {"data": event.data}
    jid, minions = _find_announcement(event.tag, data)
    if minions:
        _name_minions(ctx, request.id, jid, minions)
    if pretag:
        ctx.events.fire(f"{pretag}/{event.tag}", data)
    minion_id = data.get("id")
    speaker = minion_id if isinstance(minion_id, str) and valid_minion_id(minion_id) else request.id
    if not _may_speak_for(ctx, request.id, speaker):
        speaker = request.id
    # salt/auth, salt/key, salt/run … of a lower master would be taken for this one's.
    if may_use(event.tag, speaker) or event.tag == f"syndic/{request.id}/start":
        ctx.events.fire(event.tag, {**data, "id": speaker})


def _find_announcement(tag: str, data: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The jid and the minions of an event that tells whom a job was sent to.

    Its tag is the jid, or of Salt 3008 ``salt/job/<jid>/new``, behind the syndics that it passed.
    """
    rest = tag
    while rest.startswith("syndic/"):
        rest = rest.split("/", 2)[-1] if rest.count("/") > 1 else ""
    rest = rest.removeprefix("salt/job/").removesuffix("/new")
    minions = data.get("minions")
    if not valid_jid(rest) or not isinstance(minions, (list, tuple)):
        return "", []
    return rest, list(minions)


def _name_minions(ctx: MasterContext, syndic: str, jid: str, minions: list[Any]) -> None:
    """Have commands wait for the minions of a job that are below a syndic."""
    named = [one for one in minions if valid_minion_id(one) and _may_speak_for(ctx, syndic, one)]
    if not named:
        return
    # Before the event: who reads the record when he hears of it finds them there.
    known = ctx.jobs.minions(jid)
    if known is not None and not set(named) <= set(known):
        ctx.jobs.add_minions(jid, named)
    ctx.events.fire(jid, {"minions": named})
