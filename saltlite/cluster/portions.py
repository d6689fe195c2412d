"""Rows of which one may have megabytes: what is read or sent at once is bounded in bytes too.

A statement of more than a gigabyte is one that PostgreSQL's client does not even send, and what a
minion returns while nobody reads must not fill a node's memory when somebody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from saltlite.cluster.engine import ClusterEngine, Row

PORTION_BYTES: Final = 16 * 1024 * 1024
"""What may be in hand at once, beside one row that is larger by itself."""


def select_portion(columns: str, source: str, *, place: str, data: str) -> str:
    """A statement for the first rows of ``source``, in the order of ``place``; see below.

    ``columns`` begin with ``place``; ``data`` is the one that may be large.
    """
    size = f"octet_length({data})"
    return (
        f"SELECT * FROM (SELECT {columns}, {size} AS own, "  # noqa: S608 - literals of ours
        f"sum({size}) OVER (ORDER BY {place} ROWS UNBOUNDED PRECEDING) AS total "
        f"{source} ORDER BY {place} LIMIT %s) AS one WHERE total - own < %s ORDER BY 1"
    )


def read_portions(
    engine: ClusterEngine, statement: str, make_values: Callable[[], list[object]], most: int
) -> Iterator[Row]:
    """All rows of a :func:`select_portion`, of which at most ``most`` are in hand at a time.

    ``make_values`` gives the values of its source, with the place behind which to go on: whoever
    takes a row notes the row's place before it asks for the next one.

    Raises:
        ServerAway: the rest can be asked for later.
    """
    while True:
        rows = engine.execute(statement, [*make_values(), most, PORTION_BYTES])
        for *row, _own, _total in rows:
            yield tuple(row)
        if len(rows) < most and (not rows or rows[-1][-1] < PORTION_BYTES):
            return
