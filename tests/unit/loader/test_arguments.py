"""Every row of tests/cases/data/arguments.json, as real Salt parses it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import DATA

from saltlite.loader.arguments import (
    parse_argument,
    parse_arguments,
    split_args,
    split_keyword,
)

CASES = json.loads((DATA / "arguments.json").read_text())


@pytest.mark.parametrize("row", CASES["values"], ids=lambda row: repr(row["text"]))
def test_value(row):
    assert repr(parse_argument(row["text"])) == row["repr"]


@pytest.mark.parametrize("row", CASES["keywords"], ids=lambda row: repr(row["word"]))
def test_keyword(row):
    args, kwargs = split_args(parse_arguments([row["word"]]))
    assert (args, kwargs) == (row["args"], row["kwargs"])


def test_keywords_travel_in_one_dict_at_the_end():
    assert parse_arguments(["a=1", "x", "b=[1]"]) == ["x", {"a": 1, "b": [1], "__kwarg__": True}]
    assert parse_arguments([]) == []


def test_no_parse_keeps_the_value_as_typed():
    assert parse_arguments(["a=1", "b=2"], ["a"]) == [{"a": "1", "b": 2, "__kwarg__": True}]


def test_keyword_dicts_may_be_anywhere():
    arg = [1, {"__kwarg__": True, "a": 2}, "x", {"__kwarg__": True, "b": 3}, {"c": 4}]
    assert split_args(arg) == ([1, "x", {"c": 4}], {"a": 2, "b": 3})


def test_a_dict_is_keywords_only_if_it_says_true():
    assert split_args([{"__kwarg__": 1, "a": 2}]) == ([{"__kwarg__": 1, "a": 2}], {})


@given(st.text())
def test_any_text_gives_a_value_and_nothing_worse(text):
    value = parse_argument(text)
    assert value is None or isinstance(value, bool | int | float | str | list | dict)


@given(st.text(alphabet="abz019_./@+-~:='\"#[]{} ,", max_size=12))
def test_the_short_way_for_plain_words_changes_nothing(text):
    from saltlite.loader import arguments

    expected = None
    if text != "None":
        expected = text if arguments._stays_text(text) else arguments._from_yaml(text)
    assert repr(parse_argument(text)) == repr(expected)


@given(st.text())
def test_a_word_is_a_keyword_or_itself(word):
    name, rest = split_keyword(word)
    assert rest == word if name is None else word.lstrip(" ").startswith(f"{name}={rest}")


def test_plain_words_and_numbers_do_without_yaml():
    code = (
        "import sys; from saltlite.loader.arguments import parse_arguments as p;"
        "assert p(['web1', '5', 'a=b', '/etc/x']) == ['web1', 5, '/etc/x', "
        "{'a': 'b', '__kwarg__': True}]; assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_word_of_underscores_costs_nothing():
    """A form may have one of a megabyte, from anybody; by backtracking it took minutes."""
    begun_s = time.process_time()
    assert parse_argument("_" * 300_000 + "x") == "_" * 300_000 + "x"
    assert parse_argument("1_" * 100_000) == "1_" * 100_000
    assert time.process_time() - begun_s < 5
