"""Rows of keys and facts that went: kept for nodes that were away, then swept.

A row without a key or without data tells a node that was away what to remove. After ``KEPT_DAYS``
it goes, and a counter says up to which version rows may be missing. A node whose place is lower
than that cannot know what it has missed: what it has and the table has not is gone, too.
Source: docs/cluster.md#keys.
"""

from __future__ import annotations

import logging
from typing import Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch

log = logging.getLogger(__name__)

KEPT_DAYS: Final = 30

SWEEP_LOCK: Final = 0x5A17_0013
"""Advisory: one sweeps at a time."""

_KEYS: Final = """
WITH gone AS (
    DELETE FROM keys WHERE state = 'gone' AND changed < now() - make_interval(days => %s)
    RETURNING version
)
SELECT count(*), max(version) FROM gone
"""
_DENIED: Final = """
WITH gone AS (
    DELETE FROM denied_keys WHERE pem = '' AND at < now() - make_interval(days => %s)
    RETURNING version
)
SELECT count(*), max(version) FROM gone
"""
_BANKS: Final = """
WITH gone AS (
    DELETE FROM banks WHERE data = '' AND changed < now() - make_interval(days => %s)
    RETURNING version
)
SELECT count(*), max(version) FROM gone
"""

_SWEEPS: Final = (("keys", _KEYS), ("keys", _DENIED), ("banks", _BANKS))

_RAISE: Final = "UPDATE counters SET value = greatest(value, %s) WHERE name = %s"


def sweep_gone(engine: ClusterEngine, *, kept_days: int = KEPT_DAYS) -> int:
    """Delete rows of what went so long ago; how many.

    Raises:
        StoreError: the engine is away; it is done another time.
    """

    def sweep(transaction: Transaction) -> int:
        fetch(transaction, "SELECT pg_advisory_xact_lock(%s)", [SWEEP_LOCK])
        total = 0
        for counter, statement in _SWEEPS:
            count, highest = fetch(transaction, statement, [kept_days])[0]
            if count:
                fetch(transaction, _RAISE, [highest, name_swept(counter)])
            total += count
        return total

    return engine.transact(sweep)


def name_swept(counter: str) -> str:
    """The counter of what was swept, beside one of versions."""
    return f"{counter} swept"


def find_place(engine: ClusterEngine, counter: str, place: int) -> tuple[int, int]:
    """How far a copy is that was up to ``place``, and up to where rows may have been swept.

    It is at the beginning if the table is an older one. So it is after a fail-over to a server that
    had not got everything, or out of a backup: what is in the table counts then. The second number
    is 0 for a copy that has missed nothing.

    Raises:
        StoreError: the engine is away.
    """
    rows = engine.execute(
        "SELECT name, value FROM counters WHERE name = ANY(%s)", [[counter, name_swept(counter)]]
    )
    values = {str(name): int(value) for name, value in rows}
    head, swept = values.get(counter, 0), values.get(name_swept(counter), 0)
    if head < place:
        log.warning(
            "The table of %s is older than this node's copy (%d, %d): what is in the cluster "
            "counts",
            counter,
            head,
            place,
        )
        return 0, 0
    return place, swept if 0 < place < swept else 0
