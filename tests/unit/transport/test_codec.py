"""The codec: what is written, what is read, and what is refused before it costs anything."""

from __future__ import annotations

import tracemalloc
from collections import OrderedDict
from datetime import date, datetime, timedelta, timezone
from types import MappingProxyType

import msgpack
import pytest

from saltlite.errors import WireError
from saltlite.transport.codec import (
    DEFAULT_LIMITS,
    Limits,
    pack,
    pack_bin,
    unpack,
    unpack_bin,
    unpack_bytes,
)

# --- writing ------------------------------------------------------------------------------


def test_text_and_bytes_are_written_alike():
    for size in (0, 31, 32, 255, 256, 65_535, 65_536):
        assert pack("c" * size) == pack(b"c" * size)
    assert pack("c" * 32)[:3] == b"\xda\x00\x20"


def test_bin_types_keep_them_apart():
    value = {"text": "ü", "bytes": b"ascii", "raw": b"\xff"}
    assert unpack_bin(pack_bin(value)) == value


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (frozenset({"a"}), ["a"]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
        (2**64, str(2**64)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (date(2024, 1, 2), datetime(2024, 1, 2)),  # noqa: DTZ001 - naive on the wire
    ],
)
def test_what_is_read_of_what_was_written(value, read):
    assert unpack(pack(value)) == read
    assert unpack_bin(pack_bin(value)) == read


def test_a_zone_is_not_carried():
    zone = timezone(timedelta(hours=2))
    moment = datetime(2024, 1, 2, 3, 4, 5, 6, zone)
    assert unpack(pack(moment)) == moment.replace(tzinfo=None)


def test_undecodable_arguments_travel_as_the_bytes_they_were():
    argument = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert unpack(pack(argument)) == b"caf\xe9"
    assert unpack_bin(pack_bin(argument)) == argument


@pytest.mark.parametrize("value", [object(), {"a": object()}, "\ud800", 1j, print])
def test_what_cannot_travel(value):
    for write in (pack, pack_bin):
        with pytest.raises(WireError):
            write(value)


def test_too_deep_to_write():
    value = []
    for _ in range(2000):
        value = [value]
    for write in (pack, pack_bin):
        with pytest.raises(WireError):
            write(value)


# --- reading ------------------------------------------------------------------------------


def test_utf8_becomes_text_and_the_rest_stays_bytes():
    frame = msgpack.packb({b"k\xff": [b"a", b"\xff"], b"t": {b"u": "ü"}}, use_bin_type=False)
    assert unpack(frame) == {b"k\xff": ["a", b"\xff"], "t": {"u": "ü"}}
    assert unpack_bytes(frame) == {b"k\xff": [b"a", b"\xff"], b"t": {b"u": "ü".encode()}}


def test_newer_string_types_are_read_too():
    frame = msgpack.packb({"a": b"b", "long": "c" * 40}, use_bin_type=True)
    assert unpack(frame) == {"a": "b", "long": "c" * 40}


def test_keys_may_be_any_scalar():
    value = {2: "a", None: "b", 2.5: 3, True: "c", "d": 4}
    assert unpack(pack(value)) == value


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\x91",
        b"\xc0\xc0",
        b"\x81\x90\xc0",  # a list as key
        b"\x81\x80\xc0",  # a map as key
        b"\x82\xa1a\x01\xa1a\x02",  # a key twice
        b"\x82\x01\xc0\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xc0",  # 1 and 1.0
        b"\xc7\x03\x4exyz",  # a datetime that is none
        b"\xd6\x4e\xff\xff\xff\xff",
        b"\x81\xc7\x18\x4e20240102T03:04:05.000678\xc0",  # a datetime as key
        b"\xd4\x4f\x01",  # a constant that is none
        b"\xc7\x03\x4f\xdd\xff\xff",
    ],
)
def test_refused(frame):
    with pytest.raises(WireError):
        unpack(frame)
    with pytest.raises(WireError):
        unpack_bin(frame)
    with pytest.raises(WireError):
        unpack_bytes(frame)


def test_one_key_in_two_spellings_is_one_key():
    with pytest.raises(WireError):
        unpack(b"\x82\xa1a\x01\xc4\x01a\x02")
    assert unpack_bin(b"\x82\xa1a\x01\xc4\x01a\x02") == {"a": 1, b"a": 2}


def test_extensions():
    constant = msgpack.packb(["NOTSET", "<Constant.NOTSET>"])
    assert unpack(msgpack.packb(msgpack.ExtType(79, constant))) == "<Constant.NOTSET>"
    nested = msgpack.packb(["A", msgpack.ExtType(79, constant)])
    assert unpack(msgpack.packb(msgpack.ExtType(79, nested))) == constant
    assert unpack_bin(msgpack.packb(msgpack.ExtType(5, b"raw"))) == b"raw"
    assert isinstance(unpack(b"\xd6\xff\x00\x00\x00\x01"), float)


