"""Which login is checked next, and when one that failed is answered. Pure: no clock, no process.

A failure tells nothing by its time: it is answered about a second after its check began, or as late
as the slowest failure so far, give or take a quarter, whether the password was wrong, the user
unknown or the module not there. From the third failure of a user on, the next check for that user
waits, twice as long each time. Users take turns, so that a thousand logins of one keep nobody else
waiting. Source: security.md 2.1.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

AT_ONCE: Final = 2
"""Logins that are checked at the same time."""

WAITING_MOST: Final = 1000
WAITING_MOST_BYTES: Final = 64 * 1024 * 1024
ATTACKED_MOST: Final = 10
"""Logins that wait for a user who failed several times; further ones count as failed."""

SHORTEST_S: Final = 1.0
SPREAD: Final = 0.25
SLOWEST_OF: Final = 100
"""The failures of which the slowest one counts."""

FREE_FAILURES: Final = 2
LONGEST_DELAY_S: Final = 30.0
FORGET_S: Final = 600.0
USERS_MOST: Final = 10_000


@dataclass(slots=True)
class Login:
    """A login that waits, is being checked, or has failed.

    ``load`` is what to go on with once it is proven, ``refused`` the reply if it is not. With
    ``token``, the name of one, its owner is looked at again, without a password.
    """

    ticket: bytes
    eauth: str
    username: str
    password: str = field(repr=False)
    load: dict[str, Any] = field(repr=False)
    refused: bytes = b""
    size_bytes: int = 0
    token: str = ""
    begun_s: float = 0.0

    @property
    def line(self) -> str:
        """With whom it waits. Who has a token is not kept waiting by who guesses his password."""
        return f"\0{self.token}" if self.token else self.username


@dataclass(slots=True)
class _Failures:
    """How often logins of one user failed, and when the last time."""

    number: int = 0
    last_s: float = 0.0

    def not_before_s(self) -> float:
        """When the next check may begin."""
        over = self.number - FREE_FAILURES
        if over <= 0:
            return 0.0
        return self.last_s + min(LONGEST_DELAY_S, 2.0 ** min(over, 10))


class LoginLine:
    """The logins of one master. ``chance`` gives a number from 0 to 1."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._waiting: OrderedDict[str, deque[Login]] = OrderedDict()
        self._number = 0
        self._bytes = 0
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._slowest: deque[float] = deque(maxlen=SLOWEST_OF)
        self._refusals: list[tuple[float, int, Login]] = []
        self._order = count()

    def __len__(self) -> int:
        return self._number

    @property
    def is_full(self) -> bool:
        """Whether nothing more may wait, be it for a check or for its refusal."""
        many = (
            self._number + len(self._refusals) >= WAITING_MOST * 2 or self._number >= WAITING_MOST
        )
        return many or self._bytes >= WAITING_MOST_BYTES

    def add(self, login: Login, now_s: float) -> None:
        """Let a login wait for its turn; one too many for a user under attack has failed.

        So has one that names nobody.
        """
        if not login.username:
            login.begun_s = now_s
            self.refuse(login, now_s)
            return
        line = self._waiting.setdefault(login.line, deque())
        failures = self._failures.get(login.line)
        if failures is not None and failures.not_before_s() and len(line) >= ATTACKED_MOST:
            login.begun_s = now_s
            self.refuse(login, now_s)
            return
        line.append(login)
        self._number += 1
        self._bytes += login.size_bytes

    def take(self, now_s: float) -> Login | None:
        """The next login to be checked now; its user goes to the end of the round."""
        for username, line in self._waiting.items():
            failures = self._failures.get(username)
            if line and (failures is None or failures.not_before_s() <= now_s):
                break
        else:
            return None
        login = line.popleft()
        if line:
            self._waiting.move_to_end(username)
        else:
            del self._waiting[username]
        self._number -= 1
        self._bytes -= login.size_bytes
        login.begun_s = now_s
        return login

    def succeed(self, login: Login) -> None:
        """Forget what failed before."""
        self._failures.pop(login.line, None)

    def fail(self, login: Login, now_s: float) -> None:
        """Count a failure whose check is over, and refuse the login when it is time."""
        self._slowest.append(now_s - login.begun_s)
        failures = self._failures.setdefault(login.line, _Failures())
        if now_s - failures.last_s > FORGET_S:
            failures.number = 0
        failures.number += 1
        failures.last_s = now_s
        self._failures.move_to_end(login.line)
        while len(self._failures) > USERS_MOST:
            self._failures.popitem(last=False)
        self.refuse(login, now_s)

    def refuse(self, login: Login, now_s: float) -> None:
        """Answer a login that failed when it is time."""
        # All spread, the slowest one too, lies after the slowest check has ended.
        usual_s = max(SHORTEST_S, max(self._slowest, default=0.0) / (1 - SPREAD))
        wait_s = usual_s * (1 - SPREAD + 2 * SPREAD * self._chance())
        due_s = max(now_s, login.begun_s + wait_s)
        login.load, login.password = {}, ""
        heapq.heappush(self._refusals, (due_s, next(self._order), login))

    def due(self, now_s: float) -> list[Login]:
        """The failed logins to be answered now."""
        found = []
        while self._refusals and self._refusals[0][0] <= now_s:
            found.append(heapq.heappop(self._refusals)[2])
        return found

    def next_s(self, now_s: float, *, may_check: bool) -> float:
        """How long nothing happens by itself; at most a minute. ``may_check``: there is room."""
        times = [now_s + 60.0]
        if self._refusals:
            times.append(self._refusals[0][0])
        for username in self._waiting if may_check else ():
            failures = self._failures.get(username)
            times.append(failures.not_before_s() if failures else now_s)
        return max(0.0, min(times) - now_s)
