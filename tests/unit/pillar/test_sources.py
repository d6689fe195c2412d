"""Pillar out of databases, from real servers; the values are those of real Salt 3006.30."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.pillar import external

CASES = DATA / "pillar"
SCHEMA = (CASES / "sql.sql").read_text()
DEADLINE_S = 20.0
NOBODY = 65534
EVIL = "web1' OR '1'='1"


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((CASES / name).read_text())
    return loaded


def compiled(source: str, argument: Any, minion_id: str = "web1", **options: Any) -> Any:
    """What a source gives, as JSON: keys are text there."""
    plain = MinionConfig()
    config = replace(plain, identity=replace(plain.identity, id=minion_id), extra=options)
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    try:
        return json.loads(json.dumps(external.ask(ctx, source, argument, {})))
    except external.ExternalFailed as error:
        return {"_errors": [f"Failed to load ext_pillar {source}: {error}"]}


def listens(place: str | tuple[str, int]) -> bool:
    kind = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET
    with socket.socket(kind) as connection:
        return connection.connect_ex(place) == 0


def wait_until_listening(server: subprocess.Popen[bytes], place: str | tuple[str, int]) -> None:
    until_s = time.monotonic() + DEADLINE_S
    while not listens(place):
        assert server.poll() is None, "the server has ended"
        assert time.monotonic() < until_s, "the server does not listen"
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.02)


# --- SQLite ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("sqlite") / "a b?.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    connection.close()
    return {"sqlite3": {"database": str(path)}}


@pytest.mark.parametrize("case", cases("sql.json"), ids=lambda case: json.dumps(case["argument"]))
def test_rows_of_sqlite(case: dict[str, Any], database: dict[str, Any]) -> None:
    assert compiled("sqlite3", case["argument"], **database) == case["pillar"]


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    options = {"sqlite3": {"database": str(tmp_path / "none.db")}}
    (error,) = compiled("sqlite3", ["SELECT 1, ?"], **options)["_errors"]
    assert error.startswith("Failed to load ext_pillar sqlite3: ")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"depth": "2"}, "depth is '2', not a number from 0"),
        ({"depth": -1}, "depth is -1, not a number from 0"),
        ({"with_lists": 1}, "with_lists is 1, not a list of numbers"),
        ({"with_lists": "a"}, "with_lists is 'a', not a list of numbers"),
    ],
)
def test_a_query_that_is_formed_wrong_is_one_line(
    query: dict[str, Any], error: str, database: dict[str, Any]
) -> None:
    found = compiled("sqlite3", [{"query": "SELECT 1, ?", **query}], **database)
    assert found == {"_errors": [f"Failed to load ext_pillar sqlite3: {error}"]}


def test_no_id_is_part_of_a_statement(database: dict[str, Any]) -> None:
    query = "SELECT a, b FROM users WHERE id = ?"
    assert compiled("sqlite3", [query], EVIL, **database) == {}


# --- PostgreSQL --------------------------------------------------------------------------------


def postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found and shutil.which("psql") else None


@pytest.fixture(scope="module")
def postgres() -> Iterator[dict[str, Any]]:
    """A server on a socket alone, as another user where we are root: it refuses to be root."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL here")
    made = subprocess.run(["mktemp", "-d", "/tmp/pg.XXXXXX"], capture_output=True, check=True)
    where = Path(made.stdout.decode().strip())
    account: dict[str, Any] = {}
    if os.getuid() == 0:
        os.chown(where, NOBODY, NOBODY)
        account = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        options = ["-U", "salt", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [programs / "initdb", "-D", where / "data", *options],
            check=True,
            capture_output=True,
            cwd=where,
            **account,
        )
        settings = [f"unix_socket_directories={where}", "listen_addresses=", "fsync=off"]
        words = [word for one in settings for word in ("-c", one)]
        with subprocess.Popen(
            [programs / "postgres", "-D", where / "data", *words],
            stderr=subprocess.DEVNULL,
            cwd=where,
            **account,
        ) as server:
            try:
                wait_until_listening(server, str(where / ".s.PGSQL.5432"))
                fill(where)
                yield {"postgres": {"host": str(where), "db": "postgres"}}
            finally:
                server.terminate()
                server.wait(DEADLINE_S)
    finally:
        shutil.rmtree(where)


def fill(where: Path) -> None:
    """Once the server takes queries: it listens a moment before that."""
    until_s = time.monotonic() + DEADLINE_S
    command = ["psql", "-X", "-q", "-h", str(where), "-U", "salt", "-v", "ON_ERROR_STOP=1"]
    while True:
        done = subprocess.run([*command, "postgres"], input=SCHEMA.encode(), capture_output=True)
        if done.returncode == 0:
            return
        assert b"starting up" in done.stderr, done.stderr
        assert time.monotonic() < until_s


