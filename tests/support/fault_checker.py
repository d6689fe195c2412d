"""What a history of the fault lab proves: the promises of docs/reliability.md#promises.

It reads the history and nothing else, so that a run of yesterday can be judged again.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fault_history import DRAFTS, History, Line

CUT_SHORT = 254
"""The retcode of a job that ended with its minion. Source: docs/reliability.md#promises."""

LATE_EVENT_S = 3.0
"""A subscriber learns so late that its link was down."""

GAP_S = 10.0
"""So long after a fault of a cluster events of other nodes may still be missing."""

SAME_LINES = 15
SAME_LINES_WITHIN_S = 15.0
"""So often may a daemon say the same in that time: not one line a second."""

REFUSALS = 180
"""So many lines about who was refused, in that time. Source: docs/security.md#refusals."""

TOGETHER_S = 2.0

MORE_MIB = 64.0
MORE_DESCRIPTORS = 12
MORE_THREADS = 3
CONNECTED = ("Publisher", "ReqServer")
"""The processes of a master that hold connections of minions."""


@dataclass(frozen=True)
class Breach:
    """A promise that was not kept, and how one sees it."""

    promise: str
    text: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


class Checked:
    """A history, sorted for the questions below."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.published = history.of("published")
        self.faults = history.of("fault")
        self.returns = {(one["jid"], one["minion"]): one for one in history.of("return")}
        self.jobs = {one["jid"]: one for one in history.of("job")}
        self.asked = {one["number"]: one for one in history.of("asked")}
        self.runs = history.of("run")
        script = history.of("script")
        self.masters: list[str] = script[0].get("masters", ["master"]) if script else ["master"]
        self.connections = int(script[0].get("connections", 0)) if script else 0

    @cached_property
    def jid_of(self) -> dict[int, str]:
        """The jid on record, by the number in the command."""
        return {one["number"]: one["jid"] for one in self.jobs.values() if one["number"]}

    def touches(self, minion: str, from_s: float, until_s: float) -> list[Line]:
        """The faults of a minion, or of the whole world, in that time."""
        return [
            one
            for one in self.faults
            if minion in one["minions"] and one["begun_s"] <= until_s and one["ended_s"] >= from_s
        ]

    @cached_property
    def end_s(self) -> float:
        return max((line["at"] for line in self.history.lines), default=0.0)


def find_breaches(history: History) -> list[Breach]:
    """All that this history breaks; an empty history proves nothing and is a breach."""
    run = Checked(history)
    if not run.published:
        return [Breach("P-up", "no job was published at all")]
    checks = {
        "P-job": _check_jobs,
        "P-once": _check_once,
        "P-ret": _check_returns,
        "P-dead": _check_cut_short,
        "P-event": _check_events,
        "P-cli": _check_commands,
        "P-up": _check_service,
        "P-rest": _check_others,
        "P-flat": _check_usage,
        "P-say": _check_lines,
    }
    return [Breach(name, text) for name, check in checks.items() for text in check(run)]


def _check_jobs(run: Checked) -> Iterator[str]:
    for one in run.published:
        if one["jid"] not in run.jobs:
            yield f"job {one['number']} has jid {one['jid']}, which is not on record"
    for jid, times in Counter(one["jid"] for one in run.published).items():
        if times > 1:
            yield f"jid {jid} was given out {times} times"
    for one in run.runs:
        if one["what"] == "start" and one["number"] not in run.jid_of:
            yield f"{one['minion']} ran job {one['number']}, which is not on record"
    for one in run.history.of("seen"):
        if one["jid"] not in run.jobs:
            yield f"{one['minion']} was sent {one['jid']}, which is not on record"


def _check_once(run: Checked) -> Iterator[str]:
    starts = Counter((one["minion"], one["number"]) for one in run.runs if one["what"] == "start")
    for (minion, number), times in starts.items():
        if times > 1:
            yield f"{minion} started job {number} {times} times"
    seen = Counter((one["minion"], one["jid"]) for one in run.history.of("seen"))
    for (minion, jid), times in seen.items():
        if times > 1:
            yield f"{minion} took {jid} {times} times for a new job"


def _check_returns(run: Checked) -> Iterator[str]:
    for one in run.runs:
        if one["what"] != "start" or one.get("is_real_salt"):
            continue
        touched = run.touches(one["minion"], one["at_s"], run.end_s)
        if any(fault.get("is_disk_lost") for fault in touched):
            continue
        yield from _check_return(run, one["minion"], one["number"])
    for one in run.history.of("acked"):
        if (one["jid"], one["minion"]) not in run.returns:
            yield f"{one['minion']}'s return of {one['jid']} was acknowledged and is not on record"
    yield from _check_simulated(run)


def _check_simulated(run: Checked) -> Iterator[str]:
    """Each simulated minion that took a job has heard in the end what becomes of its return."""
    history = run.history
    took = {(one["jid"], one["minion"]) for one in history.of("seen")}
    heard = {
        (one["jid"], one["minion"]) for kind in ("acked", "unkept") for one in history.of(kind)
    }
    for jid, count in Counter(jid for jid, _ in took - heard).items():
        yield f"{count} simulated minions took {jid} and have heard nothing of their returns"


def _check_return(run: Checked, minion: str, number: int) -> Iterator[str]:
    jid = run.jid_of.get(number, "")
    kept = run.returns.get((jid, minion))
    if kept is None:
        yield f"{minion} ran job {number} ({jid}); its return is not on record"
        return
    wanted = run.asked.get(number, {}).get("digest")
    if wanted and kept["retcode"] == 0 and kept["digest"] != wanted:
        yield f"{minion}'s return of job {number} ({jid}) is not what it was"


def _check_cut_short(run: Checked) -> Iterator[str]:
    """A job that was cut short says so, and only where something has been done to its minion."""
    begun = {(one["minion"], one["number"]): one for one in run.runs if one["what"] == "start"}
    for (minion, number), one in begun.items():
        if one.get("is_real_salt"):
            continue
        kept = run.returns.get((run.jid_of.get(number, ""), minion))
        if kept is None or kept["retcode"] == 0:
            continue
        if not run.touches(minion, one["at_s"] - 5, run.end_s):
            yield f"job {number} on {minion} returned {kept['retcode']}, and nobody had touched it"


def _check_events(run: Checked) -> Iterator[str]:
    links: defaultdict[str, list[float]] = defaultdict(list)
    for one in run.history.of("link"):
        links[one["subscriber"]].append(one["at"])
    fired: defaultdict[str, list[int]] = defaultdict(list)
    for one in run.history.of("fired"):
        fired[one.get("origin", "")].append(one["number"])
    last: dict[tuple[str, str], Line] = {}
    for one in run.history.of("event"):
        name, origin = one["subscriber"], one.get("origin", "")
        before = last.get((name, origin))
        last[name, origin] = one
        if before is None:
            continue
        if one["number"] <= before["number"]:
            yield f"{name} got event {one['number']} after {before['number']}"
            continue
        missed = [n for n in fired[origin] if before["number"] < n < one["number"]]
        if missed and not _is_gap_told(run, links[name], before["at"], one["at"]):
            yield f"{name} missed {missed[:3]} of {origin or 'its master'} and could not see it"


def _is_gap_told(run: Checked, links: Iterable[float], from_s: float, until_s: float) -> bool:
    """Whether the subscriber saw its link end, or something was done to a node meanwhile."""
    from_s, until_s = from_s - LATE_EVENT_S, until_s + LATE_EVENT_S
    if any(from_s <= at <= until_s for at in links):
        return True
    # Events of other nodes are heard as long as nothing breaks.
    return any(
        one.get("nodes") and one["begun_s"] <= until_s and one["ended_s"] >= from_s - GAP_S
        for one in run.faults
    )


def _check_commands(run: Checked) -> Iterator[str]:
    for one in run.history.of("cli"):
        took_s = one["ended_s"] - one["begun_s"]
        name = f"salt of job {one['number']}"
        if took_s > one["limit_s"]:
            yield f"{name} took {took_s:.1f} s, more than {one['limit_s']:.1f} s"
        if one["was_killed"]:
            continue
        if one["exit_code"] != 0:
            if not one["said"].strip():
                yield f"{name} ended with {one['exit_code']} and said nothing"
            continue
        jid = run.jid_of.get(one["number"], "")
        for minion in one["minions"]:
            kept = run.returns.get((jid, minion))
            if kept is None or kept["retcode"] != 0 or minion not in one["said"]:
                yield f"{name} ended with 0; on record for {minion}: {kept}; said: {one['said']!r}"


def _check_service(run: Checked) -> Iterator[str]:
    """From the end of a fault until the next jid; later faults have a time of their own."""
    answered = sorted(one["answered_s"] for one in run.published)
    asked = [one["at"] for one in run.history.of("asked")]
    for fault in run.faults:
        until_s = fault["ended_s"] + fault["back_within_s"]
        later = [one for one in run.faults if one is not fault and one["begun_s"] <= until_s]
        until_s = max([until_s, *(one["ended_s"] + one["back_within_s"] for one in later
                                  if one["ended_s"] > fault["ended_s"])])  # fmt: skip
        half_s = (fault["ended_s"] + until_s) / 2
        if not any(half_s <= at <= until_s for at in asked):
            continue  # nobody asked, or the load was over first
        if not any(fault["ended_s"] <= at <= until_s for at in answered):
            yield f"no jid within {until_s - fault['ended_s']:.1f} s after: {fault['name']}"


def _check_others(run: Checked) -> Iterator[str]:
    """While something is done to one node, the others serve."""
    published = {one["number"] for one in run.published}
    for fault in run.faults:
        nodes = fault.get("nodes", [])
        others = set(run.masters) - set(nodes)
        if not nodes or "engine" in nodes or not others:
            continue
        with_it = [
            one
            for one in run.faults
            if one["begun_s"] <= fault["ended_s"] and one["ended_s"] >= fault["begun_s"]
        ]
        asked = [one for one in run.history.of("asked") if one.get("node") in others
                 and one["what"] not in ("cli", "swarm")
                 and fault["begun_s"] <= one["at"] <= fault["ended_s"] - 1]  # fmt: skip
        refused = [one["number"] for one in asked if one["number"] not in published]
        if len(with_it) == 1 and len(refused) * 2 > len(asked) > 2:
            yield f"others refused {len(refused)} of {len(asked)} jobs during: {fault['name']}"


def _check_usage(run: Checked) -> Iterator[str]:
    usage = {one["when"]: one for one in run.history.of("usage")}
    before, after = usage.get("before"), usage.get("after")
    if before is None or after is None:
        yield "nobody looked before and after"
        return
    if after["zombies"]:
        yield f"zombies: {after['zombies']}"
    for title in sorted({*before["processes"], *after["processes"]}):
        # Minions go to other nodes when theirs breaks, and stay there.
        moved = run.connections if title.endswith(CONNECTED) and len(run.masters) > 1 else 0
        old, new = before["processes"].get(title), after["processes"].get(title)
        yield from _compare(title, old, new, moved)
    allowed = {DRAFTS: len(run.faults)}
    for place, count in after["files"].items():
        if count > allowed.get(place, 0) + before["files"].get(place, 0):
            yield f"{count} files in {place}, there were {before['files'].get(place, 0)}"


def _compare(title: str, old: Line | None, new: Line | None, moved: int) -> Iterator[str]:
    if old is None or new is None or old["count"] != new["count"]:
        yield f"processes {title}: {old and old['count']} before, {new and new['count']} after"
        return
    for what, more in (("mib", MORE_MIB), ("descriptors", MORE_DESCRIPTORS + moved),
                       ("threads", MORE_THREADS)):  # fmt: skip
        if new[what] > old[what] + more:
            yield f"{title}: {what} {old[what]:g} before, {new[what]:g} after"


def _check_lines(run: Checked) -> Iterator[str]:
    lines = run.history.of("log")
    texts = [one["line"] for one in lines]
    if any("Traceback" in text for text in texts):
        yield "a traceback in a log"
    yield from _find_repeated(lines)
    ends = [one for one in run.faults if one.get("ended_daemon") in run.masters]
    for fault in run.faults:
        if any(abs(one["begun_s"] - fault["begun_s"]) < TOGETHER_S for one in ends):
            continue  # who would have told of it was killed, too
        for pid in fault["pids"]:
            said = [text for text in texts if f"(process {pid})" in text]
            # Of one that hangs also that it is to be replaced.
            most = 2 if fault["name"].startswith("hang ") else 1
            if not 1 <= len(said) <= most:
                yield f"{len(said)} lines say that process {pid} ended ({fault['name']})"


def _find_repeated(lines: Iterable[Line]) -> Iterator[str]:
    stamps: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in lines:
        words = re.sub(r"[0-9a-f]{8,}|\d+", "#", _message_of(one["line"]))
        stamps[one["daemon"], words].append(one["at"])
    for (daemon, words), moments in stamps.items():
        most = REFUSALS if words.startswith("Refused:") else SAME_LINES
        for first, last in zip(moments, moments[most:], strict=False):
            if last - first < SAME_LINES_WITHIN_S:
                yield f"{daemon} said more than {most} times in {last - first:.0f} s: {words}"
                break


def _message_of(line: str) -> str:
    """A line without its time: the text after the level."""
    message = re.split(r"\[(?:WARNING|ERROR|CRITICAL)\s*\]", line, maxsplit=1)[-1].strip()
    return "Refused:" if message.startswith("Refused:") else message
