"""How much of everything one client may have: logins, commands, streams, hooks.

:class:`LoginGuard` and :class:`Rate` are pure, the time is an argument. :class:`CommandSlots` lets
commands wait for their turn, :class:`LoginTurns` logins. Source: docs/api.md, "Limits".
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from saltlite.api.messages import too_many
from saltlite.core.access import name_key
from saltlite.core.dataclasses import dataclass
from saltlite.transport.tcp import origin_of

HEADER_BYTES_MOST: Final = 16 * 1024
TARGET_BYTES_MOST: Final = 8 * 1024
ANSWER_BYTES_MOST: Final = 64 * 1024 * 1024
CONNECTIONS_MOST: Final = 2_000
CONNECTIONS_OF_ADDRESS_MOST: Final = 200
OTHER_FILES_MOST: Final = 200
"""Descriptors for all but connections: logs, pages, and sockets to the master."""

CONNECTIONS_WAITING_LEAST: Final = 1024
"""The least that the kernel keeps of connections that are not accepted yet."""

BODIES_BYTES_MOST: Final = 64 * 1024 * 1024
BODIES_OF_ADDRESS_BYTES_MOST: Final = 16 * 1024 * 1024
"""Bodies in hand at a time: those that are being read, and those whose answer is being made."""

HEADERS_S: Final = 10.0
BODY_S: Final = 30.0
BODY_BYTES_PER_S_LEAST: Final = 1024
BODY_GRACE_S: Final = 5.0
IDLE_S: Final = 60.0
UNREAD_ANSWER_S: Final = 60.0
CALL_S: Final = 600.0
COMMANDS_OF_SESSION_MOST: Final = 20
COMMAND_WAIT_S: Final = 10.0
COMMANDS_WAITING_MOST: Final = 100
"""Of one session. Who leaves without an answer has what he sent done all the same, as with Salt."""

STREAMS_MOST: Final = 500
STREAMS_OF_USER_MOST: Final = 200
STREAMS_OF_SESSION_MOST: Final = 10
FORMATTED_STREAMS_MOST: Final = 20
FORMATTED_STREAMS_OF_USER_MOST: Final = 5
STREAM_EVENTS_MOST: Final = 1_000
STREAM_BYTES_MOST: Final = 4 * 1024 * 1024
HOOKS_PER_S: Final = 10
HOOK_BYTES_MOST: Final = 64 * 1024
LOGIN_BYTES_MOST: Final = 64 * 1024
"""Of a body that holds a name and a password, and hardly more."""

LOGINS_MOST: Final = 200
LOGINS_OF_ADDRESS_MOST: Final = 20
LOGIN_WAIT_S: Final = 10.0
LOGINS_OF_REQUEST_MOST: Final = 20

FREE_FAILURES: Final = 2
FREE_FAILURES_OF_ADDRESS: Final = 20
DELAY_MOST_S: Final = 30.0
FORGET_AFTER_S: Final = 600.0
REMEMBERED_MOST: Final = 10_000


@dataclass(slots=True)
class _Failures:
    """Wrong logins of one kind, and until when no more are taken."""

    count: int = 0
    last: float = 0.0
    closed_until: float = 0.0


class LoginGuard:
    """Wrong logins cost time: from the third one on, twice as long each time, 30 s at most.

    Counted by address and user, and by address alone with more patience, so that trying many names
    costs as well.
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[Hashable, _Failures] = OrderedDict()

    def wait_s(self, address: str, user: str, now: float) -> float:
        """How long a login has to wait; 0 if it may be tried now."""
        keys = _guard_keys(address, user)
        waits = [self._failures[key].closed_until - now for key in keys if key in self._failures]
        return max(0.0, *waits, 0.0)

    def note_failure(self, address: str, user: str, now: float) -> None:
        """Remember a wrong login."""
        of_user, of_address = _guard_keys(address, user)
        self._add(of_user, FREE_FAILURES, now)
        self._add(of_address, FREE_FAILURES_OF_ADDRESS, now)

    def note_success(self, address: str, user: str) -> None:
        """Forget the wrong logins of this user from there."""
        self._failures.pop(_guard_keys(address, user)[0], None)

    def _add(self, key: Hashable, free: int, now: float) -> None:
        known = self._failures.pop(key, None)
        if known is None or now - known.last > FORGET_AFTER_S:
            known = _Failures()
        known.count += 1
        known.last = now
        beyond = known.count - free
        if beyond > 0:
            known.closed_until = now + min(DELAY_MOST_S, 2.0 ** min(beyond - 1, 10))
        self._failures[key] = known
        while len(self._failures) > REMEMBERED_MOST:
            self._failures.popitem(last=False)


def _guard_keys(address: str, user: str) -> tuple[Hashable, Hashable]:
    """What wrong logins of a user from an address are counted by: both, and the address alone."""
    client = origin_of(address)
    return (client, name_key(user)), (client, None)


