"""Frames to values and back: Salt's dialect of msgpack.

Two dialects. On the network text and bytes are written alike and told apart on reading by whether
they are UTF-8 (:func:`pack`, :func:`unpack`, :func:`unpack_bytes`). On the event bus and in files
bin types are used and nothing is guessed (:func:`pack_bin`, :func:`unpack_bin`).

Whatever arrives is bounded before any handler sees it, and every fault is a ``WireError``.
Source: docs/wire.md#encoding; docs/security.md#malformed-input, #limits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from functools import partial
from typing import Any, Final, cast

import msgpack

from saltlite.core.dataclasses import dataclass
from saltlite.core.plain import Plain
from saltlite.errors import WireError

EXT_DATETIME: Final = 78
EXT_CONSTANT: Final = 79

_DATETIME_FORMAT = "%Y%m%dT%H:%M:%S.%f"
# msgpack would begin with a mebibyte for each frame, and most have a few hundred bytes.
_PACK_BUFFER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """What one message may hold; ``keys`` and ``items`` count over the whole message."""

    depth: int = 100
    keys: int = 100_000
    items: int = 1_000_000
    text_bytes: int = 64 * 1024 * 1024


DEFAULT_LIMITS: Final = Limits()

_SMALL_BYTES = 1024
"""Of so small a frame all that is announced falsely takes 3 MB at most, and not for long."""


def pack(value: object) -> bytes:
    """Encode for the network.

    Raises:
        WireError: the value holds something that cannot travel.
    """
    return _pack_value(value, use_bin_type=False)


def pack_bin(value: object) -> bytes:
    """Encode for the event bus and for files, where bytes stay bytes.

    Raises:
        WireError: the value holds something that cannot be written.
    """
    return _pack_value(value, use_bin_type=True)


def _pack_value(value: object, *, use_bin_type: bool) -> bytes:
    try:
        return cast(
            bytes,
            msgpack.packb(
                value,
                use_bin_type=use_bin_type,
                default=_stand_in,
                # Names of files that are no UTF-8 have surrogates, and travel as they were.
                unicode_errors="surrogateescape",
                buf_size=_PACK_BUFFER_BYTES,
            ),
        )
    except (TypeError, ValueError, OverflowError, UnicodeError, RecursionError) as error:
        raise WireError(f"cannot be encoded: {type(error).__name__}") from error


def _stand_in(value: object) -> Any:
    """What is written for a value msgpack does not know."""
    if isinstance(value, int):
        return str(value)  # msgpack asks only about integers that do not fit
    if isinstance(value, date):  # a datetime is a date
        return msgpack.ExtType(EXT_DATETIME, _datetime_bytes(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (AbstractSet, tuple, deque)):
        return list(value)
    raise TypeError(f"cannot encode {type(value).__name__}")


def _datetime_bytes(value: date) -> bytes:
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001 - the wire's are naive
    return moment.replace(tzinfo=None).strftime(_DATETIME_FORMAT).encode()


def unpack(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> Plain:
    """Decode from the network: byte strings that are UTF-8 become text.

    Raises:
        WireError: not exactly one well-formed value, or outside ``limits``.
    """
    return cast(Plain, _with_text(_unpack_pairs(frame, limits, raw=True), limits.depth))


def unpack_bytes(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> Plain:
    """Decode from the network without the conversion: all strings and keys stay bytes.

    For file chunks, whose content must not change. Source: docs/wire.md#encoding.

    Raises:
        WireError: as :func:`unpack`.
    """
    return cast(Plain, _as_it_is(_unpack_pairs(frame, limits, raw=True), limits.depth))


def unpack_bin(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> Plain:
    """Decode an event's body or a file: ``str`` is text, ``bin`` is bytes.

    Raises:
        WireError: as :func:`unpack`.
    """
    return cast(Plain, _as_it_is(_unpack_pairs(frame, limits, raw=False), limits.depth))


def _unpack_pairs(frame: bytes, limits: Limits, *, raw: bool) -> Any:
    """One value whose maps are still tuples of pairs, since a dict would hide doubled keys."""
    size = len(frame)
    count = _Count(limits) if size > limits.keys else None  # a smaller frame has room for no more
    try:
        if size > _SMALL_BYTES:
            _refuse_false_sizes(frame)
        return msgpack.unpackb(
            frame,
            raw=raw,
            strict_map_key=False,
            unicode_errors=None if raw else "surrogateescape",
            # As a number of seconds: by default it is a class of msgpack's, which is no Plain.
            timestamp=1,
            object_pairs_hook=count.pairs if count else tuple,
            list_hook=count.list if count else None,
            ext_hook=partial(_read_extension, limits, count),
            max_str_len=limits.text_bytes,
            max_bin_len=limits.text_bytes,
            max_ext_len=limits.text_bytes,
            # No more than there are bytes, whatever is announced.
            max_array_len=min(limits.items, size),
            max_map_len=min(limits.keys, size),
        )
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise WireError(f"not msgpack: {type(error).__name__}") from error


def _refuse_false_sizes(frame: bytes) -> None:
    """Step over the frame without building anything; one that ends too early raises.

    Otherwise a few nested headers that announce a million items each make msgpack reserve room for
    all of them before it finds that they are not there.
    """
    size = len(frame)
    unpacker = msgpack.Unpacker(read_size=size or 1, max_buffer_size=size or 1)
    unpacker.feed(frame)
    unpacker.skip()


class _Count:
    """Counts keys and items while a large frame is decoded, so that the limits hold in sum."""

    def __init__(self, limits: Limits) -> None:
        self._keys = limits.keys
        self._items = limits.items

    def pairs(self, pairs: list[Any]) -> tuple[Any, ...]:
        """One map is complete."""
        self._keys -= len(pairs)
        if self._keys < 0:
            raise WireError("too many map keys")
        return tuple(pairs)

    def list(self, items: list[Any]) -> list[Any]:
        """One array is complete."""
        self._items -= len(items)
        if self._items < 0:
            raise WireError("too many items")
        return items


def _read_extension(limits: Limits, count: _Count | None, code: int, data: bytes) -> Any:
    """The value of an extension. Source: docs/wire.md#encoding."""
    if code == EXT_DATETIME:
        return datetime.strptime(data.decode("ascii"), _DATETIME_FORMAT)  # noqa: DTZ007 - naive on the wire
    if code == EXT_CONSTANT:
        return _read_constant(data, limits, count)
    return data


