"""What the master keeps, as its processes and commands see it: an interface for each kind of store.

``Stores`` gives them out; :func:`saltlite.master.embedded.open_stores` says which ones a
configuration means, and nobody else names a class that keeps something. A call that looks and then
acts is one step here (``update``, ``rotate_if``, ``new_job``), or is made while something is held
(``hold``): nothing else keeps two workers, or two masters, apart.

Every method raises StoreError if its store does not play along, and the next call tries again.
Source: docs/architecture.md#stores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.core.job_query import JobQuery
from saltlite.core.plain import Plain, PlainMap
from saltlite.core.targets import MinionFacts
from saltlite.master.command import Repeats
from saltlite.master.forwardqueue import Waiting
from saltlite.master.jobcache import Flush, JobRecord, Return, Stored
from saltlite.master.keystore import AcceptedKey, KeyState
from saltlite.master.shared import PublicationKey
from saltlite.runner_context import Cache

if TYPE_CHECKING:
    import zmq

    from saltlite.core.state_reports import ReportQuery, StateRow, StateRun
    from saltlite.crypto.cipher import Crypticle
    from saltlite.master.replay import LockFactory, ReplayTable

# --- keys ------------------------------------------------------------------------------------


class KeyReader(Protocol):
    """Minions' keys, to be looked at. Whoever changes one by any hand is seen at the next look."""

    def ids(self, state: KeyState) -> frozenset[str]:
        """The ids in a state; the same object as before if nothing has changed since."""

    def list(self, state: KeyState) -> list[str]:
        """The ids in a state, sorted."""

    def has(self, minion_id: str, state: KeyState) -> bool:
        """Whether there is a key of this id in this state; ValueError for what is no id."""

    def key(self, minion_id: str, state: KeyState) -> str | None:
        """The PEM text, ``None`` if there is none or it is not text."""

    def look_up(self, minion_id: str) -> tuple[KeyState | None, str | None]:
        """The one state of an id (``DENIED`` is none) and its key there, as of one moment."""

    def load_accepted(self, minion_id: str) -> AcceptedKey | None:
        """The accepted key; it is asked for with each request of each minion."""


class Keys(KeyReader, Protocol):
    """Minions' keys. Who decides about one holds its id from the look to the change."""

    def prepare(self) -> None:
        """Make what has to be there before the first key."""

    def hold(self, minion_id: str) -> AbstractContextManager[None]:
        """Nobody else decides meanwhile about the keys and the session of an id."""

    def hold_count(self) -> AbstractContextManager[None]:
        """Nobody else who does so adds to a state meanwhile; taken while an id is held."""

    def put(self, minion_id: str, state: KeyState, pem: str) -> None:
        """File a key; in the three exclusive states it leaves the others. The id is held."""

    def move(self, minion_id: str, source: KeyState, target: KeyState) -> bool:
        """Change the state of an id; ``False`` if it was not in ``source``. The id is held."""

    def delete(self, minion_id: str, state: KeyState) -> bool:
        """Forget the key of an id in one state; ``False`` if there was none. The id is held."""


class MinionSession(Protocol):
    """What a minion and the master have agreed on when it signed in."""

    @property
    def key(self) -> str:
        """The key string, as the minion gets it."""

    @property
    def crypticle(self) -> Crypticle:
        """The cipher made of it."""


class SessionKeys(Protocol):
    """One session for each minion that has signed in."""

    def get(self, minion_id: str, *, accepted: AcceptedKey | None = None) -> MinionSession | None:
        """The session of an id, ``None`` if it has none that still counts.

        With ``accepted`` it is ``None`` too where the session may be of another key than that.
        """

    def get_or_make(self, minion_id: str, *, accepted: AcceptedKey) -> MinionSession:
        """The session of an accepted key; only ``_auth`` makes one, while it holds the id."""

    def delete(self, minion_id: str) -> bool:
        """End the session of an id, in all workers; ``False`` if it had none."""

    def clear(self) -> None:
        """End all sessions; every minion authenticates again."""

    def ids(self) -> list[str]:
        """The ids that have a session; some that have ended may be among them."""


class PublicationKeyRing(Protocol):
    """The key all accepted minions share, its generation, age and last serial.

    ``now_s`` is of the monotonic clock.
    """

    def current(self) -> PublicationKey:
        """The key as it is now."""

    def next_serial(self) -> tuple[PublicationKey, int]:
        """The key and the next serial under it, which nobody else gets."""

    def rotate(self, key: str, now_s: float) -> int:
        """Put ``key`` in place of the current one; the new generation. Serials go on, or anew."""

    def rotate_if(self, asked: Callable[[], bool], key: Callable[[], str], now_s: float) -> bool:
        """Rotate if ``asked`` says so, in one step; whether it did."""

    def age_s(self, now_s: float) -> float:
        """Seconds since the last rotation."""

    def close(self) -> None:
        """Let go of it; others keep theirs."""


