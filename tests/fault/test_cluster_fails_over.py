"""PostgreSQL fails over to its synchronous standby while returns come: none is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import databases
import pytest

from cluster import eventually
from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.jobs import ClusterJobStore
from saltlite.cluster.nodes import register_node
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.errors import ServerAway
from saltlite.master.jobcache import ReturnRow, Stored

pytestmark = pytest.mark.skipif(
    databases.postgres_programs() is None, reason="there is no PostgreSQL server"
)

JID = "20260102030405000001"


@pytest.fixture
def pair() -> Iterator[tuple[databases.Postgres, databases.Postgres]]:
    """A primary and its synchronous standby."""
    with (
        databases.postgres_server(fsync=True) as primary,
        databases.standby_of(primary) as standby,
    ):
        yield primary, standby


def test_nothing_acknowledged_is_lost(
    pair: tuple[databases.Postgres, databases.Postgres], tmp_path: Path
) -> None:
    primary, standby = pair
    parameters = {
        "host": f"{primary.place},{standby.place}",
        "user": "postgres",
        "dbname": "postgres",
        "target_session_attrs": "read-write",
    }
    engine = ClusterEngine(parameters, timeout_s=3)
    schema.install(engine)
    register_node(engine, "a", "127.0.0.1")
    spool = JobSpool(tmp_path, most_bytes=1 << 30)
    shared = PostgresJobStore(engine, "a")
    store = ClusterJobStore(shared, spool, serves=True)
    store.new_job(JID, {"fun": "test.ping"}, ["m"])
    taken: list[str] = []
    stopping = threading.Event()

    def take() -> None:
        mine = ClusterEngine(parameters, timeout_s=3)
        spool = JobSpool(tmp_path, most_bytes=1 << 30)
        worker = ClusterJobStore(PostgresJobStore(mine, "a"), spool, serves=True)
        while not stopping.is_set():
            name = f"m{len(taken):06}"
            if worker.add_return(JID, name, {"return": name}) is Stored.NEW:
                taken.append(name)
        worker.close()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        eventually(lambda: len(taken) > 200, within_s=60)
        primary.stop()  # at once, as a crash
        before = len(taken)
        standby.promote()
        eventually(lambda: len(taken) > before + 500, within_s=60)
    finally:
        stopping.set()
        thread.join()
    kept = spool.count_waiting()
    while waiting := spool.read_new(500):
        rows = [row for _one, row in spool.read_rows(waiting, 1 << 30) if row is not None]
        outcomes = set(_bring_up(shared, rows))
        assert outcomes <= {Stored.NEW, Stored.REPEAT}
        spool.drop(waiting)
    found = shared.returned_ids(JID)
    assert set(taken) <= found
    assert len(found) - len(taken) <= 1  # one may have been committed when its answer was lost
    assert kept  # what came between was taken here
    store.close()
    primary.start()  # the fixture ends both


def _bring_up(shared: PostgresJobStore, rows: list[ReturnRow]) -> list[Stored]:
    def attempt() -> list[Stored] | None:
        try:
            return shared.add_rows(rows)
        except ServerAway:
            return None

    return eventually(attempt, within_s=30) or []
