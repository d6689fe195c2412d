"""What comes from other nodes is read in portions, and all of it."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.cluster import feeds, portions
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.feeds import EventExchange, ReturnFeed, ReturnPlaces
from saltlite.cluster.postgres_jobs import PostgresJobStore

JID = "20260102030405000001"


@pytest.fixture
def statements(engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine is asked; a portion is small."""
    monkeypatch.setattr(portions, "PORTION_BYTES", 100)
    asked: list[str] = []
    execute = engine.execute

    def note(statement: str, *values: Any) -> Any:
        asked.append(statement)
        return execute(statement, *values)

    monkeypatch.setattr(engine, "execute", note)
    return asked


def test_large_events_of_another_node_are_read_in_order(
    engine: ClusterEngine, statements: list[str]
) -> None:
    reader = EventExchange(engine, "b", 2, ["*"])
    assert list(reader.read()) == []  # at the first look
    writer = EventExchange(engine, "a", 1, ["*"])
    frames = [b"salt/x\n\n" + b"%03d" % number * (number % 40) for number in range(100)]
    for at in range(0, 100, 7):
        writer.send(writer.give_places(frames[at : at + 7]))
    assert list(reader.read()) == frames
    assert statements.count(feeds._NEW_EVENTS) > 20
    assert list(reader.read()) == []


def test_large_returns_to_another_node_are_all_read(
    engine: ClusterEngine, statements: list[str]
) -> None:
    feed = ReturnFeed(engine, 2, ReturnPlaces())
    assert list(feed.read()) == []
    returns = {f"m{number:02}": "x" * (number % 40 * 3) for number in range(50)}
    load = {"fun": "test.ping", "tgt": "*", "jid": JID}
    PostgresJobStore(engine, "b").new_job(JID, load, list(returns))
    other = PostgresJobStore(engine, "a")
    other.add_returns([(JID, one, {"return": value}) for one, value in returns.items()])
    found = list(feed.read())
    assert statements.count(feeds._NEW_RETURNS) > 10
    assert len(found) == 50
    assert {one.id: one.ret["return"] for one in found} == returns
    assert list(feed.read()) == []
