"""Engine: a process of the master for each engine that the option ``engines`` asks for.

The supervisor starts it again when it ends, and ends it with the master. It is not held to show
life: the code of an engine waits in its own way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from saltlite.config.master import MasterConfig
from saltlite.loader.engines import EngineEntry, run_engine
from saltlite.master.child import Life

if TYPE_CHECKING:
    from saltlite.engine_context import EngineContext

log = logging.getLogger(__name__)

BUS_WAIT_S: Final = 10.0
BUS_LOOK_S: Final = 0.05

OpenContext = Callable[[MasterConfig, str], AbstractContextManager["EngineContext"]]
"""What an engine gets; layer 5 hands it in, for it knows clients and stores."""


class Engine:
    """One engine. ``run`` is its whole life."""

    def __init__(
        self, entry: EngineEntry, config: MasterConfig, bus: Path, open_context: OpenContext
    ) -> None:
        self._entry = entry
        self._config = config
        self._bus = bus
        self._open_context = open_context

    def run(self, life: Life) -> None:
        """Run the engine until it ends, and say by the exit code how."""
        life.do_not_poll()
        life.ready()
        # After ready(): the master is not ready before all its children are.
        self._wait_for_bus()
        with self._open_context(self._config, self._entry.name) as ctx:
            code = run_engine(self._entry, ctx, life.restarts)
        raise SystemExit(code)

    def _wait_for_bus(self) -> None:
        """What is fired before the bus is there would be lost."""
        until_s = time.monotonic() + BUS_WAIT_S
        while not self._bus.exists() and time.monotonic() < until_s:
            time.sleep(BUS_LOOK_S)