class Nonces(Protocol):
    """Which requests have been served."""

    def problem(
        self,
        minion_id: str,
        nonce: str,
        ts: float,
        *,
        repeats: Repeats,
        wall_s: float,
        steady_s: float,
    ) -> str | None:
        """Why the request must not be served, in a few words; ``None`` if it may, just once."""


# --- jobs ------------------------------------------------------------------------------------


class Jids(Protocol):
    """Job ids that nobody gives twice and that never go backwards."""

    def seed(self, last: str | None) -> None:
        """Start above ``last``, the highest jid on record."""

    def next(self, now: datetime) -> str:
        """A jid for this moment, or just above the last one."""

    def close(self) -> None:
        """Let go of it; others keep theirs."""


class JobWriter(Protocol):
    """Puts jobs and returns on record: on disk when the call returns, unless it says otherwise."""

    def new_job(self, jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> bool:
        """Record a job; ``False`` if the jid is there already."""

    def add_minions(self, jid: str, minions: Sequence[str]) -> None:
        """Expect more minions of a job: syndics name theirs later. Not waited for."""

    def make_room(self, jid: str, minion_id: str, ret: Mapping[str, Plain], most_bytes: int) -> int:
        """Count a return that nobody asked for; how many older ones were forgotten for it.

        Not waited for: the return itself is written next.
        """

    def add_return(self, jid: str, minion_id: str, ret: Mapping[str, Plain]) -> Stored:
        """Record one return; see :meth:`add_returns`."""

    def add_returns(self, returns: Sequence[Return]) -> list[Stored]:
        """Record returns, all or none; the first of each minion wins."""


class JobFinder(Protocol):
    """Jobs by their jids, and all others in their order."""

    def job(self, jid: str) -> JobRecord | None:
        """The job, ``None`` if it is not on record."""

    def minions(self, jid: str) -> list[str] | None:
        """Who is expected to return; ``None`` for an unknown jid."""

    def may_come_later(self, jid: str, now: datetime) -> bool:
        """Whether another master may have published a job that is not on record here yet."""

    def jobs(self, query: JobQuery = ...) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise; the store is not held."""

    def last_jids(self, before: str = ...) -> list[str]:
        """The highest jids on record below ``before``, the highest first."""


class ReturnReader(Protocol):
    """What came back: a return is ``return``, ``retcode``, ``success`` and others by name."""

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """Minion id → what it returned."""

    def count_returns(self, jid: str) -> int:
        """How many minions have returned."""

    def returns_except(
        self, jid: str, had: Collection[str], most_bytes: int
    ) -> tuple[dict[str, dict[str, Any]], int]:
        """As :meth:`returns`, but of other minions than ``had``, and the bytes of them.

        At most ``most_bytes``; the first comes however large it is.
        """

    def list_returned(
        self, minion_id: str, *, since: str = ""
    ) -> Iterator[tuple[JobRecord, dict[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned."""


class JobCleaner(Protocol):
    """Forgets jobs, each with all that belongs to it; how many went."""

    def clean(self, before_jid: str) -> int:
        """Forget jobs with smaller jids."""

    def clean_to(self, most: int) -> int:
        """Forget the oldest jobs until ``most`` are left."""

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget the oldest jobs until what is kept takes ``most_bytes``."""

    def checkpoint(self) -> None:
        """Give back what the forgotten took, as far as it can be had without keeping others."""


class JobStore(JobWriter, JobFinder, ReturnReader, JobCleaner, Protocol):
    """The job cache. It is for one thread of one process."""

    def close(self) -> None:
        """Let go of what is open; the next use opens it again."""


class ForwardedReturns(Protocol):
    """Returns of this master that the master above does not have yet; for ``salt-syndic``."""

    def begin(self) -> None:
        """Note each new return from now on; else it is from the first look on."""

    def read_new(self, most: int) -> list[Waiting]:
        """Those that have come since the last call, in the order in which they went on record."""

    def read_returns(
        self, waiting: Sequence[Waiting], most_bytes: int
    ) -> list[tuple[Waiting, dict[str, Any] | None]]:
        """What the first of these returned, at least one; ``None`` if its job is forgotten.

        So many as take ``most_bytes`` together, as they are stored.
        """

    def drop(self, gone: Sequence[Waiting]) -> None:
        """These are above."""

    def job(self, jid: str) -> JobRecord | None:
        """The job, ``None`` if it is not on record."""


class JobSink(Protocol):
    """Where jobs go to be published."""

    def publish(self, job: PlainMap, topics: list[bytes]) -> str:
        """Hand a job to the Publisher; raises StoreError if that is away for too long.

        What who asked has to know of it; empty if all is as it should be.
        """


class ReportReader(Protocol):
    """What runs of states have done."""

    def list_rows(self, query: ReportQuery) -> list[tuple[StateRun, StateRow]]:
        """The notable states that fit, each with its run (whose ``rows`` are not read)."""

    def read_runs(self, query: ReportQuery) -> Iterator[StateRun]:
        """Whole runs, of each minion the oldest first; only times and minions restrict them."""


class StateReports(ReportReader, Protocol):
    """As before, and written and forgotten. What is lost of it is missed by no minion."""

    def add_runs(self, runs: Sequence[StateRun]) -> None:
        """Keep runs; one that is there already is left as it is."""

    def clean(self, before_s: float) -> int:
        """Forget runs from before a moment (seconds since the epoch); how many."""

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget the oldest runs until what is kept takes ``most_bytes``; how many went."""

    def checkpoint(self) -> None:
        """Give back what the forgotten took."""

    def close(self) -> None:
        """Let go of what is open; the next use opens it again."""


# --- what minions tell of themselves ---------------------------------------------------------


class FactReader(Protocol):
    """Grains, pillar and mine of minions, by bank and id."""

    def read(self, bank: str, minion_id: str) -> dict[str, Any] | None:
        """What is kept; ``None`` for nothing. The map is shared with later calls."""

    def facts(
        self, minion_ids: Iterable[str], *, grains: bool = True, pillar: bool = True
    ) -> Iterator[MinionFacts]:
        """What targeting may know of these minions; what is not asked for is not read."""

    def ids(self, bank: str) -> list[str]:
        """The minions of which this bank knows something."""


class FactStore(FactReader, Protocol):
    """As before, and changed; one minion's changes never lose one another."""

    def hold_lock(self, minion_id: str) -> AbstractContextManager[None]:
        """Nobody else changes anything of this minion meanwhile."""

    def update(
        self,
        bank: str,
        minion_id: str,
        change: Callable[[dict[str, Any]], Mapping[str, Plain] | None],
    ) -> bool:
        """Replace what is kept by what ``change`` makes of it; ``None`` leaves it.

        Whether there is something else now.
        """

    def write_newest(
        self, bank: str, minion_id: str, value: Mapping[str, Plain], asked_ns: int, now_ns: int
    ) -> bool:
        """Replace what is kept unless it answers a later question; in :meth:`hold_lock`.

        ``asked_ns`` is when the question came, by the wall clock; so is ``now_ns``.
        """

    def delete(self, minion_id: str, bank: str) -> None:
        """Forget one bank of a minion."""

    def forget(self, minion_id: str) -> None:
        """Forget all of a minion, also the files that it has pushed."""


class Pillars(Protocol):
    """Compiled pillar by minion and environment (``pillar_cache``). Times are the wall clock's."""

    def get(self, minion_id: str, pillarenv: str | None) -> dict[str, Any] | None:
        """The pillar of a minion, ``None`` if it has to be compiled."""

    def put(
        self, minion_id: str, pillarenv: str | None, pillar: Mapping[str, object], begun_s: float
    ) -> None:
        """Keep a pillar whose compilation began at ``begun_s``, unless a later one is kept."""

    def clean(self, minion_id: str) -> None:
        """What is kept of a minion does not count any more."""

    def drop_gone(self) -> None:
        """Let go of what counts no more; for a worker whenever it has waited."""


class Presence(Protocol):
    """Which minions are connected."""

    def find_connected(self, minion_ids: Iterable[str]) -> dict[str, str]:
        """Those of ``minion_ids`` that are, each with an address it comes from."""


# --- all of them -----------------------------------------------------------------------------


class Chores(Protocol):
    """Who does what has to be done once, however many masters share these stores."""

    def are_ours(self) -> bool:
        """Whether this master does them now; asked before each."""


class CommandStores(Protocol):
    """What commands and runners need. Each store is made once, at its first use."""

    @property
    def keys(self) -> Keys:
        """Minions' keys."""

    @property
    def sessions(self) -> SessionKeys:
        """Their sessions."""

    @property
    def facts(self) -> FactStore:
        """What is known of them."""

    @property
    def banks(self) -> Cache:
        """The same and other data by bank and key, for runners."""

    @property
    def presence(self) -> Presence:
        """Which of them are connected."""

    @property
    def reports(self) -> StateReports:
        """What runs of states have done."""

    def open_jobs(self, *, flush: Flush | None = None, read_only: bool = False) -> JobStore:
        """A job store of one's own, to be closed; ``flush`` is shared by a master's processes.

        With ``read_only`` nothing is made where there is none.
        """


class Stores(CommandStores, Protocol):
    """The stores of one master, for one of its processes: none crosses a fork once it is used."""

    @property
    def chores(self) -> Chores:
        """Who keeps house."""

    def open_nonces(self, table: ReplayTable, lock: LockFactory) -> Nonces:
        """The memory of served requests, over the table that this master's workers share."""

    def open_pillars(self, wall_s: Callable[[], float]) -> Pillars:
        """Compiled pillar, some of it in this process alone."""

    def open_publisher(self, context: zmq.Context[zmq.Socket[bytes]]) -> JobSink:
        """A way to the Publisher."""

    def open_forwarded(self) -> ForwardedReturns:
        """The returns that a syndic sends up."""
