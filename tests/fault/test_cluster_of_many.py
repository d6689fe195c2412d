"""Hundreds of simulated minions over three nodes: a job reaches all, every return is there.

``SALTLITE_CLUSTER_FLEET=1000`` for so many at each node; what it costs is printed (``pytest -s``).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import databases
import psutil
import pytest
from fleet import Fleet, cpu_s, fleet
from node_cluster import Nodes, stored

from cluster import Cluster, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(400),
]

EACH = int(os.environ.get("SALTLITE_CLUSTER_FLEET", "200"))
ROUNDS = 3


@pytest.fixture
def many() -> Iterator[tuple[Nodes, list[Fleet]]]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        dsn = stack.enter_context(databases.database_of(server.place, "cluster"))
        nodes = Nodes(server, dsn, stack)
        nodes.start()
        fleets = [
            stack.enter_context(fleet(node, EACH, f"--prefix=f{number}-"))
            for number, node in enumerate(nodes.all)
        ]
        # The simulator puts its keys into the directory of its node: an order for all nodes.
        eventually(
            lambda: (
                stored(nodes, "SELECT count(*) FROM keys WHERE state = 'accepted'")[0][0]
                >= 3 * EACH + 3
            ),
            what="all nodes know the keys",
        )
        yield nodes, fleets


def knows(node: Cluster) -> int:
    """How many simulated minions a node would ask."""
    found = node.salt("f*", "--preview-target", "--out=json").json
    return len(found or ())


def test_a_job_reaches_all_and_every_return_is_on_record(many: tuple[Nodes, list[Fleet]]) -> None:
    nodes, _fleets = many
    first, second, _third = nodes.all
    for node in (first, second):
        eventually(
            lambda node=node: knows(node) >= 3 * EACH,  # type: ignore[misc]
            within_s=60,
            what="this node knows all keys",
        )
        ran = node.salt("f*", "test.ping", "--out=json", "--static", "-t", "60", timeout_s=200)
        answered = {one for one, value in ran.json.items() if value is True}
        assert len(answered) == 3 * EACH
    print(measure(nodes))
    rows = stored(
        nodes,
        "SELECT returns.node, count(*) FROM returns JOIN jobs USING (jid) WHERE fun = 'test.ping' "
        "AND id LIKE 'f%' AND tgt = 'f*' GROUP BY returns.node ORDER BY 1",
    )
    jobs = 2 + ROUNDS
    assert rows == [(1, jobs * EACH), (2, jobs * EACH), (3, jobs * EACH)]


def measure(nodes: Nodes) -> str:
    """What a return costs the nodes and PostgreSQL once all know one another, and how long."""
    masters = [one for node in nodes.all for one in node.master.processes()]
    servers = [
        one
        for one in psutil.process_iter(["name"])
        if one.info["name"] == "postgres" and nodes.server.place in " ".join(one.cmdline())
    ]
    servers += [child for one in servers for child in one.children(recursive=True)]
    before, begun_s = (cpu_s(masters), cpu_s(servers)), time.monotonic()
    for _ in range(ROUNDS):
        ran = nodes.all[0].salt("f*", "test.ping", "--out=json", "--static", "-t", "60")
        assert sum(value is True for value in ran.json.values()) == 3 * EACH
    took_s = (time.monotonic() - begun_s) / ROUNDS
    returns = ROUNDS * 3 * EACH
    of_nodes, of_server = (
        round((after - start) * 1e6 / returns)
        for start, after in zip(before, (cpu_s(masters), cpu_s(servers)), strict=True)
    )
    return (
        f"{3 * EACH} minions at three nodes: test.ping {took_s:.2f} s; of a return {of_nodes} µs "
        f"of CPU in the nodes, {of_server} µs in PostgreSQL"
    )
