"""When a minion was where with a job: kept along with its return, for ``jobs.trace``.

Times are whole microseconds since the epoch by the minion's clock, which may be wrong; 0 is not
known. On the wire they are a list, ``times``, of some thirty bytes in a ``_return``; a real master
passes over it. Source: docs/wire.md#_return.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field

WIRE_NAME: Final = "times"
"""The field of a ``_return``."""

COMMANDS_MOST: Final = 8
"""Kinds of requests to the master that are told apart; of others nothing is said."""

COMMAND_LENGTH_MOST: Final = 40

LATEST_US: Final = 1 << 53
"""The year 2255; what lies behind it is no time."""


@dataclass(frozen=True, slots=True)
class MasterRequests:
    """What a job asked the master for: ``count`` requests of one kind.

    ``first_us`` is when the first began, ``spent_us`` how long the answers took together.
    """

    cmd: str
    first_us: int
    count: int
    spent_us: int


@dataclass(slots=True)
class JobTimes:
    """One job on one minion.

    received
        The loop had the publication, verified and decrypted.
    begun
        The job's own process had what it needs; until then it waited for a place, and was forked.
    found
        The function was found and its module loaded; of several functions the last one.
    ended
        All functions had come to their end.
    """

    received_us: int = 0
    begun_us: int = 0
    found_us: int = 0
    ended_us: int = 0
    made_us: int = 0
    """The return was made, to be spooled and sent."""
    asked: dict[str, MasterRequests] = field(default_factory=dict)
    clock: Callable[[], int] | None = None
    """The wall clock, in microseconds; ``None`` where nobody will want to know."""

    def note_found(self) -> None:
        """The function is there."""
        if self.clock is not None:
            self.found_us = self.clock()

    def note_asked(self, cmd: str, began_us: int, ended_us: int) -> None:
        """A request to the master has been answered."""
        before = self.asked.get(cmd)
        if before is None and len(self.asked) >= COMMANDS_MOST:
            return
        spent_us = max(0, ended_us - began_us)
        self.asked[cmd] = (
            MasterRequests(cmd, began_us, 1, spent_us)
            if before is None
            else MasterRequests(cmd, before.first_us, before.count + 1, before.spent_us + spent_us)
        )

    def to_wire(self) -> list[Any]:
        """``begun``, then how long after it each other moment was, and a list for each command."""
        base_us = self.begun_us
        moments = (self.received_us, self.found_us, self.ended_us, self.made_us)
        asked = self.asked.values()
        return [
            base_us,
            *(at_us - base_us if at_us else None for at_us in moments),
            *([one.cmd, one.first_us - base_us, one.count, one.spent_us] for one in asked),
        ]


MOMENTS: Final = 5


def check_wire(plain: object) -> list[Any] | None:
    """What may go on record of a minion's ``times``; ``None`` where it is not what it should be."""
    if not isinstance(plain, (list, tuple)) or not MOMENTS <= len(plain) <= MOMENTS + COMMANDS_MOST:
        return None
    # Written out: each return passes here, and most have no requests.
    for number, one in enumerate(plain):
        if number >= MOMENTS:
            good = _is_request(one)
        elif type(one) is int:
            good = -LATEST_US < one < LATEST_US and (number > 0 or one >= 0)
        else:
            good = number > 0 and one is None
        if not good:
            return None
    return list(plain)


def read_wire(plain: object) -> JobTimes | None:
    """The times of a return that is on record; ``None`` where there are none."""
    good = check_wire(plain)
    if good is None:
        return None
    base = good[0]
    received, found, ended, made = (0 if one is None else base + one for one in good[1:MOMENTS])
    requests = [
        MasterRequests(cmd, base + first, n, spent) for cmd, first, n, spent in good[MOMENTS:]
    ]
    return JobTimes(received, base, found, ended, made, {one.cmd: one for one in requests})


def is_moment(value: object) -> bool:
    """Whether this is a number of microseconds since the epoch, or 0."""
    return type(value) is int and 0 <= value < LATEST_US


def read_moment(value: Any) -> int:
    """What a peer says as a moment; 0 for what is none."""
    return int(value) if is_moment(value) else 0


def _is_span(value: Any) -> bool:
    # Below 0 too: the job was received before its process began, and clocks are set back.
    return type(value) is int and -LATEST_US < value < LATEST_US


def _is_request(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 4
        and isinstance(value[0], str)
        and len(value[0]) <= COMMAND_LENGTH_MOST
        and all(map(_is_span, value[1:]))
    )
