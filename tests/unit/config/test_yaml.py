"""The YAML loader: Salt's values, the lines of keys, and bounds."""

from __future__ import annotations

import math
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite.config.yaml import (
    MAX_NODES,
    LinedMap,
    YamlError,
    dump,
    dump_scalar,
    load,
    load_aggregated,
    load_plain,
)
from saltlite.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),  # recorded with test.get_opts of 3006.30 and 3008.5
    [
        ("0755", 755),
        ("010", 10),
        ("08", "08"),
        ("-012", -10),
        ("0o17", "0o17"),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("1e3", "1e3"),
        ("1.5e3", "1.5e3"),
        ("12:30", 750),
        ("yes", True),
        ("off", False),
        ("y", "y"),
        ("~", None),
        ("2016-01-01", "2016-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("!!binary aGVsbG8=", b"hello"),
        ("{1: 2, z: x}", {1: 2, "z": "x"}),
        ("=", "="),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("99999999999999999999999", 99999999999999999999999),
    ],
)
def test_scalars_are_what_salt_makes_of_them(text, value):
    loaded = load(f"k: {text}", "f")["k"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_infinity_and_nan():
    assert load("k: .inf", "f")["k"] == math.inf
    assert math.isnan(load("k: .nan", "f")["k"])


def test_lines_of_top_level_keys():
    loaded = load("# c\na: 1\n\nb:\n  c: 2\n? d\n: 3\n", "f")
    assert isinstance(loaded, LinedMap)
    assert loaded.lines == {"a": 2, "b": 4, "d": 6}
    assert loaded == {"a": 1, "b": {"c": 2}, "d": 3}


@pytest.mark.parametrize("text", ["", "# only\n", "---\n", "--- # x\n...\n"])
def test_nothing_is_none(text):
    assert load(text, "f") is None


def test_anchors_and_merges():
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [{y: 9}, *a], z: 0}\nd: [*a, *a]\n"
    loaded = load(text, "f")
    assert loaded["b"] == {"x": 1, "y": 3}
    assert loaded["c"] == {"x": 1, "y": 9, "z": 0}
    assert loaded["d"] == [{"x": 1, "y": 2}] * 2
    assert load("<<: {a: 1}\nb: 2\n", "f") == {"a": 1, "b": 2}
    assert load("a: <<\n", "f") == {"a": "<<"}


@pytest.mark.alone
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aliases", "a: &a 1\nb: [" + "*a," * (MAX_NODES + 10) + "]\n"),
        (
            "merges",
            "a: &a {"
            + ",".join(f"k{i}: 1" for i in range(2000))
            + "}\nb: ["
            + "{<<: *a}," * 1000
            + "]\n",
        ),
        ("lists", "a: " + "[" * 100_000),
        ("maps", "a: " + "{a: " * 100_000),
        ("indents", "".join(" " * i + "a:\n" for i in range(2000))),
    ],
)
def test_bombs_end_at_once(name, text):
    started = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        load(text, "f")
    assert time.monotonic() - started < 10  # 2 s on an idle machine
    assert "\n" not in str(caught.value)


def test_a_large_scalar_is_only_large():
    assert len(load("a: " + "x" * 5_000_000, "f")["a"]) == 5_000_000


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False)
    | st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, blacklist_categories=["Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(PLAIN)
@settings(max_examples=200, deadline=None)
def test_what_yaml_writes_is_read(value):
    assert load(yaml.safe_dump(value), "f") == value


@given(st.text("ab01:-[]{},&*!|>'\"#%@ \n\t?<=.~", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_value_or_one_line(text):
    try:
        load(text, "f")
    except ConfigError as error:
        assert str(error).startswith("f")
        assert "\n" not in str(error)


@given(st.text("ab1:-[]{}, \n'\"", max_size=30))
@settings(max_examples=300, deadline=None)
def test_where_both_read_it_the_values_are_pyyamls(text):
    try:
        own = load(text, "f")
        other = yaml.safe_load(text)
    except (ConfigError, yaml.YAMLError, ValueError):
        return
    assert own == other


def test_merged_keys_come_first_and_own_ones_count():
    text = "x: &x {b: 1, c: 2}\nd:\n  own: 0\n  <<: *x\n  c: 3\n"
    assert list(load(text, "t")["d"].items()) == [("b", 1), ("own", 0), ("c", 3)]


def test_aggregated_values_and_keys_that_come_again():
    text = (
        "a: !aggregate 1\na: !aggregate [x]\nm: !aggregate {k: 1}\nm: !aggregate {l: 2}\nz: 1\nz: 2"
    )
    assert load_aggregated(text, "t") == {"a": [1, "x"], "m": {"k": 1, "l": 2}, "z": 2}
    assert load_aggregated("a: !aggregate [1]\na: !reset [2]", "t") == {"a": [2]}
    with pytest.raises(ConfigError):
        load_aggregated("a: !other [1]", "t")


@pytest.mark.parametrize("text", [":".join("1" * 400_000), ":".join("1" * 400_000) + ".5"])
def test_a_long_number_to_the_base_60_costs_nothing(text):
    """Its value takes time that grows as the square of its length: minutes for this one."""
    begun_s = time.process_time()
    for read in (load_plain, lambda one: load(one, "t")):
        with pytest.raises(ConfigError, match="base 60 of more than 100 characters"):
            read(f"a: {text}")
    assert load_plain(f"a: '{text}'") == {"a": text}
    assert time.process_time() - begun_s < 5
    longest = ":".join(["10"] * 33)
    assert load_plain(f"{longest}:1") == sum(10 * 60**n for n in range(1, 34)) + 1


def test_a_caller_may_have_a_bound_of_his_own():
    assert load_plain("[1, 2]", nodes_most=3) == [1, 2]
    with pytest.raises(ConfigError, match="more than 3 values"):
        load_plain("[1, 2, 3]", nodes_most=3)
    with pytest.raises(ConfigError, match="more than 3 values"):
        load_plain("[&a 1, *a, *a]", nodes_most=3)


def test_plain_yaml_knows_octal_numbers_and_repeated_keys():
    assert load_plain("a: 0755\na: 010") == {"a": 8}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a: 1\na: 2", "found conflicting ID 'a', set first on line 1"),
        ("a: !x 1", "could not determine a constructor for the tag '!x'"),
        ("{a: 1}: 2", "found unacceptable key: a map cannot be a key"),
        ("a: b: c", "mapping values are not allowed in this context"),
    ],
)
def test_errors_have_the_words_of_salts_renderers(text, finding):
    with pytest.raises(YamlError) as caught:
        load(text, "t")
    assert caught.value.finding == finding


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        ({"b": 1, "a": [1, {"x": None}]}, {"flow": True}, "{a: [1, {x: null}], b: 1}\n"),
        ({"b": 1, "a": [1, 2]}, {"flow": None}, "a: [1, 2]\nb: 1\n"),
        ({"b": 1, "a": 2}, {"sort_keys": False}, "b: 1\na: 2\n"),
    ],
)
def test_dump_in_other_styles(value, options, text):
    assert dump(value, **options) == text


@pytest.mark.parametrize(
    ("text", "quote", "quoted"),
    [
        ('a"b\\', '"', '"a\\"b\\\\"'),
        ("é\n", '"', '"\\xE9\\n"'),
        ("it's", "'", "'it''s'"),
        ("x " * 100, "'", f"'{'x ' * 100}'"),
    ],
)
def test_one_quoted_text(text, quote, quoted):
    assert dump_scalar(text, quote) == quoted
