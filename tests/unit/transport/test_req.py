"""Lazy Pirates: a silent server costs one socket and no more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zmq
import zmq.asyncio

from saltlite.channel.client import ClearChannel
from saltlite.errors import ConnectionBroke, RequestTimeout, WireError
from saltlite.transport.areq import AsyncRequester
from saltlite.transport.codec import pack, unpack
from saltlite.transport.req import Requester, client_options
from saltlite.transport.tcp import TcpOptions

Answer = Callable[[bytes], "list[bytes] | None"]


@contextmanager
def server(answer: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """A ROUTER that answers as told, ``None`` being silence; yields address and what it heard."""
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.LINGER, 0)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    stop = threading.Event()
    heard: list[bytes] = []

    def loop() -> None:
        while not stop.is_set():
            if not router.poll(20):
                continue
            identity, empty, body = router.recv_multipart()
            heard.append(body)
            frames = answer(body)
            if frames is not None:
                router.send_multipart([identity, empty, *frames])

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{port}", heard
    finally:
        stop.set()
        thread.join()
        context.destroy(linger=0)


def echo(body: bytes) -> list[bytes] | None:
    return None if body.startswith(b"silent") else [body.upper()]


def test_request_and_reply():
    with server(echo) as (address, _), Requester(address) as requester:
        assert requester.request(b"one", timeout_s=5) == b"ONE"
        assert requester.request(b"two", timeout_s=5) == b"TWO"


def test_silence_is_a_timeout_and_the_next_request_is_answered():
    with server(echo) as (address, _), Requester(address) as requester:
        with pytest.raises(RequestTimeout) as caught:
            requester.request(b"silent", timeout_s=0.05)
        assert (caught.value.address, caught.value.waited_s) == (address, 0.05)
        assert requester.request(b"again", timeout_s=5) == b"AGAIN"


def test_nobody_there_is_a_timeout():
    with Requester("tcp://127.0.0.1:1") as requester, pytest.raises(RequestTimeout):
        requester.request(b"x", timeout_s=0.05)


def test_a_reply_of_two_frames_is_refused_and_the_socket_renewed():
    answers = iter([[b"a", b"b"], [b"c"]])
    with server(lambda _: next(answers)) as (address, _), Requester(address) as requester:
        with pytest.raises(WireError):
            requester.request(b"x", timeout_s=5)
        assert requester.request(b"x", timeout_s=5) == b"c"


def test_a_context_handed_in_stays_open():
    context = zmq.Context()
    with server(echo) as (address, _):
        Requester(address, context=context).close()
        requester = Requester(address, context=context)
        assert requester.request(b"x", timeout_s=5) == b"X"
        requester.close()
        assert not context.closed
    context.destroy(linger=0)


def test_asyncio_request_timeout_and_recovery():
    async def play(address: str) -> None:
        requester = AsyncRequester(address)
        try:
            assert await requester.request(b"one", timeout_s=5) == b"ONE"
            with pytest.raises(RequestTimeout):
                await requester.request(b"silent", timeout_s=0.05)
            assert await requester.request(b"two", timeout_s=5) == b"TWO"
        finally:
            requester.close()

    with server(echo) as (address, _):
        asyncio.run(play(address))


def test_a_cancelled_request_does_not_wedge_the_next():
    async def play(address: str, heard: list[bytes]) -> None:
        requester = AsyncRequester(address)
        try:
            task = asyncio.create_task(requester.request(b"silent", timeout_s=60))
            await asyncio.wait_for(until(heard), 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await requester.request(b"two", timeout_s=5) == b"TWO"
        finally:
            requester.close()

    with server(echo) as (address, heard):
        asyncio.run(play(address, heard))


async def until(heard: list[bytes]) -> None:
    while not heard:
        await asyncio.sleep(0)


def test_asyncio_requests_take_turns():
    async def play(address: str) -> None:
        context = zmq.asyncio.Context()
        requester = AsyncRequester(address, context=context)
        replies = await asyncio.gather(
            *(requester.request(b"r%d" % number, timeout_s=5) for number in range(20))
        )
        assert replies == [b"R%d" % number for number in range(20)]
        requester.close()
        context.destroy(linger=0)

    with server(echo) as (address, _):
        asyncio.run(play(address))


def test_socket_options():
    context = zmq.Context()
    socket = context.socket(zmq.REQ)
    client_options(
        socket,
        "tcp://[::1]:4506",
        tcp=TcpOptions(keepalive_idle_s=7, keepalive_cnt=3, keepalive_intvl_s=2),
        routing_id=b"me",
    )
    expected = {
        zmq.LINGER: 0,
        zmq.RECONNECT_IVL_MAX: 5000,
        zmq.IPV6: 1,
        zmq.TCP_KEEPALIVE: 1,
        zmq.TCP_KEEPALIVE_IDLE: 7,
        zmq.TCP_KEEPALIVE_CNT: 3,
        zmq.TCP_KEEPALIVE_INTVL: 2,
        zmq.MAXMSGSIZE: 100 * 1024 * 1024,
        zmq.ROUTING_ID: b"me",
    }
    assert {option: socket.getsockopt(option) for option in expected} == expected
    plain = context.socket(zmq.REQ)
    client_options(plain, "tcp://127.0.0.1:4506")
    assert plain.getsockopt(zmq.IPV6) == 0
    assert plain.getsockopt(zmq.ROUTING_ID) == b""
    context.destroy(linger=0)


# --- clear commands -----------------------------------------------------------------------


def test_clear_command():
    def answer(body: bytes) -> list[bytes]:
        request = unpack(body)
        assert (request["enc"], request["version"]) == ("clear", 3)
        return [pack(request["load"])]

    with server(answer) as (address, _), ClearChannel(address, 5) as channel:
        assert channel.send({"cmd": "ping", "x": [1]}) == {"cmd": "ping", "x": [1]}


def test_clear_command_is_tried_again_and_then_given_up():
    with server(lambda _: None) as (address, heard), ClearChannel(address, 0.5, 3) as channel:
        with pytest.raises(RequestTimeout) as caught:
            channel.send({"cmd": "ping"})
        assert caught.value.waited_s == pytest.approx(1.5)
        assert len(heard) == 3
        with pytest.raises(RequestTimeout):
            channel.send({"cmd": "ping"}, timeout_s=0.01, tries=1)


def test_clear_command_with_an_answer_that_is_none():
    with (
        server(lambda _: [b"\xc1"]) as (address, _),
        ClearChannel(address, 5) as channel,
        pytest.raises(WireError),
    ):
        channel.send({"cmd": "ping"})


async def bound(socket: zmq.asyncio.Socket, port: int) -> None:
    """Bind once the socket that had the port before is wholly closed."""
    while True:
        with contextlib.suppress(zmq.ZMQError):
            socket.bind(f"tcp://127.0.0.1:{port}")
            return
        await asyncio.sleep(0)


def test_a_connection_that_breaks_is_told_at_once_and_the_next_one_works() -> None:
    """The server dies with the request in hand; its successor answers the same requester."""

    async def play() -> None:
        context = zmq.asyncio.Context()
        first = context.socket(zmq.ROUTER)
        port = first.bind_to_random_port("tcp://127.0.0.1")
        requester = AsyncRequester(f"tcp://127.0.0.1:{port}", context=context)
        try:
            task = asyncio.create_task(requester.request(b"lost", timeout_s=60))
            await asyncio.wait_for(first.recv_multipart(), 5)
            first.close(linger=0)
            with pytest.raises(ConnectionBroke):
                await asyncio.wait_for(task, 5)
            second = context.socket(zmq.ROUTER)
            await asyncio.wait_for(bound(second, port), 5)
            task = asyncio.create_task(requester.request(b"again", timeout_s=5))
            identity, empty, body = await asyncio.wait_for(second.recv_multipart(), 5)
            await second.send_multipart([identity, empty, body.upper()])
            assert await task == b"AGAIN"
            second.close(linger=0)
        finally:
            requester.close()
            context.destroy(linger=0)

    asyncio.run(play())


def test_requests_that_time_out_leave_no_descriptor() -> None:
    async def play() -> None:
        context = zmq.asyncio.Context()
        silent = context.socket(zmq.ROUTER)
        port = silent.bind_to_random_port("tcp://127.0.0.1")
        requester = AsyncRequester(f"tcp://127.0.0.1:{port}", context=context)
        counts = []
        try:
            for _ in range(30):
                with pytest.raises(RequestTimeout):
                    await requester.request(b"silent", timeout_s=0.02)
                counts.append(len(os.listdir("/proc/self/fd")))
        finally:
            requester.close()
            silent.close(linger=0)
            context.destroy(linger=0)
        assert counts[-1] < counts[0] + 10, counts

    asyncio.run(play())


def test_a_requester_that_is_closed_fails_what_is_under_way_and_what_waits() -> None:
    """Nobody has cancelled who asked."""

    async def course() -> None:
        context = zmq.asyncio.Context()
        deaf = context.socket(zmq.ROUTER)
        port = deaf.bind_to_random_port("tcp://127.0.0.1")
        requester = AsyncRequester(f"tcp://127.0.0.1:{port}", context=context)
        asks = [asyncio.ensure_future(requester.request(b"x", timeout_s=60)) for _ in range(2)]
        await deaf.recv_multipart()
        requester.close()
        for ask in asks:
            with pytest.raises(ConnectionBroke):
                await asyncio.wait_for(ask, 20)
        with pytest.raises(ConnectionBroke):
            await requester.request(b"x", timeout_s=60)
        deaf.close(linger=0)
        context.destroy(linger=0)

    asyncio.run(course())


def test_one_that_is_closed_when_the_reply_comes_fails_as_one_that_broke(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play(address: str) -> None:
        context = zmq.asyncio.Context()
        requester = AsyncRequester(address, context=context)
        wait = requester._wait_for_reply

        async def wait_and_close(*given: Any) -> None:
            await wait(*given)
            requester.close()

        monkeypatch.setattr(requester, "_wait_for_reply", wait_and_close)
        with pytest.raises(ConnectionBroke):
            await requester.request(b"x", timeout_s=5)
        context.destroy(linger=0)

    with server(echo) as (address, _):
        asyncio.run(play(address))


def test_who_is_cancelled_himself_stays_so() -> None:
    async def course() -> None:
        context = zmq.asyncio.Context()
        deaf = context.socket(zmq.ROUTER)
        port = deaf.bind_to_random_port("tcp://127.0.0.1")
        requester = AsyncRequester(f"tcp://127.0.0.1:{port}", context=context)
        ask = asyncio.ensure_future(requester.request(b"x", timeout_s=60))
        await deaf.recv_multipart()
        ask.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ask
        requester.close()
        deaf.close(linger=0)
        context.destroy(linger=0)

    asyncio.run(course())
