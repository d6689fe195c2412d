"""Which nodes there are, and which of them keeps house."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.nodes import (
    Heart,
    HouseChores,
    claim_database,
    list_nodes,
    register_node,
    remove_node,
)
from saltlite.errors import ConfigError, ServerAway


def test_each_node_has_its_own_number_for_good(database: dict[str, str]) -> None:
    def register(number: int) -> int:
        engine = ClusterEngine(database, timeout_s=30)
        found = register_node(engine, f"n{number % 8}", "10.0.0.1")
        engine.close()
        return found

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(register, range(16)))
    assert sorted(set(numbers)) == [*range(3, 11)]  # a and b were there
    assert numbers[:8] == numbers[8:]


def test_a_database_belongs_to_one_cluster(engine: ClusterEngine) -> None:
    claim_database(engine, "c1", "aa:bb")
    claim_database(engine, "c1", "aa:bb")
    with pytest.raises(ConfigError, match="belongs to the cluster 'c1'"):
        claim_database(engine, "c2", "aa:bb")
    with pytest.raises(ConfigError, match=r"cluster\.pem is not the one"):
        claim_database(engine, "c1", "cc:dd")


def test_one_keeps_house_until_it_is_gone(database: dict[str, str]) -> None:
    engines = [ClusterEngine(database, timeout_s=10) for _ in range(3)]
    one, two = Heart(engines[0], "a"), Heart(engines[1], "b")
    chores = HouseChores(engines[2], "a", lease_s=15)
    assert one.beat()
    assert two.beat()
    assert (one.keeps_house, two.keeps_house) == (True, False)
    assert chores.are_ours()
    engines[0].close()
    while not two.keeps_house:  # once the server has seen the end of the connection
        assert two.beat()
    assert one.beat()  # on a new connection, which has the lock no more
    assert not one.keeps_house
    chores._next_look_s = 0
    assert not chores.are_ours()
    keepers = [node.node for node in list_nodes(engines[2]) if node.keeps_house]
    assert keepers == ["b"]
    for engine in engines:
        engine.close()


def test_who_cannot_reach_the_server_keeps_no_house(
    engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heart, chores = Heart(engine, "a"), HouseChores(engine, "a", lease_s=15)
    heart.beat()

    def fail(_engine: ClusterEngine, _work: object) -> object:
        raise ServerAway("away")

    monkeypatch.setattr(ClusterEngine, "_run_work", fail)
    with pytest.raises(ServerAway):
        heart.beat()
    assert not heart.keeps_house
    assert not chores.are_ours()


def test_a_node_that_was_removed_hears_of_it(engine: ClusterEngine) -> None:
    heart = Heart(engine, "b")
    assert heart.beat()
    assert remove_node(engine, "b")
    assert not remove_node(engine, "b")
    assert not heart.beat()
