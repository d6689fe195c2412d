"""Returns of a minion to a server that is away: they are there when it is back, each once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import databases
import psycopg
import pytest

from cluster import Cluster, eventually
from saltlite.databases.spool import Spool
from saltlite.loader.catalogue import RETURNERS

pytestmark = pytest.mark.skipif(
    databases.postgres_programs() is None, reason="there is no PostgreSQL server"
)
NAME = "pgjsonb"
WITHIN_S = 60


@pytest.fixture
def server() -> Iterator[databases.Postgres]:
    with databases.postgres_server() as one:
        with connect(one) as db:
            db.execute(RETURNERS.load(NAME).SCHEMA)
        yield one


@pytest.fixture
def cluster(server: databases.Postgres) -> Iterator[Cluster]:
    options = {
        "return": NAME,
        "returners_retry_interval": 1,
        f"returner.{NAME}": {"host": server.place, "user": "postgres", "db": "postgres"},
    }
    with Cluster(minions=1, minion_options=options) as one:
        yield one.start()


def connect(server: databases.Postgres) -> Any:
    return psycopg.connect(host=server.place, user="postgres", autocommit=True)


def kept(server: databases.Postgres) -> list[tuple[str, Any]]:
    """The jid and the value of each return, in the order in which they were written."""
    with connect(server) as db:
        return db.execute(
            "SELECT jid, return FROM salt_returns WHERE fun = 'test.echo' ORDER BY ctid"
        ).fetchall()


def echo(cluster: Cluster, value: str) -> str:
    """Run a job, which answers the master whether the server is there or not; its jid."""
    done = cluster.salt("m1", "test.echo", value, "--out=json", "--static", "--show-jid")
    assert done.exit_code == 0, done.stderr
    said = done.stdout + done.stderr
    assert json.dumps(value) in said
    return said.partition("jid: ")[2].split()[0]


def test_returns_reach_a_server_that_comes_back(
    cluster: Cluster, server: databases.Postgres
) -> None:
    jids = [(echo(cluster, "before"), "before")]
    eventually(lambda: kept(server) == jids, within_s=WITHIN_S, what="the first return")
    server.stop()
    jids += [(echo(cluster, value), value) for value in ("one", "two", "three")]
    (file,) = (cluster.root / "m1").rglob(f"{NAME}.sqlite")
    spool = Spool(file.parent.parent, NAME)
    eventually(lambda: spool.count() == 3, within_s=WITHIN_S, what="three returns on disk")
    # The minion is started again meanwhile: what waits is on disk.
    assert cluster.minions["m1"].stop() == 0
    cluster.minions["m1"].start()
    cluster.wait_for_ping("m1")
    server.start()
    eventually(
        lambda: len(kept(server)) >= len(jids), within_s=WITHIN_S, what="the returns that waited"
    )
    eventually(lambda: spool.count() == 0, within_s=WITHIN_S, what="an empty spool")
    spool.close()
    assert kept(server) == jids
    assert "is away; " in cluster.minions["m1"].log()
