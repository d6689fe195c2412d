"""What is listed of servers of databases, applied to them, reports no change.

The servers are real ones, for this test alone; what is applied runs in namespaces of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import databases
import pytest
import yaml
from listed_world import in_world

ROLES = """
CREATE ROLE joe LOGIN CREATEDB PASSWORD 'hush' VALID UNTIL '2040-01-02 03:04:05+00';
CREATE ROLE "no word" LOGIN NOINHERIT;
CREATE ROLE staff CREATEROLE;
GRANT staff TO joe;
CREATE DATABASE shop OWNER joe;
CREATE DATABASE "a: {{ b }}" TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
"""
USERS = """
CREATE USER joe IDENTIFIED BY 'hush';
CREATE USER 'joe'@'10.%' IDENTIFIED BY 'other';
CREATE USER 'sock'@'localhost' IDENTIFIED VIA unix_socket;
CREATE USER 'open'@'localhost';
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE DATABASE `a{{ b }}` CHARACTER SET latin1;
"""


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if databases.postgres_programs() is None or shutil.which("psql") is None:
        pytest.skip("needs a PostgreSQL server")
    with databases.postgres() as place:
        asked = ["postgres_database", "postgres_group", "postgres_user"]
        grains = {"postgres.host": place, "postgres.user": "postgres"}
        psql = f"psql -q -v ON_ERROR_STOP=1 -h {place} -U postgres <<'END'\n{ROLES}END"
        yield listed(asked, grains, psql, tmp_path_factory.mktemp("postgres"))


@pytest.fixture(scope="module")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if any(shutil.which(name) is None for name in ("mariadbd", "mariadb-install-db", "mariadb")):
        pytest.skip("needs a MariaDB server")
    with databases.mariadb() as socket:
        asked = ["mysql_database", "mysql_user"]
        grains = {"mysql.unix_socket": socket, "mysql.user": "root"}
        client = f"mariadb --socket={socket} --user=root <<'END'\n{USERS}END"
        yield listed(asked, grains, client, tmp_path_factory.mktemp("mysql"))


def listed(types: list[str], grains: dict[str, str], script: str, work: Path) -> dict[str, Any]:
    """What is listed by type, with and without secrets."""
    lists = [(name, secrets) for name in types for secrets in (False, True)]
    asked = [{"list": name, "secrets": secrets} for name, secrets in lists]
    requests = [{"grains": grains}, {"run": script}, *asked]
    answers = in_world(requests, work / "namespace")[2:]
    names = [f"{name} secrets" if secrets else name for name, secrets in lists]
    return dict(zip(names, answers, strict=True))


def changed(found: Any) -> dict[str, Any]:
    assert "error" not in found, found
    ids = set(yaml.safe_load(found["text"]))
    assert ids == set(found["test"]) == set(found["real"])
    runs = {**found["test"], **found["real"]}
    return {name: one for name, one in runs.items() if one[0] is not True or one[1]}


def test_postgres(postgres: dict[str, Any]) -> None:
    assert {name: changed(found) for name, found in postgres.items()} == {
        name: {} for name in postgres
    }
    assert set(yaml.safe_load(postgres["postgres_database"]["text"])) == {
        "postgres_database postgres",
        "postgres_database shop",
        "postgres_database a: {{ b }}",
    }
    (said,) = yaml.safe_load(postgres["postgres_user"]["text"])["postgres_user joe"].values()
    assert {key: value for one in said for key, value in one.items()} == {
        "name": "joe",
        "createdb": True,
        "createroles": False,
        "superuser": False,
        "inherit": True,
        "replication": False,
        "groups": ["staff"],
        "valid_until": "2040-01-02 03:04:05+00",
    }
    assert list(yaml.safe_load(postgres["postgres_group"]["text"])) == ["postgres_group staff"]
    assert "SCRAM-SHA-256$" in postgres["postgres_user secrets"]["text"]
    assert "SCRAM-SHA-256$" not in postgres["postgres_user"]["text"]


def test_mysql(mysql: dict[str, Any]) -> None:
    assert {name: changed(found) for name, found in mysql.items()} == {name: {} for name in mysql}
    shown = yaml.safe_load(mysql["mysql_user secrets"]["text"])
    assert {f"mysql_user {name}" for name in ("joe@%", "joe@10.%", "sock@localhost",
                                              "open@localhost")} <= set(shown)  # fmt: skip
    assert "password_hash" in mysql["mysql_user secrets"]["text"]
    hidden = mysql["mysql_user"]["text"]
    assert "password_hash" not in hidden
    assert "# left out: mysql_user joe@%: its password is shown only with secrets=True" in hidden
    assert {"mysql_database shop", "mysql_database a{{ b }}"} == set(
        yaml.safe_load(mysql["mysql_database"]["text"])
    ) - {"mysql_database test"}
