"""Collects the returns of one or several jobs from the event bus.

Feeds :class:`~saltlite.client.gather.Gather` with what happens and asks ``find_job`` when it says
so. Where the bus may have lost something, and before anybody is asked or given up, the job store is
read, if there is one: what is on record counts, however it was announced.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from saltlite.client.gather import (
    AbsentMinions,
    Answered,
    Asked,
    Expected,
    Gather,
    GatherEvent,
    GatherStatus,
    Returned,
    Tick,
)
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import valid_jid, valid_minion_id
from saltlite.core.messages import PublishReply
from saltlite.core.numbers import is_digits
from saltlite.core.tags import NOW, OUTPUT, JobTag, parse_job

JOB_PREFIX = "salt/job/"
"""What the tags of all returns begin with."""

JID_PREFIX = "2"
"""What the tags begin with by which syndics name their minions: bare jids."""

ASK_AGAIN_S = 1.0
"""Between two tries to publish ``find_job`` to a master that does not answer."""

OUTPUT_MOST = 64 * 1024
"""Of what a minion says in one event that a command has printed, in characters."""

NAME_MOST = 200
"""Of the name of a state, in characters."""

ENDED_KEPT = 64
"""Jobs that have ended and can still be asked about."""


@dataclass(frozen=True, slots=True)
class MinionReturn:
    """What one minion returned. ``retcode`` is a map or list for a job of several functions."""

    jid: str
    id: str
    return_: Any
    retcode: Any = 0
    success: Any = True
    out: str | None = None
    fun: Any = ""

    @classmethod
    def of(cls, jid: str, minion: str, data: Mapping[str, Any]) -> MinionReturn:
        """From the data of an event or the record in the job store."""
        return cls(
            jid=jid,
            id=minion,
            return_=data.get("return"),
            retcode=data.get("retcode", 0),
            success=data.get("success", True),
            out=data["out"] if isinstance(data.get("out"), str) else None,
            fun=data.get("fun", ""),
        )

    @property
    def value(self) -> Any:
        """What the function gave; another name of ``return_``."""
        return self.return_

    @property
    def exit_code(self) -> int:
        """The highest of the exit codes; what is no number counts as 1."""
        codes: Sequence[Any] = [self.retcode]
        if isinstance(self.retcode, Mapping):
            codes = list(self.retcode.values())
        elif isinstance(self.retcode, (list, tuple)):
            codes = self.retcode
        return max((_exit_code(code) for code in codes), default=0)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    return int(code) if isinstance(code, int) else 1


@dataclass(frozen=True, slots=True)
class NotReturned:
    """A minion was given up, or (``unknown``) is named by the target and has no key."""

    jid: str
    id: str
    unknown: bool = False


Outcome: TypeAlias = MinionReturn | NotReturned


@dataclass(frozen=True, slots=True)
class Step:
    """Where a minion of a state run is: ``done`` states of ``total`` are over.

    ``name`` is of the one that runs, or of the last one where that is all the minion says.

    ``total`` is 0 where the minion did not say it. Source: ``salt/job/<jid>/prog/<id>/<number>``.
    """

    done: int
    total: int
    name: str

    @classmethod
    def of(cls, number: str, data: Mapping[str, object]) -> Step:
        """From the end of the tag and the data of the event."""
        # Of a minion's event the whole load is on the bus, and what it fired is in there.
        inner = data.get("data")
        inner = inner if isinstance(inner, Mapping) else data
        now, begun = inner.get("now"), inner.get("number")
        ret, total = inner.get("ret"), inner.get("len")
        if number == NOW:
            total = total if isinstance(total, int) else 0
            done = max(begun - 1, 0) if isinstance(begun, int) else 0
            return cls(done, total, str(now)[:NAME_MOST])
        ret = ret if isinstance(ret, Mapping) else {}
        return cls(
            # Run numbers begin at 0.
            done=int(number) + 1 if is_digits(number) else 0,
            total=total if isinstance(total, int) else 0,
            name=str(ret.get("__id__") or ret.get("name") or ""),
        )


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command has printed on a minion while it runs; ``is_cut``: and more behind it.

    Source: ``salt/job/<jid>/prog/<id>/output``.
    """

    id: str
    text: str
    is_cut: bool = False

    @classmethod
    def of(cls, minion: str, data: Mapping[str, object]) -> Printed:
        """From the data of the event; what is no text is none."""
        inner = data.get("data")
        inner = inner if isinstance(inner, Mapping) else data
        text = inner.get("output")
        whole = text if isinstance(text, str) else ""
        return cls(minion, whole[:OUTPUT_MOST], bool(inner.get("is_cut")))


