"""A portion is bounded by rows and by bytes, and the last one is known."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.cluster import portions
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.portions import read_portions, select_portion

STATEMENT = select_portion(
    "seq, frame", "FROM events WHERE node = 1 AND seq > %s", place="seq", data="frame"
)


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([], 5, [[]]),
        ([1, 1, 1], 5, [[1, 1, 1]]),
        ([1, 1, 1], 3, [[1, 1, 1], []]),
        ([1, 1, 1, 1], 3, [[1, 1, 1], [1]]),
        ([40, 40, 40, 40], 5, [[40, 40, 40], [40]]),
        ([500, 1, 2], 5, [[500], [1, 2]]),
        ([99, 500, 1], 5, [[99, 500], [1]]),
        ([60, 40, 1], 5, [[60, 40], [1]]),
        ([60, 40], 5, [[60, 40], []]),
    ],
)
def test_rows_come_in_portions(
    engine: ClusterEngine,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[int],
    most: int,
    expected: list[list[int]],
) -> None:
    monkeypatch.setattr(portions, "PORTION_BYTES", 100)
    for seq, size in enumerate(sizes, 1):
        values = [seq, b"x" * size]
        engine.execute("INSERT INTO events (node, seq, frame) VALUES (1, %s, %s)", values)
    found: list[list[int]] = []
    execute = engine.execute

    def note(*query: Any) -> Any:
        rows = execute(*query)
        found.append([len(row[1]) for row in rows])
        return rows

    monkeypatch.setattr(engine, "execute", note)
    read: list[tuple[int, int]] = []
    for seq, frame in read_portions(engine, STATEMENT, lambda: [len(read)], most):
        read.append((seq, len(frame)))
    assert found == expected
    assert read == list(enumerate(sizes, 1))
