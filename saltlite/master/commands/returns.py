"""``_return``: what a minion's job came to.

A return is taken from the minion that was asked, for the job it was asked, once. It is on disk
before it is acknowledged. The replies, which real minions do not look at:

``None``
    it is on disk (or was already): forget it.
``False``
    it is refused for good: not asked for, contradicts the first one, malformed, badly signed.
``""``
    it could not be recorded now (a full disk; in a cluster a job that its node has yet to bring):
    keep it and send it again later.

Source: docs/wire.md#_return, #commands-of-a-minion; docs/security.md#impersonation;
docs/reliability.md#promises.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from saltlite.channel.master import OpenedRequest, verify_signed_load
from saltlite.core import tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import FUNCTION_LIMIT, UNASKED_JID, UNSTORED_JID
from saltlite.core.job_times import WIRE_NAME, check_wire
from saltlite.core.messages import JobReturn
from saltlite.core.state_reports import may_be_states, read_runs
from saltlite.errors import StoreError
from saltlite.jobs.marks import RETURN
from saltlite.master.context import MasterContext
from saltlite.master.jobcache import Stored
from saltlite.master.rates import UNASKED_PER_S
from saltlite.transport.codec import pack_bin

if TYPE_CHECKING:
    from saltlite.core.state_reports import StateRun
    from saltlite.master.jobcache import JobRecord

log = logging.getLogger(__name__)


KEEP_IT: Final = ""
FUNCTIONS_LIMIT: Final = 100
ARGS_LIMIT_BYTES: Final = 64 * 1024
USER_LIMIT: Final = 128
"""What the job of a return that nobody asked for may say; its result has a bound of its own."""


@dataclass(frozen=True, slots=True)
class Due:
    """A return that may go on record; :func:`settle` does that for several at once."""

    jid: str
    minion_id: str
    load: Mapping[str, Any]
    times: list[Any] | None = None
    """When the minion was where with it."""
    came_us: int = 0
    taken_us: int = 0

    @classmethod
    def of(cls, ctx: MasterContext, jid: str, minion_id: str, load: Mapping[str, Any]) -> Due:
        """A return that has just been opened; who hears of it is not told its times."""
        shown = dict(load)
        times = check_wire(shown.pop(WIRE_NAME, None))
        return cls(jid, minion_id, shown, times, ctx.came_us, ctx.taken_us)

    def record(self) -> dict[str, Any]:
        """What of it goes on record."""
        kept = _without_secrets(self.load)
        if self.times is not None:
            kept[WIRE_NAME] = self.times
        return kept


def accept_return(ctx: MasterContext, request: OpenedRequest) -> Due | bool | str | None:
    """Whether a return may go on record; see the module for what the reply means.

    Raises:
        WireError: it is malformed.
        StoreError: it cannot be recorded now.
    """
    returned = JobReturn.from_wire(request.load)
    if not _signature_suffices(ctx, request):
        ctx.refusals.refuse("return", f"signature, minion {request.id}")
        return False
    if returned.jid in (UNASKED_JID, UNSTORED_JID):
        return _accept_unasked(ctx, request, returned)
    if request.id not in find_expected(ctx, returned.jid) and not _is_asked_as_well(
        ctx, request.id, returned.jid
    ):
        if ctx.jobs.may_come_later(returned.jid, ctx.now()) and not _is_known(ctx, returned.jid):
            ctx.refusals.refuse("return", f"minion {request.id}: no job {returned.jid} yet")
            return KEEP_IT
        ctx.refusals.refuse("return", f"minion {request.id} was not asked {returned.jid}")
        return False
    return Due.of(ctx, returned.jid, request.id, request.load)


def settle(ctx: MasterContext, due: Sequence[Due]) -> list[bool | None]:
    """Record returns with one wait for the disk, then tell the bus; the replies to them.

    Raises:
        StoreError: none of them is recorded, or none is known to be on disk.
    """
    if not ctx.config.jobs.job_cache or ctx.config.jobs.ext_job_cache:
        # Nothing is kept, so each return is the first; the bus hears of it all the same.
        outcomes = [Stored.NEW] * len(due)
    else:
        outcomes = ctx.jobs.add_returns([(one.jid, one.minion_id, one.record()) for one in due])
    stored_us = ctx.wall_us()
    # Before the bus hears of them: who waits for a return may ask for its report at once.
    _report_states(ctx, due, outcomes)
    replies = [_fire_return(ctx, one, stored) for one, stored in zip(due, outcomes, strict=True)]
    fired_us = ctx.wall_us()
    for one, stored in zip(due, outcomes, strict=True):
        if stored is Stored.NEW:
            times = (one.came_us, one.taken_us, stored_us, fired_us)
            ctx.marks.note(RETURN, one.jid, one.minion_id, *times)
    return replies


def _report_states(ctx: MasterContext, due: Sequence[Due], outcomes: Sequence[Stored]) -> None:
    """Keep what runs of states did, for who asks later; nothing is refused if that fails."""
    if not ctx.config.jobs.state_reports:
        return
    # A repeat too: the worker that had the first may have died in between.
    wanted = [
        one
        for one, stored in zip(due, outcomes, strict=True)
        if stored in (Stored.NEW, Stored.REPEAT) and may_be_states(one.load.get("fun"))
    ]
    if not wanted:
        return
    jobs: dict[str, JobRecord | None] = {}
    runs: list[StateRun] = []
    for one in wanted:
        if one.jid not in jobs:
            jobs[one.jid] = ctx.jobs.job(one.jid) if ctx.config.jobs.job_cache else None
        job = jobs[one.jid]
        # Of a job that is on no record its return says who asked.
        user = str(job.load.get("user", "") if job else one.load.get("user") or "")
        load = one.load
        if job and not load.get("fun_args"):  # syndics do not send them
            load = {**load, "fun_args": job.load.get("arg")}
        # The id and jid that were looked at, whatever the load says.
        runs += read_runs(load, jid=one.jid, minion=one.minion_id, user=user, now_s=ctx.wall_s())
    try:
        ctx.stores.reports.add_runs(runs)
    except StoreError as error:
        ctx.tell_of_store("What states did is not kept for reports", error)


def find_expected(ctx: MasterContext, jid: str) -> frozenset[str]:
    """Who was asked; nobody for a job that is not on record."""
    known = ctx.asked.get(jid)
    if known is not None:
        return known
    # Another worker published it; a jid that nobody knows is not remembered.
    minions = ctx.jobs.minions(jid)
    return ctx.asked.remember(jid, minions) if minions else frozenset()


def _is_known(ctx: MasterContext, jid: str) -> bool:
    """Whether a job is on record."""
    return ctx.asked.get(jid) is not None or ctx.jobs.minions(jid) is not None


def _is_asked_as_well(ctx: MasterContext, minion_id: str, jid: str) -> bool:
    """Whether a syndic, which nobody expects to return, is a minion that was meant too."""
    options = ctx.config.syndic
    if not options.order_masters:
        return False
    from saltlite.master.syndics import is_meant, is_syndic

    if not is_syndic(options, ctx.shared.cachedir, minion_id):
        return False
    record = ctx.jobs.job(jid)
    return record is not None and is_meant(record.load, minion_id)


def _accept_unasked(
    ctx: MasterContext, request: OpenedRequest, returned: JobReturn
) -> Due | bool | None:
    """A return of ``salt-call`` or a schedule: it gets a job of its own."""
    if not ctx.rates.allows("unasked", request.id, UNASKED_PER_S, ctx.steady_s()):
        ctx.refusals.refuse("return", f"too many unasked ones of minion {request.id}")
        return False
    functions = [returned.fun] if isinstance(returned.fun, str) else returned.fun
    if len(functions) > FUNCTIONS_LIMIT or any(len(one) > FUNCTION_LIMIT for one in functions):
        ctx.refusals.refuse("return", f"minion {request.id}: fun is too long")
        return False
    # After the bounds, since it goes on the bus like any other return.
    if returned.jid == UNSTORED_JID:
        ctx.events.fire(tags.job_ret(UNSTORED_JID, request.id), request.load)
        return None
    jid = ctx.shared.jids.next(ctx.now())
    job = {
        "cmd": "_return",
        "fun": returned.fun,
        "arg": returned.fun_args if len(pack_bin(returned.fun_args)) <= ARGS_LIMIT_BYTES else [],
        "tgt": request.id,
        "tgt_type": "glob",
        "ret": "",
        "jid": jid,
        "user": (returned.user or "")[:USER_LIMIT],
    }
    load = {**request.load, "jid": jid}
    # Before the return, which the store takes for a job on record only.
    ctx.jobs.new_job(jid, job, [request.id])
    ctx.mirror.job(jid, job, [request.id])
    most_bytes = ctx.config.jobs.unasked_returns_max_bytes
    forgotten = ctx.jobs.make_room(jid, request.id, _without_secrets(load), most_bytes)
    if forgotten:
        ctx.refusals.refuse(
            "return", f"minion {request.id} returns much unasked: {forgotten} older ones forgotten"
        )
    return Due.of(ctx, jid, request.id, load)


def _fire_return(ctx: MasterContext, due: Due, stored: Stored) -> bool | None:
    # The minion did not get the acknowledgement; the bus has heard of the return.
    if stored is Stored.REPEAT:
        log.debug("Minion %s returned job %s once more", due.minion_id, due.jid)
        return None
    if stored is Stored.FORGOTTEN:
        ctx.refusals.refuse("return", f"job {due.jid} of minion {due.minion_id} is forgotten")
        return False
    if stored is Stored.CONFLICT:
        ctx.refusals.refuse("return", f"minion {due.minion_id} returned {due.jid} differently")
        return False
    ctx.mirror.note_return(due.load)
    ctx.events.fire(tags.job_ret(due.jid, due.minion_id), due.load)
    return None


def _without_secrets(load: Mapping[str, object]) -> dict[str, Any]:
    """What of a return goes on record."""
    names = ("return", "retcode", "success", "out", "fun", "fun_args")
    return {name: load[name] for name in names if name in load}


def _signature_suffices(ctx: MasterContext, request: OpenedRequest) -> bool:
    """Whether the return's own signature is what the configuration asks for."""
    options = ctx.config.keys
    if not options.require_minion_sign_messages and "sig" not in request.load:
        return True
    accepted = ctx.keys.load_accepted(request.id)
    if accepted is None:
        return False
    holds = verify_signed_load(request.load, accepted.key, request.sig_algo)
    if holds is None:
        return not options.require_minion_sign_messages
    if holds or options.drop_messages_signature_fail:
        return holds
    # Without that option a bad signature is a line in the log only, as in Salt.
    ctx.refusals.warn(f"The signature on a return of minion {request.id} does not hold")
    return True
