"""Some thousand simulated minions below one master, and what they cost it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from repository import ROOT

from cluster import Cluster

SWARM = ROOT / "scripts" / "minion_swarm"


class Fleet:
    """The simulator and its reports."""

    def __init__(self, cluster: Cluster, minions: int, *options: str) -> None:
        self.cluster = cluster
        self.minions = minions
        self._process = subprocess.Popen(
            [
                sys.executable, str(SWARM), f"--port={cluster.ret_port}", f"--minions={minions}",
                f"--keys={cluster.root / 'keys'}", "--distinct-keys=4",
                f"--pki-dir={cluster.pki_dir}", *options,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def say(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def report(self, phase: str, fun: str = "") -> dict[str, Any]:
        """The next report of a phase; others before it are passed over."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["phase"] == phase and found.get("fun", "") == fun:
                return found
        raise AssertionError(f"the simulator has ended without {phase}")

    def ping(self, patience_s: int = 60) -> tuple[set[str], float]:
        """Who answered ``salt '*' test.ping`` with true, and how long the returns took to come."""
        wait = f"--timeout={patience_s}"
        done = self.cluster.salt("*", "test.ping", "--out=json", "--static", wait, timeout_s=600)
        answered = {name for name, value in (done.json or {}).items() if value is True}
        return answered, self.report("job", "test.ping")["seconds"]

    def close(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=60)
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def fleet(cluster: Cluster, minions: int, *options: str) -> Iterator[Fleet]:
    """A fleet that is signed in and subscribed."""
    one = Fleet(cluster, minions, *options)
    try:
        ready = one.report("ready")
        assert ready["done"] == minions, ready
        yield one
    finally:
        one.close()


def cpu_s(processes: list[psutil.Process]) -> float:
    """What these have had of the cores, to the nanosecond, all their threads together."""
    spent_ns = 0
    for process in processes:
        for stat in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                spent_ns += int(stat.read_text().split()[0])
    return spent_ns / 1e9


def usage(processes: list[psutil.Process]) -> dict[str, tuple[float, int]]:
    """MiB and descriptors of each, by its title."""
    found = {}
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            title = " ".join(one.cmdline()).strip()
            found[title] = (one.memory_info().rss / (1 << 20), one.num_fds())
    return found
