"""Masters that are the nodes of one cluster, each with its own directories, and load on them."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Mapping
from typing import Any

import databases
import psutil

from cluster import OURS, Cluster, Ran, eventually

NODES = ("n1", "n2", "n3")


def copy_cluster_key(first: Cluster, node: Cluster) -> None:
    """What ``cluster.join`` tells an administrator to do on every other node."""
    node.pki_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("cluster.pem", "cluster.pub"):
        shutil.copy2(first.pki_dir / name, node.pki_dir / name)


class Nodes:
    """Masters that share a database, each with one minion of its own."""

    def __init__(
        self,
        server: databases.Postgres,
        dsn: str,
        stack: contextlib.ExitStack,
        *,
        minions: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """``minions`` are kinds of Salt by id, one for each node; ours without it."""
        self.server = server
        kinds = dict(minions or dict.fromkeys(("m1", "m2", "m3"), OURS))
        self.all: list[Cluster] = []
        for name, (minion, kind) in zip(NODES, kinds.items(), strict=True):
            node = stack.enter_context(
                Cluster(
                    minions={minion: kind},
                    master_options={
                        "id": name,
                        "worker_threads": 2,
                        "cluster_id": "c1",
                        "cluster_dsn": dsn,
                        "cluster_lease": 5,
                        "cluster_timeout": 3,
                        "timeout": 10,
                        **(options or {}),
                    },
                )
            )
            self.all.append(node)
        self.dsn = dsn

    def start(self) -> None:
        """Make the key and the tables, then start all."""
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
            copy_cluster_key(first, node)
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

    def status(self, node: Cluster | None = None) -> dict[str, Any]:
        """What ``cluster.status`` says of each node."""
        ran = (node or self.all[0]).salt_run("cluster.status", "--out=json")
        found: dict[str, Any] = ran.json["nodes"]
        return found

    def logs(self) -> str:
        return "\n".join(node.logs() for node in self.all)


def stored(nodes: Nodes, statement: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(nodes.dsn) as connection:
        return connection.execute(statement.encode()).fetchall()


class Load:
    """Jobs from one node, one after the other, until it is stopped; what each command said."""

    def __init__(self, nodes: Nodes, node: Cluster) -> None:
        self.answers: list[dict[str, Any]] = []
        self.told: list[str] = []
        self._nodes, self._node = nodes, node
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._publish)

    def _publish(self) -> None:
        while not self._stopping.is_set():
            number = len(self.answers)
            ran = self._node.salt("*", "test.echo", f"job {number}", "--out=json", "--static")
            self.told += ran.stderr.splitlines()
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
