from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq
import zmq.asyncio

from saltlite.minion.bus import MinionBus, may_go_to_master
from saltlite.transport.addresses import MinionSockets, ipc
from saltlite.transport.bus import Event, EventPusher, EventSubscriber

JID = "20240102030405000678"


@pytest.mark.parametrize(
    "tag",
    [
        "myco/deploy",
        "minion_ping",
        "salty",
        "salt/minion/m1/start",
        "salt/beacon/m1/load/",
        "salt/audit/m1/clean",
        f"salt/job/{JID}/prog/m1/1",
        f"salt/job/{JID}/start/m1",
        f"salt/state_result/{JID}/m1/x",
    ],
)
def test_what_may_go_to_a_master(tag: str) -> None:
    assert may_go_to_master(tag, "m1")


@pytest.mark.parametrize(
    "tag",
    [
        "",
        "key",
        "minions",
        "new_job",
        JID,
        "syndic/x",
        "salt",
        "salt/auth",
        "salt/key",
        f"salt/job/{JID}/new",
        f"salt/job/{JID}/publish",
        f"salt/job/{JID}/ret/m1",
        f"salt/job/{JID}/prog/m2/1",
        f"salt/job/{JID}/prog/m1x/1",
        "salt/minion/m2/start",
        "salt/audit/m2/drift",
        "salt/audit/m1/drift/x",
        "salt/minion/m1",
        "salt/run/x/ret",
        "salt//job",
        "salt/./job",
        "SALT/job",
        "salt/cloud/x",
        "a\n\nb",
        "a\x00b",
        "x" * 257,
        5,
        None,
        ["a"],
        b"a",
    ],
)
def test_what_may_not(tag: object) -> None:
    assert not may_go_to_master(tag, "m1")


@pytest.fixture
def sockets() -> Iterator[MinionSockets]:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:  # socket paths are short
        yield MinionSockets(Path(directory), "m1")


def test_every_event_once_and_junk_does_no_harm(sockets: MinionSockets) -> None:
    heard: list[Event] = []

    async def live() -> None:
        context = zmq.asyncio.Context()
        bus = MinionBus(context, sockets, heard.append, max_event_bytes=1 << 20)
        serving = asyncio.create_task(bus.run())
        try:
            await asyncio.to_thread(talk)
            bus.fire("own", {"n": 2})
            bus.fire("not a tag" * 1000, {})
            await asyncio.to_thread(listen)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            bus.close()
            context.destroy(linger=0)

    subscriber = None

    def talk() -> None:
        nonlocal subscriber
        subscriber = EventSubscriber(sockets.event_pub)
        assert subscriber.connect_confirmed(10)
        with zmq.Context() as context, context.socket(zmq.PUSH) as push:
            push.connect(ipc(sockets.event_pull))
            for junk in (b"", b"\xff", b"tag", b"tag\n\n\x01", b"tag\n\n", b"\n\n\x80"):
                push.send(junk)
            push.send_multipart([b"a", b"b"])
        with EventPusher(sockets.event_pull) as pusher:
            assert pusher.fire("first", {"n": 1})
        event = subscriber.get(10)
        while event is not None and event.tag != "first":
            event = subscriber.get(10)
        assert event is not None

    def listen() -> None:
        assert subscriber is not None
        event = subscriber.get(10)
        assert event is not None
        assert (event.tag, event.data["n"]) == ("own", 2)
        subscriber.close()

    asyncio.run(live())
    assert [event.tag for event in heard] == ["first", "own"]
