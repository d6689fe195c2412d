"""``follow``: what jobs of the caller's own have returned, for who may not open the event bus.

Who publishes a job or starts a runner and asks for it gets a ticket beside the jid. It is the right
to read what that one job returns, and nothing else: whoever has it needs no other credentials, and
nobody else can make one. So a limited user waits for his own returns, asking again and again, and
sees no other event. Not in Salt. Source: docs/wire.md, "follow".

Nothing waits here: each request is answered at once with what is on record and was not had before.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import WireError
from saltlite.master.context import MasterContext
from saltlite.transport.codec import pack_bin, unpack_bin

LIFE_S: Final = 86400.0
JOBS_MOST: Final = 64
"""Jobs of one request."""

REPLY_BYTES: Final = 1024 * 1024
"""Of the returns in one reply; one alone may be larger."""

ASKS_PER_S: Final = 50.0
"""How often it is looked for the returns of one job; who asks more often hears of nothing new."""

TICKET_LIMIT: Final = 1024
HAD_MOST: Final = 200_000


def grant_ticket(ctx: MasterContext, asked: object, jid: str) -> str:
    """The ticket for a job; ``""`` if none is wanted, or nobody could read returns by it."""
    jobs = ctx.config.jobs
    if asked is not True or not jobs.job_cache or jobs.ext_job_cache:
        return ""
    # The steady clock is the same in all processes, and no ticket outlives the master.
    data = base64.b64encode(pack_bin({"jid": jid, "until": ctx.steady_s() + LIFE_S}))
    return f"{_sign_ticket(ctx, data)}.{data.decode('ascii')}"


def follow(ctx: MasterContext, load: Mapping[str, object]) -> PlainMap:
    """What is new of each job: ``{"jobs": [{"count", "returns", "more"}, …]}``, in order.

    A job is ``{"ticket", "count", "had"}``: how many returns the caller has, and whose; ``had``
    may be left out, and then nothing but the number is told where there are others.
    """
    wanted = load.get("jobs")
    if not isinstance(wanted, list) or not 0 < len(wanted) <= JOBS_MOST:
        raise WireError("jobs is not a list of jobs")
    found: list[Plain] = []
    left_bytes = REPLY_BYTES
    for one in wanted:
        jid = _jid_of(ctx, one)
        if not jid:
            ctx.refusals.refuse("follow", "a ticket is old or false")
            found.append({"refused": True})
            continue
        state, used_bytes = _look_up_job(ctx, jid, one, left_bytes)
        found.append(state)
        left_bytes -= used_bytes
    return {"jobs": found}


def _look_up_job(
    ctx: MasterContext, jid: str, known: Mapping[str, object], most_bytes: int
) -> tuple[PlainMap, int]:
    """What is new of one job, and the bytes of it."""
    count, had = known.get("count"), known.get("had")
    if type(count) is not int or count < 0:
        raise WireError("count is no number of returns")
    if had is not None and (not isinstance(had, list) or len(had) > HAD_MOST):
        raise WireError("had is not a list of minions")
    nothing: PlainMap = {"count": count, "returns": {}, "more": False}
    if not ctx.rates.allows("follow", jid, ASKS_PER_S, ctx.steady_s()):
        return nothing, 0
    # The count first: mostly nothing is new, and returns may be large.
    number = ctx.jobs.count_returns(jid)
    if number == count:
        return nothing, 0
    # Without their names the returns that the caller has cannot be told from the new ones.
    if (had is None and count) or most_bytes <= 0:
        return {"count": number, "returns": {}, "more": True}, 0
    names = frozenset(one for one in had or () if isinstance(one, str))
    returns, size_bytes = ctx.jobs.returns_except(jid, names, most_bytes)
    more = len(names) + len(returns) < number
    return {"count": number, "returns": returns, "more": more}, size_bytes


def _jid_of(ctx: MasterContext, one: object) -> str:
    """The job that a ticket is for; ``""`` if it is not ours, or old."""
    text = one.get("ticket") if isinstance(one, Mapping) else None
    if not isinstance(text, str) or len(text) > TICKET_LIMIT:
        return ""
    signature, _, data = text.partition(".")
    packed = data.encode("utf-8", "surrogateescape")
    shown = signature.encode("utf-8", "surrogateescape")
    # Before anything is unpacked: what holds here was made by this master.
    if not hmac.compare_digest(_sign_ticket(ctx, packed).encode("ascii"), shown):
        return ""
    try:
        fields: Any = unpack_bin(base64.b64decode(packed, validate=True))
    except (binascii.Error, WireError):
        return ""
    return str(fields["jid"]) if ctx.steady_s() <= fields["until"] else ""


def _sign_ticket(ctx: MasterContext, data: bytes) -> str:
    """By a secret of its own, so that no ticket can pass for the proof of a login."""
    secret = hmac.digest(ctx.shared.login_secret, b"follow", "sha256")
    return hmac.digest(secret, data, "sha256").hex()
