"""The tables of a cluster: made once, by their owner, and of our version."""

from __future__ import annotations

import threading

import pytest

from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.membership import _wait_for_tables
from saltlite.errors import ConfigError, ServerAway


@pytest.fixture
def owner(empty: dict[str, str]) -> ClusterEngine:
    return ClusterEngine(empty, timeout_s=10)


def test_a_database_without_tables(owner: ClusterEngine) -> None:
    with pytest.raises(ConfigError, match=r"cluster\.join owner_dsn"):
        schema.check(owner)
    assert schema.install(owner) == 0
    schema.check(owner)
    assert schema.install(owner) == schema.VERSION
    owner.close()


@pytest.mark.parametrize(("found", "words"), [(0, "up to date"), (99, "update saltlite here")])
def test_tables_of_another_version(owner: ClusterEngine, found: int, words: str) -> None:
    schema.install(owner)
    owner.execute("UPDATE schema_version SET version = %s", [found])
    with pytest.raises(ConfigError, match=words):
        schema.check(owner)
    if found > schema.VERSION:
        with pytest.raises(ConfigError, match=words):
            schema.install(owner)
    owner.close()


def test_tables_of_an_older_version_are_brought_up_to_date(
    owner: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(schema, "VERSION", 1)
        assert schema.install(owner) == 0
    assert schema.install(owner) == 1
    schema.check(owner)
    assert owner.execute("SELECT count(*) FROM state_runs") == [(0,)]
    owner.close()


def test_two_who_install_at_once(empty: dict[str, str]) -> None:
    found: list[int] = []

    def install() -> None:
        engine = ClusterEngine(empty, timeout_s=30)
        found.append(schema.install(engine))
        engine.close()

    threads = [threading.Thread(target=install) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, schema.VERSION, schema.VERSION]


def test_the_role_of_the_nodes_changes_rows_and_no_tables(
    owner: ClusterEngine, empty: dict[str, str]
) -> None:
    role = f"rows-{empty['dbname']}"  # quoted by the server
    owner.execute(f'CREATE ROLE "{role}" LOGIN')
    try:
        schema.install(owner, role=role)
        rows = ClusterEngine({**empty, "user": role}, timeout_s=10)
        schema.check(rows)
        rows.execute("INSERT INTO target_sets VALUES (%b, %b)", [b"x", b"y"])
        rows.execute("SELECT nextval('return_places')")
        with pytest.raises(ServerAway, match="must be owner"):
            rows.execute("DROP TABLE jobs")
        rows.close()
    finally:
        owner.execute(f'DROP OWNED BY "{role}"')
        owner.execute(f'DROP ROLE "{role}"')
        owner.close()


def test_a_master_waits_for_a_server_and_for_nothing_else(
    owner: ClusterEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    schema.install(owner)
    looks: list[float] = []
    real_check = schema.check

    def check(engine: ClusterEngine) -> None:
        if len(looks) < 3:
            raise ServerAway("cluster engine away: refused")
        real_check(engine)

    monkeypatch.setattr(schema, "check", check)
    _wait_for_tables(owner, looks.append)
    assert len(looks) == 3
    assert [one.getMessage() for one in caplog.records] == [
        "cluster engine away: refused; this master starts as soon as it is there"
    ]
    owner.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(ConfigError, match="update saltlite here"):
        _wait_for_tables(owner, looks.append)
    assert len(looks) == 3
    owner.close()


def test_each_version_is_brought_up_to_date(
    owner: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 1)
        assert schema.install(owner) == 0
    owner.execute("INSERT INTO keys VALUES ('web1', 'accepted', 'PEM', 1)")
    with pytest.raises(ConfigError, match="up to date"):
        schema.check(owner)
    assert schema.install(owner) == 1
    schema.check(owner)
    assert owner.execute("SELECT id FROM keys") == [("web1",)]
    owner.close()
