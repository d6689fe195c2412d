"""What the minion does when something on its own event bus asks for it.

Source: docs/wire.md#events.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster import Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets, MinionSockets
from saltlite.transport.bus import EventPusher, EventSubscriber

DEADLINE_S = 15.0


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        yield cluster


def sockets_of(cluster: Cluster) -> MinionSockets:
    return MinionSockets(cluster.root / "m1" / "run", "m1")


def fire(cluster: Cluster, tag: str, data: dict[str, object]) -> None:
    pusher = EventPusher(sockets_of(cluster).event_pull)
    try:
        pusher.fire(tag, data)
    finally:
        pusher.close()


@pytest.mark.parametrize(
    ("tag", "answer"),
    [
        ("module_refresh", "/salt/minion/minion_mod_complete"),
        ("pillar_refresh", "/salt/minion/minion_pillar_refresh_complete"),
    ],
)
def test_a_refresh_says_when_it_is_done(pair: Cluster, tag: str, answer: str) -> None:
    with EventSubscriber(sockets_of(pair).event_pub, (answer,)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        fire(pair, tag, {"notify": True})
        event = bus.get(DEADLINE_S)
    assert event is not None
    assert event.tag == answer
    assert event.data["complete"] is True


def test_grains_are_collected_again(pair: Cluster) -> None:
    (pair.minion_dir("m1") / "grains").write_text("rack: r7\n")
    fire(pair, "grains_refresh", {})
    eventually(
        lambda: '"m1": true' in pair.salt("-G", "rack:r7", "test.ping", "--out=json").stdout,
        within_s=DEADLINE_S,
        what="the minion is found by its new grain",
    )


def test_an_event_is_handed_on_to_the_master(pair: Cluster) -> None:
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("myco/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        fire(pair, "fire_master", {"tag": "myco/deployed", "data": {"version": 7}})
        event = bus.get(DEADLINE_S)
    assert event is not None
    assert event.tag == "myco/deployed"
    assert event.data["data"] == {"version": 7}
    assert event.data["id"] == "m1"
