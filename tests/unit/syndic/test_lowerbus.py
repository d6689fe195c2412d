"""The bus of the master here: heard whoever comes, and whoever takes his place."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from saltlite.syndic.lowerbus import LowerBus
from saltlite.transport.addresses import ipc

FRAME = b"tag\n\n" + msgpack.packb({"a": 1})


class Heard:
    """What a syndic is told."""

    def __init__(self, path: Path) -> None:
        self.frames: list[bytes] = []
        self.opened: list[bool | None] = []
        self.bus = LowerBus(path, self.frames.append, lambda: self.opened.append(self.bus.is_salts))

    async def wait_for(self, condition: Callable[[], Any]) -> None:
        async def look() -> None:
            while not condition():
                await asyncio.sleep(0.01)

        await asyncio.wait_for(look(), 20)


@contextlib.asynccontextmanager
async def hearing(path: Path) -> AsyncIterator[Heard]:
    heard = Heard(path)
    task = asyncio.ensure_future(heard.bus.run())
    try:
        yield heard
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.contextmanager
def salts(path: Path) -> Any:
    """A real Salt's bus, as 3008 has it: what it says begins with the first event."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen()
        yield one


def greet_and_say(one: socket.socket, event: bytes) -> socket.socket:
    """Take connections until one of them stays; say an event to it."""
    one.settimeout(20)
    while True:
        peer, _ = one.accept()
        peer.settimeout(1)
        try:
            if not peer.recv(1):  # it only looked
                peer.close()
                continue
        except TimeoutError:
            peer.sendall(msgpack.packb({"body": event}))
            return peer


def run(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bus") / "pub.ipc"


def test_a_socket_that_a_dead_master_left_says_nothing_of_the_next_one(path: Path) -> None:
    async def work() -> None:
        with salts(path):
            pass
        async with hearing(path) as heard:
            await asyncio.sleep(0)
            assert heard.bus.is_salts is None
            with salts(path) as one:
                peer = await asyncio.to_thread(greet_and_say, one, FRAME)
                await heard.wait_for(lambda: heard.frames)
                peer.close()
            assert (heard.opened, heard.frames) == ([True], [FRAME])

    run(work())


def test_one_kind_of_master_takes_the_place_of_the_other(path: Path) -> None:
    async def work() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        with context.socket(zmq.PUB) as first:
            first.bind(ipc(path))
            async with hearing(path) as heard:
                await heard.wait_for(lambda: heard.opened == [False])
                first.close(linger=0)
                with salts(path) as one:
                    peer = await asyncio.to_thread(greet_and_say, one, FRAME)
                    await heard.wait_for(lambda: heard.frames)
                    peer.close()
                path.unlink()
                with context.socket(zmq.PUB) as last:
                    last.bind(ipc(path))
                    await heard.wait_for(lambda: heard.opened == [False, True, False])
        context.destroy(linger=0)

    run(work())
