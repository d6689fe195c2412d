from __future__ import annotations

import time
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.core.datalimits import (
    GRAINS_LIMIT,
    MINE_NAMES_LIMIT,
    Size,
    grains_problem,
    measure,
    mine_problem,
)

MUCH = Size(bytes=10**9, keys=10**9, depth=10**9)


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"x": value}
    return value


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=40),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=9), part, max_size=4)
    ),
    max_leaves=30,
)


@given(PLAIN)
def test_the_size_is_about_that_of_msgpack(value: Any) -> None:
    found, real = measure(value, MUCH).bytes, len(msgpack.packb(value))
    assert found / 4 - 4 <= real <= found * 4 + 4


def test_usual_grains_are_no_problem() -> None:
    assert grains_problem({"os": "Debian", "ip4_interfaces": {"lo": ["127.0.0.1"]}}) is None
    assert grains_problem({"x": nested(GRAINS_LIMIT.depth - 1)}) is None
    assert grains_problem({str(one): 1 for one in range(GRAINS_LIMIT.keys)}) is None
    assert grains_problem({"x": "y" * (GRAINS_LIMIT.bytes - 100)}) is None


LARGE: list[tuple[dict[str, Any], str, str]] = [
    ({"os": "x", "blob": "y" * 2**26}, "1,048,576 bytes", "'blob'"),
    ({"os": "x", "list": [1] * 2**24}, "1,048,576 bytes", "'list'"),
    ({"os": "x", "small": "y" * 900_000, "smaller": "y" * 500_000}, "1,048,576 bytes", "'small'"),
    ({"os": "x", "map": {str(one): 1 for one in range(99_000)}}, "10,000 keys", "'map'"),
    ({"os": "x", "deep": nested(40)}, "32 levels", "'deep'"),
    ({str(one): {"a": 1} for one in range(9_000)}, "10,000 keys", "(1 keys"),
]


@pytest.mark.parametrize(("grains", "limit", "largest"), LARGE, ids=lambda one: str(one)[:20])
def test_one_line_names_the_limit_and_the_large_grain(
    grains: dict[str, Any], limit: str, largest: str
) -> None:
    begun_s = time.perf_counter()
    problem = grains_problem(grains)
    assert problem is not None
    assert limit in problem
    assert largest in problem
    assert len(problem) < 250
    assert time.perf_counter() - begun_s < 5


def test_what_the_mine_may_hold() -> None:
    assert mine_problem({str(one): 1 for one in range(MINE_NAMES_LIMIT)}) is None
    assert "1,000 are allowed" in str(mine_problem({str(one): 1 for one in range(1001)}))
    assert "'disk'" in str(mine_problem({"a": 1, "disk": "x" * 11_000_000}))
