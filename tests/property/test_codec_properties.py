"""Laws of the codec: what was packed comes back, and no bytes at all get past WireError."""

from __future__ import annotations

import json
import math
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltlite.errors import WireError
from saltlite.transport.codec import pack, pack_bin, unpack, unpack_bin, unpack_bytes

FRAMES = Path(__file__).parents[1] / "wire" / "frames"
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

text = st.text(st.characters(codec="utf-8"), max_size=40)
not_text = st.binary(min_size=1, max_size=40).filter(lambda raw: b"\xff" in raw)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | text
    | not_text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(text, inner, max_size=5),
    max_leaves=30,
)

HONEST = [
    bytes.fromhex(frame["hex"])
    for path in sorted(FRAMES.glob("*.json"))
    for frame in json.loads(path.read_text())["frames"]
]


@quick
@given(values)
def test_the_network_dialect_gives_back_what_was_packed(value):
    assert unpack(pack(value)) == value


@quick
@given(st.recursive(scalars | st.binary(max_size=40), lambda inner: st.lists(inner), max_leaves=20))
def test_the_file_dialect_tells_text_from_bytes(value):
    assert unpack_bin(pack_bin(value)) == value


@quick
@given(values)
def test_packing_again_is_the_same_frame(value):
    assert pack(unpack(pack(value))) == pack(value)


@quick
@given(st.integers())
def test_integers_of_any_size(number):
    read = unpack(pack(number))
    assert read == (number if -(2**63) <= number < 2**64 else str(number))


@quick
@given(st.dictionaries(st.integers() | st.none() | st.floats(allow_nan=False) | text, st.none()))
def test_keys_of_any_scalar_kind_never_escape_wire_error(value):
    try:
        assert len(unpack(pack(value))) == len(value)
    except WireError:  # 1 and "1" cannot meet, but a large 1 and its digits can
        assert any(isinstance(key, int) and not -(2**63) <= key < 2**64 for key in value)


def only_wire_error(frame: bytes) -> None:
    for read in (unpack, unpack_bytes, unpack_bin):
        try:
            read(frame)
        except WireError:
            continue


@settings(quick, max_examples=400)
@given(st.binary(max_size=300))
def test_arbitrary_bytes(frame):
    only_wire_error(frame)


@quick
@given(values, st.data())
def test_changed_frames(value, data):
    frame = bytearray(pack_bin(value))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= 1 << data.draw(st.integers(0, 7))
    only_wire_error(bytes(frame))


@quick
@given(values)
def test_no_prefix_of_a_frame_is_a_frame(value):
    frame = pack(value)
    for size in range(len(frame)):
        try:
            unpack(frame[:size])
        except WireError:
            continue
        raise AssertionError(f"{size} of {len(frame)} bytes were taken for a whole frame")


def test_prefixes_of_honest_frames():
    for frame in HONEST[:12]:
        for size in range(0, len(frame), 7):
            only_wire_error(frame[:size])


@settings(quick, max_examples=300)
@given(st.sampled_from(HONEST), st.data())
def test_bit_flips_in_honest_frames(frame, data):
    changed = bytearray(frame)
    place = data.draw(st.integers(0, len(frame) - 1))
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    only_wire_error(bytes(changed))


def test_numbers_that_are_none_pass_the_codec_and_are_left_to_the_messages():
    assert math.isnan(unpack(pack(math.nan)))
    assert unpack(pack([math.inf, -math.inf])) == [math.inf, -math.inf]
