"""What the command prints that is a job, on its way to the master while it runs.

The job's process lets only so much through to the loop, and the loop keeps only so much until the
next event: a command may print without end, and the return has it whole anyway. Pure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from saltlite.core.plain import PlainMap

WINDOW_S: Final = 1.0
WINDOW_CHARACTERS: Final = 16 * 1024
"""So much of what a command prints is told within a second; the rest is in the return alone."""


class OutputLimit:
    """The job's end: passes on the first of what comes in each second, and says where it cuts.

    ``send`` takes text and whether some is left out behind it. Called by the one thread that runs
    the command.
    """

    def __init__(
        self, send: Callable[[str, bool], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._until_s = float("-inf")
        self._room = 0
        self._is_cut = False

    def tell(self, text: str) -> None:
        """Pass on what there is room for."""
        now_s = self._clock()
        if now_s >= self._until_s:
            self._until_s, self._room, self._is_cut = now_s + WINDOW_S, WINDOW_CHARACTERS, False
        if self._is_cut:
            return
        part, self._is_cut = text[: self._room], len(text) > self._room
        self._room -= len(part)
        self._send(part, self._is_cut)


class PendingOutput:
    """The loop's end: what has come since the last event."""

    def __init__(self) -> None:
        self._text = ""
        self._is_cut = False

    def add(self, text: str, *, is_cut: bool) -> None:
        """Add what has come, as far as there is room."""
        # Twice what honest jobs send in a second; more would be a module's own doing.
        room = 2 * WINDOW_CHARACTERS - len(self._text)
        self._is_cut = self._is_cut or is_cut or len(text) > room
        self._text += text[:room]

    def take(self) -> PlainMap | None:
        """The data of the next event, ``None`` if nothing has come."""
        if not self._text and not self._is_cut:
            return None
        data: PlainMap = {"output": self._text, "is_cut": self._is_cut}
        self._text, self._is_cut = "", False
        return data
