"""Grains, pillar, mine and banks of a cluster: told on one node, known on all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.facts import PLACE, ClusterBanks, ClusterFacts, FactsFeed
from saltlite.errors import ServerAway, StoreError
from saltlite.master.datacache import DataCache
from saltlite.master.minioncache import COMPILED, GRAINS, MINE, PILLAR, MinionCache

ASKED_NS = 10**18
NOW_NS = 2 * 10**18


class Node:
    """A node's facts and its bridge's part."""

    def __init__(self, database: dict[str, str], cachedir: Path) -> None:
        self.engine = ClusterEngine(database, timeout_s=10)
        self.cachedir = cachedir
        self.copy = MinionCache(cachedir)
        self.facts = ClusterFacts(self.engine, self.copy)
        self.banks = ClusterBanks(self.engine, DataCache(cachedir))
        self.feed = FactsFeed(self.engine, cachedir)

    def tell(self, bank: str, minion: str, value: dict[str, object], asked_ns: int) -> bool:
        with self.facts.hold_lock(minion):
            return self.facts.write_newest(bank, minion, value, asked_ns, NOW_NS)

    def add(self, minion: str, **more: object) -> bool:
        return self.facts.update(MINE, minion, lambda kept: {**kept, **more})


@pytest.fixture
def nodes(database: dict[str, str], tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    made = Node(database, tmp_path / "a"), Node(database, tmp_path / "b")
    yield made
    for one in made:
        one.engine.close()


Nodes = tuple[Node, Node]


def test_what_one_node_is_told_the_other_knows(nodes: Nodes) -> None:
    one, other = nodes
    assert one.tell(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"}, ASKED_NS)
    assert one.tell(PILLAR, "web1", {"role": "x"}, ASKED_NS)
    assert not one.tell(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"}, ASKED_NS + 1)
    assert other.feed.catch_up() == 2
    assert other.feed.catch_up() == 0
    assert other.facts.read(GRAINS, "web1") == {"os": "Debian", "raw": b"\xff"}
    (seen,) = other.facts.facts(["web1"])
    assert seen.pillar is not None
    assert seen.pillar.get("role") == "x"


def test_an_answer_to_an_older_question_replaces_nothing_on_any_node(nodes: Nodes) -> None:
    one, other = nodes
    assert one.tell(PILLAR, "web1", {"version": 2}, ASKED_NS + 5)
    assert not other.tell(PILLAR, "web1", {"version": 1}, ASKED_NS)
    other.feed.catch_up()
    assert other.facts.read(PILLAR, "web1") == {"version": 2}


def test_a_mine_merges_what_comes_to_two_nodes(nodes: Nodes) -> None:
    one, other = nodes
    assert one.add("web1", a=1)
    # Its copy has yet to hear of that.
    assert other.add("web1", b=2)
    assert not other.add("web1", b=2)
    for node in nodes:
        node.feed.catch_up()
        assert node.facts.read(MINE, "web1") == {"a": 1, "b": 2}


def test_two_nodes_at_once_lose_nothing(nodes: Nodes) -> None:
    def add_all(node: Node, name: str) -> None:
        for number in range(20):
            node.add("web1", **{f"{name}{number}": number})

    threads = [
        threading.Thread(target=add_all, args=(node, name))
        for node, name in zip(nodes, "ab", strict=True)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for node in nodes:
        node.feed.catch_up()
        assert len(node.facts.read(MINE, "web1") or {}) == 40
    assert nodes[0].facts.read(MINE, "web1") == nodes[1].facts.read(MINE, "web1")


def test_what_is_forgotten_is_so_everywhere(nodes: Nodes) -> None:
    one, other = nodes
    for bank in (GRAINS, PILLAR, COMPILED):
        one.tell(bank, "web1", {"x": 1}, ASKED_NS)
    one.add("web1", a=1)
    one.add("web2", a=1)
    other.feed.catch_up()
    other.facts.forget("web1")
    one.facts.delete("web2", MINE)
    for node in nodes:
        node.feed.catch_up()
        assert [node.facts.ids(bank) for bank in (GRAINS, PILLAR, COMPILED, MINE)] == [[]] * 4


def test_a_bridge_goes_on_where_it_was(nodes: Nodes) -> None:
    one, other = nodes
    one.add("web1", a=1)
    assert other.feed.catch_up() == 1
    one.add("web2", a=1)
    other.feed = FactsFeed(other.engine, other.cachedir)
    assert other.feed.catch_up() == 1
    (other.cachedir / PLACE).unlink()
    other.feed = FactsFeed(other.engine, other.cachedir)
    assert other.feed.catch_up() == 2
    assert other.facts.ids(MINE) == ["web1", "web2"]


def test_a_table_out_of_a_backup_counts(nodes: Nodes) -> None:
    one, other = nodes
    one.add("web1", a=1)
    backup = one.engine.execute("SELECT data FROM banks")[0]
    one.add("web1", b=2)
    other.feed.catch_up()
    one.engine.execute("UPDATE banks SET data = %s, version = 1", backup)
    one.engine.execute("UPDATE counters SET value = 1 WHERE name = 'banks'")
    for node in nodes:
        node.feed.catch_up()
    assert other.facts.read(MINE, "web1") == {"a": 1}


def test_pillar_stays_on_its_node_if_it_is_not_to_be_shared(nodes: Nodes) -> None:
    one, other = nodes
    one.facts = ClusterFacts(one.engine, one.copy, shares_pillar=False)
    assert one.tell(PILLAR, "web1", {"secret": 1}, ASKED_NS)
    assert one.facts.update(COMPILED, "web1", lambda _kept: {"secret": 1})
    assert one.tell(GRAINS, "web1", {"os": "x"}, ASKED_NS)
    assert one.engine.execute("SELECT bank FROM banks") == [(GRAINS,)]
    other.feed.catch_up()
    assert other.facts.read(PILLAR, "web1") is None
    assert one.facts.read(PILLAR, "web1") == {"secret": 1}


def test_while_the_engine_is_away_this_node_goes_on(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _other = nodes
    one.tell(GRAINS, "web1", {"os": "x"}, ASKED_NS)

    def fail() -> None:
        raise ServerAway("cluster engine away: switched off")

    with monkeypatch.context() as patch:
        patch.setattr(one.engine, "_get_connection", fail)
        assert one.facts.read(GRAINS, "web1") == {"os": "x"}
        assert one.tell(GRAINS, "web1", {"os": "y"}, ASKED_NS + 1)
        assert one.facts.read(GRAINS, "web1") == {"os": "y"}
        with pytest.raises(StoreError):
            one.add("web1", a=1)
    # The minion tells it again.
    assert one.tell(GRAINS, "web1", {"os": "y"}, ASKED_NS + 2)
    assert len(one.engine.execute("SELECT 1 FROM banks")) == 1


def test_a_mine_is_bounded(nodes: Nodes) -> None:
    one, _other = nodes
    with pytest.raises(StoreError, match="at most"):
        one.add("web1", x="y" * 11_000_000)
    assert one.facts.read(MINE, "web1") is None


def test_banks_of_runners(nodes: Nodes) -> None:
    one, other = nodes
    one.banks.store("own/data", "k1", {"a": 1, "b": [2]})
    one.banks.store("own/data", "k2", "text")
    other.feed.catch_up()
    assert other.banks.list("own/data") == ["k1", "k2"]
    assert other.banks.fetch("own/data", "k2") == "text"
    other.banks.drop("own/data", "k1", "a")
    one.feed.catch_up()
    assert one.banks.fetch("own/data", "k1") == {"b": [2]}
    assert one.banks.mtime_s("own/data", "k1")
    assert one.banks.flush("own/data")
    assert not one.banks.flush("own/data")
    other.feed.catch_up()
    assert other.banks.list("own/data") == []


@pytest.mark.parametrize(
    "bank, key", [("../x", "k"), ("sessions", "k"), ("own", "../k"), ("", "k")]
)
def test_no_bank_leads_elsewhere(nodes: Nodes, bank: str, key: str) -> None:
    one, other = nodes
    for do in (
        lambda: one.banks.store(bank, key, 1),
        lambda: one.banks.drop(bank, key, "x"),
        lambda: one.banks.flush(bank, key),
    ):
        with pytest.raises(ValueError, match="cannot be"):
            do()
    assert one.engine.execute("SELECT 1 FROM banks") == []
    # Nor does a row that somebody else has put there.
    one.engine.execute(
        "INSERT INTO banks (bank, id, version, data) VALUES (%s, %s, 5, 'x')", [bank, key]
    )
    other.feed.catch_up()
    assert [one.name for one in other.cachedir.iterdir()] == [PLACE]
