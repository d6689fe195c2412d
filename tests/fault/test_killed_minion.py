"""kill -9 of a minion takes its jobs and what they wait for with it, and nothing else.

Source: docs/reliability.md#the-minion-goes-away.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from faultlab import Lab, all_gone

from cluster import Cluster, Daemon, eventually, running
from saltlite.minion.guard import TITLE
from saltlite.process import start_ticks

pytestmark = pytest.mark.alone

WAITS = """\
sleep 1000 & echo $$ $! > {marks}/new-{name}
mv {marks}/new-{name} {marks}/{name}
wait
"""
"""A command of two processes, that waits for the second one."""

LEAVES = "nohup sleep 1000 > /dev/null 2>&1 & echo $! > {marks}/{name}"
"""A command that starts a daemon and ends."""

KINDS = ("run", "vt", "list", "script", "state", "parallel")


class Site:
    """Jobs of ``m1`` that wait, each for a command that notes its process ids."""

    def __init__(self, world: Cluster) -> None:
        self.world = world
        self.marks = world.root / "marks"
        self.srv = world.root / "master" / "srv"
        for directory in (self.marks, self.srv):
            directory.mkdir(exist_ok=True)
        for mark in self.marks.iterdir():
            mark.unlink()

    def begin(self, *names: str) -> dict[str, str]:
        """Start these jobs and wait until each is at its command; their jids."""
        jids = {name: self._publish(name) for name in names}
        for name in names:
            eventually((self.marks / name).exists, what=f"{name} is at its command")
        return jids

    def pids(self, name: str) -> list[int]:
        return [int(pid) for pid in (self.marks / name).read_text().split()]

    def ended(self, *names: str) -> Callable[[], bool]:
        return lambda: not any(start_ticks(pid) for name in names for pid in self.pids(name))

    def _publish(self, name: str) -> str:
        ran = self.world.salt("m1", *self._call(name), "--async")
        return ran.stdout.split()[-1]

    def _call(self, name: str) -> tuple[str, ...]:
        waits = WAITS.format(marks=self.marks, name=name)
        leaves = LEAVES.format(marks=self.marks, name="daemon")
        if name == "script":
            (self.srv / "waits.sh").write_text(waits)
            return "cmd.script", "salt://waits.sh"
        if name in ("state", "parallel"):
            states = {
                "leaves": {"cmd.run": [{"name": leaves}]},
                "waits": {"cmd.run": [{"name": waits}, {"parallel": name == "parallel"}]},
            }
            (self.srv / f"{name}.sls").write_text(yaml.safe_dump(states, sort_keys=False))
            return "state.apply", name, "concurrent=True"
        how = {
            "vt": ("use_vt=True",),
            "list": ("python_shell=False",),
            "background": ("bg=True",),
        }.get(name, ())
        if name == "list":
            script = self.world.root / "waits.sh"
            script.write_text(waits)
            return "cmd.run", f"sh {script}", *how
        return "cmd.run", waits, *how


def kill_all(minion: Daemon) -> None:
    """Every process that is called a minion's."""
    for process in minion.titled("salt-minion"):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.fixture(scope="module")
def world() -> Iterator[Cluster]:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        yield cluster


@pytest.fixture
def site(world: Cluster) -> Iterator[Site]:
    site = Site(world)
    yield site
    for mark in site.marks.iterdir():
        for pid in map(int, mark.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_all, Daemon.kill], ids=["whole", "first process"])
def test_what_jobs_wait_for_ends_with_the_minion(
    site: Site, kill: Callable[[Daemon], None]
) -> None:
    minion = site.world.minions["m1"]
    jids = site.begin(*KINDS, "background")
    guards = minion.titled(TITLE)
    assert len(guards) == len(KINDS) + 1  # the parallel state and its run have one each
    jobs = [job for jid in jids.values() for job in minion.titled(f"job {jid}")]
    kill(minion)
    eventually(site.ended(*KINDS), within_s=5.0, what="no command is left")
    assert not all_gone([*jobs, *guards], within_s=5.0)
    assert not site.ended("background")()
    assert not site.ended("daemon")()
    minion.start()
    lab = Lab(site.world)
    try:
        for name in KINDS:
            kept = eventually(lambda: lab.returns(jids[name]).get("m1"), within_s=10, what=name)  # noqa: B023
            assert kept["retcode"] == 254
            assert "stopped while this job ran" in str(kept["return"])
        ran = site.world.salt("m1", "state.single", "test.nop", "name=x", "--out=json")
        assert ran.exit_code == 0, ran.stdout
    finally:
        lab.close()


def test_what_jobs_wait_for_ends_with_the_job_and_its_state(site: Site) -> None:
    """Also where the process of a parallel state is killed and its run is not."""
    minion = site.world.minions["m1"]
    jid = site.begin("parallel")["parallel"]
    run = eventually(lambda: minion.titled(f"job {jid}"), what="the run")
    shell = psutil.Process(site.pids("parallel")[0])
    state = shell.parent()
    assert state is not None and state.pid in [one.pid for one in run]
    state.kill()
    eventually(site.ended("parallel"), within_s=5.0, what="no command is left")
    assert not site.ended("daemon")()
    eventually(lambda: not minion.titled(jid), what="the run goes on to its end")


def test_a_job_that_is_told_to_end_takes_its_command_along(site: Site) -> None:
    minion = site.world.minions["m1"]
    for function in ("saltutil.term_job", "saltutil.kill_job"):
        jid = site.begin("run")["run"]
        guards = minion.titled(TITLE)
        site.world.salt("m1", function, jid)
        eventually(site.ended("run"), within_s=5.0, what="no command is left")
        assert not all_gone(guards, within_s=5.0)
        (site.marks / "run").unlink()


def test_a_job_in_a_thread_has_a_guard_too(tmp_path: Path) -> None:
    with running(minions=1, minion_options={"multiprocessing": False}) as world:
        site, minion = Site(world), world.minions["m1"]
        world.salt("m1", "cmd.run", "true")
        eventually(lambda: not minion.titled(TITLE), what="no guard is left without a command")
        site.begin("run", "background")
        kill_all(minion)
        eventually(site.ended("run"), within_s=5.0, what="no command is left")
        assert not site.ended("background")()
        for pid in site.pids("background"):
            os.kill(pid, signal.SIGKILL)
