"""The line that shows, on a terminal, how far a job is. It goes before anything else is printed.

:func:`status` and :func:`bar` are pure; :class:`StatusLine` draws what they say.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from saltlite.core.dataclasses import dataclass, field

if TYPE_CHECKING:
    from saltlite.client.batch import BatchOutcome
    from saltlite.client.collect import JobRun, Outcome, Step

QUIET_S = 1.0
"""A job that is done by then shows nothing but its output."""

REFRESH_S = 0.25
NAMED = 3
"""So many of the missing minions are named."""

ROWS = 8
"""So many minions have a row of their own."""

ERASE = "\r\033[K"
ERASE_ROWS = "\r\033[{}A\033[J"
"""Where the line has rows below it: so many up, and all from there."""
BAR_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is. ``missing`` are the minions that are waited for."""

    expected: int
    returned: int
    elapsed_s: float
    missing: Collection[str] = ()
    steps: Mapping[str, Step] = field(default_factory=dict)


def status(progress: Progress, width: int) -> str:
    """``2/5 returned, 12 s, waiting for db1 (3/7 motd), web1 and 1 more``, cut to ``width``."""
    head = f"{progress.returned}/{progress.expected} returned, {progress.elapsed_s:.0f} s"
    return cut(f"{head}{_describe_missing(progress)}", width)


def rows(progress: Progress, width: int) -> str:
    """As :func:`status`, and below it a row for each of a few minions that say which state runs."""
    told = sorted(minion for minion in progress.missing if minion in progress.steps)[:ROWS]
    if not told:
        return status(progress, width)
    silent = [minion for minion in progress.missing if minion not in told]
    head = status(Progress(progress.expected, progress.returned, progress.elapsed_s, silent), width)
    longest = min(max(map(len, told)), width // 3)
    lines = [_describe_row(one, progress.steps[one], longest) for one in told]
    return "\n".join([head, *(cut(line, width) for line in lines)])


def _describe_row(minion: str, step: Step, width: int) -> str:
    """``  web1   3/7  pkg.installed nginx, 4 left``."""
    left = f", {max(step.total - step.done, 0)} left" if step.total else ""
    count = f"{step.done}/{step.total}" if step.total else str(step.done)
    return f"  {cut(minion, width):<{width}}  {count:>7}  {step.name}{left}"


def bar(progress: Progress, width: int) -> str:
    """A bar, the share that has returned, and the counts."""
    share = progress.returned / progress.expected if progress.expected else 0.0
    done = round(min(share, 1.0) * BAR_WIDTH)
    filled = f"[{'#' * done}{'.' * (BAR_WIDTH - done)}] {share:4.0%}"
    return cut(f"{filled} {status(progress, width)}", width)


def _describe_missing(progress: Progress) -> str:
    if not progress.missing:
        return ""
    # those that tell where they are come first: it is news
    order = sorted(progress.missing, key=lambda minion: (minion not in progress.steps, minion))
    names = [_describe_step(minion, progress.steps.get(minion)) for minion in order[:NAMED]]
    more = f" and {len(order) - NAMED} more" if len(order) > NAMED else ""
    return f", waiting for {', '.join(names)}{more}"


def _describe_step(minion: str, step: Step | None) -> str:
    if step is None:
        return minion
    count = f"{step.done}/{step.total}" if step.total else str(step.done)
    return f"{minion} ({f'{count} {step.name}'.strip()})"


def cut(text: str, width: int) -> str:
    """The text in so many columns; what does not print is shown as ``?``."""
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


class StatusLine:
    """One line at the bottom of a terminal, drawn anew and again.

    ``wait_s`` is how long nothing is drawn at first. ``draw`` makes the text: :func:`status` or
    :func:`bar`. Leave the context, and the line is gone.
    """

    def __init__(
        self,
        stream: TextIO,
        draw: Callable[[Progress, int], str] = status,
        *,
        wait_s: float = QUIET_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._draw = draw
        self._clock = clock
        self._begun_s = clock()
        self._from_s = self._begun_s + wait_s
        self._next_s = self._from_s
        self._shown = ""

    @property
    def age_s(self) -> float:
        """Since it was made."""
        return self._clock() - self._begun_s

    def is_due(self) -> bool:
        """Whether enough time has passed to draw again: thousands of returns come in a moment."""
        return self._clock() >= self._next_s

    def show(self, progress: Progress) -> None:
        """Draw, unless it is too early or nothing has changed."""
        if self._clock() < self._from_s:
            return
        self._next_s = self._clock() + REFRESH_S
        size = shutil.get_terminal_size()
        # More lines than the terminal has could not be erased.
        text = "\n".join(self._draw(progress, size.columns - 1).split("\n")[: size.lines - 1])
        if text != self._shown:
            erase, self._shown = self._eraser(), text
            self._write_text(f"{erase}{text}")

    def clear(self) -> None:
        """Make room for what is to be printed."""
        if self._shown:
            erase, self._shown = self._eraser(), ""
            self._write_text(erase)

    def _eraser(self) -> str:
        """What takes away all that is shown."""
        below = self._shown.count("\n")
        return ERASE_ROWS.format(below) if below else ERASE

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.clear()

    def _write_text(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def follow_job(run: JobRun, line: StatusLine | None) -> Iterator[Outcome]:
    """What comes of a job; while nothing does, ``line`` shows how far it is."""
    if line is None:
        yield from run
        return
    with line:
        while not run.is_done:
            for outcome in run.step(REFRESH_S):
                line.clear()
                yield outcome
            if line.is_due():
                line.show(_progress_of(run, line.age_s))


def follow_batch(batch: Iterable[BatchOutcome], line: StatusLine | None) -> Iterator[BatchOutcome]:
    """As :func:`follow_job`, for a job in batches."""
    if line is None:
        yield from batch
        return
    from saltlite.client.batch import BatchIdle
    from saltlite.client.collect import MinionReturn, NotReturned

    ended = 0
    with line:
        for outcome in batch:
            if isinstance(outcome, BatchIdle):
                total = ended + len(outcome.active) + outcome.pending
                line.show(Progress(total, ended, line.age_s, outcome.active))
                continue
            line.clear()
            ended += isinstance(outcome, (MinionReturn, NotReturned))
            yield outcome


def _progress_of(run: JobRun, elapsed_s: float) -> Progress:
    expected = len(run.minions) + len(run.missing)
    missing = run.outstanding
    return Progress(expected, max(expected - len(missing), 0), elapsed_s, missing, run.steps)


def on_terminal(*streams: TextIO) -> bool:
    """Whether all of these are a terminal that can erase a line."""
    return os.environ.get("TERM", "dumb") != "dumb" and all(one.isatty() for one in streams)
