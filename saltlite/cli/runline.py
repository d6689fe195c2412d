"""The line that shows, on the terminal of ``salt-call``, which state runs now.

A timer of the process draws it, since a state may take long and threads and forks go ill together.
It is on standard error, is gone before anything else is written there, and when the run is over.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from saltlite.cli.live import REFRESH_S, Progress, StatusLine, cut, on_terminal
from saltlite.context import MinionContext


def running(progress: Progress, width: int) -> str:
    """``3/40 pkg.installed nginx, 12 s``, cut to ``width``."""
    name = " ".join(progress.missing)
    text = f"{progress.returned}/{progress.expected} {name}, {progress.elapsed_s:.0f} s"
    return cut(text, width)


class RunLine(logging.Filter):
    """Which state runs, drawn anew by each tick. As a filter of logs it makes room for them."""

    def __init__(self, line: StatusLine) -> None:
        super().__init__()
        self._line = line
        self._now: tuple[str, int, int] | None = None
        self._is_busy = False

    def begins(self, name: str, number: int, total: int) -> None:
        """A state begins, the ``number``th of ``total``."""
        self._now = (name, number, total)

    def tick(self, _number: int = 0, _frame: object = None) -> None:
        """Draw what runs now, unless this interrupts our own writing."""
        if self._now is None or self._is_busy:
            return
        name, number, total = self._now
        self._line.show(Progress(total, number, self._line.age_s, (name,)))

    def filter(self, _record: logging.LogRecord) -> bool:
        """Erase the line before a log line is written."""
        self.clear()
        return True

    def clear(self) -> None:
        """Erase the line."""
        self._is_busy = True
        self._line.clear()
        self._is_busy = False


@contextmanager
def show_progress(ctx: MinionContext, stream: TextIO | None = None) -> Iterator[None]:
    """Show which state runs meanwhile, if standard error is a terminal."""
    stream = stream or sys.stderr
    if not on_terminal(stream):
        yield
        return
    line = RunLine(StatusLine(stream, running))
    handlers = logging.getLogger().handlers
    for handler in handlers:
        handler.addFilter(line)
    before = signal.signal(signal.SIGALRM, line.tick)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, REFRESH_S, REFRESH_S)
    ctx.begins = line.begins
    try:
        yield
    finally:
        ctx.begins = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        line.clear()
        for handler in handlers:
            handler.removeFilter(line)
