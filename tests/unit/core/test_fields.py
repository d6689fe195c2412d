from __future__ import annotations

from collections.abc import Sequence

import pytest

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields, require, write_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    name: str
    force: bool = False
    repos: Sequence[str] = ()
    more: object = None


def test_what_was_given_becomes_a_value_and_what_has_no_field_is_left():
    made = read_fields(Options, {"name": "a", "force": True, "colour": "red"})
    assert made == Options(name="a", force=True)


def test_readers_are_chosen_by_the_type_of_a_field_and_asked_only_for_what_was_given():
    readers = {"bool": lambda value: value == "yes", "Sequence[str]": str.split}
    made = read_fields(Options, {"name": "a", "force": "yes", "more": "a b"}, readers)
    assert made == Options(name="a", force=True, repos=(), more="a b")


def test_a_field_without_default_has_to_be_given():
    with pytest.raises(TypeError, match="name"):
        read_fields(Options, {"force": True})


def test_require_names_what_is_missing():
    assert require("x", "name") == "x"
    with pytest.raises(KeyError, match="name"):
        require(None, "name")


def test_a_value_is_shown_as_a_map_of_its_fields():
    made = Options(name="a")
    assert write_fields(made) == {"name": "a", "force": False, "repos": (), "more": None}
