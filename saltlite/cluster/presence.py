"""Which minions are connected to any node: each node says in ``presence`` who is to it.

Rows of a node that was not heard of for ``cluster_lease`` do not count.
Source: docs/cluster.md#facts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.core.rare_lines import RareLine
from saltlite.errors import ServerAway

if TYPE_CHECKING:
    from saltlite.master.stores import Presence

log = logging.getLogger(__name__)

REPORT_S: Final = 5.0
"""How often a node looks at its connections and tells what has changed."""


class ClusterPresence:
    """Presence on all nodes; fulfils ``master.stores.Presence``."""

    def __init__(
        self, engine: ClusterEngine, local: Presence, *, node: str, lease_s: float
    ) -> None:
        self._engine = engine
        self._local = local
        self._node = node
        self._lease_s = lease_s
        self._away_lines = RareLine()

    def find_connected(self, minion_ids: Iterable[str]) -> dict[str, str]:
        """Those of ``minion_ids`` that are connected to a node, each with an address of its own.

        While the engine is away, those that are connected to this one.
        """
        asked = list(minion_ids)
        return {**self._find_elsewhere(asked), **self._local.find_connected(asked)}

    def _find_elsewhere(self, minion_ids: list[str]) -> dict[str, str]:
        try:
            rows = self._engine.execute(
                "SELECT presence.id, presence.address FROM presence "
                "JOIN nodes ON nodes.number = presence.node "
                "WHERE nodes.node <> %s AND nodes.beat > now() - make_interval(secs => %s)",
                [self._node, self._lease_s],
            )
        except ServerAway as error:
            more = self._away_lines.count(time.monotonic())
            if more is not None:
                log.warning("Only minions connected to this node are known: %s%s", error, more)
            return {}
        meant = frozenset(minion_ids)
        return {str(one): str(address) for one, address in rows if one in meant}


class PresenceReport:
    """Tells the cluster who is connected to this node. For the bridge alone."""

    def __init__(self, engine: ClusterEngine, local: Presence, number: int) -> None:
        self._engine = engine
        self._local = local
        self._number = number
        self._told: dict[str, str] | None = None

    def report(self, minion_ids: Iterable[str]) -> int:
        """Tell what has changed since the last call; how many minions came or went.

        Raises:
            StoreError: the engine is away; the next call tells it.
        """
        now = self._local.find_connected(minion_ids)
        told = self._told
        if now == told:
            return 0
        came = sorted(one for one in now if told is None or told.get(one) != now[one])
        gone = sorted(one for one in told or () if one not in now)

        def write(transaction: Transaction) -> None:
            # What this node said before it was started anew is not known here.
            if told is None:
                fetch(transaction, "DELETE FROM presence WHERE node = %s", [self._number])
            fetch(
                transaction,
                "DELETE FROM presence WHERE node = %s AND id = ANY(%s)",
                [self._number, gone],
            )
            fetch(
                transaction,
                "INSERT INTO presence (id, node, address) "
                "SELECT id, %s, address FROM unnest(%s::text[], %s::text[]) AS t (id, address) "
                "ON CONFLICT (id) DO UPDATE SET node = excluded.node, address = excluded.address, "
                "seen = now()",
                [self._number, came, [now[one] for one in came]],
            )

        self._engine.transact(write)
        self._told = now
        return len(came) + len(gone)
