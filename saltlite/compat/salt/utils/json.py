"""``salt.utils.json`` and ``salt.serializers.json``."""

from __future__ import annotations

import json
from typing import Any

from saltlite.compat.salt.exceptions import SaltDeserializationError

__all__ = ["available", "deserialize", "dump", "dumps", "find_json", "load", "loads", "serialize"]

available = True


def loads(s: str | bytes, **kwargs: Any) -> Any:
    """The value of a JSON text."""
    kwargs.pop("json_module", None)
    return json.loads(s, **kwargs)


def load(fp: Any, **kwargs: Any) -> Any:
    """The value of a JSON file."""
    return loads(fp.read(), **kwargs)


def dumps(obj: object, **kwargs: Any) -> str:
    """The JSON text of a value; characters are written as they are."""
    kwargs.pop("json_module", None)
    kwargs.setdefault("ensure_ascii", False)
    return json.dumps(obj, **kwargs)


def dump(obj: Any, fp: Any, **kwargs: Any) -> None:
    """Write the JSON text of a value to a file."""
    fp.write(dumps(obj, **kwargs))


def find_json(raw: str) -> Any:
    """The first JSON value that lines of a text make, whatever is before and after it.

    Raises:
        ValueError: there is none.
    """
    lines = raw.splitlines()
    decoder = json.JSONDecoder()
    for start, line in enumerate(lines):
        if not line.lstrip().startswith(("{", "[")):
            continue
        text = "\n".join(lines[start:]).lstrip()
        try:
            return decoder.raw_decode(text)[0]
        except ValueError:
            continue
    raise ValueError


def serialize(obj: object, **options: Any) -> str:
    """The JSON text of a value."""
    if "fp" in options:
        dump(obj, options.pop("fp"), **options)
        return ""
    return dumps(obj, **options)


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    """The value of a JSON text or file.

    Raises:
        SaltDeserializationError: it is none.
    """
    try:
        if hasattr(stream_or_string, "read"):
            return load(stream_or_string, **options)
        return loads(stream_or_string, **options)
    except ValueError as error:
        raise SaltDeserializationError(str(error)) from error
