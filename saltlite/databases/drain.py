"""From the spool to the server: in order, many records at a time, and again when it is back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from saltlite.databases.records import Record, unpack_record
from saltlite.databases.spool import Spool, SpooledRecord
from saltlite.errors import RecordRefused, StoreError

log = logging.getLogger(__name__)

BATCH: Final = 500
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 30.0


class Store(Protocol):
    """A connection to a server that keeps records; it connects when it is used."""

    def write(self, records: Sequence[Record]) -> None:
        """Keep them all, or none; raises ServerAway, RecordRefused.

        A server that undoes nothing keeps the others and has the log say which were lost.
        """

    def clean(self, before_s: float, *, archive: bool) -> None:
        """Forget what is older (seconds since the epoch); raises ServerAway, RecordRefused."""

    def close(self) -> None:
        """End the connection."""


class Pauses:
    """How long to wait before the next attempt: twice as long each time, from 0.1 to 30 s."""

    def __init__(self, jitter: Callable[[], float], *, longest_s: float = LONGEST_PAUSE_S) -> None:
        self._jitter = jitter
        self._longest_s = longest_s
        self._pause_s = FIRST_PAUSE_S

    def next_s(self) -> float:
        """Return the pause after another failure; ``jitter`` is between 0 and 1."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, self._longest_s)
        return pause_s * (0.75 + 0.5 * self._jitter())

    def reset(self) -> None:
        """Begin anew: an attempt was good."""
        self._pause_s = FIRST_PAUSE_S


def drain(spool: Spool, store: Store, *, goes_on: Callable[[], bool] = lambda: True) -> None:
    """Give the server what waits, until nothing does, somebody else is at it, or ``goes_on`` ends.

    A process that dies between the server's commit and the removal here leaves records that are
    written a second time; readers take the newest, so that nobody sees two.

    Raises:
        ServerAway: the rest waits.
    """
    while goes_on() and spool.count():
        with spool.taking() as mine:
            if not mine:
                return
            while goes_on() and (waiting := spool.peek(BATCH)):
                _write(store, waiting)
                spool.remove([one.number for one in waiting])
        # What came after the last look, from somebody who saw the lock held, is taken now.


def _write(store: Store, waiting: Sequence[SpooledRecord]) -> None:
    records = [record for one in waiting if (record := _read(one)) is not None]
    try:
        store.write(records)
    except RecordRefused:
        for record in records:  # which one is it?
            _write_alone(store, record)


def _write_alone(store: Store, record: Record) -> None:
    try:
        store.write([record])
    except RecordRefused as error:
        log.error("A record is lost: %s", error)


def _read(waiting: SpooledRecord) -> Record | None:
    try:
        return unpack_record(waiting.line)
    except StoreError as error:
        log.error("%s", error)
        return None
