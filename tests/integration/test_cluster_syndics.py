"""A cluster below a cluster: two nodes above, two below with a syndic each, and their minions.

Source: docs/cluster.md#syndics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import databases
import pytest
from node_cluster import copy_cluster_key, kill_node
from tree import Tree, growing

from cluster import Cluster, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]

ALL = {"m1": True, "m2": True}
UPPERS, LOWERS, SYNDICS = ("u1", "u2"), ("n1", "n2"), ("syn1", "syn2")


@pytest.fixture(scope="module")
def dsns() -> Iterator[dict[str, str]]:
    with (
        databases.postgres_server() as server,
        databases.database_of(server.place, "up") as up,
        databases.database_of(server.place, "low") as low,
    ):
        yield {"up": up, "low": low}


@pytest.fixture(scope="module")
def tree(dsns: dict[str, str]) -> Iterator[Tree]:
    with growing() as one:
        for name in UPPERS:
            above = {"order_masters": True, "syndics": ["syn*"], "syndic_wait": 3}
            one.add_master(name, **shared("up", name, dsns), **above)
        for name, minion in zip(LOWERS, ALL, strict=True):
            one.add_master(name, minions=[minion], **shared("low", name, dsns))
        for syndic, name in zip(SYNDICS, LOWERS, strict=True):
            one.add_syndic(syndic, name, UPPERS)
        for names, which in ((UPPERS, "up"), (LOWERS, "low")):
            join([one.masters[name] for name in names], dsns[which])
        yield one.start()


def shared(which: str, node: str, dsns: dict[str, str]) -> dict[str, Any]:
    return {
        "id": node, "cluster_id": which, "cluster_dsn": dsns[which], "cluster_lease": 5,
        "cluster_timeout": 3, "timeout": 8,
    }  # fmt: skip


def join(nodes: list[Cluster], dsn: str) -> None:
    first, *others = nodes
    joined = first.salt_run("cluster.join", "make_key=True", f"owner_dsn={dsn}")
    assert joined.exit_code == 0, joined
    for node in others:
        copy_cluster_key(first, node)


def ask(master: Cluster, *words: str) -> Any:
    ran = master.salt(*words, "--out=json", "--static")
    return ran.json if ran.stdout.strip().startswith("{") else ran


def all_answer(tree: Tree, *names: str) -> None:
    for name in names:
        eventually(
            lambda name=name: ask(tree.masters[name], "*", "test.ping") == ALL,  # type: ignore[misc]
            within_s=60,
            what=f"all answer {name}",
        )


def looked_up(master: Cluster, jid: str) -> Any:
    return master.salt_run("jobs.lookup_jid", jid, "--out=json").json or {}


def read_pairs(dsn: str, table: str) -> list[tuple[Any, ...]]:
    """Job and minion of each row."""
    import psycopg

    with psycopg.connect(dsn) as connection:
        return connection.execute(f"SELECT jid, id FROM {table}".encode()).fetchall()


def waiting(dsns: dict[str, str]) -> list[tuple[Any, ...]]:
    return read_pairs(dsns["low"], "forward")


def test_a_job_of_any_node_above_runs_once_at_each_minion_below(
    tree: Tree, dsns: dict[str, str]
) -> None:
    all_answer(tree, *UPPERS)
    jid = tree.masters["u1"].salt("*", "test.echo", "once", "--async").stdout.split()[-1]
    for name in UPPERS:
        eventually(
            lambda name=name: looked_up(tree.masters[name], jid) == dict.fromkeys(ALL, "once"),  # type: ignore[misc]
            what=f"it is on record at {name}",
        )
    for name, minion in zip(LOWERS, ALL, strict=True):
        log = tree.masters[name].minions[minion].log()
        assert log.count(f"job {jid}: test.echo") == 1, log
    eventually(lambda: waiting(dsns) == [], what="nothing waits")


def test_a_syndic_that_hangs_keeps_nothing_back(tree: Tree, dsns: dict[str, str]) -> None:
    """It hangs, perhaps with returns that it has taken; the one of the other node sends all."""
    processes = tree.syndics["syn1"].processes()
    for one in processes:
        one.suspend()
    try:
        tree.masters["n1"].salt("*", "test.ping")
        jid = tree.masters["u2"].salt("*", "test.echo", "hung", "--async").stdout.split()[-1]
        eventually(
            lambda: looked_up(tree.masters["u1"], jid) == dict.fromkeys(ALL, "hung"),
            within_s=60,
            what="both returns are above",
        )
    finally:
        for one in processes:
            one.resume()
    eventually(lambda: waiting(dsns) == [], within_s=60, what="nothing waits")


def test_without_one_syndic_all_goes_up(tree: Tree, dsns: dict[str, str]) -> None:
    syndic = tree.syndics["syn2"]
    syndic.kill()
    jid = tree.masters["n2"].salt("*", "test.echo", "own", "--async").stdout.split()[-1]
    eventually(
        lambda: looked_up(tree.masters["u1"], jid) == dict.fromkeys(ALL, "own"),
        within_s=60,
        what="both returns are above",
    )
    syndic.start()
    tree.wait_for_syndic("syn2")
    eventually(lambda: waiting(dsns) == [], within_s=60, what="nothing waits")


def test_nothing_is_lost_while_syndics_die(tree: Tree, dsns: dict[str, str]) -> None:
    wanted: set[tuple[str, str]] = set()
    for number in range(24):
        node = tree.masters[LOWERS[number % 2]]
        jid = node.salt("*", "test.echo", str(number), "--async").stdout.split()[-1]
        wanted |= {(jid, minion) for minion in ALL}
        if number % 4 == 1:
            # Of this node or of the other, with whatever it has in hand.
            syndic = tree.syndics[SYNDICS[number // 4 % 2]]
            syndic.kill()
            syndic.start()
    eventually(
        lambda: wanted <= set(read_pairs(dsns["up"], "returns")),
        within_s=90,
        what="each return is above",
    )
    eventually(lambda: waiting(dsns) == [], within_s=60, what="nothing waits")


def test_a_node_below_dies_with_its_syndic(tree: Tree) -> None:
    node = tree.masters["n1"]
    tree.syndics["syn1"].kill()
    kill_node(node)
    eventually(
        lambda: ask(tree.masters["u1"], "m2", "test.ping") == {"m2": True},
        within_s=60,
        what="the other node's minion answers",
    )
    node.start_master()
    tree.syndics["syn1"].start()
    all_answer(tree, *UPPERS)
