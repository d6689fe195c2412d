"""Rows of what went are swept, and a node that was away for longer brings nothing back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.facts import ClusterFacts, FactsFeed
from saltlite.cluster.gone import sweep_gone
from saltlite.cluster.keys import ClusterKeys, KeyFeed
from saltlite.crypto.keys import PrivateKey
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.master.minioncache import MINE, MinionCache

PEM = PrivateKey.generate(2048).public.pem
ACCEPTED, DENIED = KeyState.ACCEPTED, KeyState.DENIED


class Node:
    """What a node has of keys and facts, and its bridge's parts."""

    def __init__(self, database: dict[str, str], place: Path) -> None:
        self.engine = ClusterEngine(database, timeout_s=10)
        self.place = place
        self.copy = KeyStore(place / "pki")
        self.keys = ClusterKeys(self.engine, self.copy)
        self.keys.prepare()
        self.facts = ClusterFacts(self.engine, MinionCache(place / "cache"))
        self.begin_again()

    def begin_again(self) -> None:
        self.key_feed = KeyFeed(self.engine, self.place / "pki")
        self.facts_feed = FactsFeed(self.engine, self.place / "cache")

    def put(self, minion: str, state: KeyState = ACCEPTED) -> None:
        with self.keys.hold(minion):
            self.keys.put(minion, state, PEM)
        self.facts.update(MINE, minion, lambda kept: {**kept, "x": 1})

    def drop(self, minion: str, state: KeyState = ACCEPTED) -> None:
        with self.keys.hold(minion):
            self.keys.delete(minion, state)
        self.facts.forget(minion)

    def catch_up(self) -> None:
        self.key_feed.catch_up()
        self.key_feed.send_orders()
        self.facts_feed.catch_up()

    def known(self) -> tuple[list[str], list[str]]:
        """Accepted keys, and minions in the mine."""
        return sorted(self.copy.ids(ACCEPTED)), self.facts.ids(MINE)


@pytest.fixture
def nodes(database: dict[str, str], tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    made = Node(database, tmp_path / "a"), Node(database, tmp_path / "b")
    yield made
    for one in made:
        one.engine.close()


Nodes = tuple[Node, Node]


def age(engine: ClusterEngine, days: int) -> None:
    """As if everything had happened so long ago."""
    for table, column in (("keys", "changed"), ("denied_keys", "at"), ("banks", "changed")):
        engine.execute(f"UPDATE {table} SET {column} = {column} - interval '{days} days'")


def count_rows(engine: ClusterEngine) -> int:
    return sum(
        len(engine.execute(f"SELECT 1 FROM {table}")) for table in ("keys", "denied_keys", "banks")
    )


def test_only_what_went_long_ago_goes(nodes: Nodes) -> None:
    one, _other = nodes
    one.put("old")
    one.put("stays")
    one.put("bad", DENIED)
    one.drop("old")
    one.drop("bad", DENIED)
    assert sweep_gone(one.engine) == 0
    age(one.engine, 31)
    one.put("new")
    one.drop("new")
    assert sweep_gone(one.engine) == 4  # two keys and two mines
    assert sweep_gone(one.engine) == 0
    assert one.known() == (["stays"], ["stays"])
    assert count_rows(one.engine) == 4


@pytest.mark.parametrize("is_started_anew", [True, False])
def test_who_was_away_for_longer_brings_nothing_back(nodes: Nodes, is_started_anew: bool) -> None:
    one, other = nodes
    for name in ("old", "stays"):
        one.put(name)
    other.catch_up()
    assert other.known() == (["old", "stays"], ["old", "stays"])
    one.drop("old")
    age(one.engine, 31)
    assert sweep_gone(one.engine) == 2
    if is_started_anew:
        other.begin_again()
    else:
        other.key_feed._is_current = False  # its bridge could not ask meanwhile
    other.key_feed.send_orders()  # even if this comes first
    other.catch_up()
    assert other.known() == (["stays"], ["stays"])
    one.catch_up()
    assert one.known() == (["stays"], ["stays"])
    # And from here on a file is an order again.
    other.copy.put("mine", ACCEPTED, PEM)
    other.begin_again()
    other.catch_up()
    one.catch_up()
    assert one.known()[0] == ["mine", "stays"]


def test_a_master_that_becomes_a_node_brings_its_keys(nodes: Nodes) -> None:
    one, other = nodes
    one.put("old")
    one.drop("old")
    age(one.engine, 31)
    sweep_gone(one.engine)
    other.copy.put("own", ACCEPTED, PEM)
    other.catch_up()
    one.catch_up()
    assert one.known()[0] == ["own"]
