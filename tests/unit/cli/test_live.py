"""The line that shows how far a job is: what it says, and that it is on terminals alone."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from standin import StandIn, pings, says

from saltlite.cli.live import ERASE, Progress, StatusLine, bar, follow_batch, rows, status
from saltlite.client.batch import BatchIdle, Started
from saltlite.client.collect import MinionReturn, Step
from saltlite.core.tags import job_progress, job_ret

JID = "20260102030405000001"
WITHIN_S = 20


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(5, 2, 12.3, {"db1"}), "2/5 returned, 12 s, waiting for db1"),
        (Progress(5, 5, 1.0), "5/5 returned, 1 s"),
        (
            Progress(9, 0, 0.6, ["e", "d", "c", "b", "a"]),
            "0/9 returned, 1 s, waiting for a, b, c and 2 more",
        ),
        (
            Progress(2, 0, 3, ["a", "z"], {"z": Step(3, 7, "motd")}),
            "0/2 returned, 3 s, waiting for z (3/7 motd), a",
        ),
        (Progress(1, 0, 3, ["z"], {"z": Step(3, 0, "")}), "0/1 returned, 3 s, waiting for z (3)"),
        (Progress(1, 0, 3, ["z"], {"z": Step(1, 2, "\033[2Jx")}), None),
    ],
)
def test_what_the_line_says(progress, text):
    assert status(progress, 200) == (text or "0/1 returned, 3 s, waiting for z (1/2 ?[2Jx)")


def test_minions_that_say_which_state_runs_have_rows():
    now = {"data": {"now": "pkg.installed nginx", "number": 3, "len": 7}}
    steps = {"web1": Step.of("now", now), "db": Step(4, 0, "motd")}
    assert steps["web1"] == Step(2, 7, "pkg.installed nginx")
    assert rows(Progress(3, 0, 2, ["web1", "db", "quiet"], steps), 60).split("\n") == [
        "0/3 returned, 2 s, waiting for quiet",
        "  db          4  motd",
        "  web1      2/7  pkg.installed nginx, 5 left",
    ]
    many = {f"m{number:02}": Step(1, 2, "x") for number in range(50)}
    assert rows(Progress(50, 0, 2, list(many), many), 60).count("\n") == 8
    assert rows(Progress(5, 5, 1.0), 60) == "5/5 returned, 1 s"


def test_rows_are_erased_with_their_line():
    terminal, now = Terminal(), [0.0]
    with StatusLine(terminal, rows, wait_s=0, clock=lambda: now[0]) as line:
        line.show(Progress(1, 0, 1, ["a"], {"a": Step(1, 2, "x")}))
    assert terminal.text.endswith("\r\033[1A\033[J")


def test_the_line_fits_the_terminal():
    text = status(Progress(1000, 1, 5, [f"minion-with-a-long-name-{n}" for n in range(9)]), 40)
    assert len(text) == 40
    assert text.endswith("…")


def test_the_bar():
    assert bar(Progress(4, 1, 2, {"a"}), 100) == (
        f"[{'#' * 8}{'.' * 22}]  25% 1/4 returned, 2 s, waiting for a"
    )
    assert bar(Progress(0, 0, 0), 100).startswith(f"[{'.' * 30}]   0%")


def test_what_a_progress_event_says():
    state = {"__id__": "motd", "name": "/etc/motd"}
    assert Step.of("2", {"data": {"len": 7, "ret": state}}) == Step(3, 7, "motd")
    assert Step.of("2", {"ret": {"name": "x"}}) == Step(3, 0, "x")
    assert Step.of("x", {"data": 5}) == Step(0, 0, "")


class Terminal:
    """Keeps what is written."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_short_job_draws_nothing_and_a_long_one_is_erased():
    terminal, now = Terminal(), [0.0]
    with StatusLine(terminal, clock=lambda: now[0]) as line:
        now[0] = 0.9
        line.show(Progress(1, 0, 0.9, ["a"]))
        line.clear()
        assert terminal.text == ""
        now[0] = 1.1
        for _ in range(3):
            line.show(Progress(1, 0, 1.1, ["a"]))
    assert terminal.text == f"{ERASE}0/1 returned, 1 s, waiting for a{ERASE}"


def test_a_batch_is_followed():
    terminal = Terminal()
    outcomes = [
        Started(JID, ("a", "b")),
        BatchIdle(frozenset("ab"), 3),
        MinionReturn(JID, "a", True),
        BatchIdle(frozenset("b"), 3),
    ]
    line = StatusLine(terminal, wait_s=0)
    assert list(follow_batch(outcomes, line)) == [outcomes[0], outcomes[2]]
    assert re.findall(r"\d/\d returned", terminal.text) == ["0/5 returned", "1/5 returned"]
    assert terminal.text.endswith(ERASE)


# --- the command ---------------------------------------------------------------------------------


