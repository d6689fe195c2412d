"""Jobs, returns and events in PostgreSQL, from a real master; and what happens while it is away."""

import re
import time

import databases
import psycopg
import pytest

from cluster import Cluster, eventually
from saltlite.loader.catalogue import RETURNERS

pytestmark = pytest.mark.skipif(
    databases.postgres_programs() is None, reason="there is no PostgreSQL server"
)
NAME = "pgjsonb"


@pytest.fixture(scope="module")
def server():
    with databases.postgres_server() as one:
        with connect(one) as db:
            db.execute(RETURNERS.load(NAME).SCHEMA)
        yield one


@pytest.fixture(scope="module")
def world(server):
    options = {
        "master_job_cache": NAME,
        "event_return": NAME,
        "event_return_whitelist": ["salt/job/*/new", "test/*"],
        f"returner.{NAME}": {"host": server.place, "user": "postgres", "db": "postgres"},
    }
    with Cluster(minions=2, master_options=options) as one:
        yield one.start()


def connect(server):
    return psycopg.connect(host=server.place, user="postgres", autocommit=True)


def count(server, table, where="true", values=()):
    with connect(server) as db:
        return db.execute(f"SELECT count(*) FROM {table} WHERE {where}", values).fetchone()[0]


def run_job(world, fun="test.ping", *args):
    done = world.salt("*", fun, *args, "--show-jid", "--out=json", "--static")
    assert done.exit_code == 0, done.stderr
    return re.search(r"jid: (\d{20})", done.stdout + done.stderr)[1]


def test_runners_read_what_the_server_keeps(world, server):
    jid = run_job(world)
    listed = world.salt_run("jobs.list_job", jid, "--out=json").json
    assert sorted(listed["Result"]) == listed["Minions"] == ["m1", "m2"]
    assert jid in world.salt_run("jobs.list_jobs", "--out=json").json
    assert count(server, "salt_returns", "jid = %s", (jid,)) == 2
    eventually(
        lambda: count(server, "salt_events", "tag = %s", (f"salt/job/{jid}/new",)) == 1,
        within_s=10, what="the event",
    )  # fmt: skip


def test_nothing_waits_for_a_server_that_is_away_and_nothing_is_lost(world, server):
    run_job(world)
    server.stop()
    began = time.monotonic()
    jids = [run_job(world) for _ in range(3)]
    assert time.monotonic() - began < 20
    server.start()
    eventually(
        lambda: count(server, "salt_returns", "jid = ANY(%s)", (jids,)) == 6,
        within_s=60, what="all returns",
    )  # fmt: skip
    assert count(server, "jids", "jid = ANY(%s)", (jids,)) == 3


def test_a_locked_table_stops_nobody(world, server):
    with connect(server) as db, db.transaction():
        db.execute("LOCK TABLE salt_returns IN ACCESS EXCLUSIVE MODE")
        jid = run_job(world)
    eventually(
        lambda: count(server, "salt_returns", "jid = %s", (jid,)) == 2,
        within_s=30, what="the returns",
    )  # fmt: skip
