"""YAML of plain lines, as most configuration and SLS files are, read without PyYAML.

Loading PyYAML takes a quarter of the time of a short command, and reading with it five times that
of this. What is read here is the part of YAML that no rule can turn into something else: block maps
and block lists of scalars on one line, texts after ``|``, and ``[…]`` and ``{…}`` on one line. One
character of anything more, and the text is none of ours: :mod:`saltlite.config.yaml` reads it, and
says what is wrong with it. That both say the same is held by tests/property/test_plain_lines.py.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 256 * 1024
"""Characters; a larger text is left to who counts nodes."""

DEEPEST = 20
"""Maps and lists inside one another, in lines; and once more within brackets."""

LONGEST_KEY = 1000
"""Characters; YAML takes 1,024."""

UNREAD: Any = object()
"""Stands for the value of a text that is more than plain lines."""

_NO_KEY: Any = object()
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORD_BEGINNINGS = frozenset("tfynoTFYNO~")
"""What words that are no texts begin with."""

_TEXT_BEGINNINGS = (_LETTERS | frozenset("/_($^;\\")) - _WORD_BEGINNINGS
_NUMBER_BEGINNINGS = _DIGITS | frozenset("+-.")
_WORDS: dict[str, Any] = {
    form: value
    for word, value in {
        "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
        "null": None, "~": None,
    }.items()
    for form in (word, word.title(), word.upper())
}  # fmt: skip
_IN_FLOATS = _DIGITS | frozenset("_+-eEinfINFaA")
_IN_TIMES = _DIGITS | frozenset("_+-.:tTzZ ")
_IN_BRACKETS = _LETTERS | _DIGITS | frozenset("_./-@+ ")
_LONGEST_NUMBER = 18

_PLAIN, _NESTED, _LITERAL, _FLOW = range(4)
"""What is behind a key or a dash: a scalar, lines below, a text below, brackets."""

_Line = tuple[int, "Any", "Any", int]
"""Width of the dash (0 without one), key, value, and what the value is."""


class _Unfit(Exception):
    """The text is more than such lines."""


def read_lines(text: str) -> Mapping[Any, tuple[Any, int]] | None:
    """Option → its value and its line, counted from 1; ``None`` if that is not all there is."""
    try:
        value, lines = _read_text(text)
    except _Unfit:
        return None
    if value is None:
        return {}
    # What is in brackets has no lines of its own.
    return {key: (value[key], line) for key, line in lines.items()} or None


def read_document(text: str) -> Any:
    """The value of a text, ``None`` of an empty one; :data:`UNREAD` if it is more than such lines.

    It belongs to the caller.
    """
    try:
        return _read_text(text)[0]
    except _Unfit:
        return UNREAD


def _read_text(text: str) -> tuple[Any, dict[Any, int]]:
    """The value of a text, and the line of each key of its own."""
    if (
        len(text) > LONGEST
        or "\n---" in text
        or "\n..." in text
        or text[:3] in ("---", "...")
        # Tabs, other ends of lines and what YAML does not take are not printable.
        or not text.replace("\n", "").isprintable()
    ):
        raise _Unfit
    return _read_rows(text.split("\n"))


def _read_rows(rows: list[str]) -> tuple[Any, dict[Any, int]]:  # noqa: C901 - one loop, for its speed
    """One step for each line: :func:`_split_line` says what it is, the frames where it belongs.

    A frame is its indentation, its map or list, and whether it is a list. ``waiting`` is a key
    whose value may come in the next lines.
    """
    known: dict[str, _Line | None] = {}
    lines: dict[Any, int] = {}
    frames: list[tuple[int, Any, bool]] = []
    indent, is_list = -1, False
    holder: Any = None
    waiting: Any = _NO_KEY
    root: Any = None
    number, count = 0, len(rows)
    while number < count:
        row = rows[number]
        number += 1
        body = row.lstrip(" ")
        # The same lines come again and again: ``- require:`` is looked at once.
        if body in known:
            line = known[body]
        else:
            line = known[body] = _split_line(body)
        if line is None:
            continue
        dash, key, value, kind = line
        column = len(row) - len(body)
        if root is None:
            if column:
                raise _Unfit
            if kind == _FLOW and key is _NO_KEY and not dash:
                return _read_flow("\n".join(rows[number - 1 :]).strip(" \n")), {}
            root = holder = [] if dash else {}
            indent, is_list = 0, bool(dash)
        elif waiting is not _NO_KEY:
            # A list may begin below the key's first letter, a map may not.
            if column > indent or (column == indent and dash):
                frames.append((indent, holder, is_list))
                below: Any = [] if dash else {}
                holder[waiting] = below
                indent, holder, is_list = column, below, bool(dash)
            waiting = _NO_KEY
        while column < indent or (is_list and column == indent and not dash):
            if not frames:
                raise _Unfit
            indent, holder, is_list = frames.pop()
        if column != indent or is_list is not bool(dash):
            raise _Unfit
        if dash:
            if key is _NO_KEY:
                holder.append(_read_flow(value) if kind == _FLOW else value)
                continue
            frames.append((indent, holder, is_list))
            entry: dict[Any, Any] = {}
            holder.append(entry)
            indent, holder, is_list = column + dash, entry, False
        if key is _NO_KEY or key in holder or len(frames) >= DEEPEST:
            raise _Unfit
        if not frames:
            lines[key] = number
        if kind == _NESTED:
            waiting = key
        elif kind == _LITERAL:
            value, number = _read_literal(rows, number, indent, value)
        elif kind == _FLOW:
            value = _read_flow(value)
        holder[key] = value
    return root, lines


def _split_line(body: str) -> _Line | None:
    """What a line says that begins with ``body``; ``None`` for an empty one and a comment."""
    body = body.rstrip(" ")
    if not body or body[0] == "#":
        return None
    has_hash = " #" in body
    if has_hash and '"' not in body and "'" not in body:
        body = body[: body.index(" #")].rstrip(" ")
        has_hash = False
    whole = len(body)
    if body.startswith("- "):
        body = body[2:].lstrip(" ")
    dash = whole - len(body)
    key, rest = _split_key(body, has_hash)
    if not rest:
        return dash, key, None, _NESTED
    first = rest[0]
    if first in "[{":
        return dash, key, rest, _FLOW
    if first in "\"'":
        return dash, key, _read_quoted(rest), _PLAIN
    if first == "|" and key is not _NO_KEY and rest in ("|", "|-"):
        return dash, key, "" if rest == "|-" else "\n", _LITERAL
    if has_hash or ": " in rest or rest[-1] == ":":
        raise _Unfit
    return dash, key, _read_plain(rest), _PLAIN


def _split_key(body: str, has_hash: bool) -> tuple[Any, str]:
    """The key of a line, and what is behind it; without a key all of it."""
    first = body[0]
    if first in "[{":
        return _NO_KEY, body
    if first in "\"'":
        end = body.find(first, 1) + 1
        colon = body[end : end + 2]
        # A quote that is doubled does not end the text: it is read where no key is looked for.
        if colon not in (":", ": ") or end > LONGEST_KEY:
            return _NO_KEY, body
        return _read_quoted(body[:end]), body[end + 1 :].lstrip(" ")
    text, colon, rest = body.partition(": ")
    if not colon:
        if body[-1] != ":":
            return _NO_KEY, body
        text = body[:-1]
    text = text.rstrip(" ")
    if (has_hash and " #" in text) or len(text) > LONGEST_KEY:
        raise _Unfit
    return _read_plain(text), rest.lstrip(" ")


def _read_literal(rows: list[str], number: int, indent: int, end: str) -> tuple[str, int]:
    """The text of the lines below a ``|``, and the number of the line behind it."""
    first = rows[number] if number < len(rows) else ""
    width = len(first) - len(first.lstrip(" "))
    if width <= indent or width == len(first):
        raise _Unfit
    pad = first[:width]
    found: list[str] = []
    for row in rows[number:]:
        if row.startswith(pad):
            found.append(row[width:])
        elif not row.strip(" "):
            found.append("")
        else:
            break
    behind = number + len(found)
    if behind == len(rows) and rows[-1]:  # the text has no line feed at its end
        raise _Unfit
    while not found[-1]:
        found.pop()
    return "\n".join(found) + end, behind


def _read_quoted(text: str) -> str:
    """A text within quotes, on one line, without escapes but ``''``."""
    quote, inner = text[0], text[1:-1]
    if len(text) < 2 or text[-1] != quote:
        raise _Unfit
    if quote == '"':
        if '"' in inner or "\\" in inner:
            raise _Unfit
        return inner
    if "'" in inner.replace("''", ""):
        raise _Unfit
    return inner.replace("''", "'")


def _read_plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    first = text[:1]
    if first in _TEXT_BEGINNINGS:
        return text
    if first in _WORD_BEGINNINGS:
        return _WORDS.get(text, text)
    if first in _NUMBER_BEGINNINGS:
        return _read_number(text)
    raise _Unfit


def _read_number(text: str) -> Any:
    """A decimal number; a text if it cannot be any number or time of YAML's."""
    body = text[1:] if text[0] in "+-" else text
    if not body or body[0] == " ":
        raise _Unfit
    if ":" in body:
        return _leave_text(text, _IN_TIMES.issuperset(body))
    if "." in body:
        return _read_float(text, body)
    if not body.isascii() or not body.isdigit():
        is_number = body[0] == "0" and body[1:2] in ("x", "X", "b", "B", "_")
        return _leave_text(text, is_number or body.replace("_", "").isdigit())
    if len(body) > _LONGEST_NUMBER:
        raise _Unfit
    # 0755 is decimal here; -0755 is not, and 0899 is none of YAML's numbers.
    is_octal = body[0] == "0" and len(body) > 1
    return _leave_text(int(text), is_octal and (body != text or "8" in body or "9" in body))


