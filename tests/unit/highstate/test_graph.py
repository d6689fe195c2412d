"""The graph: orders keep their promises, circles are named, and time grows with the size only."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite.highstate.chunk import Chunk
from saltlite.highstate.graph import order, sort_topologically

COUNT = 12


def chunk(ident: str, **more: Any) -> Chunk:
    low = {"state": "test", "fun": "nop", "name": ident, "__id__": ident, "__sls__": "a"}
    return Chunk.from_low({**low, **more})


def ids(low: list[Chunk]) -> list[str]:
    return [one.ident for one in low]


@given(st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=30))
@settings(max_examples=200, deadline=None)
def test_what_is_needed_comes_first_unless_it_goes_round(edges: list[tuple[int, int]]) -> None:
    needs: list[list[int]] = [[] for _ in range(2 * COUNT)]
    for one, other in edges:
        needs[one].append(other)
    sequence, circles = sort_topologically(needs)
    assert sorted(sequence) == list(range(COUNT))
    place = {node: number for number, node in enumerate(sequence)}
    for node in range(COUNT):
        if node not in circles:
            assert all(place[other] < place[node] for other in needs[node])
    for circle in circles.values():
        assert circle[0] == circle[-1]
        for one, other in pairwise(circle):
            assert other in needs[one]
    acyclic = all(other < one for one, other in edges)
    if acyclic:
        assert not circles
        assert sequence == list(range(COUNT))


def test_a_circle_is_a_path_of_ids() -> None:
    low = [
        chunk("a", require=[{"test": "b"}]),
        chunk("b", require=[{"test": "c"}]),
        chunk("c", watch=[{"test": "a"}]),
        chunk("d", require=["c"]),
    ]
    found = order(low)
    tag = low[2].tag
    assert found.problems == {tag: "Recursive requisite found"}
    assert found.circles == {tag: ["a", "b", "c", "a"]}
    assert found.requisites[tag] == []
    assert ids(found.low) == ["c", "b", "a", "d"]


def test_edges_have_kind_and_tag() -> None:
    low = [
        chunk("a", require=[{"test": "b"}], onchanges=["b"], listen=[{"test": "c"}]),
        chunk("b", name="bb"),
        chunk("c", listen_in=[{"test": "b"}]),
        chunk("d", prereq=[{"test": "bb"}]),
    ]
    a, b, c, d = (one.tag for one in low)
    found = order(low).requisites
    assert {tag: [(kind.name, other) for kind, other in found[tag]] for tag in found} == {
        a: [("require", b), ("onchanges", b), ("listen", c)],
        b: [("prerequired", d), ("listen", c)],
        c: [],
        d: [("prereq", b)],
    }


def test_what_is_tried_with_another_need_not_have_run_for_it() -> None:
    low = [
        chunk("first", prereq=[{"test": "base"}, {"test": "upper"}]),
        chunk("base"),
        chunk("upper", require=[{"test": "base"}]),
    ]
    ordered = order(low)
    assert not ordered.circles
    assert ids(ordered.low) == ["first", "base", "upper"]


def order_chain(count: int, kind: str) -> float:
    """The seconds of the processor that a chain of ``count`` states takes."""
    low = [chunk(str(n), **{kind: [{"test": str(n + 1)}]}) for n in range(count - 1)]
    low.append(chunk(str(count - 1)))
    gc.disable()  # what it goes through is all that the tests of before have left
    try:
        began = time.process_time()
        found = order(low)
        spent_s = time.process_time() - began
    finally:
        gc.enable()
    assert not found.problems
    expected = range(count) if kind == "prereq" else reversed(range(count))
    assert ids(found.low) == [str(n) for n in expected]
    return spent_s


@pytest.mark.parametrize("kind", ["require", "prereq"])
def test_long_chains_take_no_longer_than_their_length(kind: str) -> None:
    short_s = min(order_chain(1_000, kind) for _ in range(3))
    assert order_chain(10_000, kind) < 40 * short_s  # the square would be 100


class Edges(list[int]):
    """What a node needs; counts how many of them were looked at, of all nodes."""

    looked = 0

    def __iter__(self) -> Iterator[int]:
        for need in super().__iter__():
            Edges.looked += 1
            yield need


@pytest.mark.parametrize("count", [100, 400, 1600])
@pytest.mark.parametrize("far", [1, 7])
def test_each_edge_is_looked_at_once(count: int, far: int) -> None:
    """Many need the same one, chains run against the order: time grows with the edges alone."""
    needs = [Edges(other for other in (n + 1, n + far, 0, count // 2) if other < count)
             for n in range(count)]  # fmt: skip
    needs += [Edges() for _ in range(count)]
    Edges.looked = 0
    found, _circles = sort_topologically(needs)
    assert sorted(found) == list(range(count))
    assert Edges.looked <= sum(map(len, needs))
