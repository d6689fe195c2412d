from __future__ import annotations

import pytest

from saltlite.core.data import (
    AggregatedList,
    AggregatedMap,
    append_below,
    choose,
    copy_data,
    extend_below,
    merge,
    merge_by,
    merge_onto,
    set_below,
    traverse,
    update,
    update_below,
)
from saltlite.errors import SaltliteError, UsageError

DATA = {"a": {"b": "c", "l": [1, {"k": "v"}], 5: "five", "none": None}, "x:y": 1, "": "empty"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a:b", "c"), ("a:l:0", 1), ("a:l:1:k", "v"), ("a:l:k", "v"), ("a:5", "five"),
        ("a:none", None), ("a:nosuch", "-"), ("a:b:c", "-"), ("a:l:9", "-"), ("a:l:-1", {"k": "v"}),
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
    made = copy_data(source)
    made["a"][0]["b"] = 2
    made["t"][1].append(3)
    assert source == {"a": [{"b": 1}], "t": (1, [2])}


def test_choose_refuses_what_cannot_be_joined():
    with pytest.raises(SaltliteError, match="must both be dictionaries"):
        choose({"A": "text", "base": {"x": 1}}, "A", base="base")
    with pytest.raises(TypeError, match="Cannot update"):
        choose({"A": "text"}, "A", merged={"x": 1})


@pytest.mark.parametrize("merge_lists", [False, True])
@pytest.mark.parametrize(
    "over",
    [
        {"a": {"x": 2, "z": 3}, "n": 1},
        {"a": [1], "l": [2, 3]},
        {"a": {"x": {"deep": 1}}, "l": {"k": 1}},
        {"l": None, "new": {"k": [1]}},
        {},
    ],
)
def test_merging_in_place_is_merging(over, merge_lists):
    under = {"a": {"x": 1, "y": [1]}, "l": [1, 2]}
    joined = merge(under, over, merge_lists=merge_lists)
    before = repr(over)
    merge_onto(under, over, merge_lists=merge_lists)
    assert under == joined
    assert list(under) == list(joined)
    merge_onto(under, {"new": {"k": []}, "a": {"x": 9}, "l": {"k": 9}})
    assert repr(over) == before


@pytest.mark.parametrize(
    ("change", "data", "keys", "value", "after"),
    [
        (set_below, {"a": 3}, "a:b", 1, {"a": {"b": 1}}),
        (update_below, {"a": {}}, "a:b", {"c": 1}, {"a": {"b": {"c": 1}}}),
        (append_below, {}, "a:b", 1, {"a": {"b": [1]}}),
        (extend_below, {"a": []}, "a", "ab", {"a": ["a", "b"]}),
        (extend_below, {"a": None}, "a", [1], {"a": [1]}),
    ],
)
def test_changed_below_a_key(change, data, keys, value, after):
    assert change(data, keys, value) is data
    assert data == after


@pytest.mark.parametrize(
    ("change", "found", "value", "told"),
    [
        (update_below, 3, {}, "The last key contains a <class 'int'>, which cannot update."),
        (update_below, {}, 3, "Cannot update <class 'dict'> with a <class 'int'>."),
        (update_below, {}, "abc", "Cannot update <class 'dict'> with a <class 'str'>."),
        (append_below, 3, 1, "The last key contains a <class 'int'>, which cannot append."),
        (extend_below, 3, [1], "The last key contains a <class 'int'>, which cannot extend."),
        (extend_below, [], 3, "Cannot extend <class 'list'> with a <class 'int'>."),
    ],
)
def test_what_cannot_be_changed_is_told_in_salts_words(change, found, value, told):
    """Source: observed on Salt 3006.30."""
    with pytest.raises(UsageError) as caught:
        change({"a": found}, "a", value)
    assert str(caught.value) == told
