"""Rows of which one may have megabytes: what is read or sent at once is bounded in bytes too.

A statement of more than a gigabyte is one that PostgreSQL's client does not even send, and what a
minion returns while nobody reads must not fill a node's memory when somebody does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from saltlite.cluster.engine import Row

PORTION_BYTES: Final = 16 * 1024 * 1024
"""What may be in hand at once, beside one row that is larger by itself."""


def select_portion(columns: str, source: str, *, place: str, data: str) -> str:
    """A statement for the first rows of ``source``, at least one, in the order of ``place``.

    ``columns`` begin with ``place``; behind them comes what ``data`` takes in all rows up to this
    one. The last two values of the statement are a number of rows and of bytes.
    """
    size = f"octet_length({data})"
    return (
        f"SELECT * FROM (SELECT {columns}, {size} AS own, "  # noqa: S608 - literals of ours
        f"sum({size}) OVER (ORDER BY {place} ROWS UNBOUNDED PRECEDING) AS total "
        f"{source} ORDER BY {place} LIMIT %s) AS one WHERE total - own < %s ORDER BY 1"
    )


def is_last(rows: Sequence[Row], most: int) -> bool:
    """Whether such a statement, asked for ``most`` rows, has left none behind."""
    return len(rows) < most and (not rows or rows[-1][-1] < PORTION_BYTES)
