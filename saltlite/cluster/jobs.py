"""The job cache of a node: PostgreSQL's, and the node's own spool while that is away.

With ``cluster_degraded: serve`` a job that cannot go on record in PostgreSQL, and a return that
cannot, go to the spool and count as recorded; ClusterBridge brings them up afterwards. With
``refuse`` they are refused, and minions keep what they return. Source: docs/cluster.md#failures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.core.jid import jid_time
from saltlite.core.job_query import ALL_JOBS, JobQuery
from saltlite.core.plain import Plain
from saltlite.errors import ServerAway
from saltlite.master.jobcache import AFTER_ALL, JobRecord, Return, Stored

MOST_ALONE: Final = timedelta(days=1)
"""A return to a job that nobody knows is not refused before; minions keep theirs as long."""

_T = TypeVar("_T")


class ClusterJobStore:
    """The job cache, for one thread. ``serves`` is ``cluster_degraded: serve``."""

    def __init__(self, shared: PostgresJobStore, spool: JobSpool, *, serves: bool) -> None:
        self._shared = shared
        self._spool = spool
        self._serves = serves

    # --- writing -------------------------------------------------------------------------

    def new_job(self, jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> bool:
        """Record a job; ``False`` if the jid is there already."""
        try:
            return self._shared.new_job(jid, load, minions)
        except ServerAway:
            if not self._serves:
                raise
        return self._spool.publish_here(jid, load, minions)

    def add_minions(self, jid: str, minions: Sequence[str]) -> None:
        """Expect more minions of a job: syndics name theirs later."""
        self._on_either(
            lambda: self._shared.add_minions(jid, minions),
            lambda: self._spool.add_minions(jid, minions),
        )

    def make_room(self, jid: str, minion_id: str, ret: Mapping[str, Plain], most_bytes: int) -> int:
        """Count a return that nobody asked for; how many older ones were forgotten for it."""
        return self._on_either(
            lambda: self._shared.make_room(jid, minion_id, ret, most_bytes),
            lambda: self._spool.make_room(jid, minion_id, ret, most_bytes),
        )

    def add_return(self, jid: str, minion_id: str, ret: Mapping[str, Plain]) -> Stored:
        """Record one return; see :meth:`add_returns`."""
        return self.add_returns([(jid, minion_id, ret)])[0]

    def add_returns(self, returns: Sequence[Return]) -> list[Stored]:
        """Record returns, all or none; the first of each minion wins."""
        try:
            outcomes = self._shared.add_returns(returns)
        except ServerAway:
            if not self._serves:
                raise
            return self._spool.take_returns(returns)
        if Stored.FORGOTTEN in outcomes and self._spool.exists():
            return [self._settle_forgotten(*pair) for pair in zip(returns, outcomes, strict=True)]
        return outcomes

    def _settle_forgotten(self, one: Return, outcome: Stored) -> Stored:
        """A job that was published here while PostgreSQL was away may not be there yet."""
        if outcome is Stored.FORGOTTEN and self._spool.minions(one[0]) is not None:
            return self._spool.take_returns([one])[0]
        return outcome

    # --- reading -------------------------------------------------------------------------

    def job(self, jid: str) -> JobRecord | None:
        """The job, or ``None``."""
        return self._of_job(lambda: self._shared.job(jid), lambda: self._spool.job(jid))

    def minions(self, jid: str) -> list[str] | None:
        """Who is expected to return; ``None`` for an unknown jid."""
        return self._of_job(lambda: self._shared.minions(jid), lambda: self._spool.minions(jid))

    def may_come_later(self, jid: str, now: datetime) -> bool:
        """Whether a node may have published this job alone, and bring it up when it can.

        That a job is not on record says nothing before each node's spool is empty, which no other
        node can see.
        """
        if not self._serves:
            return False
        try:
            age = now - jid_time(jid)
        except ValueError:
            return False
        return abs(age) < MOST_ALONE

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """Minion id → what it returned; while PostgreSQL is away, to this node."""
        return self._on_either(
            lambda: self._shared.returns(jid), lambda: self._spool.returns(jid)
        ) or (self._spool.returns(jid) if self._spool.exists() else {})

    def count_returns(self, jid: str) -> int:
        """How many minions have returned."""
        return self._on_either(
            lambda: self._shared.count_returns(jid), lambda: self._spool.count_returns(jid)
        )

    def returns_except(
        self, jid: str, had: Collection[str], most_bytes: int
    ) -> tuple[dict[str, dict[str, Any]], int]:
        """As :meth:`returns`, but of other minions than ``had``, and the bytes of them."""
        return self._on_either(
            lambda: self._shared.returns_except(jid, had, most_bytes),
            lambda: self._spool.returns_except(jid, had, most_bytes),
        )

    def list_returned(
        self, minion_id: str, *, since: str = ""
    ) -> Iterator[tuple[JobRecord, dict[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned."""
        return self._shared.list_returned(minion_id, since=since)

    def jobs(self, query: JobQuery = ALL_JOBS) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise."""
        return self._shared.jobs(query)

    def count(self) -> int:
        """How many jobs are kept."""
        return self._shared.count()

    def last_jids(self, before: str = AFTER_ALL) -> list[str]:
        """The highest jids on record below ``before``, the highest first."""
        return self._on_either(
            lambda: self._shared.last_jids(before), lambda: self._spool.last_jids(before)
        )

    def _on_either(self, shared: Callable[[], _T], spool: Callable[[], _T]) -> _T:
        try:
            return shared()
        except ServerAway:
            if not (self._serves and self._spool.exists()):
                raise
        return spool()

    def _of_job(self, shared: Callable[[], _T | None], spool: Callable[[], _T | None]) -> _T | None:
        """What one of the two knows of a job: what is published here goes up later.

        Raises:
            ServerAway: it is not known here, which says nothing of the cluster.
        """
        try:
            found = shared()
        except ServerAway:
            if not (self._serves and self._spool.exists()):
                raise
            known = spool()
            # Of a job that only returns came of here, nobody knows who was asked.
            if not known:
                raise
            return known
        return spool() if found is None and self._spool.exists() else found

    # --- forgetting ----------------------------------------------------------------------

    def clean(self, before_jid: str) -> int:
        """Forget jobs with smaller jids; how many."""
        if self._spool.exists():
            self._spool.clean(before_jid)
        return self._shared.clean(before_jid)

    def clean_to(self, most: int) -> int:
        """Forget the oldest jobs until ``most`` are left; how many went."""
        return self._shared.clean_to(most)

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget the oldest jobs until what is kept takes ``most_bytes``; how many went."""
        return self._shared.clean_to_bytes(most_bytes)

    def count_bytes(self) -> int:
        """What jobs and returns take, about."""
        return self._shared.count_bytes()

    def checkpoint(self) -> None:
        """Bring the spool's log into its file."""
        if self._spool.exists():
            self._spool.checkpoint()

    def close(self) -> None:
        """Let go of what is open; the next use opens it again."""
        self._shared.close()
        self._spool.close()
