"""What waits for other nodes and what comes from them is bounded in number and in bytes."""

from __future__ import annotations

import pytest

from saltlite.cluster import feeds, portions
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.feeds import EventExchange, ReturnFeed, ReturnPlaces, WaitingEvents
from saltlite.cluster.postgres_jobs import PostgresJobStore

JID = "20260102030405000001"


def test_the_oldest_events_go_beyond_so_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "WAIT_MOST", 3)
    waiting = WaitingEvents()
    assert [waiting.add(b"%d" % number) for number in range(5)] == [0, 0, 0, 1, 1]
    assert waiting.first(10) == [b"2", b"3", b"4"]
    waiting.drop(2)
    assert waiting.first(10) == [b"4"]


def test_the_oldest_events_go_beyond_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "WAIT_MOST_BYTES", 100)
    waiting = WaitingEvents()
    assert [waiting.add(b"x" * size) for size in (40, 60, 1, 99, 101, 100)] == [0, 0, 1, 1, 3, 0]
    assert list(map(len, waiting.first(10))) == [100]
    waiting.drop(1)
    assert not waiting
    assert [waiting.add(b"x" * 50) for _ in range(3)] == [0, 0, 1]  # what has gone is not counted


def test_events_leave_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "PORTION_BYTES", 100)
    waiting = WaitingEvents()
    for size in (40, 60, 1, 500, 1):
        waiting.add(b"x" * size)
    found = []
    while first := waiting.first(2):
        found.append([len(frame) for frame in first])
        waiting.drop(len(first))
    assert found == [[40, 60], [1], [500], [1]]


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (feeds, portions):
        monkeypatch.setattr(module, "PORTION_BYTES", 100)


@pytest.mark.usefixtures("small_portions")
def test_large_events_of_another_node_are_read_in_order(engine: ClusterEngine) -> None:
    reader = EventExchange(engine, "b", 2, ["*"])
    assert list(reader.read()) == []  # at the first look
    writer = EventExchange(engine, "a", 1, ["*"])
    frames = [b"salt/x\n\n" + b"%03d" % number * (number % 40) for number in range(100)]
    for at in range(0, 100, 7):
        writer.send(writer.give_places(frames[at : at + 7]))
    assert list(reader.read()) == frames
    assert list(reader.read()) == []


@pytest.mark.usefixtures("small_portions")
def test_large_returns_to_another_node_are_all_read(engine: ClusterEngine) -> None:
    feed = ReturnFeed(engine, 2, ReturnPlaces())
    assert list(feed.read()) == []
    returns = {f"m{number:02}": "x" * (number % 40 * 3) for number in range(50)}
    load = {"fun": "test.ping", "tgt": "*", "jid": JID}
    PostgresJobStore(engine, "b").new_job(JID, load, list(returns))
    other = PostgresJobStore(engine, "a")
    other.add_returns([(JID, one, {"return": value}) for one, value in returns.items()])
    found = list(feed.read())
    assert len(found) == 50
    assert {one.id: one.ret["return"] for one in found} == returns
    assert list(feed.read()) == []
