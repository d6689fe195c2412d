"""Hundreds of simulated minions over three nodes: a job reaches all, every return is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import databases
import pytest
from fleet import Fleet, fleet
from node_cluster import Nodes, stored

from cluster import Cluster, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(400),
]

EACH = 200


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
    rows = stored(
        nodes,
        "SELECT returns.node, count(*) FROM returns JOIN jobs USING (jid) WHERE fun = 'test.ping' "
        "AND id LIKE 'f%' AND tgt = 'f*' GROUP BY returns.node ORDER BY 1",
    )
    assert rows == [(1, 2 * EACH), (2, 2 * EACH), (3, 2 * EACH)]
