"""JSON of values that it may not know, from anybody: bytes, numbers and keys of every kind.

:func:`dump_json` is for people and other programs: harmless on a terminal, and never ``NaN``, which
is no JSON. :func:`pack_json` is for files and servers that keep what was there.

Loads ``json`` where it is used: most commands never print any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from saltlite.core.terminal import escape


def dump_json(value: object, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """``value`` as JSON; numbers that JSON has not are ``null``, other unknown values ``repr``."""
    text = None if indent is None or sort_keys else _indent_known(value, indent)
    if text is not None:
        return escape(text)
    import json

    def dump(value: object) -> str:
        return json.dumps(
            value,
            indent=indent,
            sort_keys=sort_keys,
            ensure_ascii=False,
            allow_nan=False,
            default=_as_text,
        )

    try:
        text = dump(value)
    except (ValueError, TypeError):  # rare: most values need no copy
        text = dump(_make_sortable(value))
    return escape(text)


def _indent_known(value: object, indent: int) -> str | None:
    """JSON with indentation of what functions return; ``None`` if there is anything else in it.

    Python's own takes four times as long: with an indentation it is not written in C.
    """
    from json.encoder import encode_basestring

    pieces: list[str] = []
    try:
        to = _Writing(pieces.append, encode_basestring, " " * indent)
        _WRITERS.get(type(value), _write_other)(value, to, "\n")
    except (_Unknown, RecursionError):
        return None
    return "".join(pieces)


class _Unknown(Exception):
    """A value has a type that JSON has not, or one derived from it."""


class _Writing(NamedTuple):
    """Where the text goes, how a text is quoted, and one step of indentation."""

    write: Callable[[str], object]
    quote: Callable[[str], str]
    step: str


_WORDS = {None: "null", True: "true", False: "false"}


def _write_text(value: str, to: _Writing, newline: str) -> None:
    to.write(to.quote(value))


def _write_other(value: Any, to: _Writing, newline: str) -> None:
    kind = type(value)
    if value is None or kind is bool:
        to.write(_WORDS[value])
    elif kind is int or (kind is float and abs(value) < float("inf")):
        to.write(repr(value))
    else:
        raise _Unknown


def _write_map(value: dict[Any, Any], to: _Writing, newline: str) -> None:
    if not value:
        to.write("{}")
        return
    write, quote, step = to
    inner = newline + step
    before, between = "{" + inner, "," + inner
    for key, item in value.items():
        if type(key) is not str:
            raise _Unknown
        if type(item) is str:  # without a call: most are
            write(f"{before}{quote(key)}: {quote(item)}")
        else:
            write(f"{before}{quote(key)}: ")
            _WRITERS.get(type(item), _write_other)(item, to, inner)
        before = between
    write(newline + "}")


def _write_list(value: list[Any], to: _Writing, newline: str) -> None:
    if not value:
        to.write("[]")
        return
    inner = newline + to.step
    before, between = "[" + inner, "," + inner
    for item in value:
        to.write(before)
        _WRITERS.get(type(item), _write_other)(item, to, inner)
        before = between
    to.write(newline + "]")


_WRITERS: Mapping[type, Callable[[Any, _Writing, str], None]] = {
    dict: _write_map,
    list: _write_list,
    str: _write_text,
}


def pack_json(value: object) -> str:
    """``value`` as a line of ASCII to keep; a set is a list, other unknown values are text."""
    import json

    try:
        return json.dumps(value, default=_as_kept)
    except TypeError:  # rare: a key that is neither text nor a number
        return json.dumps(_with_known_keys(value), default=_as_kept)


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _as_kept(value: object) -> Any:
    if isinstance(value, (set, frozenset)):
        return list(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _make_sortable(value: object) -> Any:
    """A copy with keys of text alone, which can be sorted, and ``None`` for odd numbers."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {_text_key(key): _make_sortable(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [_make_sortable(item) for item in value]
    return value


def _with_known_keys(value: object) -> Any:
    if isinstance(value, Mapping):
        return {_text_key(key): _with_known_keys(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [_with_known_keys(item) for item in value]
    return value


def _text_key(key: object) -> str:
    """A key as JSON would write it, or else as text."""
    # As JSON has it: str() would make True and None of them.
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    return str(key)
