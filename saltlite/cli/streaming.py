"""``salt --stream``: what commands print on minions, line by line, while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TextIO

from saltlite.core.terminal import sanitize

if TYPE_CHECKING:
    from saltlite.client.collect import Printed

LINE_MOST: Final = 4096
"""Characters that are kept of a line that has no end yet; then it is shown as it is."""

MORE: Final = "... more was printed; the return has it whole"


class OutputLines:
    """Writes ``web1: a line`` for each line that is whole.

    ``clear`` makes room on the terminal before something is written.
    """

    def __init__(self, stream: TextIO, clear: Callable[[], None]) -> None:
        self._stream = stream
        self._clear = clear
        self._begun: dict[str, str] = {}

    def show(self, printed: Printed) -> None:
        """Take what a minion's command has printed, and show the lines that have come to an end."""
        *whole, rest = (self._begun.get(printed.id, "") + printed.text).split("\n")
        if printed.is_cut or len(rest) > LINE_MOST:
            whole, rest = [*whole, *filter(None, [rest])], ""
        self._begun[printed.id] = rest
        if printed.is_cut:
            whole.append(MORE)
        self._write_lines(printed.id, whole)

    def end(self, minion: str) -> None:
        """Show what a minion has begun: no more comes of it."""
        rest = self._begun.pop(minion, "")
        self._write_lines(minion, [rest] if rest else [])

    def _write_lines(self, minion: str, lines: list[str]) -> None:
        if lines:
            self._clear()
            self._stream.write("".join(f"{minion}: {sanitize(line)}\n" for line in lines))
            self._stream.flush()
