"""Which login is checked next, and when one that failed is answered. Pure: no clock, no process.

A failure tells nothing by its time: it is answered about a second after its check began, or as late
as the slowest failure so far, give or take a quarter, whether the password was wrong, the user
unknown or the module not there. From the third failure of a user on, the next check for that user
waits, twice as long each time. Users take turns, so that a thousand logins of one keep nobody else
waiting. Who has a token waits in a line of its own: a stranger can fill the other one, and this one
not. Source: docs/security.md#logins.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from saltlite.core.access import name_key
from saltlite.core.dataclasses import dataclass, field

AT_ONCE: Final = 2
"""Logins that are checked at the same time."""

RECHECKS_AT_ONCE: Final = 1
"""Owners of tokens that are looked at again at the same time, beside the logins."""

WAITING_MOST: Final = 1000
RECHECKS_MOST: Final = 1000
WAITING_MOST_BYTES: Final = 64 * 1024 * 1024
"""Of each of the two lines."""

OF_ONE_MOST: Final = 100
"""Logins that wait for one user, or for one token."""

ATTACKED_MOST: Final = 10
"""Logins that wait for a user who failed several times; further ones count as failed."""

DELAYED_MOST: Final = 2000
"""Failed logins whose answers wait for their time; beyond that the first due goes out early.

Less, with all that wait, than the replies that ReqServer keeps for later (``late.MOST``): else a
flood of logins would push out what honest callers wait for.
"""

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
        """With whom it waits. Who has a token is not kept waiting by who guesses his password.

        All spellings of a name wait together: a module may take them for the same user.
        """
        return f"\0{self.token}" if self.token else name_key(self.username)


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
        # The inner bound: after a thousand failures the power would overflow a float.
        return self.last_s + min(LONGEST_DELAY_S, 2.0 ** min(over, 10))


class _Queue:
    """Logins that wait, by who they are for; all of these take turns."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.lines: OrderedDict[str, deque[Login]] = OrderedDict()
        self.number = 0
        self._bytes = 0

    def has_room_for(self, login: Login) -> bool:
        """Whether one more may wait."""
        own = self.lines.get(login.line, ())
        # Bytes too: one load may have 4 MiB.
        full = self.number >= self._most or self._bytes >= WAITING_MOST_BYTES
        return not full and len(own) < OF_ONE_MOST

    def add(self, login: Login) -> None:
        """Let a login wait behind those for the same."""
        self.lines.setdefault(login.line, deque()).append(login)
        self.number += 1
        self._bytes += login.size_bytes

    def take(self, line: str) -> Login:
        """The first one of a line, which goes to the end of the round."""
        waiting = self.lines[line]
        login = waiting.popleft()
        if waiting:
            self.lines.move_to_end(line)
        else:
            del self.lines[line]
        self.number -= 1
        self._bytes -= login.size_bytes
        return login


class LoginLine:
    """The logins of one master. ``chance`` gives a number from 0 to 1."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._logins = _Queue(WAITING_MOST)
        self._rechecks = _Queue(RECHECKS_MOST)
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._slowest: deque[float] = deque(maxlen=SLOWEST_OF)
        self._refusals: list[tuple[float, int, Login]] = []
        self._order = count()

    def __len__(self) -> int:
        return self._logins.number + self._rechecks.number

    def has_room_for(self, login: Login) -> bool:
        """Whether a login may wait, be it for its check or for its refusal."""
        return self._queue_of(login).has_room_for(login)

    def _queue_of(self, login: Login) -> _Queue:
        return self._rechecks if login.token else self._logins

    def add(self, login: Login, now_s: float) -> None:
        """Let a login wait for its turn; one too many for a user under attack has failed.

        So has one that names nobody.
        """
        if not login.username or self._is_one_too_many(login):
            # Answered as late as any failure: the time must not tell that nothing was checked.
            login.begun_s = now_s
            self.refuse(login, now_s)
            return
        self._queue_of(login).add(login)

    def _is_one_too_many(self, login: Login) -> bool:
        failures = self._failures.get(login.line)
        waiting = self._queue_of(login).lines.get(login.line, ())
        return (
            failures is not None and bool(failures.not_before_s()) and len(waiting) >= ATTACKED_MOST
        )

    def take(self, now_s: float) -> Login | None:
        """The next login to be checked now; its user goes to the end of the round."""
        return self._take(self._logins, now_s)

    def take_recheck(self, now_s: float) -> Login | None:
        """The next token whose owner is to be looked at now."""
        return self._take(self._rechecks, now_s)

    def _take(self, queue: _Queue, now_s: float) -> Login | None:
        for line in queue.lines:
            # In the order of the round; a user still waiting after failures is skipped.
            failures = self._failures.get(line)
            if failures is None or failures.not_before_s() <= now_s:
                login = queue.take(line)
                login.begun_s = now_s
                return login
        return None

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
        # Names cost a stranger nothing, so there is a bound; the oldest failure is forgotten.
        while len(self._failures) > USERS_MOST:
            self._failures.popitem(last=False)
        self.refuse(login, now_s)

    def refuse(self, login: Login, now_s: float) -> None:
        """Answer a login that failed when it is time."""
        # All spread, the slowest one too, lies after the slowest check has ended.
        usual_s = max(SHORTEST_S, max(self._slowest, default=0.0) / (1 - SPREAD))
        wait_s = usual_s * (1 - SPREAD + 2 * SPREAD * self._chance())
        due_s = max(now_s, login.begun_s + wait_s)
        # The password is not needed any more, and the answer may be due in many seconds.
        login.load, login.password = {}, ""
        # The number decides between equal times: two logins cannot be compared.
        heapq.heappush(self._refusals, (due_s, next(self._order), login))

    def due(self, now_s: float) -> list[Login]:
        """The failed logins to be answered now."""
        found = []
        while self._refusals and (
            self._refusals[0][0] <= now_s or len(self._refusals) > DELAYED_MOST
        ):
            found.append(heapq.heappop(self._refusals)[2])
        return found

    def next_s(self, now_s: float, *, may_check: bool, may_recheck: bool = False) -> float:
        """How long nothing happens by itself; at most a minute.

        ``may_check`` and ``may_recheck``: there is room for a check of that kind.
        """
        times = [now_s + 60.0]
        if self._refusals:
            times.append(self._refusals[0][0])
        for queue, has_room in ((self._logins, may_check), (self._rechecks, may_recheck)):
            for line in queue.lines if has_room else ():
                failures = self._failures.get(line)
                times.append(failures.not_before_s() if failures else now_s)
        return max(0.0, min(times) - now_s)
