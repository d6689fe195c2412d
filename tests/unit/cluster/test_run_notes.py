"""A run on one node is seen, paused and ended from another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.run_notes import RUNS, RunNotesFeed
from saltlite.highstate import control

JID = "20260101000000000001"
OTHER = "20260101000000000002"


class Node:
    """A node's files, and its bridge's part."""

    def __init__(self, engine: ClusterEngine, cachedir: Path, number: int) -> None:
        self.cachedir = cachedir
        paths = SimpleNamespace(cachedir=str(cachedir))
        self.ctx: Any = SimpleNamespace(config=SimpleNamespace(paths=paths))
        self.feed = RunNotesFeed(engine, cachedir, number, lease_s=15)

    def begin(self, jid: str) -> None:
        path = self.cachedir / RUNS / jid
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"jid": jid, "pid": 1}))

    def end(self, jid: str) -> None:
        """As the run does at its end."""
        (self.cachedir / RUNS / jid).unlink()
        control.forget(self.ctx, jid)

    def runs(self) -> list[str]:
        folder = self.cachedir / RUNS
        return sorted(one.name for one in folder.iterdir()) if folder.exists() else []

    def said(self, jid: str = JID) -> dict[str, Any]:
        return control.pauses(self.ctx, jid)


Nodes = tuple[Node, Node]


@pytest.fixture
def nodes(engine: ClusterEngine, tmp_path: Path) -> Iterator[Nodes]:
    yield Node(engine, tmp_path / "a", 1), Node(engine, tmp_path / "b", 2)


def exchange(nodes: Nodes) -> None:
    for _ in range(2):
        for node in nodes:
            node.feed.exchange()


def test_a_run_is_seen_paused_and_resumed_from_another_node(nodes: Nodes) -> None:
    one, other = nodes
    one.begin(JID)
    exchange(nodes)
    assert other.runs() == [JID]
    control.say(other.ctx, JID, "state1", {"duration": 60})
    control.say(one.ctx, JID, "state2", {"kill": True})
    exchange(nodes)
    both = {"state1": {"duration": 60}, "state2": {"kill": True}}
    assert (one.said(), other.said()) == (both, both)
    control.say(other.ctx, JID, "state2", None)
    exchange(nodes)
    assert (one.said(), other.said()) == ({"state1": {"duration": 60}},) * 2
    control.say(one.ctx, JID, "state1", None)
    exchange(nodes)
    assert (one.said(), other.said()) == ({}, {})
    assert other.runs() == [JID]


def test_all_goes_with_the_run(nodes: Nodes, engine: ClusterEngine) -> None:
    one, other = nodes
    one.begin(JID)
    other.begin(OTHER)
    exchange(nodes)
    control.say(other.ctx, JID, "__all__", {"kill": True})
    exchange(nodes)
    one.end(JID)
    exchange(nodes)
    assert (one.runs(), other.runs()) == ([OTHER], [OTHER])
    assert (one.said(), other.said()) == ({}, {})
    other.end(OTHER)
    exchange(nodes)
    assert (one.runs(), other.runs()) == ([], [])
    assert engine.execute("SELECT 1 FROM runs") == []


def test_what_is_said_before_a_run_begins_is_there_when_it_does(nodes: Nodes) -> None:
    one, other = nodes
    control.say(other.ctx, JID, "__all__", {"kill": True})
    exchange(nodes)
    assert one.said() == {"__all__": {"kill": True}}
    one.begin(JID)
    exchange(nodes)
    one.end(JID)
    exchange(nodes)
    assert (one.said(), other.said(), other.runs()) == ({}, {}, [])


def test_a_run_of_a_dead_node_is_over(nodes: Nodes, engine: ClusterEngine) -> None:
    one, other = nodes
    other.begin(JID)
    exchange(nodes)
    assert one.runs() == [JID]
    engine.execute("UPDATE nodes SET beat = now() - interval '1 minute' WHERE node = 'b'")
    one.feed.exchange()
    assert one.runs() == []


def test_names_that_are_no_jids_are_passed_over(nodes: Nodes, engine: ClusterEngine) -> None:
    one, other = nodes
    engine.execute("INSERT INTO runs (jid, node, note) VALUES ('../x', 2, %b)", [b'{"a": 1}'])
    (other.cachedir / RUNS).mkdir(parents=True)
    (other.cachedir / RUNS / "7").write_text('{"a": 1}')
    exchange(nodes)
    assert one.runs() == []


def test_after_an_outage_no_run_is_taken_for_over(engine: ClusterEngine, tmp_path: Path) -> None:
    one, two = Node(engine, tmp_path / "a", 1), Node(engine, tmp_path / "b", 2)
    one.begin(JID)
    exchange((one, two))
    control.say(two.ctx, JID, "here", {"duration": 5})
    exchange((one, two))
    engine.execute("UPDATE nodes SET beat = beat - interval '1 minute'")
    two.feed._may_judge = lambda: False
    two.feed.exchange()
    assert two.runs() == [JID]
    assert "here" in two.said()
    two.feed._may_judge = lambda: True
    two.feed.exchange()
    assert two.runs() == []
