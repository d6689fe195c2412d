"""The nodes of a cluster: which there are, which are alive, and which of them keeps house.

A node is alive while its bridge beats; its lease is counted by the server's clock. One that is
alive keeps house: it does what has to be done once in the cluster. One that hangs does so until its
lease is over; nothing that it does is wrong when done twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from saltlite.cluster.engine import ClusterEngine, Row, Transaction, fetch
from saltlite.cluster.forwarded import forget_syndic
from saltlite.core.dataclasses import dataclass
from saltlite.errors import ConfigError, ServerAway
from saltlite.version import __version__

HOUSE_LOCK: Final = 0x5A17_0005
"""Advisory: who looks whether somebody keeps house, and does so himself, is alone."""

LOOK_S: Final = 1.0

_REGISTER: Final = """
INSERT INTO nodes (node, number, address, version, beat)
SELECT %s, coalesce(max(number), 0) + 1, %s, %s, clock_timestamp() FROM nodes
ON CONFLICT (node) DO UPDATE SET address = excluded.address, version = excluded.version,
    beat = excluded.beat, keeps_house = false, repeated = false
RETURNING number
"""

_BEAT: Final = """
UPDATE nodes SET beat = clock_timestamp(), repeated = false, keeps_house = NOT EXISTS (
    SELECT 1 FROM nodes AS other WHERE other.node <> nodes.node AND other.keeps_house
    AND other.beat > clock_timestamp() - make_interval(secs => %s)
)
WHERE node = %s RETURNING keeps_house
"""

_LIST: Final = """
SELECT node, number, address, version, keeps_house, repeated,
       extract(epoch FROM clock_timestamp() - beat)::float8
FROM nodes ORDER BY node
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A master of the cluster; ``silent_s`` is how long nothing was heard of it."""

    node: str
    number: int
    address: str
    version: str
    keeps_house: bool
    is_repeated: bool
    silent_s: float


def claim_database(engine: ClusterEngine, cluster_id: str, fingerprint: str) -> None:
    """See that the database belongs to this cluster; a new one belongs to who comes first.

    Raises:
        ConfigError: it belongs to another one.
        StoreError: the server cannot be asked.
    """
    engine.execute(
        "INSERT INTO cluster (id, fingerprint) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        [cluster_id, fingerprint],
    )
    known, key = engine.execute("SELECT id, fingerprint FROM cluster")[0]
    if known != cluster_id:
        raise ConfigError(
            f"the database belongs to the cluster {known!r}, not to {cluster_id!r}",
            option="cluster_id",
        )
    if key != fingerprint:
        raise ConfigError("cluster.pem is not the one of the other nodes", option="cluster_pki_dir")


def register_node(engine: ClusterEngine, node: str, address: str) -> int:
    """Make a node known, or known again; its number.

    Raises:
        StoreError: the server cannot be asked.
    """

    def write(transaction: Transaction) -> int:
        # Two new ones at once would get the same number.
        fetch(transaction, "LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE")
        return int(fetch(transaction, _REGISTER, [node, address, __version__])[0][0])

    return engine.transact(write)


def remove_node(engine: ClusterEngine, node: str) -> bool:
    """Forget a node and its syndic; ``False`` if there was none of that name."""

    def remove(transaction: Transaction) -> bool:
        forget_syndic(transaction, node)
        return bool(fetch(transaction, "DELETE FROM nodes WHERE node = %s RETURNING 1", [node]))

    return engine.transact(remove)


def list_nodes(engine: ClusterEngine) -> list[Node]:
    """All nodes, by name."""
    return [Node(*row) for row in engine.execute(_LIST)]


class Heart:
    """What keeps a node alive, and has it keep house if nobody else does."""

    def __init__(
        self,
        engine: ClusterEngine,
        node: str,
        *,
        lease_s: float,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._node = node
        self._lease_s = lease_s
        self._steady_s = steady_s
        self._last_beat_s: float | None = None
        self._judges_from_s = 0.0
        self.keeps_house = False

    def may_judge(self) -> bool:
        """Whether the silence of other nodes says something about them.

        Not for a lease after this node could not reach the engine itself: they may have had to be
        silent, too, and need time to be heard again.
        """
        return self._steady_s() >= self._judges_from_s

    def beat(self) -> bool:
        """Say that this node lives; ``False`` if somebody has removed it.

        Raises:
            ServerAway: nobody knows of it; it keeps house no more.
        """

        def write(transaction: Transaction) -> list[Row]:
            # First, so that the look is at what the last one has written.
            fetch(transaction, "SELECT pg_advisory_xact_lock(%s)", [HOUSE_LOCK])
            return fetch(transaction, _BEAT, [self._lease_s, self._node])

        try:
            rows = self._engine.transact(write)
        except ServerAway:
            self.keeps_house = False
            raise
        self._note_beat()
        self.keeps_house = bool(rows and rows[0][0])
        return bool(rows)

    def _note_beat(self) -> None:
        now_s = self._steady_s()
        # Beats are a fifth of the lease apart: two that are missing are an absence.
        if self._last_beat_s is not None and now_s - self._last_beat_s > self._lease_s / 2:
            self._judges_from_s = now_s + self._lease_s
        self._last_beat_s = now_s

    def stop(self) -> None:
        """Leave the house to others at once; raises ServerAway if nobody can be told."""
        statement = "UPDATE nodes SET keeps_house = false WHERE node = %s"
        self._engine.execute(statement, [self._node])


class HouseChores:
    """Whether this node keeps house, for processes other than the bridge."""

    def __init__(self, engine: ClusterEngine, node: str, *, lease_s: float) -> None:
        self._engine = engine
        self._node = node
        self._lease_s = lease_s
        self._next_look_s = 0.0
        self._is_ours = False

    def are_ours(self) -> bool:
        """Whether this node keeps house; nobody does while the server is away."""
        if time.monotonic() < self._next_look_s:
            return self._is_ours
        self._next_look_s = time.monotonic() + LOOK_S
        try:
            rows = self._engine.execute(
                "SELECT keeps_house AND beat > clock_timestamp() - make_interval(secs => %s) "
                "FROM nodes WHERE node = %s",
                [self._lease_s, self._node],
            )
        except ServerAway:
            self._is_ours = False
            return False
        self._is_ours = bool(rows and rows[0][0])
        return self._is_ours
