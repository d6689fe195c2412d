"""Why a minion did not return a job: from its key, its connection, and what it says itself.

Used by ``jobs.why`` and, at the end of a command, by ``salt``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.jid import jid_time
from saltlite.runner_context import RunnerContext

ASK: Final = ("saltutil.find_job", "saltutil.received")
"""What the minions are asked: does the job run there, and did it ever arrive."""

RETURNED: Final = "returned"
KEY: Final = "key"
NOT_CONNECTED: Final = "not connected"
RUNNING: Final = "running"
DIED: Final = "died"
NOT_RECEIVED: Final = "not received"
SILENT: Final = "silent"

_KEY_TEXTS: Final = {
    "minions_pre": "its key waits to be accepted (salt-key -a {id})",
    "minions_rejected": "its key is rejected",
    "minions_denied": "its key is denied: another key is on file for it",
    "": "no key: the master does not know it",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one minion.

    ``key`` is the state of its key as Salt's folder, ``""`` for none. ``last_heard`` is a moment,
    ``None`` if it never returned anything that is on record. ``answers``: what it said to
    :data:`ASK`, ``None`` for silence.
    """

    id: str
    key: str
    connected: bool
    last_heard: datetime | None = None
    answers: Mapping[str, Any] | None = None


def reasons(
    ctx: RunnerContext, jid: str, minions: Sequence[str], *, silent: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Minion id → ``{"reason", "text", …}``, asking those that may be there.

    ``silent`` are known not to answer.
    """
    states = _key_states(ctx)
    connected = ctx.connected()
    returned = ctx.jobs.returns(jid)
    heard = [one for one in minions if one not in returned and one not in silent]
    ask = [one for one in heard if states.get(one) == "minions"]
    answers = _ask_minions(ctx, jid, ask)
    found = {}
    for one in minions:
        if one in returned:
            found[one] = {"reason": RETURNED, "text": "it has returned meanwhile"}
            continue
        answer = answers.get(one)
        found[one] = reason(
            Facts(
                one,
                states.get(one, ""),
                connected=one in connected or answer is not None,
                last_heard=last_heard(ctx, one),
                answers=answer if isinstance(answer, Mapping) else None,
            )
        )
    return found


def reason(facts: Facts) -> dict[str, Any]:
    """What can be said of one minion that did not return. Pure."""
    if facts.key != "minions":
        text = _KEY_TEXTS[facts.key].format(id=facts.id)
        return {"reason": KEY, "text": text, "key": facts.key or "none"}
    if facts.answers is not None:
        return _of_answers(facts.answers)
    heard = facts.last_heard
    since = f"last return at {heard:%Y-%m-%d %H:%M:%S} UTC" if heard else "never heard of"
    told = {"last_heard": f"{heard:%Y-%m-%dT%H:%M:%S}" if heard else None}
    if facts.connected:
        return {
            "reason": SILENT,
            "text": f"its address is connected, but it does not answer; {since}",
            **told,
        }
    return {"reason": NOT_CONNECTED, "text": f"not connected; {since}", **told}


def last_heard(ctx: RunnerContext, minion: str) -> datetime | None:
    """When the minion's latest job that it returned was published; ``None`` for never."""
    for job, _ret in ctx.jobs.returns_of(minion):
        return _moment_of(job.jid)
    return None


def _of_answers(answers: Mapping[str, object]) -> dict[str, Any]:
    job = answers.get(ASK[0])
    if isinstance(job, Mapping) and job.get("jid"):
        fun, pid = job.get("fun"), job.get("pid")
        name = ", ".join(map(str, fun)) if isinstance(fun, (list, tuple)) else str(fun)
        text = f"received it and still runs {name} (process {pid})"
        return {"reason": RUNNING, "text": text, "fun": fun, "pid": pid}
    received = answers.get(ASK[1])
    if received is False:
        return {"reason": NOT_RECEIVED, "text": "connected, but it never received the job"}
    if received is True:
        text = "received it, does not run it any more and has not returned: it died while running"
        return {"reason": DIED, "text": text}
    text = "does not run it: it never received it, or it died while running"
    return {"reason": DIED, "text": text}


def _ask_minions(ctx: RunnerContext, jid: str, minions: Iterable[str]) -> Mapping[str, Any]:
    asked = list(minions)
    if not asked:
        return {}
    wait_s = min(ctx.config.jobs.timeout, ctx.config.jobs.gather_job_timeout)
    arg: list[Any] = [[jid] for _ in ASK]
    return ctx.local.cmd(asked, list(ASK), arg, tgt_type="list", timeout=wait_s)


def _key_states(ctx: RunnerContext) -> dict[str, str]:
    """Minion id → the state of its key; the best one where there are several."""
    found: dict[str, str] = {}
    for state in ("minions_denied", "minions_rejected", "minions_pre", "minions"):
        found |= dict.fromkeys(ctx.keys.list(state), state)
    return found


def _moment_of(jid: str) -> datetime | None:
    try:
        return jid_time(jid).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
