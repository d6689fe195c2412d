"""States of databases do what real Salt's do, with servers of their own.

Recorded by ``tests/cases/record/database_states``. A test run foretells the changes of the real
one, where Salt's tells none; a failure gives the server's reason behind Salt's words.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import databases
import pytest
from isolated_states import ours
from repository import DATA, read_yaml
from state_cases import RUNS, answered, requests


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    if databases.postgres_programs() is None or shutil.which("psql") is None:
        pytest.skip("needs a PostgreSQL server")
    with databases.postgres() as place:
        yield place


def test_postgres_as_real_salt(postgres: str, tmp_path: Path) -> None:
    wrong = differences("postgres", postgres, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def mysql() -> Iterator[str]:
    needed = ("mariadbd", "mariadb-install-db", "mariadb")
    if any(shutil.which(name) is None for name in needed):
        pytest.skip("needs a MariaDB server")
    with databases.mariadb() as socket:
        yield socket


def test_mysql_as_real_salt(mysql: str, tmp_path: Path) -> None:
    wrong = differences("mysql", mysql, tmp_path)
    assert not wrong, "\n".join(wrong)


def converges(server: str, cases: list[tuple[str, dict[str, Any]]], tmp_path: Path) -> list[str]:
    """The cases that were not foretold, did not work, or were changed again by a second run."""
    declared = [{"state": state, "args": args} for state, args in cases]
    said = ours([request for case in declared for request in requests(case)], tmp_path)
    return [
        f"{case['state']} {case['args']}: {gives}"
        for case, found in zip(declared, answered(declared, said), strict=True)
        for gives in [found["gives"]]
        if not foretold(gives["test"], gives["first"])
        or gives["first"]["result"] is not True
        or not gives["first"]["changes"]
        or (gives["second"]["result"], gives["second"]["changes"]) != (True, {})
    ]


def test_postgres_where_salt_does_not_converge(postgres: str, tmp_path: Path) -> None:
    at = {"db_host": postgres, "db_user": "postgres"}
    inside = {**at, "maintenance_db": "own"}
    all_tables = {"name": "joe", "object_name": "ALL", "object_type": "table", "prepend": "own"}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("postgres_user.present", {"name": "joe", "password": "p", "encrypted": False, **at}),
        ("postgres_user.present", {"name": "eve", **at}),
        ("postgres_database.present", {"name": "own", "owner": "joe", **at}),
        ("postgres_schema.present", {"name": "own", "dbname": "own", "owner": "joe", **at}),
        ("postgres_extension.present", {"name": "pg_buffercache", "schema": "own", **inside}),
        ("postgres_database.present", {"name": "own", "owner": "eve", "owner_recurse": True, **at}),
        ("postgres_privileges.present", {**all_tables, "privileges": ["ALL"], **inside}),
        (
            "postgres_privileges.present",
            {**all_tables, "privileges": ["SELECT"], "grant_option": True, **inside},
        ),
        ("postgres_privileges.absent", {**all_tables, "privileges": ["SELECT"], **inside}),
    ]
    assert converges(postgres, cases, tmp_path) == []


def test_mysql_where_salt_does_not_converge(mysql: str, tmp_path: Path) -> None:
    at = {"connection_unix_socket": mysql, "connection_user": "root"}
    whole = {"database": "own.*", "user": "joe", **at}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("mysql_database.present", {"name": "own", "character_set": "utf8mb4", **at}),
        ("mysql_database.present", {"name": "own", "character_set": "latin1", **at}),
        ("mysql_user.present", {"name": "joe", "unix_socket": True, "allow_passwordless": True,
                                **at}),
        ("mysql_user.present", {"name": "joe", "password": "p", **at}),
        ("mysql_grants.present", {"name": "g", "grant": "select", **whole}),
        ("mysql_grants.present", {"name": "g", "grant": "select", "grant_option": True, **whole}),
        ("mysql_grants.present", {"name": "g", "grant": "insert", "revoke_first": True, **whole}),
        ("mysql_grants.absent", {"name": "g", "grant": "insert", **whole}),
    ]  # fmt: skip
    assert converges(mysql, cases, tmp_path) == []


def test_a_server_that_is_away_is_no_absence(tmp_path: Path) -> None:
    away = {"db_host": str(tmp_path), "db_user": "postgres", "user": "root"}
    gone = {"connection_unix_socket": str(tmp_path / "none"), "connection_user": "root"}
    said = ours(
        [
            {"state": state, "args": {"name": "joe", **where}, "test": False}
            for state, where in (("postgres_user.absent", away), ("mysql_user.absent", gone))
        ],
        tmp_path,
    )
    assert [answer["result"] for answer in said] == [False, False]
    assert [answer["changes"] for answer in said] == [{}, {}]


def differences(kind: str, server: str, tmp_path: Path) -> list[str]:
    """What is not as recorded, a line each."""
    recorded = read_yaml(DATA / "states" / f"{kind}.yaml")
    asked = [request for case in recorded for request in requests(case)]
    said = ours(json.loads(json.dumps(asked).replace("@SERVER", server)), tmp_path)
    return [
        f"{case['state']} {case['args']} {run}: {found['gives'][run]} for {wanted[run]}"
        for case, found in zip(recorded, answered(recorded, said), strict=True)
        for wanted in [case.get("ours", case)["gives"]]
        for run in RUNS
        if not agrees(run, found["gives"], wanted)
    ]


def agrees(run: str, gives: dict[str, Any], wanted: dict[str, Any]) -> bool:
    got, known = gives[run], wanted[run]
    if run == "test":
        return foretold(got, gives["first"])
    same = got["result"] is known["result"] and got["changes"] == known["changes"]
    return same and got["comment"].startswith(known["comment"])


def foretold(said: dict[str, Any], came: dict[str, Any]) -> bool:
    """Whether a test run told what then came; a failure needs not be foreseen."""
    if came["result"] is False:
        return said["result"] in (None, False)
    return said["result"] is (None if came["changes"] else True) and (
        said["changes"] == came["changes"]
    )
