"""What is found between two runs of states leads from the one to the other, and is no more."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from saltlite.highstate.differing import Declaration, StateKey, apply, compare

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "1", 1.0]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = st.builds(
    StateKey, st.sampled_from(["file", "pkg"]), st.sampled_from("abc"), st.sampled_from("abc")
)
RUNS = st.lists(
    st.builds(
        Declaration,
        key=KEYS,
        fun=st.sampled_from(["managed", "absent"]),
        arguments=st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3),
        sls=st.sampled_from(["", "web"]),
    ),
    unique_by=lambda one: one.key,
    max_size=8,
)


def plain(run: list[Declaration]) -> list[Any]:
    """What can be compared with its types: ``1`` is not ``True``."""
    return [(one.key, one.fun, repr(sorted(one.arguments.items()))) for one in run]


@given(RUNS, RUNS)
def test_they_lead_from_the_first_to_the_second(old: list[Declaration], new: list[Any]) -> None:
    found = compare(old, new)
    assert plain(apply(found, old)) == plain(new)


@given(RUNS)
def test_equal_runs_have_none(run: list[Declaration]) -> None:
    assert compare(run, list(run)).as_answer(run, run) == {
        "added": {},
        "removed": {},
        "changed": {},
        "moved": {},
    }


@given(RUNS, st.randoms(use_true_random=False))
def test_another_order_is_told_apart_from_all_else(run: list[Declaration], chance: Any) -> None:
    shuffled = list(run)
    chance.shuffle(shuffled)
    found = compare(run, shuffled)
    assert not (found.added or found.removed or found.changed)
    assert bool(found.placed) is (shuffled != run)
    assert len(found.placed) < max(len(run), 1)