class BusEvent(Protocol):
    """One event."""

    @property
    def tag(self) -> str:
        """Its tag."""

    @property
    def data(self) -> dict[str, Any]:
        """Its map."""


class Events(Protocol):
    """What is needed of the event bus."""

    @property
    def lost(self) -> int:
        """Events known to have been missed."""

    @property
    def connections(self) -> int:
        """How often the link came up."""

    def get(self, timeout_s: float) -> BusEvent | None:
        """The next event, ``None`` if none comes in time."""

    def close(self) -> None:
        """Stop listening."""


class ReturnStore(Protocol):
    """What is needed of the job store."""

    def returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """Minion id → ``return``, ``retcode``, ``success``, ``out``."""


@dataclass(slots=True)
class _Job:
    """A job that is being collected."""

    jid: str
    gather: Gather
    status: GatherStatus
    probes: set[str] = field(default_factory=set)
    ask_at_s: float = 0.0
    missing: Sequence[str] = ()
    answered: set[str] = field(default_factory=set)
    steps: dict[str, Step] = field(default_factory=dict)

    def is_to_ask(self, now_s: float) -> bool:
        """Whether minions are to be asked about it now."""
        return bool(self.status.ask) and now_s >= self.ask_at_s


class Collector:
    """Gathers the returns of the jobs that are added to it.

    :meth:`step` does everything, blocking. Who waits in another way (an asyncio loop) does what it
    does: :meth:`finish`, ask the :meth:`questions` and :meth:`note_probe`, wait for an event as
    long as :meth:`patience` says, :meth:`take` it.

    ``ask`` publishes ``find_job`` for a jid to some minions and gives back the jid of that
    publication, or ``None`` if it could not be published. ``clock`` does not go backwards. For
    ``hold_s`` no job is done, since syndics may still name minions of it, and so much longer an
    answer to ``find_job`` may take.
    """

    def __init__(
        self,
        events: Events,
        *,
        timeout_s: float,
        gather_job_timeout_s: float,
        ask: Callable[[str, Sequence[str]], str | None],
        store: ReturnStore | None = None,
        clock: Callable[[], float] = time.monotonic,
        hold_s: float = 0.0,
    ) -> None:
        self._events = events
        self._timeout_s = timeout_s
        self._gather_s = gather_job_timeout_s + hold_s
        self._hold_s = hold_s
        self._ask = ask
        self._store = store
        self._clock = clock
        self._jobs: dict[str, _Job] = {}
        self._by_probe: dict[str, _Job] = {}
        self._ended: OrderedDict[str, _Job] = OrderedDict()
        self.hear_output: Callable[[Printed], None] | None = None
        # What was lost before this was of other jobs.
        self._seen = (events.lost, events.connections)

    def add(
        self,
        jid: str,
        minions: Sequence[str],
        *,
        missing: Sequence[str] = (),
        timeout_s: float | None = None,
    ) -> None:
        """Collect a job too; ``minions`` are expected to return, ``missing`` are not there."""
        now = self._clock()
        gather = Gather(
            minions,
            timeout_s=self._timeout_s if timeout_s is None else timeout_s,
            gather_job_timeout_s=self._gather_s,
            now_s=now,
            hold_s=self._hold_s,
        )
        self._jobs[jid] = _Job(jid, gather, gather.on(Tick(), now), missing=missing)

    @property
    def is_done(self) -> bool:
        """Whether every job has come to its end."""
        return not self._jobs

    def gather(self, jid: str) -> Gather:
        """The state of one job; of those that have ended the last few are known."""
        return self._job_of(jid).gather

    def steps(self, jid: str) -> Mapping[str, Step]:
        """Where the minions of a job are that say it."""
        return self._job_of(jid).steps

    def who_answered(self, jid: str) -> frozenset[str]:
        """The minions that have answered ``find_job`` for a job."""
        return frozenset(self._job_of(jid).answered)

    def _job_of(self, jid: str) -> _Job:
        # Asked for after the end, too: what is shown of a job is read when it is over.
        job = self._jobs.get(jid)
        return self._ended[jid] if job is None else job

    def outcomes(self) -> Iterator[Outcome]:
        """Everything, as it comes, until all jobs are done."""
        while not self.is_done:
            yield from self.step()

    def step(self, wait_s: float | None = None) -> list[Outcome]:
        """Wait for the next thing to happen, at most ``wait_s``, and give back what came of it."""
        # Jobs that were added without minions are over, and no event comes that says so.
        outcomes = self.finish()
        if outcomes:
            return outcomes
        for jid, minions in self.questions():
            self.note_probe(jid, self._ask(jid, minions))
        return self.take(self._events.get(self.patience(wait_s)))

    def take(self, event: BusEvent | None) -> list[Outcome]:
        """Take in what came, ``None`` for no more than time; what came of it."""
        outcomes = self._on_event(event) if event is not None else []
        now = self._clock()
        for job in self._open_jobs():
            # Before the tick that asks or gives up: what is on record has returned.
            if now >= job.status.deadline_s:
                outcomes += self._reread_store(job)
            self._feed_gather(job, Tick())
        # The bus had a gap or was away: a return may have gone by.
        if (self._events.lost, self._events.connections) != self._seen:
            outcomes += self._reread_all()
        return outcomes + self.finish()

    def _open_jobs(self) -> list[_Job]:
        return list(self._jobs.values())

    def patience(self, wait_s: float | None = None) -> float:
        """How long nothing needs to be done, unless an event comes; at most ``wait_s``."""
        if self.is_done:
            return wait_s or 0.0
        now = self._clock()
        moments = [job.status.deadline_s for job in self._open_jobs()]
        # A question that could not be published is tried again before the deadline.
        moments += [job.ask_at_s for job in self._open_jobs() if job.status.ask]
        patience = min(moments) - now
        return max(0.0, patience if wait_s is None else min(wait_s, patience))

    def questions(self) -> list[tuple[str, Sequence[str]]]:
        """Jobs and the minions that are to be asked now with ``find_job``, then noted."""
        now = self._clock()
        open_jobs = self._open_jobs()
        return [(job.jid, job.status.ask) for job in open_jobs if job.is_to_ask(now)]

    def note_probe(self, jid: str, probe: str | None) -> None:
        """Note the jid of a question, ``None`` if it could not be published."""
        job = self._jobs[jid]
        # Without Asked the question stands in the status, for the next try.
        if probe is None:
            job.ask_at_s = self._clock() + ASK_AGAIN_S
            return
        job.probes.add(probe)
        self._by_probe[probe] = job
        self._feed_gather(job, Asked())

    def _feed_gather(self, job: _Job, event: GatherEvent) -> None:
        job.status = job.gather.on(event, self._clock())

    def _on_event(self, event: BusEvent) -> list[Outcome]:
        tag = parse_job(event.tag)
        if tag is None:
            self._take_announcement(event)
            return []
        if tag.kind not in ("ret", "prog") or not tag.minion_id:
            return []
        job = self._jobs.get(tag.jid)
        if tag.kind == "prog":
            if job is not None:
                self._note_progress(job, tag, event.data)
            return []
        if job is not None:
            return self._on_return(job, tag.minion_id, event.data)
        # The answers to find_job are returns too, of the jid that the question has.
        asked = self._by_probe.get(tag.jid)
        if asked is not None:
            asked.answered.add(tag.minion_id)
            self._feed_gather(asked, Answered(tag.minion_id, is_running(event.data, asked.jid)))
        return []

    def _note_progress(self, job: _Job, tag: JobTag, data: Mapping[str, object]) -> None:
        # salt/job/<jid>/prog/<id>/<number>: what follows prog was taken for the id.
        minion, _, number = tag.minion_id.rpartition("/")
        if number != OUTPUT:
            job.steps[minion] = Step.of(number, data)
        # What comes behind a return is in it; others than who is meant have nothing to say here.
        elif self.hear_output is not None and minion in job.gather.outstanding:
            self.hear_output(Printed.of(minion, data))

    def _take_announcement(self, event: BusEvent) -> None:
        """Expect those too whom a syndic names: its event has the bare jid for a tag."""
        job = self._jobs.get(event.tag)
        minions = event.data.get("minions")
        if job is None or not valid_jid(event.tag) or not isinstance(minions, (list, tuple)):
            return
        named = frozenset(one for one in minions if valid_minion_id(one))
        # Of the syndic's own job too; what has come already is not expected again.
        self._feed_gather(job, Expected(named))

    def _on_return(self, job: _Job, minion: str, data: Mapping[str, object]) -> list[Outcome]:
        # The first one counts; bus, store and a minion's own repeats bring the same again.
        if minion in job.gather.returned or "return" not in data:
            return []
        self._feed_gather(job, Returned(minion))
        return [MinionReturn.of(job.jid, minion, data)]

    def _reread_all(self) -> list[Outcome]:
        # Before the reading: what is lost meanwhile has the store read once more.
        self._seen = (self._events.lost, self._events.connections)
        return [outcome for job in self._open_jobs() for outcome in self._reread_store(job)]

    def _reread_store(self, job: _Job) -> list[Outcome]:
        if self._store is None:
            return []
        outcomes: list[Outcome] = []
        for minion, data in self._store.returns(job.jid).items():
            outcomes += self._on_return(job, minion, data)
        return outcomes

    def recall(self, jid: str, store: ReturnStore) -> list[Outcome]:
        """Take what is on record of a job that was published before it was listened for."""
        job = self._jobs[jid]
        found: list[Outcome] = []
        for minion, data in store.returns(jid).items():
            found += self._on_return(job, minion, data)
        return found + self.finish()

    def give_up(self, jid: str) -> list[Outcome]:
        """Wait no longer for who has not returned: they are not there. What came of it."""
        job = self._jobs[jid]
        # On record before its event is heard: nobody is given up who has returned.
        outcomes = self._reread_store(job)
        self._feed_gather(job, AbsentMinions(frozenset(job.gather.outstanding)))
        return outcomes + self.finish()

    def finish(self) -> list[Outcome]:
        """Close the jobs that are done; their lost minions come last, in order."""
        lost: list[Outcome] = []
        for job in self._open_jobs():
            if job.status.done:
                self._close_job(job)
                lost += [NotReturned(job.jid, minion) for minion in sorted(job.gather.given_up)]
                # Who is listed and has no key here may be below a syndic, and have returned.
                absent = [one for one in job.missing if one not in job.gather.expected]
                lost += [NotReturned(job.jid, minion, unknown=True) for minion in absent]
        return lost

    def _close_job(self, job: _Job) -> None:
        """What a job took is given back; a batch may have thousands, one after the other."""
        del self._jobs[job.jid]
        for probe in job.probes:
            self._by_probe.pop(probe, None)
        self._ended[job.jid] = job
        while len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)


