"""One minion and one master: what to do next. Events go in, instructions come out.

Pure: the clock is an argument, chance is handed in, and nothing here waits, sends or knows a
socket; :mod:`saltlite.minion.master_link` carries the instructions out and reports back. So every
race and every order of bad luck is a table in a test.

::

    NEW ─Started─► ASKING ─Accepted─► UP ─Undecryptable, Reconnected, Lost─► ASKING …
                     │ ▲
       Pending,      ▼ │ WaitOver
       Failed …    WAITING          any ─Stopped─► OVER
                     │ Rejected, WrongFinger: LEAVING ─WaitOver─► OVER
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from saltlite.core.dataclasses import dataclass, field

REJECTED_EXIT: Final = 77
"""A rejected minion ends with this. Source: docs/wire.md#what-the-minion-does-next."""

FINGER_EXIT: Final = 42
"""A master with the wrong fingerprint ends the minion with this.

Source: docs/wire.md#what-the-minion-does-next.
"""

UNRESOLVED_EXIT: Final = 68
"""The master's name is not to be looked up again. Source: sysexits.h, EX_NOHOST."""

REJECTED_WAIT_S: Final = (10.0, 20.0)
SHORTEST_WAIT_S: Final = 0.5
EAGER_SHARE: Final = 0.1
"""Of the time that a key has been pending, a wait's share: who has just set up a minion accepts its
key within a minute, and asks it something at once.
"""

EAGER_LEAST_S: Final = 1.0

IMPATIENT_S: Final = 600.0
"""So long after the first failure the waits stay short: masters that boot are met quickly."""

IMPATIENT_CAP_S: Final = 10.0
PATIENT_CAP_S: Final = 60.0
REPEAT_LOG_S: Final = 3600.0


# --- events -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """Begin."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The master let us in. ``new_keys``: its keys are other ones than before."""

    new_keys: bool = True


@dataclass(frozen=True, slots=True)
class Pending:
    """The key waits for an operator."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The key was rejected or denied; ``reason`` says what may be behind it."""

    reason: str = "the master has rejected this minion's key"


@dataclass(frozen=True, slots=True)
class WrongFinger:
    """The master's key has not the fingerprint that was configured."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer: a timeout, junk, a full master, an untrusted key."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The master's name has no address."""

    reason: str


@dataclass(frozen=True, slots=True)
class WaitOver:
    """The time of the last Wait is over."""


@dataclass(frozen=True, slots=True)
class Undecryptable:
    """A publication or a reply does not hold under the present keys."""


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The subscription came back by itself: the master may have started anew, with other keys."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing has been heard of the master for too long."""


@dataclass(frozen=True, slots=True)
class SessionStopped:
    """The minion is to end."""


Event: TypeAlias = (
    Started | Accepted | Pending | Rejected | WrongFinger | Failed | Unresolved | WaitOver
    | Undecryptable | Reconnected | Lost | SessionStopped
)  # fmt: skip


# --- instructions -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Resolve the master's name and send one ``_auth``; report how it ended."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Subscribe with the ports of the reply, anew if there is a subscription."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Report WaitOver after this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """This master is of no use now; try the next one, or begin again with the first one."""

    reason: str
    start_over: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """Close everything and end with this code."""

    code: int


@dataclass(frozen=True, slots=True)
class Say:
    """Write one line to the log."""

    level: int
    text: str


Instruction: TypeAlias = Authenticate | Connect | Wait | GiveUp | Exit | Say


