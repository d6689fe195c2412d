"""A job in batches: at most so many minions are at work at a time. Source: docs/cli.md#salt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from saltlite.client.collect import Collector, Events, JobRun, MinionReturn, NotReturned, Outcome
from saltlite.client.job_request import JobRequest, credentials_of
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass
from saltlite.core.messages import PublishReply


class BatchClient(Protocol):
    """What a batch needs of JobClient."""

    def listen(self) -> Events:
        """Hear the returns of jobs from now on."""

    def publish(self, request: JobRequest) -> PublishReply | None:
        """Publish a job."""

    def start(self, request: JobRequest) -> JobRun | None:
        """Publish a job and listen to it."""

    def collector(
        self, events: Events, timeout_s: float | None, credentials: Mapping[str, object]
    ) -> Collector:
        """What gathers the returns of a job."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A minion did not answer the ping that comes first; it gets no job."""

    id: str


@dataclass(frozen=True, slots=True)
class Started:
    """The job was sent to these minions."""

    jid: str
    minions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchStopped:
    """``failhard``: this minion failed, and no more are sent the job."""

    id: str


@dataclass(frozen=True, slots=True)
class BatchIdle:
    """Nothing has happened for a while: who is at work, and how many have not begun."""

    active: frozenset[str]
    pending: int


BatchOutcome: TypeAlias = Outcome | Silent | Started | BatchStopped | BatchIdle


def batch_size(text: str, minions: int) -> int:
    """How many minions at a time: a number, or a share (``10%``, ``%10``) of all; at least one.

    Raises:
        ValueError: neither.
    """
    bare = text.strip()
    if "%" not in bare:
        size = int(bare)
    elif bare.count("%") == 1 and (bare.startswith("%") or bare.endswith("%")):
        size = int(minions * float(bare.strip("%")) / 100.0)
    else:
        raise ValueError(text)
    return max(1, size)


class Batch:
    """One job, sent piece by piece as minions return.

    ``wait_s`` is how long the place of one that returned stays empty. With ``pulse_s`` there is a
    :class:`BatchIdle` at least so often. Iterate, then close.
    """

    def __init__(
        self,
        client: BatchClient,
        request: JobRequest,
        size: str,
        *,
        wait_s: float = 0.0,
        failhard: bool = False,
        pulse_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare.

        Raises:
            ValueError: ``size`` is neither a number nor a share.
        """
        # For the ValueError alone: a bad size is told before anybody is pinged.
        batch_size(size, 1)
        self._client = client
        self._request = request
        self._size = size
        self._wait_s = wait_s
        self._failhard = failhard
        self._pulse_s = pulse_s
        self._clock = clock
        # One subscription, made before anything is published, serves all chunks.
        self._events = client.listen()

    def close(self) -> None:
        """Stop listening."""
        self._events.close()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[BatchOutcome]:
        """What happens, in order; nothing if no minion matches."""
        minions: list[str] = []
        for outcome in self._ping_targets():
            if isinstance(outcome, MinionReturn):
                minions.append(outcome.id)
            else:
                yield Silent(outcome.id)
        yield from self._run_chunks(sorted(minions))

    def _ping_targets(self) -> Iterator[Outcome]:
        # Who is silent would keep a place in the batch for the whole timeout.
        request = dataclasses.replace(
            self._request,
            fun="test.ping",
            arg=(),
            jid="",
            ret="",
            options=_without_function(self._request),
        )
        run = self._client.start(request)
        if run is None:
            return
        with run:
            yield from run

    def _run_chunks(self, pending: list[str]) -> Iterator[BatchOutcome]:
        # A share is one of those who answered, not of all that the target names.
        size = batch_size(self._size, len(pending))
        shown = credentials_of(self._request.options)
        collector = self._client.collector(self._events, self._request.timeout_s, shown)
        active: set[str] = set()
        closed_until: list[float] = []
        while pending or active:
            now = self._clock()
            closed_until = [moment for moment in closed_until if moment > now]
            # A place is taken by a minion at work, and for wait_s after its return.
            free = size - len(active) - len(closed_until)
            if pending and free > 0:
                chunk, pending = pending[:free], pending[free:]
                yield from self._send_chunk(collector, chunk, active)
            outcomes = collector.step(self._time_to_wait(closed_until if pending else [], now))
            while outcomes and not collector.is_done and (more := collector.step(0.0)):
                outcomes += more  # one job for all whose place is free, not one for each
            if self._pulse_s is not None and not outcomes:
                yield BatchIdle(frozenset(active), len(pending))
            for outcome in outcomes:
                active.discard(outcome.id)
                closed_until.append(self._clock() + self._wait_s)
                yield outcome
                if self._failhard and isinstance(outcome, MinionReturn) and outcome.exit_code:
                    yield BatchStopped(outcome.id)
                    return

    def _time_to_wait(self, closed_until: Sequence[float], now_s: float) -> float | None:
        """How long to wait for returns: at most until a place is free again."""
        waits = [moment - now_s for moment in closed_until]
        if self._pulse_s is not None:
            waits.append(self._pulse_s)
        return min(waits, default=None)

    def _send_chunk(
        self, collector: Collector, chunk: Sequence[str], active: set[str]
    ) -> Iterator[BatchOutcome]:
        # Each chunk is a job of its own: the master refuses a jid that it has on record.
        request = dataclasses.replace(self._request, tgt=list(chunk), tgt_type="list", jid="")
        reply = self._client.publish(request)
        # Their keys have gone since the ping; the batch goes on with the others.
        if reply is None or reply.jid is None:
            yield from (NotReturned("", minion) for minion in chunk)
            return
        yield Started(reply.jid, tuple(chunk))
        active.update(chunk)
        collector.add(reply.jid, list(chunk))


def _without_function(request: JobRequest) -> dict[str, object]:
    """Who asks and how, but not what."""
    how = {name: request.options[name] for name in ("delimiter",) if name in request.options}
    return {**credentials_of(request.options), **how}
