"""Where returns on their way up come from: the store of our lower master, or the bus of Salt's.

Which of the two is known when the lower master is there, and may change: one replaces the other.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, Protocol, TypeAlias

from saltlite.core.tags import parse_job
from saltlite.errors import StoreError
from saltlite.master.forwardqueue import Waiting
from saltlite.master.jobcache import take_fitting
from saltlite.master.stores import ForwardedReturns
from saltlite.syndic.down import FROM_MASTER
from saltlite.transport.codec import pack_bin

log = logging.getLogger(__name__)

JOBS_MOST: Final = 1000
"""Jobs of a Salt master whose load is remembered."""

BYTES_MOST: Final = 256 * 1024 * 1024
"""Of returns that wait in memory."""

READ_AT_ONCE: Final = 1000


Returned: TypeAlias = "tuple[Waiting, Mapping[str, Any] | None]"
"""A return and what it says; ``None`` if it is gone."""


class Source(Protocol):
    """Returns that wait. Each is dropped when a master above has it."""

    def read_new(self) -> list[Waiting]:
        """Those that have come since the last call."""

    def read_returns(self, waiting: Sequence[Waiting], most_bytes: int) -> Sequence[Returned]:
        """What the first of these returned, as many as take ``most_bytes``, but at least one."""

    def read_job(self, jid: str) -> Mapping[str, Any]:
        """The load of a job, ``{}`` if it is not known."""

    def drop(self, gone: Sequence[Waiting]) -> None:
        """These are above."""

    def hear(self, tag: str, data: Mapping[str, Any]) -> None:
        """An event of the lower master's bus."""


class StoreState:
    """Whether the store of the master here can be used; the log says once that it cannot."""

    def __init__(self) -> None:
        self._fails = False

    def note_failure(self, error: StoreError) -> None:
        """It cannot be used now; who asked asks again."""
        if not self._fails:
            self._fails = True
            log.error("the store of the master here: %s", error)

    def note_success(self) -> None:
        """It can."""
        if self._fails:
            self._fails = False
            log.info("The store of the master here can be used again")


class StoreSource:
    """Our lower master's store: what is in there is not lost, whoever dies."""

    def __init__(self, queue: ForwardedReturns) -> None:
        self._queue = queue
        self.begin = queue.begin
        self.drop = queue.drop
        self.read_returns = queue.read_returns

    def read_new(self) -> list[Waiting]:
        """See :class:`Source`."""
        return self._queue.read_new(READ_AT_ONCE)

    def read_job(self, jid: str) -> Mapping[str, Any]:
        """See :class:`Source`."""
        record = self._queue.job(jid)
        return {} if record is None else record.load

    def hear(self, tag: str, data: Mapping[str, Any]) -> None:
        """The store says it all."""
        del tag, data