def hear_interrupts():
    """A shell has what it puts in the background ignore them, and what that starts as well."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Command:
    """``salt`` on a terminal of its own."""

    def __init__(self, master, *words):
        self._master_end, end = pty.openpty()
        environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "saltlite.cli.salt", "-c", str(master.folder), *words],
            stdin=end, stdout=end, stderr=end, env=environ,
            preexec_fn=hear_interrupts,
        )  # fmt: skip
        os.close(end)
        self.text = ""

    def read_until(self, wanted):
        deadline = time.monotonic() + WITHIN_S
        while wanted not in self.text:
            assert self._read(deadline), f"{wanted!r} is not in {self.text!r}"

    def rest(self):
        """All that is left; the exit code."""
        while self._read(time.monotonic() + WITHIN_S):
            pass
        os.close(self._master_end)
        return self._process.wait(WITHIN_S)

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)

    def _read(self, deadline):
        if not select.select([self._master_end], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._master_end, 65536).decode()
        except OSError:  # the other end is closed
            return False
        self.text += data
        return bool(data)

    def seen(self):
        """What is left on the screen, without colours."""
        lines = [line.rpartition(ERASE)[2] for line in self.text.split("\r\n")]
        return re.sub(r"\033\[[0-9;]*m", "", "\n".join(lines))


@pytest.fixture
def master():
    with StandIn({"web1": pings, "slow": None}, timeout=15, gather=5) as standin:
        standin.accept("web1", "slow")
        yield standin


def finish(master):
    data = {"jid": JID, "id": "slow", "fun": "test.ping", "return": True, "retcode": 0}
    master.fire(job_ret(JID, "slow"), {**data, "success": True})


def test_a_long_job_on_a_terminal(master):
    command = Command(master, "*", "test.ping")
    command.read_until("1/2 returned, 1 s, waiting for slow")
    state = {"__id__": "motd", "result": True}
    master.fire(job_progress(JID, "slow", 1), {"data": {"len": 5, "ret": state}, "id": "slow"})
    command.read_until("  slow      2/5  motd, 3 left")
    finish(master)
    assert command.rest() == 0
    assert command.seen().startswith("web1:\n    True\n")
    # The row and the line above it are erased before the return is printed.
    assert command.seen().endswith("\033[1A\033[Jslow:\n    True\n")


def test_a_bar_on_a_terminal(master):
    command = Command(master, "*", "test.ping", "--progress", "--static")
    command.read_until("50% 1/2 returned")
    finish(master)
    assert command.rest() == 0
    assert command.seen() == "slow:\n    True\nweb1:\n    True\n"


def test_a_batch_on_a_terminal(master):
    master.minions = {"web1": pings, "slow": says_ping_only}
    command = Command(master, "*", "test.echo", "hi", "-b", "2")
    command.read_until("1/2 returned, 1 s, waiting for slow")
    jid = f"{JID[:-1]}2"
    data = {"jid": jid, "id": "slow", "fun": "test.echo", "return": "hi", "retcode": 0}
    master.fire(job_ret(jid, "slow"), data)
    assert command.rest() == 0
    head = f"jid:\n    {jid}\nretcode:\n    0\n"
    shown = f"['slow', 'web1']\n\n{head}web1:\n    hi\n{head}slow:\n    hi\n"
    assert command.seen().endswith(shown)


def says_ping_only(load):
    return says(True)(load) if load["fun"] == "test.ping" else None


def test_ctrl_c_on_a_terminal_leaves_no_line(master):
    command = Command(master, "*", "test.ping", "-t", "60")
    command.read_until("1/2 returned")
    command.interrupt()
    assert command.rest() == 1
    assert "1/2 returned" not in command.seen()
    assert f"This job's jid is: {JID}" in command.seen()


def test_pipes_never_see_the_line(master):
    with StandIn({"web1": pings, "slow": None}, timeout=1.5, gather=1.5) as standin:
        done = subprocess.run(
            [sys.executable, "-m", "saltlite.cli.salt", "-c", str(standin.folder), "*", "test.ping",
             "--progress"],
            capture_output=True, text=True, env={**os.environ, "TERM": "xterm"}, check=False,
        )  # fmt: skip
    assert done.stdout.startswith("web1:\n    True\nslow:\n    Minion did not return.")
    assert "\033" not in done.stdout + done.stderr
    assert "waiting for" not in done.stdout + done.stderr


def test_a_terminal_is_told_why_a_minion_is_missing():
    with StandIn({"web1": pings, "ghost": None}) as standin:
        standin.accept("web1")
        command = Command(standin, "*", "test.ping")
        assert command.rest() == 1
    last = command.seen().splitlines()
    assert last[-2] == "ghost: no key: the master does not know it"
    assert last[-1] == "ERROR: Minions returned with non-zero exit code"
