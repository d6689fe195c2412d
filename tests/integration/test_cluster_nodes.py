"""Three masters as one: real daemons on loopback, PostgreSQL, minions at different nodes."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import databases
import psutil
import pytest

from cluster import Cluster, Ran, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]

NODES = ("n1", "n2", "n3")


class Nodes:
    """Masters that share a database, each with one minion of its own."""

    def __init__(self, server: databases.Postgres, dsn: str, stack: contextlib.ExitStack) -> None:
        self.server = server
        self.all: list[Cluster] = []
        for number, name in enumerate(NODES, 1):
            node = stack.enter_context(
                Cluster(
                    minions={f"m{number}": "saltlite"},
                    master_options={
                        "id": name,
                        "worker_threads": 2,
                        "cluster_id": "c1",
                        "cluster_dsn": dsn,
                        "cluster_lease": 5,
                        "cluster_timeout": 3,
                        "timeout": 10,
                    },
                )
            )
            self.all.append(node)
        self.dsn = dsn

    def start(self) -> None:
        first, *others = self.all
        joined = first.salt_run(
            "cluster.join", "make_key=True", f"owner_dsn={self.dsn}", "--out=json"
        )
        assert joined.exit_code == 0, joined
        assert joined.json["node"] == "n1"
        for node in others:
            # The two commands that cluster.join shows.
            refused = node.salt_run("cluster.join")
            assert "On every other one: mkdir -p -m 700" in refused.stdout + refused.stderr
            node.pki_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("cluster.pem", "cluster.pub"):
                shutil.copy2(first.pki_dir / name, node.pki_dir / name)
        for node in self.all:
            node.start_master()
        for node in self.all:
            for minion in node.minions.values():
                minion.start()

    def ping(self, node: Cluster, *more: str) -> Ran:
        return node.salt("*", "test.ping", "--out=json", "--static", *more)

    def answers(self, node: Cluster) -> Any:
        ran = self.ping(node)
        return ran.json if ran.stdout.strip().startswith("{") else ran

    def logs(self) -> str:
        return "\n".join(node.logs() for node in self.all)


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


def stored(nodes: Nodes, statement: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(nodes.dsn) as connection:
        return connection.execute(statement.encode()).fetchall()


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


class Load:
    """Jobs from one node, one after the other, until it is stopped; what each command said."""

    def __init__(self, nodes: Nodes, node: Cluster) -> None:
        self.answers: list[dict[str, Any]] = []
        self._nodes, self._node = nodes, node
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._publish)

    def _publish(self) -> None:
        while not self._stopping.is_set():
            number = len(self.answers)
            ran = self._node.salt("*", "test.echo", f"job {number}", "--out=json", "--static")
            found = ran.json if ran.stdout.strip().startswith("{") else {}
            self.answers.append({one: value for one, value in found.items() if value})

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stopping.set()
        self._thread.join()

    def wait_for(self, more: int) -> None:
        wanted = len(self.answers) + more
        eventually(lambda: len(self.answers) >= wanted, within_s=120, what=f"{more} more jobs")


def holds(nodes: Nodes, load: Load) -> None:
    """Whatever a command has shown is on record, once."""
    rows = stored(
        nodes,
        "SELECT jid, id, count(*) FROM returns JOIN jobs USING (jid) "
        "WHERE fun = 'test.echo' GROUP BY jid, id",
    )
    assert all(count == 1 for _jid, _id, count in rows)
    shown = sum(len(one) for one in load.answers)
    assert len(rows) >= shown, (len(rows), shown)


def kill_node(node: Cluster) -> None:
    """All of a master's processes at once, as a power cut does."""
    for process in node.master.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert node.master.process is not None
    node.master.process.wait()


def test_a_node_is_killed_under_load(nodes: Nodes) -> None:
    first, second, third = nodes.all
    # A minion that knows two nodes, at first at the one that will die.
    addresses = [f"127.0.0.1:{node.ret_port}" for node in (first, second)]
    path = first.minion_dir("m4") / "minion"
    first.add_minion(
        "m4", master=addresses, master_type="failover", master_alive_interval=1, retry_dns=0
    )
    lines = [line for line in path.read_text().splitlines() if not line.startswith("publish_port")]
    path.write_text("\n".join(lines) + "\n")
    first.minions["m4"].start()
    eventually(lambda: nodes.answers(second).get("m4") is True, what="m4 is there")
    with Load(nodes, third) as load:
        load.wait_for(3)
        kill_node(first)
        load.wait_for(3)
        eventually(
            lambda: load.answers[-1].keys() >= {"m2", "m3", "m4"}, within_s=60, what="m4 is back"
        )
        load.wait_for(2)
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
