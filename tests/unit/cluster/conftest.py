"""A PostgreSQL server for the tests of a session, and a database with the tables for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import databases
import pytest

from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.nodes import register_node

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[databases.Postgres]:
    if databases.postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with databases.postgres_server() as one:
        yield one


@pytest.fixture
def empty(server: databases.Postgres) -> Iterator[dict[str, str]]:
    """A database without tables: parameters of a connection."""
    with databases.database_of(server.place, f"c{next(NUMBERS)}") as dsn:
        yield dict(part.split("=", 1) for part in dsn.split())


@pytest.fixture
def database(empty: dict[str, str]) -> dict[str, str]:
    """A database with the tables and two nodes, ``a`` and ``b``."""
    engine = ClusterEngine(empty, timeout_s=10)
    schema.install(engine)
    for node in ("a", "b"):
        register_node(engine, node, "127.0.0.1")
    engine.close()
    return empty


@pytest.fixture
def engine(database: dict[str, str]) -> Iterator[ClusterEngine]:
    one = ClusterEngine(database, timeout_s=10)
    yield one
    one.close()