class State(enum.Enum):
    """Where a session is."""

    NEW = "new"
    ASKING = "asking"
    WAITING = "waiting"
    UP = "up"
    LEAVING = "leaving"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What the user may choose.

    ``acceptance_wait_time_max_s`` 0: waits grow no further than ``acceptance_wait_time_s``.
    ``retry_dns_s`` 0: a name is looked up once; ``retry_dns_count`` is how often again.
    """

    acceptance_wait_time_s: float = 10.0
    acceptance_wait_time_max_s: float = 0.0
    rejected_retry: bool = False
    random_reauth_delay_s: float = 10.0
    failover: bool = False
    retry_dns_s: float = 30.0
    retry_dns_count: int | None = None


@dataclass(slots=True)
class Session:
    """The state towards one master. ``chance`` gives numbers in 0..1."""

    master: str
    options: SessionOptions
    chance: Callable[[], float]
    state: State = State.NEW
    _connected: bool = False
    _failures: int = 0
    _failing_since_s: float = 0.0
    _unresolved: int = 0
    _was_up: bool = False
    _fruitless: int = 0
    _ask_again_s: float = 0.0
    _acceptance_wait_s: float = 0.0
    _pending_since_s: float | None = None
    _exit_code: int = 0
    _said: dict[str, float] = field(default_factory=dict)

    @property
    def asks_again_s(self) -> float:
        """When, by the clock of ``on``, keys that may be old are a reason to ask again."""
        return self._ask_again_s

    def on(self, event: Event, now_s: float) -> list[Instruction]:
        """What to do after ``event``, in order. Events that do not fit the state change nothing."""
        if self.state is State.OVER:
            return []
        # Before all others: it counts in every state.
        if isinstance(event, SessionStopped):
            return self._over(0)
        if isinstance(event, WaitOver):
            return self._wait_over()
        if isinstance(event, Undecryptable | Reconnected):
            return self._keys_may_be_old(now_s)
        if isinstance(event, Lost):
            return self._on_lost(now_s)
        if isinstance(event, Started):
            return self._ask() if self.state is State.NEW else []
        # An answer that comes after a stop or a loss must not bring the session up.
        return self._on_answer(event, now_s) if self.state is State.ASKING else []

    # --- what the master said ------------------------------------------------------------

    def _on_answer(
        self,
        event: Accepted | Pending | Rejected | WrongFinger | Failed | Unresolved,
        now_s: float,
    ) -> list[Instruction]:
        if isinstance(event, Unresolved):
            return self._on_unresolved(event.reason, now_s)
        self._unresolved = 0
        if isinstance(event, Accepted):
            return self._on_accepted(event, now_s)
        if isinstance(event, Pending):
            return self._wait_for_acceptance("this minion's key has to be accepted", now_s)
        if isinstance(event, Rejected):
            return self._on_rejected(event.reason, now_s)
        if isinstance(event, WrongFinger):
            return [
                Say(logging.CRITICAL, f"Master {self.master}: {event.reason}"),
                *self._over(FINGER_EXIT),
            ]
        return self._on_failed(event.reason, now_s)

    def _on_accepted(self, event: Accepted, now_s: float) -> list[Instruction]:
        self.state = State.UP
        self._was_up = True
        self._failures = 0
        self._acceptance_wait_s = 0.0
        self._pending_since_s = None
        self._said.clear()
        # The same keys again: what did not open was not for want of keys, so asking would not help.
        self._fruitless = 0 if event.new_keys else self._fruitless + 1
        # At once after new keys; then 1, 3, 7 s, up to a minute. Bounded: 2.0 ** 1024 raises.
        self._ask_again_s = now_s + min(PATIENT_CAP_S, 2.0 ** min(self._fruitless, 10) - 1)
        # The subscription stays: while a new one is made a job could be missed.
        if self._connected:
            return [Say(logging.INFO, f"Authenticated again with master {self.master}")]
        self._connected = True
        return [Say(logging.INFO, f"Authenticated with master {self.master}"), Connect()]

    def _on_rejected(self, reason: str, now_s: float) -> list[Instruction]:
        if self.options.rejected_retry:
            return self._wait_for_acceptance(reason, now_s)
        # Not at once: a service manager may start it again, and each start is a request.
        self.state = State.LEAVING
        self._exit_code = REJECTED_EXIT
        shortest, longest = REJECTED_WAIT_S
        wait_s = shortest + (longest - shortest) * self.chance()
        text = f"Master {self.master}: {reason}; ending in {wait_s:.0f} s"
        return [Say(logging.CRITICAL, text), Wait(wait_s)]

    def _wait_for_acceptance(self, text: str, now_s: float) -> list[Instruction]:
        self.state = State.WAITING
        # The master answers: should it fall silent later, its waits begin anew.
        self._failures = 0
        if self._pending_since_s is None:
            self._pending_since_s = now_s
        first = max(self.options.acceptance_wait_time_s, SHORTEST_WAIT_S)
        longest = max(self.options.acceptance_wait_time_max_s, first)
        wait_s = max(EAGER_LEAST_S, EAGER_SHARE * (now_s - self._pending_since_s))
        if wait_s >= first:
            wait_s = min(longest, self._acceptance_wait_s * 2 or first)
            self._acceptance_wait_s = wait_s
        line = f"Master {self.master}: {text}; asking again in {wait_s:.0f} s"
        return [self._say(logging.WARNING, text, line, now_s), Wait(wait_s)]

    def _on_unresolved(self, reason: str, now_s: float) -> list[Instruction]:
        """A wrong name is no master that is away, but only one that never had an address is wrong.

        Source: docs/config.md, ``retry_dns`` and ``retry_dns_count``.
        """
        steps = self._on_failed(reason, now_s)
        if self.state is not State.WAITING or self._was_up:
            return steps
        tries = self.options.retry_dns_count
        self._unresolved += 1
        if not self.options.retry_dns_s or (tries is not None and self._unresolved > tries):
            text = f"Master {self.master}: {reason}; ending after {self._unresolved} looks"
            return [Say(logging.CRITICAL, text), *self._over(UNRESOLVED_EXIT)]
        # Whoever counts the tries reckons with the time that they take.
        shortest = self.options.retry_dns_s if tries is not None else 0.0
        return [self._bound_wait(one, shortest) for one in steps]

    def _bound_wait(self, step: Instruction, shortest_s: float) -> Instruction:
        if not isinstance(step, Wait):
            return step
        return Wait(max(shortest_s, min(step.seconds, self.options.retry_dns_s)))

    def _on_failed(self, reason: str, now_s: float) -> list[Instruction]:
        # Once connected a failed sign-in is no loss yet: the subscription tells of that.
        if self.options.failover and not self._connected:
            self.state = State.OVER
            return [Say(logging.WARNING, f"Master {self.master}: {reason}"), GiveUp(reason)]
        self.state = State.WAITING
        if not self._failures:
            self._failing_since_s = now_s
        self._failures += 1
        impatient = now_s - self._failing_since_s < IMPATIENT_S
        # The exponent is bounded: 2.0 ** 1024 raises, and a day without a master comes to that.
        cap_s = min(
            IMPATIENT_CAP_S if impatient else PATIENT_CAP_S, 2.0 ** min(self._failures - 1, 10)
        )
        # All of it is chance: the minions of a master fail at the same moment.
        wait_s = max(SHORTEST_WAIT_S, cap_s * self.chance())
        line = f"Master {self.master}: {reason}; trying again in {wait_s:.1f} s"
        return [self._say(logging.WARNING, reason, line, now_s), Wait(wait_s)]

    # --- what happens on the way ---------------------------------------------------------

    def _wait_over(self) -> list[Instruction]:
        if self.state is State.LEAVING:
            return self._over(self._exit_code)
        return self._ask() if self.state is State.WAITING else []

    def _keys_may_be_old(self, now_s: float) -> list[Instruction]:
        """Keys were rotated, or somebody sends junk: then asking helps less and less often."""
        if self.state is not State.UP:
            return []
        if now_s < self._ask_again_s:
            return [Say(logging.DEBUG, f"Master {self.master}: asked for its keys a moment ago")]
        return self._ask()

    def _on_lost(self, now_s: float) -> list[Instruction]:
        """Every minion of a master notices at the same time, so they come back spread out."""
        if self.state is not State.UP:
            return []
        # So that the next Accepted subscribes anew.
        self._connected = False
        if self.options.failover:
            self.state = State.OVER
            return [
                Say(logging.WARNING, f"Master {self.master} is gone; taking another one"),
                GiveUp("connection lost"),
            ]
        self.state = State.WAITING
        wait_s = max(SHORTEST_WAIT_S, self.options.random_reauth_delay_s * self.chance())
        line = f"Connection to master {self.master} lost; connecting anew in {wait_s:.1f} s"
        return [self._say(logging.WARNING, "lost", line, now_s), Wait(wait_s)]

    def _ask(self) -> list[Instruction]:
        self.state = State.ASKING
        return [Authenticate()]

    def _over(self, code: int) -> list[Instruction]:
        self.state = State.OVER
        return [Exit(code)]

    def _say(self, level: int, kind: str, text: str, now_s: float) -> Say:
        """The same complaint is said once, and then once an hour; in between at debug."""
        last_s = self._said.get(kind)
        if last_s is not None and now_s - last_s < REPEAT_LOG_S:
            return Say(logging.DEBUG, text)
        self._said[kind] = now_s
        return Say(level, text)
