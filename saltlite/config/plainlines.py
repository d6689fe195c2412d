"""Configuration files that are nothing but lines ``option: value``, as most are, without PyYAML.

Loading PyYAML takes a quarter of the time of a short command. What is read here is the part of YAML
that no rule can turn into something else; one character of anything more, and the file is none of
ours: :mod:`saltlite.config.yaml` reads it, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_NAME = _LETTERS | _DIGITS | {"_"}
_WORD = _NAME | {".", "/", "-", "@"}
_QUOTED = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "'", "\\"}
_YAML_WORDS = {"true": True, "false": False}
_NOT_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_LONGEST_NUMBER = 18

Value = str | int | bool


class _Unfit(Exception):
    """The text is more than such lines."""


def read_lines(text: str) -> Mapping[str, tuple[Value, int]] | None:
    """Option → its value and its line, counted from 1; ``None`` if that is not all there is."""
    found: dict[str, tuple[Value, int]] = {}
    try:
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip(" "):
                continue
            if line.lstrip(" ").startswith("#"):
                _check_comment(line)
                continue
            name, colon, value = line.partition(": ")
            if not colon or name in found:
                return None
            found[_read_name(name)] = _read_value(value.strip(" ")), number
    except _Unfit:
        return None
    return found


def _check_comment(line: str) -> None:
    if not line.isascii() or not line.isprintable():
        raise _Unfit


def _read_name(text: str) -> str:
    if text[:1] not in _LETTERS or not _NAME.issuperset(text) or text.lower() in _NOT_TEXT:
        raise _Unfit
    return text


def _read_value(text: str) -> Value:
    first = text[:1]
    if first in _LETTERS or first == "/":
        return _read_word(text)
    if first in _DIGITS:
        return _read_number(text)
    if len(text) > 1 and first in "\"'" and text[-1] == first and _QUOTED.issuperset(text[1:-1]):
        return text[1:-1]
    raise _Unfit


def _read_word(text: str) -> Value:
    if not _WORD.issuperset(text):
        raise _Unfit
    lower = text.lower()
    if lower not in _NOT_TEXT:
        return text
    if lower in _YAML_WORDS and text in (lower, lower.title(), lower.upper()):
        return _YAML_WORDS[lower]
    raise _Unfit


def _read_number(text: str) -> Value:
    """A number without sign and leading zero, or an IPv4 address."""
    if _DIGITS.issuperset(text):
        if len(text) > _LONGEST_NUMBER or (text[0] == "0" and text != "0"):
            raise _Unfit
        return int(text)
    parts = text.split(".")
    if len(parts) == 4 and all(part and _DIGITS.issuperset(part) for part in parts):
        return text
    raise _Unfit
