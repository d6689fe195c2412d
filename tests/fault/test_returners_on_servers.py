"""Returns on their way to a server that is killed, by a writer that is killed: all arrive.

SALTLITE_RETURNS says how many there are (1,000; 10,000 take some minutes).
"""

import multiprocessing
import os
import shutil
import signal
import time
from contextlib import closing, contextmanager
from pathlib import Path

import databases
import psycopg
import pytest
import returner_calls

from cluster import eventually
from saltlite.databases.spool import Spool
from saltlite.loader.returners import resolve
from saltlite.master.returnwriter import ReturnWriter

TOTAL = int(os.environ.get("SALTLITE_RETURNS", "1000"))
PUTTERS = 5
JOBS = 4
DEADLINE_S = 60 + TOTAL / 50
FORK = multiprocessing.get_context("fork")


@contextmanager
def postgres_server():
    if databases.postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with databases.postgres_server() as one:
        yield one, {"host": one.place, "user": "postgres", "db": "postgres"}


@contextmanager
def mariadb_server():
    pytest.importorskip("pymysql")
    if shutil.which("mariadbd") is None:
        pytest.skip("there is no MariaDB server")
    with databases.mariadb_server() as one:
        yield one, {"host": one.socket, "user": "root", "db": "mysql"}


SERVERS = {"returner.pgjsonb": postgres_server, "mysql": mariadb_server}


@pytest.fixture(params=SERVERS)
def world(request, tmp_path):
    """A server, and the configuration of a master that writes to it."""
    with SERVERS[request.param]() as (server, options):
        extra = {request.param: {**options, "create_tables": True}}
        context = returner_calls.context(tmp_path, extra)
        context.config.jobs.master_job_cache = ""
        context.writes_later = True
        yield server, request.param.rpartition(".")[2], context


def write_always(context, name):
    ReturnWriter(context.config, name)._write_always()


def put_returns(context, name, putter):
    returner = resolve(name, context)
    for number in range(putter, TOTAL, PUTTERS):
        jid, minion = identify(number)
        returner.call(
            "returner",
            {"id": minion, "jid": jid, "fun": "test.echo", "return": "x" * (number % 1000),
             "retcode": 0, "success": True},
        )  # fmt: skip
        time.sleep(0.001)


def identify(number):
    return f"2026010203040500000{number % JOBS}", f"m{number // JOBS}"


def start(target, *args):
    process = FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def kill_server(server):
    """SIGKILL: nothing is written at the end."""
    if isinstance(server, databases.MariaDB):
        server.kill()
        return
    pid_file = f"{server.place}/data/postmaster.pid"
    with open(pid_file) as file:
        pid = int(file.readline())
    with psycopg.connect(host=server.place, user="postgres") as db:
        children = [row[0] for row in db.execute("SELECT pid FROM pg_stat_activity").fetchall()]
    os.kill(pid, signal.SIGKILL)
    eventually(
        lambda: not any(os.path.exists(f"/proc/{one}") for one in children),
        within_s=30, what="the end of the server's processes",
    )  # fmt: skip
    os.unlink(pid_file)


def test_all_arrive_and_none_twice(world):
    server, name, context = world
    for jid in {identify(number)[0] for number in range(JOBS)}:
        resolve(name, context).call("save_load", jid, {"jid": jid, "fun": "test.echo"})
    writer = start(write_always, context, name)
    putters = [start(put_returns, context, name, number) for number in range(PUTTERS)]
    for _ in range(2):  # somewhere in the midst of the work, however far it has come
        time.sleep(0.5)
        kill_server(server)
        time.sleep(0.3)
        server.start()
        time.sleep(0.3)
        writer.kill()
        writer.join()
        writer = start(write_always, context, name)
    for one in putters:
        one.join(DEADLINE_S)
    assert [one.exitcode for one in putters] == [0] * PUTTERS
    with closing(Spool(Path(context.config.paths.cachedir), name)) as spool:
        eventually(lambda: spool.count() == 0, within_s=DEADLINE_S, what="an empty spool")
    writer.kill()
    writer.join()
    check(resolve(name, context))


def check(returner):
    expected = {}
    for number in range(TOTAL):
        jid, minion = identify(number)
        expected.setdefault(jid, {})[minion] = "x" * (number % 1000)
    assert sorted(returner.call("get_jids")) == sorted(expected)
    for jid, minions in expected.items():
        found = returner.call("get_jid", jid)
        assert {minion: ret["return"] for minion, ret in found.items()} == minions
    rows = returner.server.store().rows("SELECT count(*) FROM salt_returns")[0][0]
    assert rows >= TOTAL
    returner.server.store().close()
