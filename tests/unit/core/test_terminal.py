"""What others say does not steer the terminal, and what they write stays readable."""

from __future__ import annotations

import json

import pytest

from saltlite.core.jsontext import dump_json
from saltlite.core.terminal import escape, is_safe, sanitize, sanitize_but_colors

HARMFUL = ["\0", "\a", "\b", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\u202e", "\u2066", "\u200f"]


@pytest.mark.parametrize("character", [*HARMFUL, "\ud800"])
def test_what_may_steer_a_terminal_is_shown_as_a_question_mark(character: str) -> None:
    assert sanitize(f"a{character}b") == "a?b"
    assert sanitize_but_colors(f"a{character}b") == "a?b"
    assert not is_safe(f"a{character}b")
    assert escape(f"a{character}b") == f"a\\u{ord(character):04x}b"


def test_text_of_every_script_stays() -> None:
    text = "Größe\tж 字 שלום مرحبا 👩\u200d💻 a\u0308\nnext"
    assert sanitize(text) == text
    assert is_safe(text)


def test_line_ends_of_windows_are_line_ends() -> None:
    assert sanitize("one\r\ntwo\rthree") == "one\ntwo?three"


def test_only_colours_are_let_through() -> None:
    text = "\x1b[0;31mred\x1b[0;0m \x1b[2J \x1b]0;title\x07 \x1b[31"
    assert sanitize_but_colors(text) == "\x1b[0;31mred\x1b[0;0m ?[2J ?]0;title? ?[31"


def test_json_escapes_what_may_steer_a_terminal() -> None:
    text = "".join(HARMFUL) + "\ud800ä"
    written = dump_json({text: [text]})
    assert is_safe(written)
    assert "ä" in written
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_json_has_no_numbers_that_json_has_not(number: float) -> None:
    written = dump_json({"a": [number, 1.5, {number: 2}], "b": (number,)})
    assert json.loads(written) == {"a": [None, 1.5, {str(number): 2}], "b": [None]}


@pytest.mark.parametrize("sort_keys", [False, True])
def test_json_has_keys_of_text_whatever_they_were(sort_keys: bool) -> None:
    value = {b"\xff": 1, "a": {(1, 2): 2}, 3: [{b"b": None}], None: True}
    written = json.loads(dump_json(value, sort_keys=sort_keys))
    assert written == {"\ufffd": 1, "a": {"(1, 2)": 2}, "3": [{"b": None}], "null": True}
