"""Configuration files of words, numbers, block maps and block lists, as most are, without PyYAML.

Loading PyYAML takes a quarter of the time of a short command. What is read here is the part of YAML
that no rule can turn into something else; one character of anything more, and the file is none of
ours: :mod:`saltlite.config.yaml` reads it, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 256 * 1024
"""Characters; a larger file is left to who counts nodes."""

DEEPEST = 20
"""Maps and lists inside one another."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_NAME = _LETTERS | _DIGITS | {"_"}
_KEY = _NAME | {".", "/", "-", "@"}
_WORD = _KEY | {":"}
_QUOTED = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "'", "\\"}
_YAML_WORDS = {"true": True, "false": False}
_NOT_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_LONGEST_NUMBER = 18


class _Unfit(Exception):
    """The text is more than such lines."""


def read_lines(text: str) -> Mapping[str, tuple[Any, int]] | None:
    """Option → its value and its line, counted from 1; ``None`` if that is not all there is."""
    if len(text) > LONGEST:
        return None
    try:
        lines = _Lines(text)
        found: dict[str, tuple[Any, int]] = {}
        while not lines.is_at_end():
            line = lines.number
            name, value = _read_pair(lines, 0, 1)
            if not _NAME.issuperset(name) or name in found:
                return None
            found[name] = value, line
    except _Unfit:
        return None
    return found


class _Lines:
    """The lines that say something, one after the other: indentation, content and number."""

    def __init__(self, text: str) -> None:
        self._left = iter(enumerate(text.split("\n"), 1))
        self.number = 0
        self.indent = -1
        self.content = ""
        self.advance()

    def is_at_end(self) -> bool:
        return self.indent < 0

    def advance(self) -> None:
        """Go to the next line that is more than a comment."""
        for number, line in self._left:
            content = _strip_comment(line)
            if content:
                self.number = number
                self.indent = len(line) - len(line.lstrip(" "))
                self.content = content
                return
        self.indent = -1

    def enter_item(self) -> None:
        """Go on behind the dash of a list's item, as if the item were a line of its own."""
        content = self.content[1:].lstrip(" ")
        if not content:
            raise _Unfit
        self.indent += len(self.content) - len(content)
        self.content = content


def _strip_comment(line: str) -> str:
    content = line.strip(" ")
    if "#" not in content:
        return content
    if content.startswith("#"):
        start = 0
    elif '"' in content or "'" in content:  # it may be within what is quoted
        return content
    else:
        start = content.find(" #")
    if start < 0:
        return content
    if not content.isascii() or not content.isprintable():
        raise _Unfit
    return content[:start].rstrip(" ")


def _read_block(lines: _Lines, depth: int) -> Any:
    """The map or the list that begins at this line."""
    if depth > DEEPEST:
        raise _Unfit
    indent = lines.indent
    if lines.content.startswith("- "):
        return _read_list(lines, indent, depth)
    found: dict[str, Any] = {}
    while lines.indent == indent:
        name, value = _read_pair(lines, indent, depth)
        if name in found:
            raise _Unfit
        found[name] = value
    if lines.indent > indent:
        raise _Unfit
    return found


def _read_list(lines: _Lines, indent: int, depth: int) -> list[Any]:
    found: list[Any] = []
    while lines.indent == indent and lines.content.startswith("- "):
        lines.enter_item()
        if lines.content.endswith(":") or ": " in lines.content:
            found.append(_read_block(lines, depth + 1))
        else:
            found.append(_read_value(lines.content))
            lines.advance()
    if lines.indent > indent:
        raise _Unfit
    return found


def _read_pair(lines: _Lines, indent: int, depth: int) -> tuple[str, Any]:
    """One key of a map, with what is behind it or below."""
    if lines.indent != indent:
        raise _Unfit
    content = lines.content
    name, colon, text = content.partition(": ")
    if colon:
        value = _read_value(text.strip(" "))
        lines.advance()
        return _read_key(name), value
    if not content.endswith(":"):
        raise _Unfit
    lines.advance()
    # a list may begin below the key's first letter, a map may not
    is_below = lines.indent > indent or (lines.indent == indent and lines.content[:2] == "- ")
    if not is_below:
        raise _Unfit
    return _read_key(content[:-1]), _read_block(lines, depth + 1)


def _read_key(text: str) -> str:
    if text[:1] in ("'", '"'):
        return _read_quoted(text)
    if text[:1] not in _LETTERS or not _KEY.issuperset(text) or text.lower() in _NOT_TEXT:
        raise _Unfit
    return text


def _read_value(text: str) -> str | int | bool:
    first = text[:1]
    if first in _LETTERS or first == "/":
        return _read_word(text)
    if first in _DIGITS:
        return _read_number(text)
    return _read_quoted(text)


def _read_quoted(text: str) -> str:
    first = text[:1]
    if len(text) > 1 and first in "\"'" and text[-1] == first and _QUOTED.issuperset(text[1:-1]):
        return text[1:-1]
    raise _Unfit


def _read_word(text: str) -> str | bool:
    if not _WORD.issuperset(text) or text[-1] == ":":
        raise _Unfit
    lower = text.lower()
    if lower not in _NOT_TEXT:
        return text
    if lower in _YAML_WORDS and text in (lower, lower.title(), lower.upper()):
        return _YAML_WORDS[lower]
    raise _Unfit


def _read_number(text: str) -> int | str:
    """A number without sign and leading zero, or an IPv4 address."""
    if _DIGITS.issuperset(text):
        if len(text) > _LONGEST_NUMBER or (text[0] == "0" and text != "0"):
            raise _Unfit
        return int(text)
    parts = text.split(".")
    if len(parts) == 4 and all(part and _DIGITS.issuperset(part) for part in parts):
        return text
    raise _Unfit
