"""``jobs.trace``: what is on record and noted of a job, as a timeline of one minion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saltlite.core.job_times import WIRE_NAME, JobTimes, read_wire
from saltlite.errors import FunctionError
from saltlite.jobs import marks
from saltlite.jobs.load import read_load, read_return
from saltlite.jobs.marks import Mark
from saltlite.jobs.timeline import Timeline, master_times, read_states, timeline
from saltlite.runner_context import PublishedJob


def trace_job(
    cachedir: Path, job: PublishedJob, returns: Mapping[str, Mapping[str, Any]], minion: str
) -> dict[str, Any]:
    """What ``jobs.trace`` tells; ``minion`` is ``""`` for the one that returned last.

    Raises:
        FunctionError: the job was not for that minion.
    """
    if minion and minion not in returns and minion not in job.minions:
        raise FunctionError(f"job {job.jid} was not for {minion}")
    found = marks.read_marks(cachedir, job.jid)
    times = {one: read_wire(ret.get(WIRE_NAME)) for one, ret in returns.items()}
    chosen = minion or _find_last(found, times) or next(iter(job.minions), "")
    ret = returns.get(chosen)
    states = read_states(read_return(ret).value) if ret is not None else []
    line = timeline(chosen, master_times(found, job.jid, chosen), times.get(chosen), states)
    notes = list(line.notes)
    if ret is None:
        notes.append(f"{chosen} has not returned: salt-run jobs.why {job.jid} says why.")
    if not minion and len(returns) > 1:
        notes.append(f"{chosen} returned last of {len(returns)}; minion=ID shows another.")
    return {
        "jid": job.jid,
        "function": read_load(job).fun,
        "minion": chosen,
        "total_s": line.total_us / 1e6,
        "clock_ahead_s": line.ahead_us / 1e6,
        "steps": _show_steps(line),
        "notes": notes,
    }


def _find_last(found: Iterable[Mark], times: Mapping[str, JobTimes | None]) -> str:
    """The minion whose return was on record last, as far as that is known."""
    stored = {one.minion: one.times_us[2] for one in found if one.kind == marks.RETURN}

    def returned_us(minion: str) -> int:
        own = times[minion]
        return stored.get(marks.number_of(minion)) or (own.made_us if own is not None else 0)

    return max(times, key=returned_us, default="")


def _show_steps(line: Timeline) -> list[dict[str, Any]]:
    begin_us = line.spans[0].begin_us if line.spans else 0
    longest = line.longest
    return [
        {
            "at_s": (span.begin_us - begin_us) / 1e6,
            "took_s": span.took_us / 1e6,
            "where": span.where,
            "what": span.what,
            "inner": span.inner,
            "longest": number == longest,
        }
        for number, span in enumerate(line.spans)
    ]
