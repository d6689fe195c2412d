"""A process of beacons that shuts its pipe and goes on: it is ended, and its beacon runs again."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from typing import Any

import pytest

from saltlite.minion import beacons
from saltlite.minion.beacons import Beacons
from saltlite.minion.pipe import frame_message


class SilentSpawner:
    """Starts programs that say who they are, shut the pipe and sleep."""

    def __init__(self, more: bytes = b"") -> None:
        self.more = more
        self.children: list[subprocess.Popen[bytes]] = []

    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        child = subprocess.Popen(["sleep", "60"])
        self.children.append(child)
        sock.sendall(frame_message({"op": "started", "pid": child.pid}) + self.more)
        loop = asyncio.get_running_loop()
        loop.call_later(0.2, sock.close)
        return loop.create_future()


class Owner:
    def fire(self, tag: str, data: Any) -> None:
        raise AssertionError((tag, data))

    def take_state_runs(self) -> bool:
        return False


class OldTimeout(Exception):
    """As before Python 3.11, where it was no OSError."""


async def live_once(spawner: SilentSpawner) -> Beacons:
    found = Beacons(Owner(), spawner, {"load": []}, every_s=60.0)  # type: ignore[arg-type]
    process = beacons._Process()
    found._processes["shared"] = process
    await asyncio.wait_for(found._keep_process("shared", process), 10.0)
    return found


@pytest.mark.parametrize("is_old", [False, True])
def test_a_process_that_shuts_its_pipe_and_lives_is_killed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_old: bool
) -> None:
    monkeypatch.setattr(beacons, "ASK_DEADLINE_S", 0.2)
    if is_old:
        wait_for = asyncio.wait_for

        async def time_out(awaitable: Any, timeout_s: float) -> Any:
            try:
                return await wait_for(awaitable, timeout_s)
            except (TimeoutError, asyncio.TimeoutError) as error:
                raise OldTimeout from error

        monkeypatch.setattr(asyncio, "wait_for", time_out)
        monkeypatch.setattr(asyncio, "TimeoutError", OldTimeout)
    end_it(SilentSpawner())
    assert "did not end within 0 s: it is killed" in caplog.text


def test_a_process_that_says_what_nobody_understands_is_killed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    end_it(SilentSpawner(b"\xff" * 100))
    assert "cannot be used: " in caplog.text


def end_it(spawner: SilentSpawner) -> None:
    try:
        found = asyncio.run(live_once(spawner))
        assert found._processes == {}
        (child,) = spawner.children
        assert child.wait(10) == -9
    finally:
        for child in spawner.children:
            if child.poll() is None:
                os.kill(child.pid, 9)
                child.wait()
