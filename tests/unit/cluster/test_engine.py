"""The connection to the cluster's PostgreSQL: what it is told, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import databases
import psycopg
import pytest

from saltlite.cluster.engine import ClusterEngine, clean_text, fetch, read_parameters
from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.errors import ConfigError, RecordRefused, ServerAway


def config(tmp_path: Path, text: str) -> MasterConfig:
    (tmp_path / "master").write_text(f"id: node1\nroot_dir: {tmp_path}\n{text}")
    return load_master(tmp_path, environ={})


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("", {}),
        ("host=/run/postgresql dbname=salt", {"host": "/run/postgresql", "dbname": "salt"}),
        ("host=127.0.0.1,::1", {"host": "127.0.0.1,::1"}),
        ("host=db1", {"host": "db1", "sslmode": "verify-full"}),
        ("postgresql://u@127.0.0.1,db2/salt", {"sslmode": "verify-full", "user": "u"}),
        ("host=10.0.0.7 sslmode=require", {"host": "10.0.0.7", "sslmode": "require"}),
        ("host=db1 sslrootcert=/ca.pem", {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}),
    ],
)
def test_beyond_this_machine_the_server_proves_who_it_is(
    tmp_path: Path, dsn: str, expected: dict[str, str]
) -> None:
    found = read_parameters(config(tmp_path, f"cluster_dsn: '{dsn}'\n"))
    assert expected.items() <= found.items()
    assert ("sslmode" in found) == ("sslmode" in expected)
    assert found["target_session_attrs"] == "read-write"
    assert found["application_name"] == "saltlite node1"


def test_what_the_string_lacks_comes_from_the_returners_options(tmp_path: Path) -> None:
    text = "returner.postgres.host: db3\nreturner.postgres.passwd: pw\nreturner.postgres.user: x\n"
    found = read_parameters(config(tmp_path, text + "cluster_dsn: user=salt\n"))
    assert (found["host"], found["password"], found["user"]) == ("db3", "pw", "salt")
    assert found["sslmode"] == "verify-full"


def test_a_string_that_is_none_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameters(config(tmp_path, "cluster_dsn: 'password=s3cr3t nonsense'\n"))
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o640, None])
def test_a_password_file_is_private(tmp_path: Path, mode: int | None) -> None:
    path = tmp_path / "pass"
    if mode is not None:
        path.touch()
        path.chmod(mode)
    given = config(tmp_path, f"cluster_dsn: 'passfile={path}'\n")
    if mode == 0o600:
        assert read_parameters(given)["passfile"] == str(path)
        return
    with pytest.raises(ConfigError, match="passfile"):
        read_parameters(given)


# --- with a server ---------------------------------------------------------------------------


def test_statements_and_transactions(engine: ClusterEngine) -> None:
    assert engine.execute("SELECT %s::int + 1, %b::bytea", [1, b"\0x"]) == [(2, b"\0x")]
    engine.execute("CREATE TABLE t (n int PRIMARY KEY)")

    def fail(transaction: Any) -> None:
        fetch(transaction, "INSERT INTO t VALUES (1)")
        raise KeyError

    with pytest.raises(KeyError):
        engine.transact(fail)
    assert engine.execute("SELECT * FROM t") == []
    engine.transact(lambda transaction: fetch(transaction, "INSERT INTO t VALUES (2)"))
    assert engine.execute("SELECT * FROM t") == [(2,)]
    with pytest.raises(RecordRefused):
        engine.execute("INSERT INTO t VALUES (2)")
    assert engine.opened == 1


def test_texts_that_postgresql_does_not_take(engine: ClusterEngine) -> None:
    for text in ("a\0b", "\ud800x"):
        assert engine.execute("SELECT %s::text", [clean_text(text)])[0][0] != ""
        with pytest.raises(RecordRefused):
            engine.execute("SELECT %s::text", [text])
    assert clean_text("grün") == "grün"


def test_a_connection_that_the_server_ended_is_opened_anew(
    engine: ClusterEngine, database: dict[str, str]
) -> None:
    pid = engine.execute("SELECT pg_backend_pid()")[0][0]
    other = ClusterEngine(database, timeout_s=10)
    other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    other.close()
    assert engine.execute("SELECT 1") == [(1,)]
    assert engine.opened == 2


def test_a_server_that_does_not_answer_counts_as_away(database: dict[str, str]) -> None:
    engine = ClusterEngine(database, timeout_s=0.3)
    begun_s = time.monotonic()
    with pytest.raises(ServerAway, match=r"no answer within 0\.3 s"):
        engine.execute("SELECT pg_sleep(20)")
    assert time.monotonic() - begun_s < 5
    time.sleep(0.2)
    assert engine.execute("SELECT 1") == [(1,)]
    engine.close()


def test_a_server_that_is_away_is_asked_again_after_a_pause() -> None:
    now = [0.0]
    engine = ClusterEngine(
        {"host": "/nonexistent", "connect_timeout": 2},
        timeout_s=1,
        jitter=lambda: 0.5,
        steady_s=lambda: now[0],
    )
    with pytest.raises(ServerAway) as first:
        engine.execute("SELECT 1")
    begun_s = time.monotonic()
    for _ in range(1000):
        with pytest.raises(ServerAway) as again:
            engine.execute("SELECT 1")
    assert time.monotonic() - begun_s < 1
    assert str(again.value) == str(first.value)
    assert engine._next_attempt_s == pytest.approx(0.1)
    for _ in range(9):
        now[0] = engine._next_attempt_s
        with pytest.raises(ServerAway):
            engine.execute("SELECT 1")
    assert engine._next_attempt_s - now[0] == pytest.approx(5.0)


def test_a_child_leaves_the_parents_connection_alone(engine: ClusterEngine) -> None:
    pid = engine.execute("SELECT pg_backend_pid()")[0][0]
    child = os.fork()
    if not child:
        own = engine.execute("SELECT pg_backend_pid()")[0][0]
        os._exit(own == pid)
    assert os.waitpid(child, 0)[1] == 0
    assert engine.execute("SELECT pg_backend_pid()") == [(pid,)]


def test_what_is_heard_while_statements_run(
    engine: ClusterEngine, database: dict[str, str]
) -> None:
    engine.execute("LISTEN one")
    engine.execute("LISTEN two")
    assert engine.take_notices() == set()
    other = ClusterEngine(database, timeout_s=10)
    other.execute("NOTIFY one")
    engine.execute("SELECT 1")
    other.execute("NOTIFY two")
    heard: set[str] = set()
    while heard != {"one", "two"}:
        heard |= engine.take_notices()
    other.close()


def test_of_several_hosts_the_one_that_answers(
    server: databases.Postgres, database: dict[str, str]
) -> None:
    hosts = {**database, "host": f"/nonexistent,{server.place}"}
    engine = ClusterEngine({**hosts, "target_session_attrs": "read-write"}, timeout_s=10)
    assert engine.execute("SELECT 1") == [(1,)]
    engine.close()


def test_transactions_that_block_one_another_are_repeated(
    engine: ClusterEngine, database: dict[str, str]
) -> None:
    engine.execute("CREATE TABLE t (n int PRIMARY KEY, v int)")
    engine.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
    meet = threading.Barrier(2, timeout=20)
    tries = []

    def add(first: int, second: int) -> None:
        mine = ClusterEngine(database, timeout_s=10)

        def work(transaction: psycopg.Connection[Any]) -> None:
            tries.append(first)
            fetch(transaction, "UPDATE t SET v = v + 1 WHERE n = %s", [first])
            if tries.count(first) == 1:
                meet.wait()
            fetch(transaction, "UPDATE t SET v = v + 1 WHERE n = %s", [second])

        mine.transact(work)
        mine.close()

    threads = [threading.Thread(target=add, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.execute("SELECT sum(v) FROM t") == [(4,)]
    assert len(tries) == 3


def test_a_stopped_server_process_is_not_waited_for(database: dict[str, str]) -> None:
    engine = ClusterEngine(database, timeout_s=0.3)
    pid = engine.execute("SELECT pg_backend_pid()")[0][0]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerAway, match="no answer"):
            engine.execute("SELECT 1")
    finally:
        os.kill(pid, signal.SIGCONT)
    engine.close()


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("53100", ServerAway),  # the server's disk is full
        ("53300", ServerAway),  # it has no connection left
        ("57P01", ServerAway),  # it is being stopped
        ("25006", ServerAway),  # it has become a standby
        ("42501", ServerAway),  # a right is missing
        ("22021", RecordRefused),
        ("23502", RecordRefused),
        ("54000", RecordRefused),
    ],
)
def test_what_the_server_says_and_what_it_means(
    engine: ClusterEngine, state: str, error: type[Exception]
) -> None:
    statement = f"DO $$ BEGIN RAISE EXCEPTION 'said so' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(error, match="said so"):
        engine.execute(statement)
    time.sleep(0.2)
    assert engine.execute("SELECT 1") == [(1,)]
    # What may be another tomorrow, perhaps at another host, is asked of a new connection.
    assert engine.opened == (2 if error is ServerAway else 1)
