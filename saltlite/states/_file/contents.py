"""Where the content of a managed file is said to come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.errors import FunctionError

_NOWHERE = object()
_MALFORMED = (
    "Contents specified by contents/contents_pillar/contents_grains is not a string or list of"
    " strings, and is not binary data. SLS is likely malformed."
)
_WORDS = "'contents', 'contents_pillar', and 'contents_grains'"


def join_given(
    ctx: MinionContext,
    contents: object,
    contents_pillar: object,
    contents_grains: object,
    *,
    newline: bool,
    delimiter: str,
    allow_empty: bool,
) -> Any:
    """The content as text (or bytes), ``None`` if none of the three is given.

    Raises:
        FunctionError: more than one is given, or it is not there; in Salt's words.
    """
    ways = [way is not None for way in (contents, contents_pillar, contents_grains)]
    if sum(ways) > 1:
        raise FunctionError(f"Only one of {_WORDS} is permitted")
    if contents_pillar:
        contents = _look_up("Pillar", ctx.pillar, contents_pillar, delimiter)
    elif contents_grains:
        contents = _look_up("Grain", ctx.grains, contents_grains, delimiter)
    if contents is None:
        if any(ways):
            return _say_empty(allow_empty, newline)
        return None
    if isinstance(contents, list) and not contents:
        raise FunctionError(_MALFORMED)
    if not contents and not isinstance(contents, (int, float)):
        return _say_empty(allow_empty, newline)
    return as_text(contents, newline=newline)


def _look_up(kind: str, data: Mapping[str, object], keys: object, delimiter: str) -> Any:
    if not isinstance(keys, list):
        return _find_value(kind, data, keys, delimiter)
    values = [_find_value(kind, data, key, delimiter) for key in keys]
    return [line for value in values for line in (value if isinstance(value, list) else [value])]


def _find_value(kind: str, data: Mapping[str, object], key: object, delimiter: str) -> Any:
    value = traverse(data, str(key), _NOWHERE, delimiter)
    if value is _NOWHERE:
        raise FunctionError(f"{kind} {key} does not exist")
    return value


def _say_empty(allowed: bool, newline: bool) -> str:
    if not allowed:
        raise FunctionError(
            "'contents' value would result in empty contents. Set allow_empty to True to allow the"
            " managed file to be empty."
        )
    return ""


def as_text(contents: object, *, newline: bool) -> Any:
    r"""Lines joined, numbers written out, ended by a line feed only if ``newline``.

    As in Salt, what ends a line is whatever Python takes for it: ``\r\n`` becomes ``\n``, and an
    empty text in a list is no line.
    """
    if isinstance(contents, bytes):
        return contents
    if isinstance(contents, Mapping):
        from saltlite.config.yaml import dump

        parts: Sequence[Any] = [dump(dict(contents), flow=False)]
    else:
        parts = contents if isinstance(contents, (list, tuple)) else [contents]
    lines = [line for part in parts for line in str(part).splitlines()]
    text = "\n".join(lines)
    if not newline:
        return text.rstrip("\n")
    return f"{text}\n" if lines else ""
