"""Returns of one's own jobs, for who may not open the master's event bus.

The master gives a ticket beside the jid, and is asked by it for what is new: often while returns
come, once a second while none do. Stands in for the bus wherever only returns are waited for.
Source: docs/wire.md, "follow".
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from saltlite.core import tags
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import MasterRefused, RequestTimeout
from saltlite.transport.bus import Event

log = logging.getLogger(__name__)

FIRST_S: Final = 0.02
LONGEST_S: Final = 1.0
"""Between two questions: the time doubles while nothing is new."""

JOBS_AT_ONCE: Final = 64
"""In one question; the master takes no more."""

JOBS_MOST: Final = 1000
"""Jobs that are asked for; the oldest ones go first."""


@dataclass(slots=True)
class _Job:
    """A job that is asked for; ``expected`` is how many will return at the most."""

    jid: str
    ticket: str
    expected: int
    had: set[str] = field(default_factory=set)
    names_wanted: bool = False

    def question(self) -> dict[str, Any]:
        """What the master is asked; the names it needs only if there are more returns."""
        asked: dict[str, Any] = {"ticket": self.ticket, "count": len(self.had)}
        return {**asked, "had": sorted(self.had)} if self.names_wanted else asked


class FollowedJobs:
    """The returns of the jobs that are added, as events.

    ``send`` sends one clear command and gives back the answer.
    """

    lost: Final = 0
    connections: Final = 1

    def __init__(
        self,
        send: Callable[[Mapping[str, Any]], Any],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.closed = False
        self._send = send
        self._clock = clock
        self._sleep = sleep
        self._jobs: dict[str, _Job] = {}
        self._events: deque[Event] = deque()
        self._pause_s = FIRST_S
        self._next_s = 0.0

    def add(self, jid: str, ticket: str, expected: int) -> None:
        """Ask for the returns of a job too."""
        self._jobs[jid] = _Job(jid, ticket, expected)
        # Who never collects a job would have it asked for as long as this process lives.
        while len(self._jobs) > JOBS_MOST:
            del self._jobs[next(iter(self._jobs))]
        # A quick minion has returned by the time that the ticket is here.
        self._ask_at_once()

    def get(self, timeout_s: float) -> Event | None:
        """The next return, ``None`` if none comes in time."""
        until_s = self._clock() + timeout_s
        while not self._events:
            now_s = self._clock()
            # No question falls into the time that is left.
            if not self._jobs or max(self._next_s, now_s) > until_s:
                self._sleep(max(0.0, until_s - now_s))
                return None
            self._sleep(max(0.0, self._next_s - now_s))
            self._ask_master()
        return self._events.popleft()

    def close(self) -> None:
        """Ask for nothing any more."""
        self.closed = True
        self._jobs.clear()

    def _ask_at_once(self) -> None:
        self._pause_s, self._next_s = FIRST_S, 0.0

    def _ask_master(self) -> None:
        # A list, since any() over a generator would leave the later parts unasked.
        more = [
            self._take_answers(jobs, self._fetch_answers(jobs))
            for jobs in _in_parts(self._jobs.values())
        ]
        # Where something returns more will soon; a job that is silent is asked for ever less.
        if self._events or any(more):
            self._pause_s = FIRST_S
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_S)
        self._next_s = 0.0 if any(more) else self._clock() + self._pause_s

    def _fetch_answers(self, jobs: list[_Job]) -> list[Any]:
        """What the master says of each; nothing where it is away, which may pass."""
        try:
            reply = self._send({"cmd": "follow", "jobs": [one.question() for one in jobs]})
        except (RequestTimeout, MasterRefused) as error:
            log.debug("The master does not tell what has returned: %s", error)
            return []
        found = reply.get("jobs") if isinstance(reply, Mapping) else None
        return found if isinstance(found, list) else []

    def _take_answers(self, jobs: list[_Job], answers: list[Any]) -> bool:
        """Take in what is new; whether there is more to be asked for at once."""
        found = False
        # Where the master could not be asked there are no answers, and the jobs stay.
        for job, answer in zip(jobs, answers, strict=False):
            if not isinstance(answer, Mapping) or answer.get("refused"):
                log.warning("The master tells no more of job %s", job.jid)
                del self._jobs[job.jid]
                continue
            returns = answer.get("returns")
            for minion, data in returns.items() if isinstance(returns, Mapping) else ():
                if minion not in job.had and isinstance(data, Mapping):
                    job.had.add(minion)
                    self._events.append(Event(tags.job_ret(job.jid, minion), dict(data)))
            # Names go along only when they are asked for: a count is enough while nothing is new.
            job.names_wanted = answer.get("more") is True
            found = found or job.names_wanted
            # Nobody else can return it, so the last question about it has been asked.
            if len(job.had) >= job.expected:
                del self._jobs[job.jid]
        return found


def _in_parts(jobs: Iterable[_Job]) -> Iterator[list[_Job]]:
    listed = list(jobs)
    for start in range(0, len(listed), JOBS_AT_ONCE):
        yield listed[start : start + JOBS_AT_ONCE]