# --- limits -------------------------------------------------------------------------------


@pytest.mark.parametrize("unpacked", [unpack, unpack_bin, unpack_bytes])
@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1k"])
def test_depth(unpacked, opening):
    assert unpacked(opening * 100 + b"\xc0")
    for depth in (101, 511, 600, 900, 1025, 1_000_000):
        with pytest.raises(WireError):
            unpacked(opening * depth + b"\xc0")


@pytest.mark.parametrize(
    "claim",
    [b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9"],
    ids=["array", "map", "bin", "str", "ext"],
)
def test_a_size_that_is_only_claimed_costs_nothing(claim):
    frame = claim + b"\xff\xff\xff\xff" + (b"\x05" if claim == b"\xc9" else b"")
    tracemalloc.start()
    for attempt in (frame, (b"\xdd" + (900_000).to_bytes(4, "big")) * 50):
        with pytest.raises(WireError):
            unpack(attempt)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1024 * 1024


@pytest.mark.parametrize(
    "value",
    [
        dict.fromkeys(range(100001)),
        [None] * 1_000_001,
        [[None] * 300_000 for _ in range(4)],
        [{f"k{number}": None for number in range(30_000)} for _ in range(4)],
    ],
    ids=["keys", "items", "items in sum", "keys in sum"],
)
def test_too_wide(value):
    with pytest.raises(WireError):
        unpack(msgpack.packb(value))


def test_as_wide_as_allowed():
    value = dict.fromkeys(range(100000))
    assert unpack(msgpack.packb(value)) == value
    assert len(unpack(msgpack.packb([None] * 1_000_000))) == 1_000_000


def test_limits_are_the_callers():
    with pytest.raises(WireError):
        unpack(pack([[1]]), Limits(depth=1))
    with pytest.raises(WireError):
        unpack(pack("12345"), Limits(text_bytes=4))
    with pytest.raises(WireError):
        unpack(pack([1, 2, 3]), Limits(items=2))
    with pytest.raises(WireError):
        unpack(pack({"a": 1, "b": 2}), Limits(keys=1))


@pytest.mark.parametrize("unpacked", [unpack, unpack_bin, unpack_bytes])
def test_limits_hold_within_constants(unpacked):
    """What a constant holds counts as part of the frame, alone and in sum."""

    def constant(inner: bytes) -> bytes:
        return msgpack.packb(msgpack.ExtType(79, b"\x92\xa1n" + inner))

    limits = Limits(items=30, keys=10)
    array = b"\xdc\x00\x14" + b"\xc0" * 20
    pairs = b"\x88" + b"".join(b"\xa1%c\xc0" % letter for letter in b"abcdefgh")
    assert unpacked(constant(array), limits) == [None] * 20
    assert len(unpacked(constant(pairs), limits)) == 8
    for frame in (
        constant(b"\xdc\x00\x1f" + b"\xc0" * 31),
        constant(b"\x92" + array * 2),
        constant(b"\x92" + pairs * 2),
        b"\x92" + constant(array) * 2,
    ):
        with pytest.raises(WireError):
            unpacked(frame, limits)


def test_long_text_is_read_up_to_the_limit():
    text = "x" * (70 * 1024)
    assert unpack(pack(text)) == text
    limits = Limits(text_bytes=len(text) - 1)
    with pytest.raises(WireError):
        unpack(pack(text), limits)
    assert DEFAULT_LIMITS.text_bytes == 64 * 1024 * 1024


def test_maps_within_maps_and_lists() -> None:
    inner = {b"\xff": b"\xfe", "a": [{"b": b"c"}, b"\xfd"], 1: None}
    assert unpack(msgpack.packb({"m": inner, "l": [inner]})) == {
        "m": {b"\xff": b"\xfe", "a": [{"b": "c"}, b"\xfd"], 1: None},
        "l": [{b"\xff": b"\xfe", "a": [{"b": "c"}, b"\xfd"], 1: None}],
    }


@pytest.mark.parametrize(
    "frame",
    [
        b"\x82\xa1a\x01\xc4\x01a\x02",  # "a" as text and as bytes
        b"\x81\x90\x01",  # a list as a key
        b"\x81\x80\x01",  # a map as a key
        b"\x81\xa1a\x82\xa1b\x01\xa1b\x02",  # doubled within
    ],
)
def test_keys_that_are_no_keys(frame: bytes) -> None:
    with pytest.raises(WireError):
        unpack(frame)
