"""Beacons of every kind on a minion of ours: the events that those of Salt 3006.30 give."""

from __future__ import annotations

from typing import Any

import pytest
from beacon_events import collect, recorded

from cluster import OURS

SALTS = recorded()


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return collect(OURS)


def test_no_beacon_is_missing(ours: dict[str, Any]) -> None:
    assert set(ours) == set(SALTS)


@pytest.mark.parametrize("name", sorted(SALTS))
def test_the_events_are_salts(ours: dict[str, Any], name: str) -> None:
    assert ours[name] == SALTS[name]
