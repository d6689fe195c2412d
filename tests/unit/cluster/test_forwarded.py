"""The syndics of a cluster share what goes up: each return is one's, and nobody's for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from saltlite.cluster import forwarded
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.forwarded import ClusterForwarded
from saltlite.cluster.nodes import remove_node
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.errors import ServerAway

JIDS = [f"2026010203040500000{number}" for number in range(4)]
LOAD = {"fun": "test.ping", "tgt": "*"}
NAMES = ["m1", "m2", "m3", "m4"]


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_syndic(
    database: dict[str, str], clock: Clock
) -> Iterator[Callable[[str], ClusterForwarded]]:
    engines: list[ClusterEngine] = []

    def make(node: str) -> ClusterForwarded:
        engines.append(ClusterEngine(database, timeout_s=10))
        return ClusterForwarded(engines[-1], node, clock)

    yield make
    for one in engines:
        one.close()


Make = Callable[[str], ClusterForwarded]


@pytest.fixture
def jobs(engine: ClusterEngine) -> PostgresJobStore:
    """Of node ``a``, where minions return."""
    store = PostgresJobStore(engine, "a")
    for jid in JIDS:
        store.new_job(jid, LOAD, NAMES)
    return store


def add(jobs: PostgresJobStore, *names: str) -> None:
    """In this order: of one batch it is not told."""
    for name in names:
        jobs.add_return(JIDS[0], name, {"return": name})


def names(found: Any) -> list[str]:
    return [one.id for one in found]


def be_late(engine: ClusterEngine, clock: Clock) -> None:
    """More time passes than a syndic has for what it has taken."""
    engine.execute("UPDATE forward SET until = now() - interval '1 second' WHERE taker <> ''")
    clock.now_s += forwarded.LOOK_S


def test_without_a_syndic_nothing_is_noted(engine: ClusterEngine, jobs: PostgresJobStore) -> None:
    add(jobs, "m1")
    assert engine.execute("SELECT count(*) FROM forward") == [(0,)]


def test_each_return_is_one_syndics(make_syndic: Make, jobs: PostgresJobStore) -> None:
    one, other = make_syndic("a"), make_syndic("b")
    one.begin()
    add(jobs, *NAMES)
    assert names(one.read_new(3)) == ["m1", "m2", "m3"]
    assert names(other.read_new(3)) == ["m4"]
    assert one.read_new(3) == other.read_new(3) == []


def test_all_take_at_once_and_none_twice(make_syndic: Make, jobs: PostgresJobStore) -> None:
    syndics = [make_syndic(f"n{number}") for number in range(4)]
    syndics[0].begin()
    many = [f"m{number:03}" for number in range(200)]
    jobs.add_returns([(JIDS[0], name, {"return": name}) for name in many])

    def take(syndic: ClusterForwarded) -> list[str]:
        return [one for _ in range(10) for one in names(syndic.read_new(10))]

    with ThreadPoolExecutor(4) as pool:
        taken = [one for found in pool.map(take, syndics) for one in found]
    taken += [one for syndic in syndics for one in names(syndic.read_new(1000))]
    assert sorted(taken) == many


def test_what_one_does_not_send_another_takes(
    engine: ClusterEngine, make_syndic: Make, jobs: PostgresJobStore, clock: Clock
) -> None:
    dead, alive = make_syndic("a"), make_syndic("b")
    dead.begin()
    alive.begin()
    add(jobs, *NAMES)
    dead.drop(dead.read_new(1))
    dead.read_new(10)
    clock.now_s += forwarded.LOOK_S
    assert alive.read_new(10) == []
    be_late(engine, clock)
    taken = alive.read_new(10)
    assert names(taken) == ["m2", "m3", "m4"]
    be_late(engine, clock)
    # It is there all the same, and knows what it has: nothing is given out twice.
    assert dead.read_new(10) == alive.read_new(10) == []
    alive.drop(taken)
    assert engine.execute("SELECT count(*) FROM forward") == [(0,)]


def test_what_another_has_sent_is_not_sent_again(
    engine: ClusterEngine, make_syndic: Make, jobs: PostgresJobStore, clock: Clock
) -> None:
    slow, quick = make_syndic("a"), make_syndic("b")
    slow.begin()
    quick.begin()
    add(jobs, "m1", "m2")
    taken = slow.read_new(10)
    be_late(engine, clock)
    quick.drop(quick.read_new(1))
    assert [fields for _one, fields in slow.read_returns(taken, 1000)] == [None, {"return": "m2"}]
    slow.drop(taken)
    assert slow.read_new(10) == []


def test_the_next_process_reads_what_was_not_dropped(
    make_syndic: Make, jobs: PostgresJobStore
) -> None:
    first = make_syndic("a")
    first.begin()
    add(jobs, "m1", "m2")
    first.drop(first.read_new(1))
    first.read_new(10)
    assert names(make_syndic("a").read_new(10)) == ["m2"]


def test_what_a_lost_answer_took_is_read_again(
    make_syndic: Make, jobs: PostgresJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did it, and the connection broke before it could say so."""
    syndic = make_syndic("a")
    syndic.begin()
    add(jobs, "m1", "m2")
    done = syndic._engine.execute

    def lose(statement: str, values: Any = ()) -> Any:
        done(statement, values)
        if "SKIP LOCKED" in statement:
            raise ServerAway("away")
        return []

    monkeypatch.setattr(syndic._engine, "execute", lose)
    with pytest.raises(ServerAway):
        syndic.read_new(10)
    monkeypatch.setattr(syndic._engine, "execute", done)
    assert names(syndic.read_new(10)) == ["m1", "m2"]


def test_so_many_bytes_are_read_at_once(make_syndic: Make, jobs: PostgresJobStore) -> None:
    syndic = make_syndic("a")
    syndic.begin()
    for name in NAMES:
        jobs.add_return(JIDS[0], name, {"return": name * 1000})
    taken = syndic.read_new(10)
    assert names(one for one, _fields in syndic.read_returns(taken, 4500)) == ["m1", "m2"]
    assert names(one for one, _fields in syndic.read_returns(taken, 1)) == ["m1"]


def test_a_job_takes_its_rows_along(
    engine: ClusterEngine, make_syndic: Make, jobs: PostgresJobStore
) -> None:
    syndic = make_syndic("a")
    syndic.begin()
    for jid in JIDS:
        jobs.add_return(jid, "m1", {"return": 1})
    taken = syndic.read_new(10)
    jobs.clean(JIDS[2])
    assert [fields for _one, fields in syndic.read_returns(taken, 1000)] == [
        None, None, {"return": 1}, {"return": 1}
    ]  # fmt: skip
    assert engine.execute("SELECT jid FROM forward ORDER BY jid") == [(JIDS[2],), (JIDS[3],)]
    assert syndic.job(JIDS[0]) is None
    found = syndic.job(JIDS[2])
    assert found is not None
    assert found.load == LOAD


def test_a_node_that_leaves_takes_nothing_along(
    engine: ClusterEngine, make_syndic: Make, jobs: PostgresJobStore
) -> None:
    leaves, stays = make_syndic("b"), make_syndic("a")
    leaves.begin()
    add(jobs, "m1")
    leaves.read_new(10)
    assert remove_node(engine, "b")
    assert engine.execute("SELECT node FROM syndics") == []
    assert names(stays.read_new(10)) == ["m1"]
