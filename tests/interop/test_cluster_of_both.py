"""Real minions of 3006.30 and 3008.5, and one of ours, behind HAProxy before three masters as one.

They see one master at one address: none of them notices whom it talks to, and when its node dies
it is served by another; real ones without a new sign-in.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import databases
import psutil
import pytest
from node_cluster import NODES, Nodes, kill_node, stored
from ports import free_ports

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually
from saltlite.transport.bus import unpack_event

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="there is no haproxy"),
    pytest.mark.timeout(400),
]

MINIONS = {"ours": OURS, "old": SALT_3006, "new": SALT_3008}

HAPROXY = """
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    balance leastconn
    default-server inter 300ms fall 1 rise 1 on-marked-down shutdown-sessions
"""


def part_of(name: str, port: int, targets: list[int]) -> str:
    """One port of the load balancer."""
    lines = [f"listen {name}", f"    bind 127.0.0.1:{port}"]
    lines += [f"    server n{n} 127.0.0.1:{target} check" for n, target in enumerate(targets)]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def balancing(path: Path, nodes: list[Cluster], publish_port: int, ret_port: int) -> Iterator[None]:
    path.write_text(
        HAPROXY
        + part_of("publish", publish_port, [node.publish_port for node in nodes])
        + part_of("requests", ret_port, [node.ret_port for node in nodes])
    )
    process = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(path)])
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        dsn = stack.enter_context(databases.database_of(server.place, "cluster"))
        found = Nodes(server, dsn, stack, minions=MINIONS)
        ports = free_ports(2)
        stack.enter_context(balancing(tmp_path / "haproxy.cfg", found.all, *ports))
        for node in found.all:
            for minion in node.minions:
                # A cluster's master tells its own publish port; the balancer's has to count.
                path = node.minion_dir(minion) / "minion"
                node.reconfigure(path, publish_port=ports[0], master_port=ports[1])
        found.start()
        yield found


def everyone(value: object) -> dict[str, object]:
    return dict.fromkeys(MINIONS, value)


def connected_to(node: Cluster) -> int:
    """How many connections the node's publish port has."""
    return sum(
        1
        for one in psutil.net_connections("tcp")
        if one.laddr
        and one.laddr.port == node.publish_port
        and one.status == psutil.CONN_ESTABLISHED
    )


def sign_ins(nodes: Nodes) -> list[object]:
    """Who has signed in, in the order in which it was said to all nodes."""
    rows = stored(nodes, "SELECT frame FROM events WHERE frame LIKE 'salt/auth%' ORDER BY at")
    return [unpack_event(frame).data["id"] for (frame,) in rows]


def test_real_minions_see_one_master(nodes: Nodes) -> None:
    for node in nodes.all:
        eventually(
            lambda node=node: nodes.answers(node) == everyone(True),  # type: ignore[misc]
            within_s=90,
            what="all answer at this node",
        )
    for node in nodes.all:
        ran = node.salt("*", "test.echo", "x", "--out=json", "--static")
        assert ran.json == everyone("x")
    # Killed: whoever was there comes to another node, where its session is known.
    before = sign_ins(nodes)
    victim = max(nodes.all, key=connected_to)
    assert connected_to(victim)
    kill_node(victim)
    left = [node for node in nodes.all if node is not victim]
    for node in left:
        eventually(
            lambda node=node: nodes.answers(node) == everyone(True),  # type: ignore[misc]
            within_s=90,
            what="all answer again",
        )
    # Real minions go on with their session; ours ask again wherever they connect anew.
    again = sign_ins(nodes)[len(before) :]
    assert set(again) <= {"ours"}
    logs = "".join(
        (node.root / name / "log").read_text() for node in nodes.all for name in node.minions
    )
    assert "serial" not in logs.lower()
    assert sorted(left[0].salt_run("cluster.status", "--out=json").json["nodes"]) == list(NODES)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", victim.ret_port)) != 0
