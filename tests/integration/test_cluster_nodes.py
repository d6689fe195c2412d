"""Three masters as one: real daemons on loopback, PostgreSQL, minions at different nodes."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import databases
import psutil
import pytest
from node_cluster import NODES, Load, Nodes, holds, kill_node, stored

from cluster import Cluster, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def server() -> Iterator[databases.Postgres]:
    with databases.postgres_server() as one:
        yield one


@pytest.fixture
def nodes(server: databases.Postgres) -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(databases.database_of(server.place, "cluster"))
        found = Nodes(server, dsn, stack)
        found.start()
        for node in found.all:
            eventually(
                lambda node=node: found.answers(node) == {"m1": True, "m2": True, "m3": True},
                what="all minions answer",
            )
        yield found


def test_each_node_reaches_all_minions_and_sees_all_returns(nodes: Nodes) -> None:
    for node in nodes.all:
        ran = node.salt("*", "test.echo", "hello", "--out=json", "--static")
        assert ran.exit_code == 0, (ran, nodes.logs())
        assert ran.json == {"m1": "hello", "m2": "hello", "m3": "hello"}
    status = nodes.all[1].salt_run("cluster.status", "--out=json").json
    assert sorted(status["nodes"]) == list(NODES)
    assert all(one["alive"] for one in status["nodes"].values())
    assert [one["keeps_house"] for one in status["nodes"].values()].count(True) == 1
    # Keys, grains and jobs are the same everywhere.
    for node in nodes.all:
        listed = node.salt_key("-L", "--out=json").json
        assert sorted(listed["minions"]) == ["m1", "m2", "m3"]
    first, _second, third = nodes.all
    jid = first.salt("m3", "test.ping", "--async", "--out=json").stdout.split()[-1]
    eventually(
        lambda: third.salt_run("jobs.lookup_jid", jid, "--out=json").json == {"m3": True},
        what="the job is known elsewhere",
    )
    grain = first.salt("-G", "id:m3", "test.ping", "--out=json", "--static")
    assert grain.json == {"m3": True}
    nodes_of_jobs = third.salt_run("jobs.list_jobs", "--out=json").json
    assert jid in nodes_of_jobs


def test_a_key_that_is_deleted_on_one_node_is_gone_on_all(nodes: Nodes) -> None:
    first, _second, third = nodes.all
    generation = stored(nodes, "SELECT max(generation) FROM publication_keys")[0][0]
    assert first.salt_key("-d", "m3", "-y").exit_code == 0
    eventually(lambda: not (third.pki_dir / "minions" / "m3").exists(), within_s=10)
    eventually(
        lambda: (
            stored(nodes, "SELECT max(generation) FROM publication_keys")[0][0] == generation + 1
        ),
        what="the publication key is changed",
    )
    # The others sign in again by themselves; m3 is new, and auto_accept takes it back.
    for node in nodes.all:
        eventually(lambda node=node: nodes.answers(node) == {"m1": True, "m2": True, "m3": True})
    assert stored(nodes, "SELECT max(generation) FROM publication_keys")[0][0] == generation + 1


def add_minion_of_two(first: Cluster, second: Cluster) -> None:
    """Start m4, which knows two nodes, and is at first at the first one."""
    addresses = [f"127.0.0.1:{node.ret_port}" for node in (first, second)]
    path = first.minion_dir("m4") / "minion"
    first.add_minion(
        "m4", master=addresses, master_type="failover", master_alive_interval=1, retry_dns=0
    )
    lines = [line for line in path.read_text().splitlines() if not line.startswith("publish_port")]
    path.write_text("\n".join(lines) + "\n")
    first.minions["m4"].start()


def test_a_return_goes_to_the_node_that_the_minion_has_moved_to(nodes: Nodes) -> None:
    first, second, _third = nodes.all
    add_minion_of_two(first, second)
    eventually(lambda: nodes.answers(first).get("m4") is True, what="m4 is there")
    begun, go_on = first.root / "begun", first.root / "go-on"
    waits = f"touch {begun}; while [ ! -e {go_on} ]; do sleep 0.1; done; echo done"
    jid = first.salt("m4", "cmd.run", waits, "--async").stdout.split()[-1]
    eventually(begun.exists, what="the job runs")
    kill_node(first)
    go_on.touch()
    eventually(
        lambda: second.salt_run("jobs.lookup_jid", jid, "--out=json").json == {"m4": "done"},
        what="the return is at the second node",
    )
    (count,) = stored(nodes, f"SELECT count(*) FROM returns WHERE jid = '{jid}'")
    assert count == (1,)
    eventually(lambda: not list((first.root / "m4" / "cache" / "outbox").iterdir()))


def test_a_node_is_killed_under_load(nodes: Nodes) -> None:
    first, second, third = nodes.all
    add_minion_of_two(first, second)
    eventually(lambda: nodes.answers(second).get("m4") is True, what="m4 is there")
    with Load(nodes, third) as load:
        load.wait_for(3)
        kill_node(first)
        load.wait_for(1)  # each waits for m1 as long as it may
        eventually(
            lambda: load.answers[-1].keys() >= {"m2", "m3", "m4"}, within_s=60, what="m4 is back"
        )
        load.wait_for(1)
    holds(nodes, load)
    # Nothing that its minion had signed in with was lost with the node.
    assert "is not heard of for" in second.master.log() + third.master.log()
    first.start_master()
    eventually(
        lambda: nodes.answers(third) == dict.fromkeys(("m1", "m2", "m3", "m4"), True),
        what="the node is back, with its minion",
    )
    holds(nodes, load)


def test_postgresql_is_away_for_ten_seconds(nodes: Nodes) -> None:
    first, second, _third = nodes.all
    with Load(nodes, first) as load:
        load.wait_for(2)
        nodes.server.stop()
        stopped_s = time.monotonic()
        load.wait_for(1)  # the one under way, and one of this node alone
        eventually(
            lambda: any(one.keys() == {"m1"} for one in load.answers), what="m1 answers its node"
        )
        eventually(lambda: time.monotonic() - stopped_s > 10, what="ten seconds")
        nodes.server.start()
        load.wait_for(2)
        eventually(lambda: len(load.answers[-1]) == 3, within_s=60, what="all answer again")
    eventually(lambda: "were kept here" in first.master.log(), what="what was kept is brought up")
    eventually(
        lambda: first.salt_run("cluster.status", "--out=json").json["waiting"] == 0,
        what="nothing waits",
    )
    holds(nodes, load)
    assert any(line.startswith("The cluster engine is away: only") for line in load.told)
    assert not nodes.ping(first).stderr
    assert all(node.master.alive() for node in nodes.all)
    assert nodes.answers(second) == {"m1": True, "m2": True, "m3": True}


def test_bridges_are_killed_under_load(nodes: Nodes) -> None:
    first, second, _third = nodes.all
    with Load(nodes, first) as load:
        load.wait_for(1)
        for node in (first, second, first, second):
            (bridge,) = node.master.titled("ClusterBridge")
            bridge.kill()
            eventually(
                lambda node=node, old=bridge.pid: [
                    one for one in node.master.titled("ClusterBridge") if one.pid != old
                ],
                within_s=10,
                what="another bridge",
            )
            load.wait_for(1)
        load.wait_for(1)
    assert load.answers[-1] == {one: f"job {len(load.answers) - 1}" for one in ("m1", "m2", "m3")}
    holds(nodes, load)


def test_postgresql_hangs(nodes: Nodes) -> None:
    """Slower than ``cluster_timeout`` is as good as away: what is returned meanwhile is kept."""
    first, *_others = nodes.all
    with Load(nodes, first) as load:
        load.wait_for(1)
        processes = [
            one
            for one in psutil.process_iter(["name", "cmdline"])
            if one.info["name"] == "postgres"
            and any(nodes.server.place in word for word in one.info["cmdline"] or ())
        ]
        processes += [child for one in processes for child in one.children(recursive=True)]
        for one in processes:
            one.suspend()
        try:
            eventually(
                lambda: any(one.keys() == {"m1"} for one in load.answers),
                within_s=90,
                what="m1 answers its node",
            )
        finally:
            for one in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.resume()
        eventually(lambda: len(load.answers[-1]) == 3, within_s=90, what="all answer again")
    eventually(
        lambda: first.salt_run("cluster.status", "--out=json").json["waiting"] == 0,
        what="nothing waits",
    )
    holds(nodes, load)


def test_all_nodes_are_killed_at_once(nodes: Nodes) -> None:
    before = nodes.answers(nodes.all[0])
    generation = stored(nodes, "SELECT max(generation) FROM publication_keys")
    serial = stored(nodes, "SELECT max(serial) FROM publications")[0][0]
    for node in nodes.all:
        kill_node(node)
    for node in nodes.all:
        node.start_master()
    for node in nodes.all:
        eventually(lambda node=node: nodes.answers(node) == before, what="all answer")
    # Nobody had to sign in because of another key, and serials went on.
    assert stored(nodes, "SELECT max(generation) FROM publication_keys") == generation
    assert stored(nodes, "SELECT max(serial) FROM publications")[0][0] > serial


def test_nodes_that_are_alone_give_no_jid_twice(nodes: Nodes) -> None:
    """With clocks that were ahead they would all go on from the same one, a microsecond each."""
    nodes.answers(nodes.all[0])
    ahead = f"{datetime.now(timezone.utc) + timedelta(hours=1):%Y%m%d%H%M%S}000000"
    latest = "(SELECT max(jid) FROM jobs)"
    stored(nodes, f"UPDATE jobs SET jid = '{ahead}' WHERE jid = {latest} RETURNING jid")
    for node in nodes.all:
        kill_node(node)
        node.start_master()
    for node in nodes.all:
        eventually(lambda node=node: len(nodes.answers(node)) == 3, what="all answer")
    nodes.server.stop()
    told = [node.salt("*", "test.ping", "--async") for node in nodes.all for _ in range(4)]
    nodes.server.start()
    jids = [found[0] for one in told if (found := re.findall(r"\b\d{20}\b", one.stdout))]
    # The first one of a node may have been under way to PostgreSQL.
    assert len(jids) >= 9, [(one.exit_code, one.stdout, one.stderr) for one in told]
    assert all(jid > ahead for jid in jids)
    assert len(set(jids)) == len(jids)
    eventually(
        lambda: not set(jids) - {row[0] for row in stored(nodes, "SELECT jid FROM jobs")},
        within_s=60,
        what="all are on record",
    )


def test_postgresql_is_back_after_the_masters(nodes: Nodes) -> None:
    """As after a power cut: a node waits for it, says so once, and then serves as before."""
    before = nodes.answers(nodes.all[0])
    serial = stored(nodes, "SELECT max(serial) FROM publications")[0][0]
    for node in nodes.all:
        kill_node(node)
    nodes.server.stop()
    for node in nodes.all:
        node.master.start()
    waits = "this master starts as soon as it is there"
    for node in nodes.all:
        eventually(lambda node=node: waits in node.master.log(), what="it waits")
    assert all(node.master.alive() for node in nodes.all)
    nodes.server.start()
    for node in nodes.all:
        eventually(node._master_listens, what="it listens")
        eventually(lambda node=node: nodes.answers(node) == before, what="all answer")
        assert node.master.log().count(waits) == 1
    assert stored(nodes, "SELECT max(serial) FROM publications")[0][0] > serial


def test_a_node_hangs(nodes: Nodes) -> None:
    """Stopped for longer than its lease: another one keeps house; then it goes on."""
    (keeper,) = [name for name, one in nodes.status().items() if one["keeps_house"]]
    victim = nodes.all[NODES.index(keeper)]
    others = [node for node in nodes.all if node is not victim]
    reachable = sorted(minion for node in others for minion in node.minions)
    processes = victim.master.processes()
    for one in processes:
        one.suspend()
    try:
        eventually(
            lambda: [
                name
                for name, one in nodes.status(others[0]).items()
                if one["keeps_house"] and one["alive"]
            ],
            within_s=30,
            what="another one keeps house",
        )
        ran = others[0].salt("*", "test.ping", "--out=json", "--static")
        assert sorted(one for one, value in ran.json.items() if value is True) == reachable
    finally:
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()
    for node in nodes.all:
        eventually(lambda node=node: nodes.answers(node) == {"m1": True, "m2": True, "m3": True})
    assert [one["keeps_house"] for one in nodes.status().values()].count(True) == 1
