from __future__ import annotations

import pytest

from saltlite.core.data import choose, merge, traverse

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
