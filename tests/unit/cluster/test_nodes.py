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


def test_one_keeps_house_until_its_lease_is_over(database: dict[str, str]) -> None:
    engines = [ClusterEngine(database, timeout_s=10) for _ in range(3)]
    one = Heart(engines[0], "a", lease_s=15)
    two = Heart(engines[1], "b", lease_s=15)
    chores = HouseChores(engines[2], "a", lease_s=15)
    assert one.beat()
    assert two.beat()
    assert (one.keeps_house, two.keeps_house) == (True, False)
    assert chores.are_ours()
    engines[0].close()  # what its connections do says nothing of a node
    assert two.beat()
    assert not two.keeps_house
    engines[2].execute("UPDATE nodes SET beat = beat - interval '16 s' WHERE node = 'a'")
    assert two.beat()
    assert two.keeps_house
    chores._next_look_s = 0
    assert not chores.are_ours()
    assert one.beat()  # it hung, and goes on
    assert not one.keeps_house
    keepers = [node.node for node in list_nodes(engines[2]) if node.keeps_house]
    assert keepers == ["b"]
    two.stop()
    assert one.beat()
    assert one.keeps_house
    for engine in engines:
        engine.close()


def test_nodes_that_begin_at_once_do_not_all_keep_house(database: dict[str, str]) -> None:
    def begin(number: int) -> bool:
        engine = ClusterEngine(database, timeout_s=30)
        heart = Heart(engine, "ab"[number % 2], lease_s=15)
        for _ in range(20):
            heart.beat()
        engine.close()
        return heart.keeps_house

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(begin, range(2))) == [False, True]


def test_who_cannot_reach_the_server_keeps_no_house(
    engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heart, chores = Heart(engine, "a", lease_s=15), HouseChores(engine, "a", lease_s=15)
    heart.beat()

    def fail(_engine: ClusterEngine, _work: object) -> object:
        raise ServerAway("away")

    monkeypatch.setattr(ClusterEngine, "_run_work", fail)
    with pytest.raises(ServerAway):
        heart.beat()
    assert not heart.keeps_house
    assert not chores.are_ours()


def test_a_node_that_was_removed_hears_of_it(engine: ClusterEngine) -> None:
    heart = Heart(engine, "b", lease_s=15)
    assert heart.beat()
    assert remove_node(engine, "b")
    assert not remove_node(engine, "b")
    assert not heart.beat()


def test_who_was_away_judges_nobody_for_a_lease(database: dict[str, str]) -> None:
    """After an outage of the engine all are silent, and none of them has died."""
    now = [100.0]
    engine = ClusterEngine(database, timeout_s=10)
    heart = Heart(engine, "a", lease_s=15, steady_s=lambda: now[0])
    for _ in range(3):
        assert heart.beat()
        now[0] += 3
    assert heart.may_judge()
    now[0] += 20
    assert heart.beat()
    assert not heart.may_judge()
    for _ in range(5):
        now[0] += 3
        assert heart.beat()
    assert heart.may_judge()
    engine.close()