def _read_float(text: str, body: str) -> Any:
    whole, _, part = body.partition(".")
    if "." in part:  # an address or a version
        return text
    if body.isascii() and whole.isdigit() and part.isdigit() and len(body) < _LONGEST_NUMBER:
        return float(text)
    return _leave_text(text, _IN_FLOATS.issuperset(whole + part))


def _leave_text(value: Any, is_doubtful: bool) -> Any:
    if is_doubtful:
        raise _Unfit
    return value


# --- brackets ------------------------------------------------------------------------------------


def _read_flow(text: str) -> Any:
    """The value of what is within brackets, and nothing behind them."""
    value, place = _read_item(text, 0, 1)
    if place != len(text):
        raise _Unfit
    return value


def _read_item(text: str, place: int, depth: int) -> tuple[Any, int]:
    """The value at a place, and the place behind it."""
    first = text[place : place + 1]
    if first in ("[", "{"):
        if depth > DEEPEST:
            raise _Unfit
        read = _read_flow_list if first == "[" else _read_flow_map
        return read(text, _skip_blanks(text, place + 1), depth)
    if first in ("'", '"'):
        end = text.find(first, place + 1) + 1
        inner = text[place + 1 : end - 1]
        if not end or "\n" in inner or "\\" in inner or text[end : end + 1] == first:
            raise _Unfit
        return inner, end
    end = place
    while text[end : end + 1] in _IN_BRACKETS:
        end += 1
    return _read_plain(text[place:end].rstrip(" ")), end


