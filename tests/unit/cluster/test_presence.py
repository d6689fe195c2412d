"""Who is connected to any node."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.presence import ClusterPresence, PresenceReport
from saltlite.errors import ServerAway


class Local:
    """The connections of one node."""

    def __init__(self, **connected: str) -> None:
        self.connected = connected

    def find_connected(self, minion_ids: Iterable[str]) -> dict[str, str]:
        return {one: self.connected[one] for one in minion_ids if one in self.connected}


IDS = ["m1", "m2", "m3"]


def presence(engine: ClusterEngine, local: Local, node: str) -> ClusterPresence:
    return ClusterPresence(engine, local, node=node, lease_s=15)


def test_minions_of_all_living_nodes_are_present(engine: ClusterEngine) -> None:
    here, there = Local(m1="192.0.2.1"), Local(m2="192.0.2.2", m9="192.0.2.9")
    report = PresenceReport(engine, there, 2)
    assert report.report(IDS) == 1
    assert report.report(IDS) == 0
    seen = presence(engine, here, "a")
    assert seen.find_connected(IDS) == {"m1": "192.0.2.1", "m2": "192.0.2.2"}
    there.connected = {"m3": "192.0.2.3"}
    assert report.report(IDS) == 2
    assert seen.find_connected(IDS) == {"m1": "192.0.2.1", "m3": "192.0.2.3"}
    engine.execute("UPDATE nodes SET beat = now() - interval '1 minute' WHERE node = 'b'")
    assert seen.find_connected(IDS) == {"m1": "192.0.2.1"}


def test_a_minion_that_moves_is_its_new_nodes(engine: ClusterEngine) -> None:
    first, second = Local(m1="192.0.2.1"), Local()
    one, other = PresenceReport(engine, first, 1), PresenceReport(engine, second, 2)
    one.report(IDS)
    first.connected, second.connected = {}, {"m1": "192.0.2.1"}
    other.report(IDS)
    one.report(IDS)
    assert presence(engine, first, "a").find_connected(IDS) == {"m1": "192.0.2.1"}


def test_a_bridge_begins_with_what_is(engine: ClusterEngine) -> None:
    PresenceReport(engine, Local(m1="192.0.2.1"), 2).report(IDS)
    PresenceReport(engine, Local(), 2).report(IDS)
    assert presence(engine, Local(), "a").find_connected(IDS) == {}


def test_while_the_engine_is_away_this_nodes_minions_are_known(
    engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ServerAway("cluster engine away: switched off")

    monkeypatch.setattr(engine, "_get_connection", fail)
    seen = presence(engine, Local(m1="192.0.2.1"), "a")
    assert seen.find_connected(IDS) == {"m1": "192.0.2.1"}
