"""Large values that go through here are never built: msgpack in, JSON out, piece by piece.

A list of ten thousand jobs is a megabyte on the bus and in the answer. As objects it is eight, and
each object that lives on by chance keeps the memory around it. :func:`read_event` leaves large
values as they came, and ``encode_json`` writes them into an answer by :func:`write_json`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgpack

from saltlite.core.dataclasses import dataclass
from saltlite.errors import WireError
from saltlite.transport.bus import TAG_END, Event, unpack_event
from saltlite.transport.codec import DEFAULT_LIMITS, unpack_bin

LARGE_BYTES: Final = 64 * 1024
"""What is smaller becomes objects at once."""

PIECE_BYTES: Final = 16 * 1024
"""So much is made objects at a time."""

FIELDS_MOST: Final = 16

_MAP, _LIST = "map", "list"
_HEADS: Final = {_MAP: b"\xdf", _LIST: b"\xdd"}
_COUNT: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class PackedValue:
    """A value as it is on the bus."""

    data: bytes

    def value(self) -> Any:
        """Build it after all.

        Raises:
            WireError: it is none.
        """
        return unpack_bin(self.data)

    @property
    def is_block(self) -> bool:
        """Whether it is a map or a list of some length."""
        return _kind_of(self.data) is not None and len(self.data) > PIECE_BYTES

    def fields(self) -> dict[Any, Any] | None:
        """What it has if it is a small map of large values, these packed; else ``None``."""
        is_small = _kind_of(self.data) == _MAP and _count_items(self.data) <= FIELDS_MOST
        return _read_fields(self.data) if is_small else None


def read_event(frame: bytes) -> Event:
    """An event, whose large values are packed.

    Raises:
        WireError: it is none.
    """
    if len(frame) < LARGE_BYTES:
        return unpack_event(frame)
    head, _, body = frame.partition(TAG_END)
    empty = unpack_event(head + TAG_END + b"\x80")
    return Event(empty.tag, _read_fields(body))


def unpack_all(value: object) -> Any:
    """A value with nothing packed in it."""
    if isinstance(value, PackedValue):
        return value.value()
    if isinstance(value, Mapping):
        return {key: unpack_all(one) for key, one in value.items()}
    if isinstance(value, list):
        return [unpack_all(one) for one in value]
    return value


def write_json(packed: PackedValue, out: bytearray, encode: Callable[[Any], bytes]) -> None:
    """Append the JSON of a value; ``encode`` makes that of the small ones in it.

    Raises:
        WireError: it is no value.
    """
    _write(packed.data, out, encode, DEFAULT_LIMITS.depth)


def _write(data: bytes, out: bytearray, encode: Callable[[Any], bytes], depth: int) -> None:
    kind = _kind_of(data)
    if kind is None or len(data) <= PIECE_BYTES:
        out += encode(unpack_bin(data))
        return
    if depth <= 0:
        raise WireError("nested too deeply")
    out += b"{" if kind == _MAP else b"["
    first = len(out)
    for piece in _cut(data, kind):
        if len(out) > first:
            out += b", "
        if isinstance(piece, _LargeItem):
            if piece.key is not None:
                out += encode({piece.key: 0})[1:-2]  # the key as JSON has it, and the colon
            _write(piece.data, out, encode, depth - 1)
        else:
            out += encode(unpack_bin(piece))[1:-1]
    out += b"}" if kind == _MAP else b"]"


def write_yaml(
    packed: PackedValue, out: bytearray, dump: Callable[[Any], str], indent: str
) -> None:
    """Append the YAML of a map or list as a block of its own lines, each after ``indent``.

    Raises:
        WireError: it is no value.
    """
    _write_block(packed.data, out, dump, indent, DEFAULT_LIMITS.depth)


def _write_block(
    data: bytes, out: bytearray, dump: Callable[[Any], str], indent: str, depth: int
) -> None:
    kind = _kind_of(data)
    if kind is None or len(data) <= PIECE_BYTES:
        _write_lines(dump(unpack_bin(data)), out, indent)
        return
    if depth <= 0:
        raise WireError("nested too deeply")
    for piece in _cut(data, kind):
        if isinstance(piece, bytes):
            _write_lines(dump(unpack_bin(piece)), out, indent)
        elif _kind_of(piece.data) is None:
            value = unpack_bin(piece.data)
            _write_lines(dump({piece.key: value} if kind == _MAP else [value]), out, indent)
        else:
            head = dump({piece.key: 0} if kind == _MAP else [0]).rstrip("\n")[:-1]
            _write_lines(head.rstrip(" "), out, indent)
            _write_block(piece.data, out, dump, indent + "  ", depth - 1)


def _write_lines(text: str, out: bytearray, indent: str) -> None:
    out += (indent + text.rstrip("\n").replace("\n", "\n" + indent) + "\n").encode()


@dataclass(frozen=True, slots=True)
class _LargeItem:
    """An item that is more than a piece; ``key`` is its own in a map, as a value."""

    key: Any
    data: bytes


def _cut(data: bytes, kind: str) -> Iterator[bytes | _LargeItem]:
    """Cut a map or list into smaller ones of the same kind, and items that are large themselves."""
    pending: list[bytes] = []
    size = 0
    for key, item in _items(data, kind):
        if len(item) > PIECE_BYTES:
            if pending:
                yield _join(pending, kind)
                pending, size = [], 0
            yield _LargeItem(unpack_bin(key) if kind == _MAP else None, item)
            continue
        pending.append(key + item)
        size += len(key) + len(item)
        if size >= PIECE_BYTES:
            yield _join(pending, kind)
            pending, size = [], 0
    if pending:
        yield _join(pending, kind)


def _join(items: list[bytes], kind: str) -> bytes:
    return _HEADS[kind] + _COUNT.pack(len(items)) + b"".join(items)


def _items(data: bytes, kind: str) -> Iterator[tuple[bytes, bytes]]:
    """Key (``b""`` in a list) and value of each item, as they are packed.

    Raises:
        WireError: it ends too early, or something comes after it.
    """
    unpacker = msgpack.Unpacker(read_size=len(data), max_buffer_size=len(data))
    unpacker.feed(data)
    try:
        count = unpacker.read_map_header() if kind == _MAP else unpacker.read_array_header()
        for _ in range(count):
            start = unpacker.tell()
            if kind == _MAP:
                unpacker.skip()
            middle = unpacker.tell()
            unpacker.skip()
            yield data[start:middle], data[middle : unpacker.tell()]
    except (ValueError, msgpack.UnpackException) as error:
        raise WireError(f"not msgpack: {type(error).__name__}") from error
    if unpacker.tell() != len(data):
        raise WireError("not one value")


def _count_items(data: bytes) -> int:
    unpacker = msgpack.Unpacker(read_size=8, max_buffer_size=8)
    unpacker.feed(data[:8])
    return int(unpacker.read_map_header())


def _read_fields(body: bytes) -> dict[Any, Any]:
    if _kind_of(body) != _MAP:
        raise WireError("event's data is not a map")
    fields: dict[Any, Any] = {}
    for key, item in _items(body, _MAP):
        name = unpack_bin(key)
        if isinstance(name, (dict, list)) or name in fields:
            raise WireError("a map has a key twice, or one that is no scalar")
        fields[name] = unpack_bin(item) if len(item) < LARGE_BYTES else PackedValue(item)
    return fields


def _kind_of(data: bytes) -> str | None:
    """Whether a value is a map or a list, by its first byte. Source: msgpack's specification."""
    first = data[0] if data else 0xC0
    if 0x80 <= first <= 0x8F or first in (0xDE, 0xDF):
        return _MAP
    if 0x90 <= first <= 0x9F or first in (0xDC, 0xDD):
        return _LIST
    return None