# the forms are the same code, so a part of the cases will do
@pytest.mark.parametrize(
    "case", cases("sql.json")[::6], ids=lambda case: json.dumps(case["argument"])
)
def test_rows_of_postgres(case: dict[str, Any], postgres: dict[str, Any]) -> None:
    argument, expected = json.loads(
        json.dumps([case["argument"], case["pillar"]])
        .replace("?", "%s")
        .replace("ext_pillar sqlite3", "ext_pillar postgres")
    )
    assert compiled("postgres", argument, **postgres) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            {
                "query": "SELECT id, 1 AS i, 2.5 AS f, true AS b, null AS n, '{1,2}'::int[] AS l,"
                " '2020-01-02'::date AS d, '{\"z\": 1,\n\"a\": [{}]}'::json AS j FROM users"
                " WHERE id = %s;",
                "depth": 1,
            },
            {
                "web1": {
                    "i": 1,
                    "f": 2.5,
                    "b": True,
                    "n": None,
                    "l": [1, 2],
                    "d": "2020-01-02",
                    "j": {"z": 1, "a": [{}]},
                }
            },
        ),
        ("SELECT a, b FROM users WHERE id LIKE %s AND b LIKE 't%%' -- and", {"x": "two"}),
        ("SELECT a, b FROM users WHERE id = %s AND %s = id AND b = 'two'", {"x": "two"}),
        ("SELECT '1', 2", {"1": 2}),
        ("SELECT a, b FROM users WHERE b LIKE 't%'", {}),
    ],
)
def test_what_postgres_alone_has(query: Any, expected: Any, postgres: dict[str, Any]) -> None:
    assert compiled("postgres", [query], **postgres) == expected


@pytest.mark.parametrize("evil", [EVIL, "\\echo x", "web1');--", "web1\\'); drop table users; --"])
def test_no_id_is_part_of_a_statement_of_postgres(evil: str, postgres: dict[str, Any]) -> None:
    query = "SELECT 'you', %s::text"
    assert compiled("postgres", [query], evil, **postgres) == {"you": evil}


def test_no_server_is_one_line_without_the_password(tmp_path: Path) -> None:
    if postgres_programs() is None:
        pytest.skip("there is no PostgreSQL here")
    options = {"postgres": {"host": str(tmp_path), "pass": "s3cr3t"}}
    (error,) = compiled("postgres", ["SELECT 1, %s"], **options)["_errors"]
    assert error.startswith("Failed to load ext_pillar postgres: psql: error: connection")
    assert "\n" not in error
    assert "s3cr3t" not in error


# --- Redis -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server here")
    where = tmp_path_factory.mktemp("redis")
    path = os.path.relpath(where / "socket")
    words = ["--port", "0", "--unixsocket", str(where / "socket"), "--save", ""]
    with subprocess.Popen(
        ["redis-server", *words, "--requirepass", "s3cr3t", "--dir", str(where)],
        stdout=subprocess.DEVNULL,
    ) as server:
        try:
            wait_until_listening(server, path)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                lines = (CASES / "redis.txt").read_bytes()
                connection.sendall(b"AUTH s3cr3t\n" + lines + b"QUIT\n")
                while connection.recv(4096):
                    pass
            yield {"redis.unix_socket_path": path, "redis.password": "s3cr3t"}
        finally:
            server.terminate()
            server.wait(DEADLINE_S)


@pytest.mark.parametrize("case", cases("redis.json"), ids=json.dumps)
def test_keys_of_redis(case: dict[str, Any], redis: dict[str, Any]) -> None:
    options = {**redis, **case.get("options", {})}
    found = compiled("redis", case["argument"], case["id"], **options)
    assert found == case["pillar"]


def test_a_wrong_password_is_not_told(redis: dict[str, Any]) -> None:
    found = compiled("redis", "key_value", "str", **{**redis, "redis.password": "wr0ng"})
    (error,) = found["_errors"]
    assert error.startswith("Failed to load ext_pillar redis: WRONGPASS ")
    assert "wr0ng" not in error


def test_no_redis_server_is_one_line(tmp_path: Path) -> None:
    options = {"redis.unix_socket_path": str(tmp_path / "none")}
    found = compiled("redis", "key_value", **options)
    assert found == {
        "_errors": ["Failed to load ext_pillar redis: [Errno 2] No such file or directory"]
    }
