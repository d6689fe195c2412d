"""Who can have heard a job: counted by connections, and only where the count is sure."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tracemalloc
from collections.abc import Awaitable

from saltlite.api.hearers import Hearers, Lookout
from saltlite.client.hearers import LOOK_EVERY_S, SETTLE_S
from saltlite.master.presence import connections_to


class Kernel:
    """What the kernel shows, and a clock."""

    def __init__(self, *connections: str) -> None:
        self.there: frozenset[str] | None = frozenset(connections)
        self.now = 100.0
        self.looks = 0

    def look(self) -> Awaitable[frozenset[str] | None]:
        self.looks += 1
        found: asyncio.Future[frozenset[str] | None] = asyncio.get_running_loop().create_future()
        found.set_result(self.there)
        return found

    def hearers(self) -> Hearers:
        return Hearers(self.look, clock=lambda: self.now)


def test_when_all_who_were_connected_have_returned_nobody_else_heard() -> None:
    async def work() -> None:
        kernel = Kernel("a", "b")
        hearers = kernel.hearers()
        assert not await hearers.are_all(2)  # not before it has settled
        kernel.now += SETTLE_S
        assert await hearers.are_all(2)

    asyncio.run(work())


def test_who_is_connected_and_silent_is_waited_for() -> None:
    async def work() -> None:
        kernel = Kernel("a", "b", "c")
        hearers = kernel.hearers()
        kernel.now += SETTLE_S
        assert not await hearers.are_all(2)

    asyncio.run(work())


def test_a_returned_minion_that_has_gone_does_not_make_room_for_a_silent_one() -> None:
    async def work() -> None:
        kernel = Kernel("a", "b")
        hearers = kernel.hearers()
        kernel.there = frozenset(("b",))
        kernel.now += SETTLE_S
        assert not await hearers.are_all(1)

    asyncio.run(work())


def test_who_comes_back_meanwhile_counts() -> None:
    async def work() -> None:
        kernel = Kernel("a")
        hearers = kernel.hearers()
        kernel.there = frozenset(("a", "b"))
        kernel.now += SETTLE_S
        assert not await hearers.are_all(1)
        kernel.now += LOOK_EVERY_S
        assert await hearers.are_all(2)

    asyncio.run(work())


def test_nothing_is_concluded_from_numbers_that_do_not_fit() -> None:
    async def work() -> None:
        kernel = Kernel("proxy")
        hearers = kernel.hearers()
        kernel.now += SETTLE_S
        assert not await hearers.are_all(2)
        kernel.there = None
        unknown = kernel.hearers()
        kernel.now += SETTLE_S
        assert not await unknown.are_all(0)
        assert unknown.patience(5.0) == 5.0

    asyncio.run(work())


def test_the_kernel_is_not_asked_for_nothing() -> None:
    async def work() -> None:
        kernel = Kernel("a", "b")
        hearers = kernel.hearers()
        kernel.now += SETTLE_S
        for _ in range(10):
            await hearers.are_all(1)
        assert kernel.looks == 1  # the one before the job was published
        assert hearers.patience(60.0) <= LOOK_EVERY_S

    asyncio.run(work())


def test_jobs_of_a_moment_share_a_look() -> None:
    looks: list[int] = []

    def look() -> frozenset[str]:
        looks.append(1)
        return frozenset("a")

    async def work() -> None:
        lookout = Lookout(look)
        assert await asyncio.gather(*(lookout.look() for _ in range(10))) == [frozenset("a")] * 10

    asyncio.run(work())
    assert len(looks) == 1


def test_the_kernel_tells_of_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert connections_to(port) == frozenset()
        with (
            socket.create_connection(("127.0.0.1", port)),
            socket.create_connection(("127.0.0.1", port)),
        ):
            found = connections_to(port)
            assert found is not None
            assert len(found) == 2
    assert connections_to(port) is None


def test_a_look_does_not_grow_with_the_connections_of_others() -> None:
    """Built as one text, fifty thousand of them were ten megabytes for each job."""
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=400))
        for _ in range(300):
            stack.enter_context(socket.create_connection(other.getsockname()))
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        tracemalloc.start()
        found = connections_to(listener.getsockname()[1])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert found == frozenset()
    assert most < 50_000
