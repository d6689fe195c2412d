"""Data written to a file in one of the formats that there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.core.data import merge
from saltlite.errors import FunctionError
from saltlite.templates.serializers import SERIALIZERS

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "yaml": {"default_flow_style": False},
    "json": {"indent": 2, "separators": (",", ": "), "sort_keys": True},
}
_ENDED = ("plist", "yaml", "yamlex")
MSGPACK = "msgpack"
NOTHING = "<_null_>"


def form(serializer: object, formatter: object) -> str:
    """The name of the format.

    Raises:
        FunctionError: it is given twice, or there is none of that name.
    """
    if serializer and formatter:
        raise FunctionError("Only one of serializer and formatter are allowed")
    name = str(serializer or formatter or "yaml").lower()
    if name == MSGPACK:
        return name
    found = SERIALIZERS.get(name)
    if found is None or found.serialize is None:
        raise FunctionError(
            f"The {name} serializer could not be found. It either does not exist or its"
            " prerequisites are not installed."
        )
    return name


def options(name: str, given: object, *, reading: bool) -> dict[str, Any]:
    """How it is written or read: what is given as a list of maps, over what goes without saying."""
    found = {} if reading else dict(_DEFAULTS.get(name, {}))
    parts = given if isinstance(given, list) else [given] if given else []
    for part in parts:
        if isinstance(part, Mapping):
            found.update(part)
    return found


def existing(path: str, name: str, given: object) -> Any:
    """The data in a file, ``None`` if there is no file.

    Raises:
        FunctionError: it cannot be read.
    """
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            return _read_data(stream.read(), name, options(name, given, reading=True))
    except (OSError, ValueError) as error:
        raise FunctionError(f"Failed to deserialize existing data: {error}") from error


def _read_data(data: bytes, name: str, known: Mapping[str, object]) -> Any:
    if name == MSGPACK:
        return unpack(data)
    read = SERIALIZERS[name].deserialize
    if read is None:
        raise FunctionError(f"merge_if_exists is not supported for the {name} serializer")
    try:
        return read(data.decode(), **known)
    except FunctionError as error:
        raise FunctionError(f"Failed to deserialize existing data: {error}") from error


def merge_data(under: object, over: object) -> Any:
    """New data laid on what is there; raises FunctionError for what is no map."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return merge(under, over)
    raise FunctionError("merge_if_exists merges maps only; one of the two is none")


def pack(data: object, **given: Any) -> bytes:
    """The data in msgpack; options of its own that are passed on change the form of numbers."""
    import msgpack

    known = {name: bool(given[name]) for name in ("use_single_float",) if name in given}
    return bytes(msgpack.packb(data, **known))


def unpack(data: bytes) -> Any:
    """What ``data`` in msgpack stands for.

    Raises:
        ValueError: it is none.
    """
    import msgpack

    try:
        return msgpack.unpackb(data)
    except msgpack.UnpackException as error:
        raise ValueError(str(error) or type(error).__name__) from error


def content(data: object, name: str, given: object) -> str | bytes:
    """The data as it is written; a text is ended by a line feed, in some formats by one more.

    Raises:
        FunctionError: such data, or such options, are none for this format.
    """
    if name != MSGPACK:
        return text(data, name, given)
    try:
        return pack(data, **options(name, given, reading=False))
    except (OverflowError, TypeError, ValueError) as error:
        raise FunctionError(f"{name}: {error}") from error


def text(data: object, name: str, given: object) -> str:
    """The data in a format that is text."""
    write = SERIALIZERS[name].serialize
    if write is None:
        raise FunctionError(f"The {name} serializer does not write")
    try:
        written = str(write(data, **options(name, given, reading=False)))
    except (AttributeError, TypeError, ValueError) as error:
        raise FunctionError(f"{name}: {error}") from error
    return written if name in _ENDED and written.endswith("\n") else f"{written}\n"


def difference(old: object, new: object) -> Any:
    """What differs, as ``{"key": {"old", "new"}}``, map in map; ``None`` if nothing does."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return None if old == new else {"old": old, "new": new}
    found: dict[Any, Any] = {}
    for key in [*old, *(key for key in new if key not in old)]:
        part = difference(old.get(key, NOTHING), new.get(key, NOTHING))
        if part is not None:
            found[key] = part
    return found or None
