"""Tasks of one loop that end with whoever started them; none of them fails silently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


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
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _check_task(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_failure(error)