def _read_constant(data: bytes, limits: Limits, count: _Count | None) -> Any:
    """The value of a named constant; a constant within a constant stays bytes.

    What is in it counts as part of the frame.
    """
    # The frame was stepped over before, but not what is inside an extension.
    _refuse_false_sizes(data)
    pair = msgpack.unpackb(
        data,
        object_pairs_hook=count.pairs if count else tuple,
        list_hook=count.list if count else None,
        ext_hook=_bytes_of,
        timestamp=1,
        max_array_len=limits.items,
        max_map_len=limits.keys,
    )
    if type(pair) is not list or len(pair) != 2:
        raise ValueError("not a constant")
    return pair[1]


def _bytes_of(_code: int, data: bytes) -> bytes:
    return data


_KEY_TYPES = frozenset({str, bytes, int, float, bool, type(None)})


def _with_text(value: Any, depth: int) -> Any:
    """Turn pairs into maps and UTF-8 into text, ``depth`` levels down and no further.

    The hot path of the whole program: most strings and numbers are in maps, and dealt with there.
    """
    kind = type(value)
    if kind is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if kind is tuple:
        _check_depth(depth)
        return _make_text_map(value, depth - 1)
    if kind is list:
        _check_depth(depth)
        return [_with_text(item, depth - 1) for item in value]
    return value


def _make_text_map(pairs: tuple[tuple[Any, Any], ...], depth: int) -> dict[Any, Any]:
    whole: dict[Any, Any] = {}
    for key, item in pairs:
        name = key
        if type(key) is bytes:
            try:
                name = key.decode()
            except UnicodeDecodeError:
                name = key
        elif type(key) not in _KEY_TYPES:
            raise WireError("a map key is not a scalar")
        # As in _with_text, but without a call for each text: most of a frame is that.
        kind = type(item)
        if kind is bytes:
            try:
                whole[name] = item.decode()
            except UnicodeDecodeError:
                whole[name] = item
        elif kind is tuple or kind is list:
            whole[name] = _with_text(item, depth)
        else:
            whole[name] = item
    # Two readers that keep different ones of two equal keys could be shown two different loads.
    if len(whole) != len(pairs):
        raise WireError("a map key comes twice")
    return whole


def _as_it_is(value: Any, depth: int) -> Any:
    """Turn pairs into maps, ``depth`` levels down and no further."""
    kind = type(value)
    if kind is tuple:
        _check_depth(depth)
        return _as_map([(key, _as_it_is(item, depth - 1)) for key, item in value])
    if kind is list:
        _check_depth(depth)
        return [_as_it_is(item, depth - 1) for item in value]
    return value


def _check_depth(depth: int) -> None:
    if depth <= 0:
        raise WireError("nested too deeply")


def _as_map(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    for key, _ in pairs:
        if type(key) is not str and type(key) not in _KEY_TYPES:
            raise WireError("a map key is not a scalar")
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise WireError("a map key comes twice")
    return whole
