"""Events in bursts on a busy machine: what a process has fired reaches the server, once.

SALTLITE_EVENTS says how many there are (30,000; 150,000 take some minutes).
"""

import multiprocessing
import os
import time
from pathlib import Path

import databases
import psycopg
import pytest

from cluster import Cluster, eventually
from saltlite.loader.catalogue import RETURNERS
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventPusher

TOTAL = int(os.environ.get("SALTLITE_EVENTS", "30000"))
BURST = 15_000
FIRERS = 3
BURNERS = 4
DEADLINE_S = 120 + TOTAL / 200
FORK = multiprocessing.get_context("fork")
NAME = "pgjsonb"


@pytest.fixture(scope="module")
def server():
    if databases.postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with databases.postgres_server() as one:
        with connect(one) as db:
            db.execute(RETURNERS.load(NAME).SCHEMA)
        yield one


@pytest.fixture
def master(server):
    options = {
        "event_return": NAME,
        "event_return_whitelist": ["test/*"],
        "event_return_niceness": 10,
        f"returner.{NAME}": {"host": server.place, "user": "postgres", "db": "postgres"},
    }
    with Cluster(minions=0, master_options=options) as one:
        one.start()
        yield one


def connect(server):
    return psycopg.connect(host=server.place, user="postgres", autocommit=True)


def burn():
    while True:
        pass


def fire_burst(path: Path, first: int, numbers: int) -> None:
    """Fire and end at once: what has been accepted is to arrive all the same."""
    with EventPusher(path) as pusher:
        accepted = [pusher.fire(f"test/{n}", {"n": n}) for n in range(first, first + numbers)]
    os._exit(0 if all(accepted) else 1)


def start(target, *args):
    process = FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def fire(master: Cluster, first: int) -> None:
    """One burst of several processes."""
    path = MasterSockets(master.sock_dir).event_pull
    size = BURST // FIRERS
    firers = [start(fire_burst, path, first + size * n, size) for n in range(FIRERS)]
    for one in firers:
        one.join(DEADLINE_S)
    assert [one.exitcode for one in firers] == [0] * FIRERS


def kept(server, tag: str = "test/%") -> tuple[int, int]:
    with connect(server) as db:
        row = db.execute(
            "SELECT count(*), count(DISTINCT tag) FROM salt_events WHERE tag LIKE %s", (tag,)
        ).fetchone()
    return row[0], row[1]


def test_bursts_on_a_busy_machine_lose_nothing_and_double_nothing(master, server):
    busy = [start(burn) for _ in range(BURNERS)]
    try:
        for burst in range(TOTAL // BURST):
            # The file between may hold 100,000 for a server that is slower than the bus.
            eventually(
                lambda burst=burst: kept(server)[0] >= (burst - 3) * BURST,
                within_s=DEADLINE_S, what="the events of three bursts ago",
            )  # fmt: skip
            fire(master, burst * BURST)
        total = TOTAL // BURST * BURST
        eventually(lambda: kept(server)[1] == total, within_s=DEADLINE_S, what=f"{total} events")
    finally:
        for one in busy:
            one.kill()
    time.sleep(1.0)  # a second copy would come now
    assert kept(server) == (total, total)


def test_what_was_fired_just_before_a_stop_is_there_after_it(master, server):
    path = MasterSockets(master.sock_dir).event_pull
    firer = start(fire_burst, path, 10**6, 5000)
    firer.join(DEADLINE_S)
    assert firer.exitcode == 0
    assert master.master.stop() == 0
    master.start_master()
    eventually(
        lambda: kept(server, "test/1______") == (5000, 5000),
        within_s=DEADLINE_S, what="the last events",
    )  # fmt: skip
