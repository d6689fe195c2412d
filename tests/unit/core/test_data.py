from __future__ import annotations

import pytest

from saltlite.core.data import (
    AggregatedList,
    AggregatedMap,
    choose,
    copied,
    merge,
    merge_by,
    traverse,
    update,
)
from saltlite.errors import SaltliteError

DATA = {"a": {"b": "c", "l": [1, {"k": "v"}], 5: "five", "none": None}, "x:y": 1, "": "empty"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a:b", "c"), ("a:l:0", 1), ("a:l:1:k", "v"), ("a:l:k", "v"), ("a:5", "five"),
        ("a:none", None), ("a:nosuch", "-"), ("a:b:c", "-"), ("a:l:9", "-"), ("a:l:-1", "-"),
        ("x:y", "-"), ("", "empty"), ("a:l:9999999999999", "-"),
    ],
)  # fmt: skip
def test_traverse(key, value):
    assert traverse(DATA, key, "-") == value


def test_other_delimiters():
    assert traverse(DATA, "a/b", delimiter="/") == "c"
    assert traverse(DATA, "x:y", delimiter="/") == 1


def test_merge_leaves_both_as_they_are():
    under, over = {"a": {"b": 1, "l": [1]}}, {"a": {"c": 2, "l": [1, 2]}}
    assert merge(under, over) == {"a": {"b": 1, "c": 2, "l": [1, 2]}}
    assert merge(under, over, merge_lists=True)["a"]["l"] == [1, 2]
    merge(under, over)["a"]["l"].append(3)
    assert (under, over) == ({"a": {"b": 1, "l": [1]}}, {"a": {"c": 2, "l": [1, 2]}})


def test_what_is_no_map_is_replaced():
    assert merge({"a": 1}, "x") == "x"
    assert merge({"a": {"b": 1}}, {"a": None}) == {"a": None}


def test_choose():
    lookup = {"Deb*": {"a": 1}, "default": {"a": 2, "b": 3}}
    assert choose(lookup, "Debian") == {"a": 1}
    assert choose(lookup, "RedHat") == {"a": 2, "b": 3}
    assert choose(lookup, ["x", "Debian"]) == {"a": 1}
    assert choose(lookup, "Debian", base="default") == {"a": 1, "b": 3}
    assert choose(lookup, "Debian", merged={"c": 1}) == {"a": 1, "c": 1}
    assert choose({}, "x") is None
    assert choose({}, "x", merged={"c": 1}) == {"c": 1}
    assert choose(lookup, []) == {"a": 2, "b": 3}
    assert lookup == {"Deb*": {"a": 1}, "default": {"a": 2, "b": 3}}


A, B = {"a": {"b": 1, "l": [1]}, "x": 1}, {"a": {"c": 2, "l": [2]}, "y": 2}


@pytest.mark.parametrize(
    ("strategy", "joined"),
    [
        ("recurse", {"a": {"b": 1, "l": [2], "c": 2}, "x": 1, "y": 2}),
        ("smart", {"a": {"b": 1, "l": [2], "c": 2}, "x": 1, "y": 2}),
        ("none", {"a": {"b": 1, "l": [2], "c": 2}, "x": 1, "y": 2}),
        ("overwrite", {"a": {"c": 2, "l": [2]}, "x": 1, "y": 2}),
        ("aggregate", {"a": {"c": 2, "l": [2]}, "x": 1, "y": 2}),
        ("list", {"a": [{"b": 1, "l": [1]}, {"c": 2, "l": [2]}], "x": 1}),
    ],
)
def test_strategies(strategy, joined):
    found = merge_by(strategy, A, B)
    assert found == joined
    assert list(found) == list(joined)


def test_smart_is_aggregate_for_yamlex():
    assert merge_by("smart", A, B, renderer="jinja|yamlex")["a"] == {"c": 2, "l": [2]}


def test_marked_values_are_aggregated():
    under = {"l": AggregatedList([1]), "m": AggregatedMap(k=AggregatedList([1]), x=1)}
    over = {"l": AggregatedList([1, 2]), "m": AggregatedMap(k=AggregatedList([2]), x=2)}
    assert merge_by("aggregate", under, over) == {"l": [1, 1, 2], "m": {"k": [1, 2], "x": 2}}


@pytest.mark.parametrize("strategy", ["recurse", "overwrite", "aggregate", "list"])
def test_only_maps_are_joined(strategy):
    with pytest.raises(TypeError, match="Cannot update using non-dict types"):
        merge_by(strategy, [1], {"a": 1})


def test_a_flat_update_replaces_maps():
    assert update({"a": {"x": 1}}, {"a": {"y": 2}}, recursive=False) == {"a": {"y": 2}}


def test_a_copy_shares_nothing():
    source = {"a": [{"b": 1}], "t": (1, [2])}
    made = copied(source)
    made["a"][0]["b"] = 2
    made["t"][1].append(3)
    assert source == {"a": [{"b": 1}], "t": (1, [2])}


def test_choose_refuses_what_cannot_be_joined():
    with pytest.raises(SaltliteError, match="must both be dictionaries"):
        choose({"A": "text", "base": {"x": 1}}, "A", base="base")
    with pytest.raises(TypeError, match="Cannot update"):
        choose({"A": "text"}, "A", merged={"x": 1})
