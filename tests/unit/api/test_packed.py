"""Large values become JSON without being built: the same text as of the built value."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.api import packed
from saltlite.api.negotiation import JSON, YAML, encode, encode_json
from saltlite.api.packed import PackedValue, read_event, unpack_all, write_json
from saltlite.api.results import show_run
from saltlite.config.yaml import dump, load_plain
from saltlite.errors import WireError
from saltlite.transport.codec import pack_bin

JOBS = {
    f"20260102030405{number:06d}": {"Function": "test.ping", "Arguments": [], "User": "root"}
    for number in range(5_000)
}
SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text() | st.binary()


def values(*, nan: bool) -> st.SearchStrategy[Any]:
    return st.recursive(
        SCALARS | st.floats(allow_nan=nan),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
        max_leaves=40,
    )


def is_filled(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


@given(values(nan=True))
def test_the_same_json_as_of_the_built_value(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "PIECE_BYTES", 8)
        out = bytearray()
        write_json(PackedValue(pack_bin(value)), out, encode_json)
    assert json.loads(bytes(out)) == json.loads(encode_json(value))


@given(values(nan=False).filter(is_filled))
def test_the_same_yaml_as_of_the_built_value(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "PIECE_BYTES", 4)
        shown = encode({"return": [{"x": PackedValue(pack_bin(value))}, 1]}, YAML).decode()
    built = load_plain(dump({"return": [{"x": value}, 1]}))
    assert load_plain(shown) == built, shown


def event(data: dict[str, Any]) -> bytes:
    return b"salt/run/1/ret\n\n" + pack_bin(data)


def test_what_is_large_in_an_event_stays_packed() -> None:
    data = {"return": JOBS, "fun": "runner.jobs.list_jobs", "success": True}
    read = read_event(event(data))
    assert isinstance(read.data["return"], PackedValue)
    assert read.data["fun"] == "runner.jobs.list_jobs"
    assert unpack_all(read.data) == data
    assert json.loads(encode_json({"tag": read.tag, "data": read.data})) == {
        "tag": "salt/run/1/ret", "data": data,
    }  # fmt: skip
    assert load_plain(encode(read.data, YAML).decode()) == data


def test_what_is_small_is_built() -> None:
    assert read_event(event({"return": [1]})).data == {"return": [1]}


@pytest.mark.parametrize("full", [True, False])
def test_a_runner_with_an_outputter(full: bool) -> None:
    value = {"outputter": "highstate", "data": JOBS}
    shown = show_run(read_event(event({"return": value, "fun": "runner.x"})).data, "t", full=full)
    built = show_run({"return": value, "fun": "runner.x"}, "t", full=full)
    assert json.loads(encode_json(shown)) == built


BROKEN = {
    "cut": event({"return": JOBS})[:-1],
    "something behind it": event({"return": JOBS}) + b"\x00",
    "a key twice": b"t\n\n\x82" + msgpack.packb("a") + pack_bin("x" * 70_000) + msgpack.packb("a")
    + b"\x00",
    "no map": b"t\n\n" + pack_bin(["x" * 70_000]),
    "no tag": b"\n\n" + pack_bin({"a": "x" * 70_000}),
    "a list as key": b"t\n\n\x81\x90" + pack_bin("x" * 70_000),
    "a count that is a lie": b"t\n\n\xdf\xff\xff\xff\xff" + b"\xa1a\x00" * 40_000,
}  # fmt: skip


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_event_is_refused(how: str) -> None:
    with pytest.raises(WireError):
        read_event(BROKEN[how])


def test_a_value_nested_too_deeply_is_refused() -> None:
    deep: Any = "x" * packed.PIECE_BYTES
    for _ in range(120):
        deep = [deep]
    with pytest.raises(WireError, match="too deeply"):
        write_json(PackedValue(msgpack.packb(deep)), bytearray(), encode_json)


@pytest.mark.parametrize("kind", [JSON, YAML])
def test_a_list_of_jobs_takes_little_more_than_its_text(kind: str) -> None:
    """Built, it took 10 times as much, 30 times for YAML, in pieces too small to be given back."""
    jobs = dict(list(JOBS.items())[:2_000])
    frame = event({"return": jobs, "success": True, "fun": "runner.jobs.list_jobs"})
    encode(read_event(frame).data, kind)
    peaks = []
    for _ in range(3):  # Python's own tables may grow in one of them
        tracemalloc.start()
        text = encode({"return": [show_run(read_event(frame).data, "t", full=False)]}, kind)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert load_plain(text.decode()) == {"return": [jobs]}
    assert min(peaks) < 4 * len(text) + len(frame) + 32 * packed.PIECE_BYTES
