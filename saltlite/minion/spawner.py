"""The socket pair between the loop and the parent: please fork; forked; ended.

One message per packet, a msgpack map. From the loop, with the child's end of a new socket pair
attached::

    {"number": 7, "title": "job 2024... test.ping"}
    {"ready": True}                                        no descriptor; tell systemd

From the parent::

    {"number": 7, "status": 9}                             ended, as of waitpid(2)
    {"number": 7, "error": "Resource temporarily unavailable"}
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
import threading
from typing import Any, Protocol

from saltlite.errors import SaltliteError, WireError
from saltlite.minion.pipe import LoopGone, Pipe
from saltlite.minion.process import Setup, run_task
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

PACKET_LIMIT_BYTES = 64 * 1024
TITLE_LIMIT = 200


class SpawnFailed(SaltliteError):
    """No process could be made."""


class Spawner(Protocol):
    """Makes something that runs :func:`saltlite.minion.process.run_task`."""

    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        """Start it with ``sock``, which is closed here; the future is its wait status.

        Raises:
            SpawnFailed: it cannot be started; sometimes the future says so instead.
        """


class ForkSpawner:
    """Asks the parent to fork."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._control.setblocking(False)
        self._numbers = itertools.count(1)
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self.parent_gone = asyncio.Event()
        self._loop.add_reader(control.fileno(), self._read)

    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        """See :class:`Spawner`."""
        number = next(self._numbers)
        exited: asyncio.Future[int] = self._loop.create_future()
        # Before it is sent: the parent may answer while this still waits to go on.
        self._exits[number] = exited
        try:
            await self._send({"number": number, "title": title[:TITLE_LIMIT]}, [sock.fileno()])
        except OSError as error:
            del self._exits[number]
            raise SpawnFailed(f"the parent cannot be asked for a process: {error}") from error
        finally:
            # The parent has its own copy by now; ours would keep the child's pipe open for ever.
            sock.close()
        return exited

    async def ready(self) -> None:
        """Let the parent tell systemd that the minion works."""
        with contextlib.suppress(OSError):
            await self._send({"ready": True}, [])

    def close(self) -> None:
        """Stop listening to the parent."""
        self._loop.remove_reader(self._control.fileno())
        self._control.close()

    async def _send(self, message: dict[str, Any], fds: list[int]) -> None:
        packet = pack_bin(message)
        # One at a time: there is one writer's callback for a descriptor.
        async with self._sending:
            while not self._send_packet(packet, fds):
                await self._writable()

    def _send_packet(self, packet: bytes, fds: list[int]) -> bool:
        try:
            socket.send_fds(self._control, [packet], fds)
        except BlockingIOError:
            return False
        return True

    async def _writable(self) -> None:
        free: asyncio.Future[None] = self._loop.create_future()
        fd = self._control.fileno()
        self._loop.add_writer(fd, self._sending_may_go_on, free)
        try:
            await free
        finally:
            self._loop.remove_writer(fd)

    @staticmethod
    def _sending_may_go_on(free: asyncio.Future[None]) -> None:
        if not free.done():
            free.set_result(None)

    def _read(self) -> None:
        try:
            packet = self._control.recv(PACKET_LIMIT_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A connection that broke is a parent that has gone.
            packet = b""
        if not packet:
            self._loop.remove_reader(self._control.fileno())
            self.parent_gone.set()
            return
        with contextlib.suppress(WireError):
            message = unpack_bin(packet)
            if isinstance(message, dict):
                self._heard(message)

    def _heard(self, message: dict[str, Any]) -> None:
        exited = self._exits.pop(message.get("number", 0), None)
        if exited is None or exited.done():
            return
        if "error" in message:
            exited.set_exception(SpawnFailed(str(message["error"])))
        else:
            exited.set_result(int(message["status"]))


class ThreadSpawner:
    """Runs jobs in threads of the loop's process, for ``multiprocessing: False``."""

    def __init__(self, setup: Setup, pid: int) -> None:
        self._setup = setup
        self._pid = pid

    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        """See :class:`Spawner`. Threads cannot be signalled; the status is 0 or that of exit 1."""
        loop = asyncio.get_running_loop()
        exited: asyncio.Future[int] = loop.create_future()

        def finish(status: int) -> None:
            if not exited.done():
                exited.set_result(status)

        def run() -> None:
            pipe = Pipe(sock)
            # As waitpid tells of exit code 1.
            status = 1 << 8
            try:
                run_task(pipe, self._setup, self._pid)
                status = 0
            except LoopGone as error:
                log.debug("%s", error)
            except Exception:  # the job runner: a job in a thread must not end the minion
                log.exception("%s failed", title)
            finally:
                pipe.close()
                # The minion may have ended meanwhile, and its loop be closed.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(finish, status)

        # Daemon: a job must not keep a process that is told to end.
        threading.Thread(target=run, name=title, daemon=True).start()
        return exited
