"""Load, faults and a history, and what the history must prove.

A job appends its number to a file of the minion that runs it, and returns the number. So the
minion's own file tells what was started, the commands' exits tell what was promised, and the job
store tells what is known: the promises are checked between these three, never from a daemon's log.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from cluster import Cluster, Daemon, eventually


@dataclass(frozen=True)
class Published:
    """A job whose jid was handed out."""

    number: int
    jid: str


@dataclass
class History:
    """What happened, seen from the edges."""

    published: list[Published] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass
class Lab:
    """A running cluster under load."""

    cluster: Cluster
    history: History = field(default_factory=History)
    _stop: threading.Event = field(default_factory=threading.Event)

    def ran_path(self, minion_id: str) -> Path:
        return self.cluster.root / minion_id / "ran"

    def started(self, minion_id: str) -> Counter[int]:
        """How often each job was started, from the minion's own file."""
        path = self.ran_path(minion_id)
        return (
            Counter(int(line) for line in path.read_text().split()) if path.exists() else Counter()
        )

    def publish(self, number: int, *, sleep_s: float = 0.0) -> None:
        """One job to everyone, without waiting for it."""
        command = f"echo {number} >> $MINION_HOME/ran; echo {number}"
        if sleep_s:
            command = f"sleep {sleep_s}; {command}"
        ran = self.cluster.salt("*", "cmd.run", command, "python_shell=True", "--async")
        words = ran.stdout.split()
        if ran.exit_code == 0 and words and words[-1].isdigit():
            self.history.published.append(Published(number, words[-1]))
        else:
            self.history.refused.append(ran.stdout + ran.stderr)

    @contextlib.contextmanager
    def load(self) -> Iterator[None]:
        """Jobs one after the other, as fast as the command goes, until the block ends."""
        thread = threading.Thread(target=self._publish_on, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(60)
            assert not thread.is_alive(), "a command hung"

    def _publish_on(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            self.publish(number)

    def returns(self, jid: str) -> dict[str, str]:
        found = self.cluster.salt_run("jobs.lookup_jid", jid, "--out=json").json
        return dict(found or {})

    def check(self, *, everyone_ran: bool = True, within_s: float = 60.0) -> None:
        """P-once, P-ret, P-job; with ``everyone_ran`` also that no minion missed a job."""
        assert self.history.published, "no job was published"
        for job in self.history.published:
            eventually(
                lambda job=job: self._complete(job, everyone_ran),
                within_s=within_s,
                what=f"job {job.number} ({job.jid}) is complete: {self._state(job)}",
            )
        for minion_id in self.cluster.minions:
            twice = {n: count for n, count in self.started(minion_id).items() if count > 1}
            assert not twice, f"{minion_id} started jobs more than once: {twice}"

    def _complete(self, job: Published, everyone_ran: bool) -> bool:
        returned = self.returns(job.jid)
        for minion_id in self.cluster.minions:
            has_run = job.number in self.started(minion_id)
            if everyone_ran and not has_run:
                return False
            if has_run and returned.get(minion_id) != str(job.number):
                return False
        return True

    def _state(self, job: Published) -> str:
        ran = [one for one in self.cluster.minions if job.number in self.started(one)]
        return f"ran on {ran}, returned {self.returns(job.jid)}"


def kill_titled(daemon: Daemon, words: str) -> int:
    """SIGKILL one process by its title; its pid."""
    victims = eventually(lambda: daemon.titled(words), within_s=10, what=f"a process {words}")
    victim = victims[0]
    victim.kill()
    return int(victim.pid)


def replaced(daemon: Daemon, words: str, old_pid: int) -> Callable[[], bool]:
    """Whether a new process has taken the killed one's place."""

    def check() -> bool:
        return any(
            one.pid != old_pid and one.status() != psutil.STATUS_ZOMBIE
            for one in daemon.titled(words)
        )

    return check


def kill_again_and_again(daemon: Daemon, words: str, *, every_s: float, times: int) -> list[float]:
    """Kill a process, wait for its successor, let it work a while; how long each took to return."""
    took_s = []
    for _ in range(times):
        pid = kill_titled(daemon, words)
        begun = time.monotonic()
        eventually(replaced(daemon, words, pid), within_s=10, what=f"{words} is back")
        took_s.append(time.monotonic() - begun)
        threading.Event().wait(every_s)  # the load goes on meanwhile: this is the fault's spacing
    return took_s
