"""Low chunks: from Salt's map and back, with the keys in their order; what custom code changes."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.highstate.chunk import ABSENT, Chunk, LowState, StateOptions
from saltlite.highstate.low import low_of

ORIGIN = {"__sls__": "web", "__env__": "base"}
HIGH = {
    "vim": {"pkg": [{"order": 10000}, {"require": ["a"]}, {"names": ["x", "y"]}, "installed"]}
    | ORIGIN
}


def test_the_low_data_of_a_declaration() -> None:
    shown = [[*chunk.to_low().items()] for chunk in low_of(HIGH)]
    assert shown == [
        [
            ("state", "pkg"),
            ("name", name),
            ("__sls__", "web"),
            ("__env__", "base"),
            ("__id__", "vim"),
            ("order", order),
            ("require", ["a"]),
            ("fun", "installed"),
        ]
        for name, order in (("x", 10000.0001), ("y", 10000.0002))
    ]


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, {}),
        ({"__sls__": "a"}, {"__sls__": "a"}),
        ({"__env__": "base"}, {"__sls__": None, "__env__": "base"}),
        ({"__sls__": None, "__env__": None}, {}),
        ({"order": 3}, {"order": 3}),
        ({5: "a key of any kind"}, {5: "a key of any kind"}),
    ],
)
def test_a_map_of_users_and_back(more: dict[Any, Any], shown: dict[Any, Any]) -> None:
    low = {"state": "test", "fun": "nop", "name": "n", "__id__": "i"}
    chunk = Chunk.from_low({**low, **more})
    assert chunk.to_low() == {**low, **shown}
    assert (chunk.function, chunk.tag) == ("test.nop", "test_|-i_|-n_|-nop")


@pytest.mark.parametrize("lacking", ["state", "fun", "name", "__id__"])
def test_a_map_without_what_every_chunk_has(lacking: str) -> None:
    low = {"state": "test", "fun": "nop", "name": "n", "__id__": "i"}
    del low[lacking]
    with pytest.raises(KeyError, match=lacking):
        Chunk.from_low(low)


def test_an_option_without_a_value_is_not_an_absent_one() -> None:
    low = {"state": "test", "fun": "nop", "name": "n", "__id__": "i", "source": "no option"}
    assert Chunk.from_low(low).options is Chunk.from_low(low).options == StateOptions()
    found = Chunk.from_low({**low, "creates": None, "parallel": True}).options
    assert (found.creates, found.umask, found.parallel) == (None, ABSENT, True)


def test_the_maps_of_a_run_are_made_once_until_chunks_change() -> None:
    lowstate = LowState(low_of(HIGH))
    shown = lowstate.to_low()
    assert lowstate.to_low() is shown
    lowstate.replace([Chunk.from_low({**shown[0], "__agg__": True}), lowstate[1]])
    assert [low.get("__agg__") for low in lowstate.to_low()] == [True, None]