def is_running(data: Mapping[str, object], jid: str) -> bool:
    """Whether an answer to ``find_job`` says that the job runs; nonsense says that it does not."""
    answer = data.get("return")
    return isinstance(answer, Mapping) and answer.get("jid") == jid


class JobRun:
    """A published job that is being listened to. Iterate over it, then close it.

    ``hears_progress``: whether more is heard of it than returns.
    """

    def __init__(
        self,
        reply: PublishReply,
        events: Events,
        collector: Collector,
        *,
        hears_progress: bool = True,
    ) -> None:
        self.hears_progress = hears_progress
        self.jid = reply.jid or ""
        self.minions = reply.minions
        self.missing = reply.missing
        self.notice = reply.notice
        self._events = events
        self._collector = collector
        self._recalled: list[Outcome] = []

    def __iter__(self) -> Iterator[Outcome]:
        """Returns as they come; at the end those who were given up."""
        recalled, self._recalled = self._recalled, []
        yield from recalled
        yield from self._collector.outcomes()

    def step(self, wait_s: float) -> list[Outcome]:
        """What comes within ``wait_s`` seconds."""
        recalled, self._recalled = self._recalled, []
        return recalled or self._collector.step(wait_s)

    def recall(self, store: ReturnStore) -> None:
        """Begin with what is on record: the job was published before it was listened for."""
        self._recalled += self._collector.recall(self.jid, store)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self._collector.is_done and not self._recalled

    @property
    def return_count(self) -> int:
        """How many minions have returned."""
        return len(self._collector.gather(self.jid).returned)

    def give_up(self) -> list[Outcome]:
        """Wait no longer: who has not returned has not heard of it."""
        return self._collector.give_up(self.jid)

    @property
    def outstanding(self) -> frozenset[str]:
        """The minions that are still waited for."""
        return frozenset(self._collector.gather(self.jid).outstanding)

    @property
    def steps(self) -> Mapping[str, Step]:
        """Where the minions of a state run are, as far as they say it."""
        return self._collector.steps(self.jid)

    def hear_output(self, hear: Callable[[Printed], None]) -> None:
        """Call ``hear`` with what commands print, where the job was published to tell it."""
        self._collector.hear_output = hear

    @property
    def who_answered(self) -> frozenset[str]:
        """The minions that answered the question whether they still run it."""
        return self._collector.who_answered(self.jid)

    def close(self) -> None:
        """Stop listening."""
        self._events.close()

    def __enter__(self) -> JobRun:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
