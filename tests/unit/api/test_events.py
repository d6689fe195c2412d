"""One reader, one encoding, bounded queues; and websockets over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import zmq
from tornado.websocket import websocket_connect

from saltlite.api import events, limits
from saltlite.api.app import App
from saltlite.api.events import EventFeed, EventStream, JobOwners, StreamChunk, Wakeup
from saltlite.api.messages import HttpError
from saltlite.api.negotiation import encode_json
from saltlite.api.options import ServerOptions
from saltlite.api.server import ApiServer
from saltlite.transport.bus import Event, pack_event

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


class Master:
    """As much of a MasterClient as streams need."""

    def __init__(self, feed: EventFeed) -> None:
        self.feed = feed

    def require_master(self) -> None:
        """It is always there."""


def feed() -> EventFeed:
    return EventFeed(Path("/nowhere"), zmq.Context.instance())


def chunk(number: int = 0, size: int = 1) -> StreamChunk:
    return StreamChunk.of(Event(f"salt/x/{number}", {"a": "x" * size}))


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 20))  # type: ignore[arg-type]


def test_a_real_salt_master_may_come_later_and_go(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("bus") / "pub.ipc"

    async def serve_once(feed: EventFeed, connections: int) -> None:
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
            one.listen()
            feed.follow_master()
            assert feed.is_salts
            assert feed.connections == connections
            probe, peer = one.accept()[0], one.accept()[0]
            probe.close()
            peer.close()

    async def work() -> None:
        feed = EventFeed(path, zmq.Context.instance())
        feed.open()
        feed.follow_master()
        assert (feed.is_salts, feed.connections) == (False, 0)
        await serve_once(feed, 1)
        await serve_once(feed, 2)
        feed.close()

    run(work)


def test_an_event_is_one_block_whatever_is_in_it() -> None:
    one = StreamChunk.of(Event("salt/a\nb", {"x": b"\xff", "y": "l1\nl2"}))
    assert one.sse.startswith(b"tag: salt/a b\ndata: {")
    assert one.sse.endswith(b"}\n\n")
    assert one.sse.count(b"\n") == 3
    assert json.loads(one.text[6:]) == {"data": {"x": "\ufffd", "y": "l1\nl2"}, "tag": "salt/a\nb"}


def test_who_waits_is_woken_and_who_comes_later_waits() -> None:
    async def work() -> None:
        wakeup = Wakeup()
        wakeup.give()  # nobody waits: nothing is kept of it
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wakeup.wait(20), 0.05)
        asyncio.get_running_loop().call_soon(wakeup.give)
        await wakeup.wait(20)
        await wakeup.wait(0.01)

    run(work)


def test_streams_share_what_they_send() -> None:
    async def work() -> None:
        source = feed()
        first, second = EventStream(source), EventStream(source)
        one = chunk()
        for stream in source.streams:
            stream.put(one)
        assert (await first.next(1)) is (await second.next(1)) is one

    run(work)


def test_an_event_is_encoded_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []

    def encode(value: object) -> bytes:
        encoded.append(value)
        return encode_json(value)

    monkeypatch.setattr(events, "encode_json", encode)
    frame = pack_event("salt/x", {"a": 1}, datetime.now(timezone.utc), max_bytes=10_000)

    async def work() -> None:
        source = feed()
        streams = [EventStream(source) for _ in range(limits.STREAMS_MOST)]
        source._dispatch(frame)
        chunks = [await stream.next(1) for stream in streams]
        assert len({id(chunk) for chunk in chunks}) == 1
        assert chunks[0] is not None
        assert chunks[0].sse.startswith(b"tag: salt/x\n")

    run(work)
    assert len(encoded) == 1


@pytest.mark.parametrize(("count", "size"), [(limits.STREAM_EVENTS_MOST + 1, 1), (5, 10**6)])
def test_a_slow_reader_is_told_once_and_let_go(count: int, size: int) -> None:
    async def work() -> None:
        source = feed()
        ended: list[bool] = []
        stream = EventStream(source, on_end=lambda: ended.append(True))
        for number in range(count):
            stream.put(chunk(number, size))
        blocks = [block async for block in stream.blocks()]
        assert len(blocks) == 1
        assert b"saltlite/api/overflow" in blocks[0]
        assert ended == [True]
        assert not source.streams

    run(work)


def test_a_stream_ends_when_its_login_does() -> None:
    async def work() -> None:
        now = 100.0
        stream = EventStream(feed(), expire=100.05, clock=lambda: now)
        assert await stream.next(5) is None
        now = 101.0
        assert [block async for block in stream.blocks()] == []
        assert stream.is_over

    run(work)


def test_with_an_access_list_one_hears_of_ones_own() -> None:
    owners = JobOwners()
    events = [
        Event("salt/job/1/new", {"user": "anna"}), Event("salt/job/1/ret/m1", {}),
        Event("salt/job/2/new", {"user": "ben"}), Event("salt/job/2/ret/m1", {}),
        Event("salt/auth", {}), Event("salt/beacon/m1/x", {}), Event("salt/run/3/ret", {}),
    ]  # fmt: skip

    async def work() -> list[str]:
        stream = EventStream(feed(), heard_by="anna")
        for event in events:
            stream.put(StreamChunk.of(event, owners.owner_of(event)))
        stream.end()
        blocks = [block async for block in stream.blocks()]
        return [block.decode().split("\n")[0].removeprefix("tag: ") for block in blocks]

    assert run(work) == ["salt/job/1/new", "salt/job/1/ret/m1", "salt/auth"]


def test_returns_before_the_jid_is_known_are_kept() -> None:
    async def work() -> None:
        source = feed()
        listener = source.listen_to_job()
        for jid in ("1", "2"):
            listener.put(Event(f"salt/job/{jid}/ret/m1", {"return": jid}))
        listener.name("2")
        event = await listener.wait(1)
        assert event is not None
        assert event.data == {"return": "2"}
        assert await listener.wait(0.01) is None
        listener.close()
        assert not source._by_jid

    run(work)


def test_a_runner_that_is_quicker_than_its_answer_is_heard() -> None:
    async def work() -> None:
        source = feed()
        with source.expect_run() as expected:
            source._hand_to_runs(Event("salt/run/1/ret", {"return": 5}))
            assert await expected.data_of("salt/run/1/ret", 1) == {"return": 5}
            assert await expected.data_of("salt/run/2/ret", 0.01) is None
        assert not source._run_returns

    run(work)


def test_returns_of_other_runs_are_kept_for_a_moment_only() -> None:
    """Until the tag is known that is waited for; while a run went on, a thousand were kept."""

    async def work() -> int:
        one = feed()
        others = [pack_event(f"salt/run/{n}/ret", {"n": n}, NOW) for n in range(9)]
        with one.expect_run() as expected:
            for frame in others[:5]:
                one._dispatch(frame)
            waiting = asyncio.create_task(expected.data_of("salt/run/x/ret", 5))
            await asyncio.sleep(0)
            for frame in others[5:]:
                one._dispatch(frame)
            kept = len(one._run_returns)
            one._dispatch(pack_event("salt/run/x/ret", {"return": 1}, NOW))
            assert (await waiting or {})["return"] == 1
        return kept

    assert run(work) == 0


async def serve(app: App) -> tuple[ApiServer, int]:
    from tornado.netutil import bind_sockets

    server = ApiServer(app)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    return server, int(sockets[0].getsockname()[1])


def test_a_websocket_says_what_salt_says() -> None:
    async def work() -> None:
        source = feed()
        app = App(
            ServerOptions(), [], Master(source), list_rights=lambda *_: [], external_auth={}  # type: ignore[arg-type]
        )  # fmt: skip
        session = app.sessions.open(
            token="t", user="anna", eauth="auto", start=0, expire=9e9, rights=[]
        )
        server, port = await serve(app)
        client = await websocket_connect(f"ws://127.0.0.1:{port}/ws/{session.id}")
        await client.write_message("websocket client ready")
        assert await client.read_message() == "server received message"
        while not source.streams:
            await asyncio.sleep(0.01)
        for stream in list(source.streams):
            stream.put(chunk(7))
        assert await client.read_message() == ('data: {"data": {"a": "x"}, "tag": "salt/x/7"}\n\n')
        app.sessions.end(session)
        assert await client.read_message() is None
        with pytest.raises(Exception, match="401"):
            await websocket_connect(f"ws://127.0.0.1:{port}/ws/{session.id}")
        server.stop()

    run(work)


def test_a_websocket_of_another_page_is_refused() -> None:
    async def work() -> None:
        from tornado.httpclient import HTTPRequest

        app = App(
            ServerOptions(), [], Master(feed()), list_rights=lambda *_: [], external_auth={}  # type: ignore[arg-type]
        )  # fmt: skip
        session = app.sessions.open(
            token="t", user="anna", eauth="auto", start=0, expire=9e9, rights=[]
        )
        server, port = await serve(app)
        headers = {"Origin": "https://evil.example", "Cookie": f"session_id={session.id}"}
        with pytest.raises(Exception, match="403"):
            await websocket_connect(HTTPRequest(f"ws://127.0.0.1:{port}/ws", headers=headers))
        server.stop()

    run(work)


def test_streams_are_counted() -> None:
    async def work() -> None:
        app = App(
            ServerOptions(), [], Master(feed()), list_rights=lambda *_: [], external_auth={}  # type: ignore[arg-type]
        )  # fmt: skip
        session = app.sessions.open(
            token="t", user="anna", eauth="auto", start=0, expire=9e9, rights=[]
        )
        streams = [app.open_stream(session) for _ in range(limits.STREAMS_OF_SESSION_MOST)]
        with pytest.raises(HttpError) as caught:
            app.open_stream(session)
        assert caught.value.status == 503
        streams[0].end()
        app.open_stream(session)
        assert len(session.watchers) == limits.STREAMS_OF_SESSION_MOST

    run(work)
