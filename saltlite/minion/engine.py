"""The process of one engine of a minion. It ends with the loop, whatever it is doing."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.engine_context import EngineContext
from saltlite.loader.engines import ENDED, EngineEntry, run_engine
from saltlite.runner_context import Listener

LAST_WORD_S: Final = 1.0
"""How long an engine may take to end in order when the loop has gone."""


def live(
    start: Mapping[str, Any],
    ctx: MinionContext,
    sock: socket.socket,
    listen: Callable[[str], Listener],
) -> int:
    """Run the engine that ``start`` names; what the process ends with."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    # A thread: the engine's own code has the main one and does not give it back.
    threading.Thread(target=_end_with, args=(sock.fileno(),), daemon=True).start()
    entry = EngineEntry(**start["entry"])
    engine = EngineContext(name=entry.name, config=ctx.config, minion=ctx, listen=listen)
    with contextlib.closing(ctx.host):
        try:
            return run_engine(entry, engine, start["starts"])
        except SystemExit:
            return ENDED


def _end_with(fd: int) -> None:
    """Wait until nobody is at the other end of a socket, then end this process."""
    poller = select.poll()
    # The hang-up alone: what is sent through the socket is for the engine to read.
    poller.register(fd, select.POLLRDHUP)
    poller.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LAST_WORD_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _exit_on_signal(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
