"""Files of plain lines are read as PyYAML reads them, or left to it. Never otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saltlite.config.plainlines import read_lines
from saltlite.config.yaml import load
from saltlite.errors import ConfigError

WORDS = ["true", "True", "tRue", "yes", "NO", "on", "Off", "null", "Null", "~", "y", "N", "none"]
NUMBERS = ["0", "00", "007", "0x1f", "0b1", "1_000", "1e3", "1.5", ".5", "1.", "12:30", "1:2:3"]
DATES = ["2001-01-01", "2001-1-1 1:2:3", "127.0.0.1", "1.2.3.4.5", "1..2.3", "::1", "+1", "-1"]
MARKS = ["---", "...", "- a", "? a", "| ", ">", "&a b", "*a", "!a", "%a", "@a", "`a", "{}", "[]"]
QUOTED = ['""', "''", '"a: b"', "'#'", '"\\n"', "'it''s'", '"a', "a'", "'a' b", '"a" # b']
OTHER = ["=", "<<", "a #b", "a# b", "a: b", "a:", ":a", "/", "//a", "a@b.c", "a\tb", "é", "\ufeff"]
VALUES = st.sampled_from([*WORDS, *NUMBERS, *DATES, *MARKS, *QUOTED, *OTHER]) | st.text(
    alphabet="abe019.:-_/'\"#+ ~@%&*!|>{}[],<=\t\\é", max_size=8
)
NAMES = st.sampled_from(["id", "a_b", "a1", "master", "on", "Y", "1a", "<<", "a b", "a.b", "'a'"])
LINES = st.one_of(
    st.builds("{}: {}".format, NAMES, VALUES),
    st.builds("{}{}{}{}".format, NAMES, st.sampled_from([":", ": ", " : ", ":  "]), VALUES, VALUES),
    st.builds("{}# {}".format, st.sampled_from(["", "  ", "\t"]), VALUES),
    st.sampled_from(["", " ", "   ", "\t", "  id: 1", "- a", "\r", "id: a\r"]),
)


def by_yaml(text: str) -> Any:
    """Option → value and line, or the reason why not."""
    try:
        content = load(text, "f")
    except ConfigError as error:
        return str(error)
    if content is None:
        return {}
    return {key: (value, content.lines[key]) for key, value in content.items()}


def typed(found: Any) -> list[Any]:
    return [(key, type(value), value, line) for key, (value, line) in found.items()]


@settings(max_examples=1500, deadline=None)
@given(lines=st.lists(LINES, max_size=4), end=st.sampled_from(["", "\n", "\n\n"]))
@example(lines=["id: é"], end="")
@example(lines=["id: 1", "id: 1"], end="")
@example(lines=["id: 0", "a1: 999999999999999999"], end="\n")
def test_what_is_read_is_what_yaml_says(lines: list[str], end: str) -> None:
    text = "\n".join(lines) + end
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))


@settings(max_examples=500, deadline=None)
@given(text=st.text(max_size=30))
def test_any_text(text: str) -> None:
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))


@pytest.mark.parametrize(
    "text",
    [
        "id: bench\nmaster: 127.0.0.1\n",
        '# a comment: [\n\nroot_dir: "/tmp/x y"\nauto_accept: true\nworker_threads: 5\n',
        "user: root\nlog_file: 'file:///dev/log'\nsaltenv: prod-1\nmaster: salt.example.org",
    ],
)
def test_the_usual_lines_are_read_here(text: str) -> None:
    assert read_lines(text)
    assert typed(read_lines(text)) == typed(by_yaml(text))
