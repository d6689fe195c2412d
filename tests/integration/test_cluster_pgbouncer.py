"""PgBouncer between the nodes of a cluster and PostgreSQL, as docs/cluster.md says."""

from __future__ import annotations

import contextlib
import shutil

import databases
import pytest
from node_cluster import Nodes

from cluster import eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="there is no pgbouncer"),
    pytest.mark.timeout(300),
]


@pytest.mark.parametrize("mode, works", [("session", True), ("transaction", False)])
def test_a_pool_of_sessions_works_and_one_of_transactions_does_not(mode: str, works: bool) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        stack.enter_context(databases.database_of(server.place, "cluster"))
        place = stack.enter_context(databases.pgbouncer(server, "cluster", mode))
        dsn = f"host={place} port=6432 user=postgres dbname=cluster"
        nodes = Nodes(server, dsn, stack)
        nodes.start()
        everyone = {"m1": True, "m2": True, "m3": True}
        if works:
            for node in nodes.all:
                eventually(lambda node=node: nodes.answers(node) == everyone)  # type: ignore[misc]
            assert "engine away" not in nodes.logs()
        else:
            eventually(lambda: "prepared statement" in nodes.all[0].master.log())
