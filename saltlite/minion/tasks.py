"""What a loop does besides: tasks that end with whoever started them, and rest.

None of the tasks fails silently.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from saltlite.process import REST_AFTER_S, REST_EVERY_S, rest

CANCEL_AGAIN_S: Final = 0.5


async def wait_until_set(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Whether it is set in time.

    Who is cancelled here ends. In ``asyncio.wait_for`` of Python before 3.12 he goes on as if
    nothing had been where the event is set in the same turn of the loop.
    """
    if event.is_set():
        return True
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=timeout_s)
    finally:
        waiting.cancel()
    return event.is_set()


class Tasks:
    """``on_failure`` is called with what a task raised; a cancelled one has not failed."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._on_failure = on_failure

    def start(self, work: Coroutine[object, object, object]) -> asyncio.Task[Any]:
        """Have the running loop do it."""
        task = asyncio.get_running_loop().create_task(work)
        # A loop holds its tasks weakly: one that nobody keeps may vanish while it waits.
        self._running.add(task)
        task.add_done_callback(self._check_task)
        return task

    async def close(self) -> None:
        """Cancel all, and wait until they have ended."""
        running = set(self._running)
        while running:
            for task in running:
                task.cancel()
            # Again and again: see wait_until_set of what swallows one.
            _ended, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_S)

    def _check_task(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_failure(error)


class Rests:
    """Gives back memory that work has used, after a while without any, and not often."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._rested_s = float("-inf")

    def after_work(self) -> None:
        """There was work just now: the running loop rests later, and not before."""
        if self._timer is not None:
            self._timer.cancel()
        wait_s = max(REST_AFTER_S, self._rested_s + REST_EVERY_S - time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._rest_now)

    def _rest_now(self) -> None:
        self._rested_s = time.monotonic()
        rest()
