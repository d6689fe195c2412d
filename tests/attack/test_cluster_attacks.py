"""A recorded request at another node of a cluster, and nodes that may not go on alone.

Source: docs/security.md#replay-and-clocks, docs/cluster.md#failures.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import databases
import pytest
from node_cluster import Nodes, stored

from attacks import Stranger
from cluster import eventually
from loads import ENCRYPTED
from rogue import BAD_LOAD, Rogue, Sealed

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]

MINIONS = {"m1": True, "m2": True, "m3": True}
OF_SLEEP = "SELECT id FROM returns JOIN jobs USING (jid) WHERE fun = 'test.sleep'"
ACTING = ("_mine", "_minion_event", "_mine_flush", "_mine_delete")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        dsn = stack.enter_context(databases.database_of(server.place, "cluster"))
        options = {"cluster_degraded": "refuse"}
        found = Nodes(server, dsn, stack, options=options)
        found.start()
        for node in found.all:
            eventually(lambda node=node: found.answers(node) == MINIONS, what="all minions answer")
        yield found


@pytest.fixture
def strangers(nodes: Nodes) -> Iterator[list[Stranger]]:
    found = [Stranger(node.ret_port) for node in nodes.all]
    yield found
    for one in found:
        one.close()


def sign_in(nodes: Nodes, strangers: list[Stranger], name: str) -> Rogue:
    """A minion whose key was put into the files of the first node, known to all of them."""
    one = Rogue(nodes.all[0], strangers[0], name).accept()
    for node in nodes.all:
        accepted = node.pki_dir / "minions" / name
        eventually(accepted.exists, what="the key is known to all nodes")
    one.authenticate()
    return one


@pytest.mark.parametrize("cmd", ACTING)
def test_a_recorded_request_is_refused_by_all_nodes(
    nodes: Nodes, strangers: list[Stranger], cmd: str
) -> None:
    """They all open it: a session is the same everywhere."""
    rogue = sign_in(nodes, strangers, f"r-{cmd.strip('_')}")
    made = rogue.make({"cmd": cmd, **ENCRYPTED[cmd]})
    assert isinstance(rogue.send_many([made])[0], Sealed)
    for stranger in strangers:
        assert stranger.send(made.frame) == BAD_LOAD
    for node in nodes.all[1:]:
        assert "nonce was used before, at another node" in node.master.log()


def test_what_only_reads_is_answered_by_any_node(nodes: Nodes, strangers: list[Stranger]) -> None:
    rogue = sign_in(nodes, strangers, "reader")
    for stranger in strangers:
        rogue.stranger = stranger
        assert isinstance(rogue.send({"cmd": "_file_envs"}), Sealed)


def test_a_return_that_comes_to_two_nodes_is_one(nodes: Nodes, strangers: list[Stranger]) -> None:
    rogue = sign_in(nodes, strangers, "returner")
    ran = nodes.all[0].salt("returner", "test.ping", "--async")
    jid = ran.stdout.split()[-1]
    made = rogue.make({"cmd": "_return", "jid": jid, "fun": "test.ping", "return": 1, "retcode": 0})
    assert isinstance(rogue.send_many([made])[0], Sealed)
    for stranger in strangers[1:]:
        stranger.send(made.frame)
    forged = rogue.make({"cmd": "_return", "jid": jid, "fun": "test.ping", "return": 2})
    strangers[1].send(forged.frame)
    statement = f"SELECT count(*) FROM returns WHERE jid = '{jid}'"
    assert stored(nodes, statement) == [(1,)]
    looked_up = nodes.all[2].salt_run("jobs.lookup_jid", jid, "--out=json").json
    assert looked_up == {"returner": 1}


def test_nodes_that_are_to_refuse_do_so_until_postgresql_is_back(nodes: Nodes) -> None:
    """6.6: nothing is acknowledged that is not in the database; minions keep what they have."""
    first, _second, third = nodes.all
    slow: list[Any] = []
    job = threading.Thread(
        target=lambda: slow.append(
            first.salt("m3", "test.sleep", "6", "--out=json", "--static", "-t", "60", timeout_s=100)
        )
    )
    job.start()
    eventually(lambda: third.minions["m3"].titled("test.sleep"), what="the job runs")
    nodes.server.stop()
    try:
        for node in nodes.all:
            refused = node.salt("*", "test.ping", "-t", "5", timeout_s=60)
            assert refused.exit_code == 1
            assert "cluster engine away" in refused.stdout + refused.stderr, refused
        eventually(
            lambda: not third.minions["m3"].titled("test.sleep"), what="the job is at its end"
        )
    finally:
        nodes.server.start()
    job.join()
    eventually(lambda: nodes.answers(first) == MINIONS, within_s=60, what="all answer again")
    eventually(
        lambda: stored(nodes, OF_SLEEP) == [("m3",)],
        within_s=60,
        what="what the minion kept is on record",
    )