class BodyRoom:
    """How much of all bodies is in memory, and whose it is.

    ``of_client_most`` counts for each client but those that speak for many.
    """

    def __init__(
        self,
        most: int = BODIES_BYTES_MOST,
        of_client_most: int = BODIES_OF_ADDRESS_BYTES_MOST,
    ) -> None:
        self._most = most
        self._of_client_most = of_client_most
        self._of_client: Counter[str] = Counter()
        self.size_bytes = 0

    def fits(self, size_bytes: int) -> bool:
        """Whether so much more fits in all."""
        return self.size_bytes + size_bytes <= self._most

    def fits_client(self, client: str, size_bytes: int) -> bool:
        """Whether one client may have so much more."""
        return self._of_client[client] + size_bytes <= self._of_client_most

    def take(self, client: str, size_bytes: int) -> None:
        """Count bytes that a client has sent."""
        self.size_bytes += size_bytes
        self._of_client[client] += size_bytes

    def give_back(self, client: str, size_bytes: int) -> None:
        """Count no more what is let go of."""
        self.size_bytes -= size_bytes
        self._of_client[client] -= size_bytes
        if not self._of_client[client]:
            del self._of_client[client]

    def share_of(self, client: str) -> int:
        """The bytes of one client."""
        return self._of_client[client]


class Rate:
    """So many a second for each key; what is idle is forgotten."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def allows(self, key: Hashable, now: float) -> bool:
        """Count one more, if it is allowed."""
        times = self._times.pop(key, None) or deque()
        while times and now - times[0] >= 1.0:
            times.popleft()
        self._times[key] = times
        while len(self._times) > REMEMBERED_MOST:
            self._times.popitem(last=False)
        if len(times) >= self._per_s:
            return False
        times.append(now)
        return True


class _Turns:
    """Turns that are had by ``most`` at once; whoever comes later is given one in his order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, wait_s: float) -> bool:
        """Wait for a turn; whether there was one in time."""
        if self.running < self._most:
            self.running += 1
            return True
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(place)
        try:
            await asyncio.wait((place,), timeout=wait_s)
        except BaseException:
            self._leave(place)
            raise
        if not place.done():
            self._leave(place)
            return False
        return True

    def _leave(self, place: asyncio.Future[None]) -> None:
        """Wait no more; a turn that was given in this very moment goes on to the next."""
        if place.done():
            self.give_back()
        else:
            self.waiting.remove(place)

    def give_back(self) -> None:
        """End a turn."""
        if self.waiting:
            self.waiting.popleft().set_result(None)  # the turn goes over, so the count stays
        else:
            self.running -= 1


class CommandSlots:
    """Turns for commands: ``most`` at once, ``COMMANDS_OF_SESSION_MOST`` of one owner."""

    def __init__(self, most: int, *, wait_s: float = COMMAND_WAIT_S) -> None:
        self._all = _Turns(most)
        self._wait_s = wait_s
        self._of_owner: dict[Hashable, _Turns] = {}

    @property
    def running(self) -> int:
        """How many have a turn."""
        return self._all.running

    @property
    def is_idle(self) -> bool:
        """Whether nobody has a turn or waits for one."""
        return not self._of_owner

    @asynccontextmanager
    async def turn(self, owner: Hashable) -> AsyncIterator[None]:
        """Wait for a turn and have it; ``owner`` is a session, or who else asks.

        Raises:
            HttpError: 429, there is none in time, or too many of the owner wait for one.
        """
        own = self._of_owner.setdefault(owner, _Turns(COMMANDS_OF_SESSION_MOST))
        if len(own.waiting) >= COMMANDS_WAITING_MOST or not await self._take_of(owner, own):
            raise too_many("Too many commands of this session are running")
        try:
            if not await self._all.take(self._wait_s):
                raise too_many("Too many commands are running")
            try:
                yield
            finally:
                self._all.give_back()
        finally:
            own.give_back()
            self._forget_idle(owner, own)

    async def _take_of(self, owner: Hashable, own: _Turns) -> bool:
        try:
            return await own.take(self._wait_s)
        finally:
            self._forget_idle(owner, own)

    def _forget_idle(self, owner: Hashable, own: _Turns) -> None:
        if not own.running and not own.waiting:
            self._of_owner.pop(owner, None)


class LoginTurns:
    """Turns for logins: one after another for a user of a client, and a bound on how many wait.

    A client that tries a thousand passwords keeps nobody else waiting: its own logins are few.
    """

    def __init__(self, *, wait_s: float = LOGIN_WAIT_S) -> None:
        self._wait_s = wait_s
        self._pending = 0
        self._of_client: Counter[str] = Counter()
        self._slots: dict[Hashable, CommandSlots] = {}

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """Count a login as pending, without a turn.

        Raises:
            HttpError: 429, there are too many.
        """
        client = origin_of(address)
        if self._of_client[client] >= LOGINS_OF_ADDRESS_MOST or self._pending >= LOGINS_MOST:
            raise too_many("Too many logins are under way")
        self._pending += 1
        self._of_client[client] += 1
        try:
            yield
        finally:
            self._pending -= 1
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]

    @asynccontextmanager
    async def turn(self, address: str, user: str) -> AsyncIterator[None]:
        """Wait for the turn of a user's login from an address, and have it.

        Raises:
            HttpError: 429, there are too many, or those before it take too long.
        """
        key = (origin_of(address), name_key(user))
        with self.place(address):
            slots = self._slots.setdefault(key, CommandSlots(1, wait_s=self._wait_s))
            try:
                async with slots.turn(object()):
                    yield
            finally:
                if slots.is_idle:
                    self._slots.pop(key, None)