def _read_flow_list(text: str, place: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    if text[place : place + 1] == "]":
        return found, place + 1
    while True:
        value, place = _read_item(text, place, depth + 1)
        found.append(value)
        place, is_last = _skip_comma(text, place, "]")
        if is_last:
            return found, place


def _read_flow_map(text: str, place: int, depth: int) -> tuple[dict[Any, Any], int]:
    found: dict[Any, Any] = {}
    if text[place : place + 1] == "}":
        return found, place + 1
    while True:
        key, end = _read_item(text, place, depth + 1)
        is_scalar = text[place] not in "[{"
        if not is_scalar or text[end : end + 2] != ": " or end - place > LONGEST_KEY:
            raise _Unfit
        if key in found:
            raise _Unfit
        found[key], place = _read_item(text, _skip_blanks(text, end + 2), depth + 1)
        place, is_last = _skip_comma(text, place, "}")
        if is_last:
            return found, place


def _skip_comma(text: str, place: int, end: str) -> tuple[int, bool]:
    """The place of the next item, or the one behind the bracket; and which of the two."""
    place = _skip_blanks(text, place)
    mark = text[place : place + 1]
    if mark == end:
        return place + 1, True
    if mark != ",":
        raise _Unfit
    return _skip_blanks(text, place + 1), False


def _skip_blanks(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\n"):
        place += 1
    return place
