"""JSON for people and other programs: harmless on a terminal, and never ``NaN``, which is no JSON.

Loads ``json`` where it is used: most commands never print any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.terminal import escape


def dump_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """``value`` as JSON; numbers that JSON has not are ``null``, other unknown values ``repr``."""
    import json

    def dump(value: Any) -> str:
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
    except ValueError:  # rare: most values need no copy
        text = dump(_without_odd_numbers(value))
    return escape(text)


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _without_odd_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {_key(key): _without_odd_numbers(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [_without_odd_numbers(item) for item in value]
    return value


def _key(key: Any) -> Any:
    is_odd = isinstance(key, float) and not abs(key) < float("inf")
    return str(key) if is_odd else key
