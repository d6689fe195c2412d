"""The line that ``salt-call`` shows of a run of states: drawn by ticks, never mixed with others."""

from __future__ import annotations

import io
import logging
import signal
from pathlib import Path

import pytest

from saltlite.cli.live import ERASE, Progress, StatusLine
from saltlite.cli.runline import RunLine, running, show_progress
from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    config = load_minion(str(tmp_path), {}, cache_id=False)
    return MinionContext(config=config, host=Host(), grains={}, pillar={})


def drawn(terminal: io.StringIO) -> RunLine:
    return RunLine(StatusLine(terminal, running, wait_s=0, clock=lambda: 12.4))


@pytest.mark.parametrize(
    ("width", "text"), [(80, "3/40 pkg.installed a, 12 s"), (12, "3/40 pkg.in…")]
)
def test_what_it_says(width: int, text: str) -> None:
    assert running(Progress(40, 3, 12.4, ("pkg.installed a",)), width) == text


def test_a_tick_draws_what_runs_now() -> None:
    terminal = Terminal()
    line = drawn(terminal)
    line.tick()
    assert terminal.getvalue() == ""
    line.begins("test.nop a", 1, 2)
    line.tick()
    line.tick()
    assert terminal.getvalue() == f"{ERASE}1/2 test.nop a, 0 s"


def test_a_log_line_finds_an_empty_line() -> None:
    terminal = Terminal()
    line = drawn(terminal)
    line.begins("test.nop a", 1, 2)
    line.tick()
    log = logging.getLogger("test_a_log_line")
    log.propagate = False
    handler = logging.StreamHandler(terminal)
    handler.addFilter(line)
    log.addHandler(handler)
    log.error("oh")
    assert terminal.getvalue().endswith(f"{ERASE}oh\n")


def test_all_is_as_before_when_the_run_is_over(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    before = signal.getsignal(signal.SIGALRM)
    timer = signal.getitimer(signal.ITIMER_REAL)
    try:
        with show_progress(ctx, Terminal()):
            assert ctx.begins is not None
            assert signal.getitimer(signal.ITIMER_REAL)[1] > 0
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)  # the one that ends a test that hangs
    assert ctx.begins is None
    assert signal.getsignal(signal.SIGALRM) is before


def test_nothing_is_shown_where_there_is_no_terminal(ctx: MinionContext) -> None:
    stream = io.StringIO()
    with show_progress(ctx, stream):
        assert ctx.begins is None
    assert stream.getvalue() == ""
