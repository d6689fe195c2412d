"""What goes up in one request: returns by job, and events. Pure: no socket, clock or file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_jid
from saltlite.core.messages import SyndicReturn
from saltlite.core.tags import parse_job

RETURN_FIELDS: Final = ("return", "retcode", "success", "fun_args")


@dataclass(frozen=True, slots=True)
class LowerReturn:
    """One minion's return as the lower master has it. ``job`` is the job's load, ``{}`` if sent."""

    jid: str
    minion: str
    fields: Mapping[str, Any]
    job: Mapping[str, Any]


def join_returns(syndic: str, returns: Iterable[LowerReturn]) -> list[SyndicReturn]:
    """One part for each job and outputter, in the order of their first return."""
    parts: dict[tuple[str, str | None, str | None], SyndicReturn] = {}
    told: set[str] = set()
    for one in returns:
        out, master_id = (_text_or_none(one.fields.get(name)) for name in ("out", "master_id"))
        key = one.jid, out, master_id
        if key not in parts:
            # Once in a request, even if the job's minions have different outputters.
            job = {} if one.jid in told else dict(one.job)
            told.add(one.jid)
            fun = one.fields.get("fun") or one.job.get("fun", "")
            parts[key] = SyndicReturn(one.jid, {}, syndic, fun, job, out, master_id)
        parts[key].returns[one.minion] = {
            name: one.fields[name] for name in RETURN_FIELDS if name in one.fields
        }
    return list(parts.values())


def guess_load(returned: Mapping[str, Any], minion: str) -> dict[str, Any]:
    """The load of a job that nobody told of, from its first return; ``{}`` if that says too little.

    A master of 3008 keeps the jobs of masters below it off its bus, and without a load one of Salt
    above cannot look the job up.
    """
    fun, arg = returned.get("fun"), returned.get("fun_args")
    if not fun:
        return {}
    user = _text_or_none(returned.get("user")) or ""
    arg = arg if isinstance(arg, list) else []
    return {"fun": fun, "arg": arg, "tgt": [minion], "tgt_type": "list", "user": user}


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def goes_up(tag: str, data: Mapping[str, Any], *, everything: bool) -> bool:
    """Whether an event of the lower master's bus is told above.

    Returns go their own way, and so does what has a ``retcode``. Without ``everything`` only what
    names the minions of a job goes. Source: Salt 3006 ``minion.py``, ``SyndicManager``.
    """
    job = parse_job(tag)
    if "retcode" in data or (job is not None and job.kind == "ret"):
        return False
    return everything or names_minions(tag, data)


def names_minions(tag: str, data: Mapping[str, Any]) -> bool:
    """Whether an event tells who belongs to a job: by its bare jid, or as new job."""
    if "minions" not in data:
        return False
    job = parse_job(tag)
    return valid_jid(tag.rpartition("/")[2]) or (job is not None and job.kind == "new")
