"""``sh`` with a real strace where there is one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from cluster import eventually
from saltlite.beacons import sh
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.providers.watch import shells


def can_trace():
    """Whether strace is there, and may trace what is not its child."""
    if shutil.which("strace") is None:
        return False
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        argv = ["timeout", "5", "strace", "-e", "trace=none", "-p", str(child.pid)]
        with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as tracer:
            told = tracer.stderr.readline()
            child.stdin.close()
            child.wait()
            tracer.wait()
    return "attached" in told


needs_strace = pytest.mark.skipif(not can_trace(), reason="no strace that may trace others")


class Only(Host):
    """This machine, as if nothing but these processes ran on it."""

    def __init__(self, pids):
        self.pids = pids
        self.awaited = set()
        self.tried = 0

    def names(self, path):
        return [str(pid) for pid in self.pids] if path == "/proc" else super().names(path)

    def read_text(self, path):
        return "/bin/bash\n" if path == shells.SHELLS_FILE else super().read_text(path)

    def awaits(self, pid):
        self.awaited.add(pid)
        self.tried += 1

    def awaits_no_more(self, pid):
        self.awaited.discard(pid)


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def context(host, clock=None):
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(with_functions(minion), "name", clock or Clock())


@pytest.fixture
def shell():
    """A shell that reads commands; its command line is the one word."""
    with subprocess.Popen(
        ["bash"], executable="/bin/bash", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        yield child
        child.stdin.close()


def say(shell, text):
    shell.stdin.write(f"{text}\n")
    shell.stdin.flush()


def until_traced(ctx, shell):
    """Traced is who has a tracer, says the kernel."""

    def is_traced():
        sh.beacon(ctx, {})
        with open(f"/proc/{shell.pid}/status") as file:
            return "TracerPid:\t0\n" not in file.read()

    eventually(is_traced, within_s=20, what="a tracer")


def tracers(host):
    return [pid for pid in host.awaited if os.path.exists(f"/proc/{pid}")]


@needs_strace
def test_what_is_run_from_a_shell_is_told_and_the_shell_goes_on(shell):
    host = Only([shell.pid])
    ctx = context(host)
    until_traced(ctx, shell)
    say(shell, '/bin/sh -c \'/bin/echo "a b" ""; exit 0\'; /bin/echo done execve')
    found = []

    def arrive():
        found.extend(sh.beacon(ctx, {}))
        return any("execve" in one["args"] for one in found)

    eventually(arrive, within_s=20, what="the commands")
    assert [(one["tag"], one["cmd"], one["args"]) for one in found] == [
        (str(shell.pid), "/bin/sh", ["/bin/sh", "-c", '/bin/echo \\"a b\\" \\"\\"; exit 0']),
        (str(shell.pid), "/bin/echo", ["/bin/echo", "a b", ""]),
        (str(shell.pid), "/bin/echo", ["/bin/echo", "done", "execve"]),
    ]
    assert all(set(one) == {"tag", "cmd", "args", "user"} and one["user"] for one in found)
    before = tracers(host)
    assert len(before) == 1
    sh.close(ctx, {})
    assert not host.awaited
    assert not os.path.exists(f"/proc/{before[0]}")
    assert [shell.stdout.readline() for _ in range(2)] == ["a b \n", "done execve\n"]
    say(shell, "echo still here")
    assert shell.stdout.readline() == "still here\n"


@needs_strace
def test_a_flood_is_cut_and_holds_up_no_shell(shell, monkeypatch, caplog):
    monkeypatch.setattr(shells, "COMMANDS_LIMIT", 10)
    ctx = context(Only([shell.pid]))
    until_traced(ctx, shell)
    text = "x" * 900  # more than a pipe holds, in all
    say(shell, f"for i in $(seq 200); do /bin/echo $i {text} > /dev/null; done; echo over")
    assert shell.stdout.readline() == "over\n"  # with nobody looking

    def was_cut():
        return sh.beacon(ctx, {}) and "commands of the shell" in caplog.text

    eventually(was_cut, within_s=20, what="the commands")
    sh.close(ctx, {})


@needs_strace
def test_a_shell_that_ends_is_forgotten(shell):
    host = Only([shell.pid])
    ctx = context(host)
    until_traced(ctx, shell)
    shell.stdin.close()
    shell.wait(20)
    host.pids = []
    eventually(lambda: sh.beacon(ctx, {}) == [] and not host.awaited, within_s=20, what="the end")


@needs_strace
def test_what_another_traces_is_tried_again_a_minute_later(shell):
    first, host, clock = context(Only([shell.pid])), Only([shell.pid]), Clock()
    until_traced(first, shell)
    ctx = context(host, clock)
    sh.beacon(ctx, {})
    eventually(lambda: sh.beacon(ctx, {}) == [] and not host.awaited, within_s=20, what="its end")
    assert host.tried == 1  # it may have ended within the first look
    clock.now_s = 59.0
    sh.beacon(ctx, {})
    assert host.tried == 1
    clock.now_s = 61.0
    sh.close(first, {})
    sh.beacon(ctx, {})
    assert host.tried == 2
    sh.close(ctx, {})


KILLED = """
    import os, signal
    from test_sh import Only, context, until_traced
    from saltlite.minion.process import JobHost
    from types import SimpleNamespace

    class Mine(JobHost, Only):
        def __init__(self, pids):
            JobHost.__init__(self)
            self.pids = pids

        def awaits(self, pid):
            print(pid, flush=True)
            JobHost.awaits(self, pid)

    until_traced(context(Mine([{pid}])), SimpleNamespace(pid={pid}))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_strace
def test_no_tracer_outlives_a_process_that_is_killed(shell):
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    code = textwrap.dedent(KILLED).format(pid=shell.pid)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    tracer = int(done.stdout)

    def has_gone():
        try:
            with open(f"/proc/{tracer}/stat") as file:
                return file.read().rpartition(") ")[2][0] == "Z"  # init has not looked yet
        except FileNotFoundError:
            return True

    eventually(has_gone, within_s=20, what="the end of the tracer")
    say(shell, "echo still here")
    assert shell.stdout.readline() == "still here\n"


def test_without_strace_it_says_so():
    class Bare(Only):
        def which(self, name):
            return None

    with pytest.raises(FunctionError, match="strace is missing"):
        sh.beacon(context(Bare([])), {})


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('execve("/a", ["a", "b"], 0x7f /* 1 var */) = 0', ("/a", ("a", "b"))),
        ('[pid    7] execve("/a", ["a"], 0x7f /* 1 var */ <unfinished ...>', ("/a", ("a",))),
        ('execve("/a", ["a", "b", ...], 0x7f) = 0', ("/a", ("a", "b"))),
        ('execve("/a\\"b", ["a\\\\", "[", "]"], 0x7f) = 0', ('/a\\"b', ("a\\\\", "[", "]"))),
        ('execve("/a", 0x5, 0x7f) = -1 EFAULT (Bad address)', ("/a", ())),
        ('execve(0x5, ["a"], 0x7f) = -1 EFAULT (Bad address)', None),
        ('execve("/a', None),
        ("<... execve resumed>) = 0", None),
        ('write(2, "execve(\\"/a\\", [\\"a\\"]", 20) = 20', None),
        ("", None),
    ],
)
def test_lines_of_strace(line, found):
    assert shells.parse_execve(line) == found
