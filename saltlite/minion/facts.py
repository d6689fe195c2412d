"""What a minion knows of itself: its grains, and its pillar from each master.

Grains are collected in a child of the parent with a deadline, since they run programs and, some
day, users' code. A pillar is asked for when a master is new and when somebody asks for it anew.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any, Final

from saltlite.core.plain import PlainMap
from saltlite.errors import ConfigError, CryptoError, RequestTimeout, SaltliteError, WireError
from saltlite.minion.master_link import Link
from saltlite.minion.pipe import frame_message
from saltlite.minion.process import Setup
from saltlite.minion.spawner import Spawner, SpawnFailed
from saltlite.minion.stream import open_stream, read_map
from saltlite.pillar.request import pillar_load

log = logging.getLogger(__name__)

GRAINS_DEADLINE_S: Final = 60.0
MASTERS_DEADLINE_S: Final = 60.0
MINE_DEADLINE_S: Final = 300.0
RETURNERS_DEADLINE_S: Final = 300.0

OF_THE_PROCESS: Final = ("pid",)
"""Grains that are others each time."""


def find_changed_grains(before: PlainMap, after: PlainMap) -> list[str]:
    """The names of grains that came, went or have another value."""
    names = {**before, **after}
    return [
        name for name in names if name not in OF_THE_PROCESS and before.get(name) != after.get(name)
    ]


class Facts:
    """Grains and pillars as they are now."""

    def __init__(
        self, setup: Setup, spawner: Spawner, collecting: socket.socket | None = None
    ) -> None:
        """``collecting`` leads to a child that collects grains already."""
        self._setup = setup
        self._spawner = spawner
        self._collecting = collecting
        # What is known without a look at the machine, for jobs that are not to wait.
        self.grains: dict[str, Any] = {"id": setup.minion_id, **setup.config.grains.grains}
        self._pillars: dict[str, dict[str, Any]] = {}
        self._loading: asyncio.Task[None] | None = None
        self.loaded = asyncio.Event()
        """Set once the grains have been collected, or cannot be."""

    def of(self, master: str) -> tuple[PlainMap, PlainMap]:
        """The grains, and the pillar of ``master`` (empty before it came)."""
        return self.grains, self._pillars.get(master, {})

    async def load_grains(self) -> None:
        """Collect the grains; those of before stay if that fails. Joins a collection under way."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.get_running_loop().create_task(self._collect_grains())
        # Shielded: one who stops waiting must not end the collection for the others.
        await asyncio.shield(self._loading)

    async def wait_settled(self) -> None:
        """Wait for a collection that is under way, so that what follows has its grains."""
        if self._loading is not None and not self._loading.done():
            await asyncio.shield(self._loading)

    async def _collect_grains(self) -> None:
        try:
            grains = await asyncio.wait_for(self._from_child(), GRAINS_DEADLINE_S)
            # No grain, a user's neither, may change which minion this is.
            self.grains = {**grains, "id": self._setup.minion_id}
        except asyncio.TimeoutError:
            log.error("grains are not collected after %.0f s", GRAINS_DEADLINE_S)
        except (SpawnFailed, WireError, OSError) as error:
            log.error("grains cannot be collected: %s", error)
        finally:
            self.loaded.set()

    async def _from_child(self) -> dict[str, Any]:
        collecting, self._collecting = self._collecting, None
        # The parent has started this one before the loop; it serves the first collection only.
        if collecting is not None:
            message = await self._read_result(*await open_stream(collecting))
        else:
            # With ``grains_cache`` it would else get those of before, which it asks to replace.
            message = await self._ask_child("grains", {"task": "grains", "refresh": True})
        if not isinstance(message.get("grains"), dict):
            raise WireError("their process ended without a result")
        grains: dict[str, Any] = message["grains"]
        return grains

    async def ask_masters(self) -> str | list[str]:
        """What the function of ``master_type: func`` names.

        Raises:
            ConfigError: it names nobody, fails, or takes too long.
        """
        try:
            asked = self._ask_child("masters", {"task": "masters"})
            message = await asyncio.wait_for(asked, MASTERS_DEADLINE_S)
        except asyncio.TimeoutError:
            problem = f"the function takes longer than {MASTERS_DEADLINE_S:.0f} s"
            raise ConfigError(problem, option="master") from None
        except (SpawnFailed, WireError, OSError) as error:
            raise ConfigError(f"the function cannot be run: {error}", option="master") from error
        if "masters" not in message:
            # Already a whole line, with the option's name; or its process ended.
            raise ConfigError(str(message.get("problem", "the function's process was ended")))
        masters: str | list[str] = message["masters"]
        return masters

    async def collect_mine(self, master: str, functions: object) -> dict[str, Any]:
        """What the mine functions give now; empty, with a line, if they cannot be run."""
        grains, pillar = self.of(master)
        start = {"task": "mine", "functions": functions, "grains": grains, "pillar": pillar}
        try:
            message = await asyncio.wait_for(self._ask_child("mine", start), MINE_DEADLINE_S)
        except (asyncio.TimeoutError, SpawnFailed, WireError, OSError) as error:
            log.error("the mine is not updated: %s", error or "its functions take too long")
            return {}
        mine: dict[str, Any] = message.get("mine", {})
        return mine

    async def write_again(self, master: str, spools: list[str], jids: list[str]) -> None:
        """Have a process of its own give servers that were away what waits for them.

        And to returners what jobs, ``jids``, could not give them any more.
        """
        grains, pillar = self.of(master)
        facts = {"grains": grains, "pillar": pillar}
        start = {"task": "returners", "spools": spools, "jids": jids, **facts}
        try:
            await asyncio.wait_for(self._ask_child("returners", start), RETURNERS_DEADLINE_S)
        except (asyncio.TimeoutError, SpawnFailed, WireError, OSError) as error:
            log.error("returns still wait for their server: %s", error or "it takes too long")

    async def _ask_child(self, title: str, start: dict[str, Any]) -> dict[str, Any]:
        """Have a child do ``start`` and give its result."""
        ours, theirs = socket.socketpair()
        reader, writer = await open_stream(ours)
        await self._spawner.spawn(title, theirs)
        writer.write(frame_message(start))
        return await self._read_result(reader, writer)

    async def _read_result(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> dict[str, Any]:
        """What a child gives at last; empty if it ends without a result."""
        try:
            while True:
                message = await read_map(reader)
                if message is None or message.get("op") == "result":
                    return message or {}
        finally:
            writer.close()

    async def load_pillar(self, link: Link, *, clean_cache: bool = False) -> bool:
        """Ask a master for the pillar; the one of before stays if that fails."""
        try:
            self._pillars[link.name] = await link.pillar(
                pillar_load(self._setup.config, self.grains, clean_cache=clean_cache)
            )
        except (RequestTimeout, CryptoError, WireError, SaltliteError) as error:
            log.error("master %s gives no pillar: %s", link.name, error)
            return False
        return True
