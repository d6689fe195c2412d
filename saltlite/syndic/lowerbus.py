"""The lower master's event bus: ours, or a real Salt master's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

import zmq

from saltlite.api.saltbus import BusPlace, SaltBus, open_bus
from saltlite.errors import WireError
from saltlite.minion.tasks import wait_until_set
from saltlite.transport.bus import EventSubscriber

log = logging.getLogger(__name__)

AT_ONCE: Final = 500
"""Frames read before other work gets its turn."""

LOOK_S: Final = 0.5
"""Between two looks whether anything has come that no wake-up told of."""


class LowerBus:
    """Hands every event's frame to ``heard``, from :meth:`run` until that is cancelled."""

    def __init__(
        self, path: Path, heard: Callable[[bytes], None], opened: Callable[[], None]
    ) -> None:
        """``opened`` is called each time that the bus is heard from then on."""
        self._path = path
        self._place = BusPlace(path)
        self._heard = heard
        self._opened = opened
        self._bus: EventSubscriber | SaltBus | None = None
        self._wakeup = asyncio.Event()
        self.is_salts: bool | None = None
        """Whether a real Salt master serves it; ``None``: nobody did so far."""
        with contextlib.suppress(OSError):
            self.is_salts = self._place.find_whose()

    async def run(self) -> None:
        """Read until cancelled; connects anew when the master has gone."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                if self._bus is not None and (not self._read_bus() or self._place.is_another()):
                    self._close_bus(loop)
                if self._bus is None:
                    self._open_bus(loop)
                self._wakeup.clear()
                await wait_until_set(self._wakeup, LOOK_S)
        finally:
            self._close_bus(loop)

    def _open_bus(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self.is_salts = self._place.find_whose()
            self._bus = open_bus(self._path, zmq.Context.instance(), is_salts=self.is_salts)
        except OSError as error:
            log.debug("the event bus of the master here: %s", error)
            return
        loop.add_reader(self._bus.fileno, self._wakeup.set)
        log.info("Listening to the events of the master here")
        self._opened()

    def _read_bus(self) -> bool:
        """Read what is there; ``False`` if the bus is over."""
        assert self._bus is not None  # noqa: S101 - only called while there is one
        for _ in range(AT_ONCE):
            try:
                frame = self._bus.next_frame()
            except WireError as error:
                log.debug("not an event: %s", error)
                continue
            if frame is None:
                return not (isinstance(self._bus, SaltBus) and self._bus.is_over)
            self._heard(frame)
        # The descriptor tells of a change only: the rest is read in the next turn.
        asyncio.get_running_loop().call_soon(self._wakeup.set)
        return True

    def _close_bus(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._bus is not None:
            loop.remove_reader(self._bus.fileno)
            self._bus.close()
            self._bus = None
