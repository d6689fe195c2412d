"""The engines of a minion, in its loop: each in a child of the parent, started again when it ends.

An engine ends with the loop: the child sees its pipe close. Only a minion with ``engines`` loads
this.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Final

from saltlite.context import JobTable
from saltlite.errors import WireError
from saltlite.loader.engines import UNAVAILABLE, EngineEntry
from saltlite.minion.childrequests import ChildServices, answer
from saltlite.minion.pipe import frame_message
from saltlite.minion.spawner import Spawner, SpawnFailed
from saltlite.minion.stream import open_stream, read_map
from saltlite.process import signal_name

log = logging.getLogger(__name__)

BACK_OFF_FIRST_S: Final = 0.1
BACK_OFF_LAST_S: Final = 30.0
HEALTHY_AFTER_S: Final = 60.0


class EngineKeeper:
    """Runs engines and starts them again. ``master`` says whom their requests go to now."""

    def __init__(
        self, spawner: Spawner, services: ChildServices, jobs: JobTable, master: Callable[[], str]
    ) -> None:
        self._spawner = spawner
        self._services = services
        self._jobs = jobs
        self._master = master

    async def keep(self, entry: EngineEntry) -> None:
        """Run one engine for as long as this is not cancelled."""
        wait_s, starts = BACK_OFF_FIRST_S, 0
        while True:
            began_s = time.monotonic()
            how = await self._run_once(entry, starts)
            if how is None:
                return
            starts += 1
            # It worked for a while: what ended it says nothing of its next start.
            if time.monotonic() - began_s > HEALTHY_AFTER_S:
                wait_s, starts = BACK_OFF_FIRST_S, 0
            log.warning("Engine(%s) %s; starting it again in %.1f s", entry.name, how, wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, BACK_OFF_LAST_S)

    async def _run_once(self, entry: EngineEntry, starts: int) -> str | None:
        """One life of an engine; how it ended, ``None`` if there is nothing to start again."""
        ours, theirs = socket.socketpair()
        reader, writer = await open_stream(ours)
        try:
            exited = await self._spawner.spawn(f"Engine({entry.name})", theirs)
            # Made for each start: grains and pillar may be others by now.
            writer.write(frame_message(self._start_engine(entry, starts)))
            await self._serve_engine(reader, writer)
            return _describe_end(await exited)
        # Nothing to give up for: it may be for want of memory, and is tried again.
        except (SpawnFailed, WireError, OSError) as error:
            return f"cannot be run: {error}"
        finally:
            writer.close()

    def _start_engine(self, entry: EngineEntry, starts: int) -> dict[str, Any]:
        grains, pillar = self._services.facts(self._master())
        facts = {"grains": grains, "pillar": pillar}
        return {"task": "engine", "entry": entry.to_plain(), "starts": starts, **facts}

    async def _serve_engine(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Do what the engine asks for, one thing after the other, until its pipe ends."""
        while True:
            message = await read_map(reader)
            if message is None:
                return
            if message.get("op") == "event":
                self._services.fire(str(message["tag"]), message["data"])
            else:
                said = await answer(message, self._master(), self._services, self._jobs)
                writer.write(frame_message(said))


def _describe_end(status: int) -> str | None:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal_name(os.WTERMSIG(status))}"
    code = os.waitstatus_to_exitcode(status)
    return None if code == UNAVAILABLE else f"ended with exit code {code}"
