"""JSON of values that it may not know, from anybody: bytes, numbers and keys of every kind.

:func:`dump_json` is for people and other programs: harmless on a terminal, and never ``NaN``, which
is no JSON. :func:`pack_json` is for files and servers that keep what was there.

Loads ``json`` where it is used: most commands never print any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
    pieces: list[str] = []
    try:
        _write_known(value, pieces.append, "\n", " " * indent)
    except (_Unknown, RecursionError):
        return None
    return "".join(pieces)


class _Unknown(Exception):
    """A value has a type that JSON has not, or one derived from it."""


def _write_known(value: Any, write: Callable[[str], object], newline: str, step: str) -> None:
    from json.encoder import encode_basestring

    kind = type(value)
    if kind is str:
        write(encode_basestring(value))
    elif kind is dict or kind is list:
        _write_items(value, write, newline, step)
    elif value is None or kind is bool:
        write({None: "null", True: "true", False: "false"}[value])
    elif kind is int or (kind is float and abs(value) < float("inf")):
        write(repr(value))
    else:
        raise _Unknown


def _write_items(
    value: dict[Any, Any] | list[Any], write: Callable[[str], object], newline: str, step: str
) -> None:
    from json.encoder import encode_basestring

    begin, end = ("{", "}") if type(value) is dict else ("[", "]")
    if not value:
        write(begin + end)
        return
    inner = newline + step
    before = begin + inner
    for key in value:
        item: Any = key
        if type(value) is dict:
            if type(key) is not str:
                raise _Unknown
            before += f"{encode_basestring(key)}: "
            item = value[key]
        if type(item) is str:  # without a call: most are
            write(before + encode_basestring(item))
        else:
            write(before)
            _write_known(item, write, inner, step)
        before = "," + inner
    write(newline + end)


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
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    return str(key)
