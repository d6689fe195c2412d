"""How much of everything one client may have: logins, commands, streams, hooks.

:class:`LoginGuard` and :class:`Rate` are pure, the time is an argument. :class:`CommandSlots` lets
commands wait for their turn. Source: docs/api.md, "Limits".
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from saltlite.api.messages import too_many
from saltlite.api.sessions import Session

HEADER_BYTES_MOST: Final = 16 * 1024
TARGET_BYTES_MOST: Final = 8 * 1024
ANSWER_BYTES_MOST: Final = 64 * 1024 * 1024
CONNECTIONS_MOST: Final = 2_000
CONNECTIONS_OF_ADDRESS_MOST: Final = 200
HEADERS_S: Final = 10.0
BODY_S: Final = 30.0
BODY_BYTES_PER_S_LEAST: Final = 1024
BODY_GRACE_S: Final = 5.0
IDLE_S: Final = 60.0
UNREAD_ANSWER_S: Final = 60.0
CALL_S: Final = 600.0
COMMANDS_OF_SESSION_MOST: Final = 20
COMMAND_WAIT_S: Final = 10.0
STREAMS_MOST: Final = 500
STREAMS_OF_SESSION_MOST: Final = 10
STREAM_EVENTS_MOST: Final = 1_000
STREAM_BYTES_MOST: Final = 4 * 1024 * 1024
HOOKS_PER_S: Final = 10
HOOK_BYTES_MOST: Final = 64 * 1024
LOGINS_AT_ONCE: Final = 2
LOGIN_WAIT_S: Final = 10.0

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
        keys = ((address, user), (address, None))
        waits = [self._failures[key].closed_until - now for key in keys if key in self._failures]
        return max(0.0, *waits, 0.0)

    def note_failure(self, address: str, user: str, now: float) -> None:
        """Remember a wrong login."""
        self._add((address, user), FREE_FAILURES, now)
        self._add((address, None), FREE_FAILURES_OF_ADDRESS, now)

    def note_success(self, address: str, user: str) -> None:
        """Forget the wrong logins of this user from there."""
        self._failures.pop((address, user), None)

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


class CommandSlots:
    """Turns for commands: ``most`` run at once, and ``COMMANDS_OF_SESSION_MOST`` of one session."""

    def __init__(self, most: int, *, wait_s: float = COMMAND_WAIT_S) -> None:
        self._most = most
        self._wait_s = wait_s
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, session: Session | None) -> AsyncIterator[None]:
        """Wait for a turn and have it.

        Raises:
            HttpError: 429, there is none in time.
        """
        if session is not None and session.commands >= COMMANDS_OF_SESSION_MOST:
            await self._wait_for_session(session)
        await self._take()
        if session is not None:
            session.commands += 1
        try:
            yield
        finally:
            if session is not None:
                session.commands -= 1
            self._give_back()

    async def _wait_for_session(self, session: Session) -> None:
        deadline = asyncio.get_running_loop().time() + self._wait_s
        while session.commands >= COMMANDS_OF_SESSION_MOST:
            if asyncio.get_running_loop().time() >= deadline:
                raise too_many("Too many commands of this session are running")
            await asyncio.sleep(0.05)

    async def _take(self) -> None:
        if self.running < self._most:
            self.running += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait_for(turn, self._wait_s)
        except asyncio.TimeoutError:
            raise too_many("Too many commands are running") from None
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)  # the place goes over, so the count stays
                return
        self.running -= 1