class BusSource:
    """The bus of a real Salt master: returns wait in memory, and end with this process.

    Their numbers are below zero, by which they are told from those of a store.
    """

    def __init__(self, on_lost: Callable[[Waiting], None] = lambda _one: None) -> None:
        self._on_lost = on_lost
        self._number = 0
        self._new: list[Waiting] = []
        self._kept: OrderedDict[int, tuple[Mapping[str, Any], int]] = OrderedDict()
        self._bytes = 0
        self._jobs: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def hear(self, tag: str, data: Mapping[str, Any]) -> None:
        """Keep what is a return; remember what a job was."""
        job = parse_job(tag)
        if job is None:
            return
        if job.kind == "new":
            self._jobs[job.jid] = {
                name: data[name] for name in ("fun", "arg", "tgt", "tgt_type", "user")
                if name in data
            }  # fmt: skip
            if len(self._jobs) > JOBS_MOST:
                self._jobs.popitem(last=False)
        elif job.kind == "ret" and "return" in data:
            self._keep_return(Waiting(self._number - 1, job.jid, job.minion_id), data)

    def _keep_return(self, one: Waiting, data: Mapping[str, Any]) -> None:
        size = len(pack_bin(dict(data)))
        self._number = one.seq
        self._kept[one.seq] = (data, size)
        self._new.append(one)
        self._bytes += size
        while self._bytes > BYTES_MOST and len(self._kept) > 1:
            number, (lost, lost_size) = self._kept.popitem(last=False)
            self._bytes -= lost_size
            log.error("A return of job %s is lost: too many wait", lost.get("jid"))
            self._on_lost(Waiting(number, str(lost.get("jid")), str(lost.get("id"))))

    def read_new(self) -> list[Waiting]:
        """See :class:`Source`."""
        found, self._new = self._new, []
        return found

    def read_returns(self, waiting: Sequence[Waiting], most_bytes: int) -> Sequence[Returned]:
        """See :class:`Source`."""
        sized = ((one, self._kept.get(one.seq, (None, 0))) for one in waiting)
        return list(take_fitting((((one, kept[0]), kept[1]) for one, kept in sized), most_bytes))

    def read_job(self, jid: str) -> Mapping[str, Any]:
        """See :class:`Source`."""
        return self._jobs.get(jid, {})

    def drop(self, gone: Sequence[Waiting]) -> None:
        """See :class:`Source`."""
        for one in gone:
            kept = self._kept.pop(one.seq, None)
            if kept is not None:
                self._bytes -= kept[1]


class LowerReturns:
    """Both, of which one has something to say.

    ``open_queue`` opens the store of our master; ``None`` if that keeps no returns, so that the bus
    has to be heard whose ever it is.
    """

    def __init__(self, open_queue: Callable[[], ForwardedReturns] | None) -> None:
        self._open_queue = open_queue
        self._store: StoreSource | None = None
        self._bus = BusSource()
        self._is_salts = False

    def open(self, *, is_salts: bool) -> None:
        """Go by what the lower master is now.

        Raises:
            ConfigError: it is a node of a cluster whose server or driver is not there.
        """
        self._is_salts = is_salts
        if not is_salts and self._store is None and self._open_queue is not None:
            self._store = StoreSource(self._open_queue())

    @property
    def needs_bus(self) -> bool:
        """Whether returns come from the bus."""
        return self._is_salts or self._open_queue is None

    def begin(self) -> None:
        """See :meth:`ForwardedReturns.begin`; raises StoreError."""
        if self._store is not None and not self._is_salts:
            self._store.begin()

    def read_new(self) -> list[Waiting]:
        """See :class:`Source`."""
        # The store first: if it cannot be read, what the bus said waits for the next time.
        stored = [] if self._store is None else self._store.read_new()
        return stored + self._bus.read_new()

    def read_returns(self, waiting: Sequence[Waiting], most_bytes: int) -> Sequence[Returned]:
        """See :class:`Source`; of one of the two at a time."""
        source = self._find_source(waiting[0])
        same = list(takewhile(lambda one: self._find_source(one) is source, waiting))
        return source.read_returns(same, most_bytes)

    def read_job(self, jid: str) -> Mapping[str, Any]:
        """See :class:`Source`."""
        stored = {} if self._store is None else self._store.read_job(jid)
        return stored or self._bus.read_job(jid)

    def drop(self, gone: Sequence[Waiting]) -> None:
        """See :class:`Source`."""
        self._bus.drop([one for one in gone if one.seq < 0])
        stored = [one for one in gone if one.seq >= 0]
        if stored and self._store is not None:
            self._store.drop(stored)

    def hear(self, tag: str, data: Mapping[str, Any]) -> None:
        """See :class:`Source`."""
        if self.needs_bus:
            self._bus.hear(tag, data)

    def _find_source(self, one: Waiting) -> Source:
        return self._bus if one.seq < 0 or self._store is None else self._store


def origin_of(load: Mapping[str, Any]) -> str | None:
    """The master above that asked for a job, as it is on the lower master's record."""
    kwargs = load.get("kwargs")
    found = kwargs.get(FROM_MASTER) if isinstance(kwargs, Mapping) else None
    return found if isinstance(found, str) else None
