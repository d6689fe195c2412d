"""Which returns of a cluster have yet to go up to the master above; rows of the table ``forward``.

Each node may have a syndic. A return is one syndic's to send: whoever takes it has ``HELD_S`` for
it; then it is anybody's who looks, so that one that dies, or that the master above does not hear,
keeps nothing back. What goes up twice because of that is on record there once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.master.forwardqueue import Waiting
from saltlite.master.jobcache import JobRecord, take_fitting, unpack_map

HELD_S: Final = 20
"""So long nobody else sends what a syndic has taken."""

LOOK_S: Final = 5.0
"""Between two looks for what others have taken and not sent."""

_TAKE: Final = """
UPDATE forward SET taker = %s, until = now() + %s * interval '1 second'
WHERE seq = ANY (ARRAY (
    SELECT seq FROM forward WHERE taker IS NULL ORDER BY seq LIMIT %s FOR UPDATE SKIP LOCKED
))
RETURNING seq, jid, id
"""
_TAKE_OVER: Final = """
UPDATE forward SET taker = %s, until = now() + %s * interval '1 second'
WHERE seq = ANY (ARRAY (
    SELECT late.seq FROM syndics
    CROSS JOIN LATERAL (
        SELECT seq FROM forward
        WHERE taker = syndics.node AND until < now() ORDER BY until LIMIT %s
        FOR UPDATE SKIP LOCKED
    ) AS late
    WHERE syndics.node <> %s LIMIT %s
))
RETURNING seq, jid, id
"""
"""By its index: what this syndic itself holds, which may be much, is not looked at."""

_SIZES: Final = """
SELECT forward.seq, octet_length(ret) FROM forward JOIN returns USING (jid, id)
WHERE forward.seq = ANY (%b::bigint[])
"""
_RETURNS: Final = """
SELECT forward.seq, ret FROM forward JOIN returns USING (jid, id)
WHERE forward.seq = ANY (%b::bigint[])
"""
"""What another syndic has sent meanwhile is not there any more."""


class ClusterForwarded:
    """Fulfils ``master.stores.ForwardedReturns``, for the syndic of one node."""

    def __init__(
        self,
        engine: ClusterEngine,
        node: str,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._node = node
        self._jobs = PostgresJobStore(engine, node)
        self._steady_s = steady_s
        self._held: set[int] = set()
        self._is_sure = False
        self._looked_s = steady_s()

    def begin(self) -> None:
        """Have each new return noted from now on, at every node."""
        statement = "INSERT INTO syndics VALUES (%s) ON CONFLICT DO NOTHING"
        self._engine.execute(statement, [self._node])

    def read_new(self, most: int) -> list[Waiting]:
        """Take what nobody has taken, or has not sent in time; each row is given out once."""
        if not self._is_sure:
            self.begin()
            # Taken by whom this process follows, or by a statement whose answer was lost.
            self._engine.execute("UPDATE forward SET taker = NULL WHERE taker = %s", [self._node])
        self._is_sure = False
        rows = self._engine.execute(_TAKE, [self._node, HELD_S, most])
        now_s = self._steady_s()
        if not rows and now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            values = [self._node, HELD_S, most, self._node, most]
            rows = self._engine.execute(_TAKE_OVER, values)
        self._is_sure = True
        found = [Waiting(*row) for row in sorted(rows) if row[0] not in self._held]
        self._held.update(one.seq for one in found)
        return found

    def read_returns(
        self, waiting: Sequence[Waiting], most_bytes: int
    ) -> list[tuple[Waiting, dict[str, Any] | None]]:
        """What the first of these returned, at least one; ``None`` for what is gone or above."""
        numbers = [one.seq for one in waiting]
        sizes: dict[int, int] = dict(self._engine.execute(_SIZES, [numbers]))
        sized = ((one, sizes.get(one.seq, 0)) for one in waiting)
        wanted = list(take_fitting(sized, most_bytes))
        rows = self._engine.execute(_RETURNS, [[one.seq for one in wanted if one.seq in sizes]])
        found = {seq: unpack_map(ret) for seq, ret in rows}
        return [(one, found.get(one.seq)) for one in wanted]

    def drop(self, gone: Sequence[Waiting]) -> None:
        """These are above."""
        numbers = [one.seq for one in gone]
        self._engine.execute("DELETE FROM forward WHERE seq = ANY (%b::bigint[])", [numbers])
        self._held.difference_update(numbers)

    def job(self, jid: str) -> JobRecord | None:
        """The job, ``None`` if it is not on record."""
        return self._jobs.job(jid)


def forget_syndic(transaction: Transaction, node: str) -> None:
    """A node leaves: what its syndic has taken is anybody's."""
    fetch(transaction, "DELETE FROM syndics WHERE node = %s", [node])
    fetch(transaction, "UPDATE forward SET taker = NULL WHERE taker = %s", [node])
