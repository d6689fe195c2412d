"""One fault after the other at random moments, the same for the same seed; the promises hold.

``SALTLITE_FAULT_SEEDS=7,8,9`` and ``SALTLITE_FAULT_S=60`` run others, for longer. Source:
docs/reliability.md#promises.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from faultlab import Lab

from cluster import Daemon, running

pytestmark = pytest.mark.alone

SEEDS = [int(one) for one in os.environ.get("SALTLITE_FAULT_SEEDS", "1,2").split(",")]
LASTS_S = float(os.environ.get("SALTLITE_FAULT_S", "8"))
MASTERS = ["MWorker-0", "MWorker-1", "ReqServer", "EventPublisher", "Publisher", "Maintenance"]
MINIONS = ["m1", "m2"]


@pytest.fixture
def lab() -> Iterator[Lab]:
    with running(minions=2, master_options={"worker_threads": 2}) as cluster:
        lab = Lab(cluster)
        yield lab
        lab.close()


@pytest.mark.slow
@pytest.mark.timeout(60 + 3 * LASTS_S)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_promises_hold_whatever_is_done_to_the_processes(lab: Lab, seed: int) -> None:
    nemesis = Nemesis(lab, random.Random(seed))
    with lab.load(every_s=0.1):
        until_s = time.monotonic() + LASTS_S
        while time.monotonic() < until_s:
            nemesis.strike()
    print(f"seed {seed}: {', '.join(nemesis.done)}")
    print(f"{len(lab.history.published)} jobs, {len(lab.history.refused)} refused")
    lab.wait_for_all(within_s=30)
    lab.check(everyone_ran=False, within_s=60)


class Nemesis:
    """Does something bad, and then something else. What it did is in ``done``."""

    def __init__(self, lab: Lab, dice: random.Random) -> None:
        self._lab = lab
        self._dice = dice
        self.done: list[str] = []

    def strike(self) -> None:
        """One fault, and a moment without."""
        evils: list[Callable[[], str]] = [
            self._kill_child,
            self._kill_child,
            self._kill_child,
            self._pause_child,
            self._kill_loop,
            self._kill_job,
            self._kill_minion,
            self._kill_master,
            self._stop_master,
            self._stop_minion,
        ]
        self.done.append(self._dice.choice(evils)())
        threading.Event().wait(self._dice.uniform(0.05, 0.8))  # the spacing of the faults

    def _kill_child(self) -> str:
        name = self._dice.choice(MASTERS)
        for one in self._lab.cluster.master.titled(f"salt-master {name}"):
            kill(one)
        return f"kill {name}"

    def _pause_child(self) -> str:
        name = self._dice.choice(MASTERS)
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in self._lab.cluster.master.titled(f"salt-master {name}"):
                one.suspend()
                threading.Event().wait(self._dice.uniform(0.1, 0.6))  # how long it stands still
                one.resume()
        return f"pause {name}"

    def _minion(self) -> tuple[str, Daemon]:
        name = self._dice.choice(MINIONS)
        return name, self._lab.cluster.minions[name]

    def _kill_loop(self) -> str:
        name, minion = self._minion()
        for one in minion.titled("salt-minion Minion"):
            kill(one)
        return f"kill loop of {name}"

    def _kill_job(self) -> str:
        name, minion = self._minion()
        for one in minion.titled("salt-minion job")[:1]:
            kill(one)
        return f"kill a job of {name}"

    def _kill_minion(self) -> str:
        name, minion = self._minion()
        minion.kill()
        minion.start()
        return f"kill {name}"

    def _stop_minion(self) -> str:
        name, minion = self._minion()
        assert minion.process is not None
        minion.process.terminate()
        assert minion.process.wait(10) in (0, -15)
        minion.start()
        return f"stop {name}"

    def _kill_master(self) -> str:
        self._lab.cluster.master.kill()
        self._lab.cluster.start_master()
        return "kill master"

    def _stop_master(self) -> str:
        assert self._lab.cluster.master.stop() == 0
        self._lab.cluster.start_master()
        return "stop master"


def kill(process: psutil.Process) -> None:
    """SIGKILL, unless it has gone by itself."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
