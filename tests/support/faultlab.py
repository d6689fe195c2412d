"""Load, faults and a history, and what the history must prove.

A job appends its number to a file of the minion that runs it, and returns the number. So the
minion's own file tells what was started, the answers to ``publish`` tell what was promised, and the
job store tells what is known: the promises are checked between these three, never from a log.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from cluster import OURS, Cluster, Daemon, bin_dir, eventually
from saltlite.client.job_request import JobRequest
from saltlite.client.jobs import JobClient
from saltlite.config.load import load_master
from saltlite.core.job_query import JobQuery
from saltlite.errors import MasterRefused, RequestTimeout
from saltlite.master.jobcache import SqliteJobStore

NUMBERS = itertools.count(1)
"""Of jobs; never given twice, so that a late job of one test is not taken for one of the next."""


SHELL = {"__kwarg__": True, "python_shell": True}


@dataclass(frozen=True)
class Published:
    """A job whose jid was handed out. Times are monotonic."""

    number: int
    jid: str
    asked_s: float
    answered_s: float


@dataclass(frozen=True)
class Refused:
    """A job that was asked for, and no jid came: what was said instead."""

    number: int
    said: str
    asked_s: float
    answered_s: float


@dataclass
class History:
    """What happened, seen from the edges."""

    published: list[Published] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def longest_silence_s(self) -> float:
        """The longest time between two jobs whose jids were handed out."""
        stamps = [one.answered_s for one in self.published]
        return max((b - a for a, b in itertools.pairwise(stamps)), default=0.0)


@dataclass
class Lab:
    """A running cluster under load."""

    cluster: Cluster
    history: History = field(default_factory=History)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._client = JobClient(load_master(self.cluster.master_dir))
        self._store = SqliteJobStore(self.cluster.cache_dir, read_only=True)

    # --- what happens --------------------------------------------------------------------

    def ran_path(self, minion_id: str) -> Path:
        return self.cluster.root / minion_id / "ran"

    def publish(
        self, *, sleep_s: float = 0.0, tgt: str = "*", timeout_s: float = 15.0
    ) -> Published | None:
        """One job to everyone, without waiting for it; ``None`` if no jid came."""
        number = next(NUMBERS)
        command = f"echo {number} >> $MINION_HOME/ran; echo {number}"
        if sleep_s:
            command = f"{command}; sleep {sleep_s}"
        asked_s = time.monotonic()
        try:
            reply = self._client.publish(
                JobRequest(tgt=tgt, fun="cmd.run", arg=[command, SHELL]), timeout_s=timeout_s
            )
        except (MasterRefused, RequestTimeout) as error:
            self.history.refused.append(Refused(number, str(error), asked_s, time.monotonic()))
            return None
        assert reply is not None, "no minion matches"
        job = Published(number, str(reply.jid), asked_s, time.monotonic())
        self.history.published.append(job)
        return job

    def publish_as(self, jid: str) -> None:
        """A job with a jid of ours; raises MasterRefused."""
        self._client.publish(JobRequest(tgt="*", fun="test.ping", jid=jid))

    @contextlib.contextmanager
    def load(self, *, every_s: float = 0.15) -> Iterator[None]:
        """Jobs until the block ends, each ``every_s`` after the answer to the one before."""
        self._stop.clear()
        thread = threading.Thread(target=self._publish_on, args=(every_s,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(60)
            assert not thread.is_alive(), "a publish hung"

    def _publish_on(self, every_s: float) -> None:
        while not self._stop.wait(every_s):
            self.publish(timeout_s=3.0)

    def wait_for_all(self, *, within_s: float = 30.0) -> None:
        """Until every minion answers, and so has a subscription."""
        eventually(self._all_answer, within_s=within_s, what="every minion answers")

    def _all_answer(self) -> bool:
        try:
            reply = self._client.publish(JobRequest(tgt="*", fun="test.ping"), timeout_s=2.0)
        except (MasterRefused, RequestTimeout):
            return False
        jid = str(reply.jid) if reply is not None else ""
        until_s = time.monotonic() + 0.5
        while time.monotonic() < until_s:
            if set(self.returns(jid)) == set(self.cluster.minions):
                return True
            time.sleep(0.01)
        return False

    def restart_master(self) -> None:
        """An orderly restart; it also makes the master forget how often its children died."""
        assert self.cluster.master.stop() == 0
        self.cluster.start_master()
        self.wait_for_all()

    def wait_for_more(self, jobs: int, *, within_s: float = 15.0) -> None:
        """Until the load has had so many jids more."""
        wanted = len(self.history.published) + jobs
        eventually(lambda: len(self.history.published) >= wanted, within_s=within_s)

    # --- what is known -------------------------------------------------------------------

    def started(self, minion_id: str) -> Counter[int]:
        """How often each job was started, from the minion's own file."""
        path = self.ran_path(minion_id)
        return (
            Counter(int(line) for line in path.read_text().split()) if path.exists() else Counter()
        )

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """What the job store has of a job."""
        return self._store.returns(jid)

    def store_load(self, jid: str) -> dict[str, Any]:
        """The load of a job that is on record."""
        record = self._store.job(jid)
        assert record is not None, jid
        return record.load

    def on_record(self) -> dict[int, str]:
        """The jids of all jobs on record, by the number in their command."""
        found = {}
        for record in self._store.jobs(JobQuery(fun="cmd.run")):
            words = str(record.load["arg"][0]).split()
            if words[0] == "echo":
                found[int(words[1])] = record.jid
        return found

    # --- what must hold ------------------------------------------------------------------

    def check(self, *, everyone_ran: bool = True, within_s: float = 60.0) -> None:
        """P-job, P-once, P-ret; with ``everyone_ran`` also that no minion missed a job."""
        assert self.history.published, "no job was published"
        on_record = self.on_record()
        lost = [one for one in self.history.published if on_record.get(one.number) != one.jid]
        assert not lost, f"P-job: not on record: {lost}"
        missing = self._missing_after(within_s, everyone_ran=everyone_ran)
        assert not missing, f"not within {within_s:g} s: {missing}"
        for minion_id in self.cluster.minions:
            twice = {n: count for n, count in self.started(minion_id).items() if count > 1}
            assert not twice, f"P-once: {minion_id} started jobs more than once: {twice}"

    def _missing_after(self, within_s: float, *, everyone_ran: bool) -> list[str]:
        """What is missing at the last look. There is no look after: a job may begin between two."""
        missing: list[str] = []

        def nothing_is_missing() -> bool:
            missing[:] = self.missing(everyone_ran=everyone_ran)
            return not missing

        with contextlib.suppress(AssertionError):
            eventually(nothing_is_missing, within_s=within_s)
        return missing

    def missing(self, *, everyone_ran: bool) -> list[str]:
        """What has not come yet: whatever was started, also of jobs that nobody has a jid of."""
        problems = []
        on_record = self.on_record()
        asked = {one.number for one in (*self.history.published, *self.history.refused)}
        for minion_id in self.cluster.minions:
            started = set(self.started(minion_id)) & asked
            for number in sorted(started):
                jid = on_record.get(number, "")
                kept = self.returns(jid).get(minion_id) if jid else None
                if kept is None or kept["return"] not in (str(number), _interrupted(kept)):
                    problems.append(f"P-ret: {minion_id} ran job {number} ({jid}); kept: {kept}")
            if everyone_ran:
                missed = [one for one in self.history.published if one.number not in started]
                problems += [f"{minion_id} did not run {one}" for one in missed]
        return problems

    def close(self) -> None:
        self._client.close()
        self._store.close()


def _interrupted(kept: dict[str, Any]) -> Any:
    """The return of a job that did not finish counts as one."""
    return kept["return"] if kept.get("retcode") == 254 else object()


def waiting_salt(cluster: Cluster, *words: str) -> subprocess.Popen[str]:
    """A ``salt`` that runs while the test goes on."""
    return subprocess.Popen(
        [str(bin_dir(OURS) / "salt"), "-c", str(cluster.master_dir), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**cluster.master.env},
    )


def kill_titled(daemon: Daemon, words: str) -> int:
    """SIGKILL one process by its title; its pid."""

    def kill_one() -> int:
        for victim in daemon.titled(words):
            with contextlib.suppress(psutil.NoSuchProcess):  # it may have ended since that look
                victim.kill()
                return int(victim.pid)
        return 0

    return eventually(kill_one, within_s=10, what=f"a process {words}")


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


def all_gone(processes: list[psutil.Process], *, within_s: float) -> list[psutil.Process]:
    """Those that still run after ``within_s``; a zombie that waits for init does not run."""

    def left() -> list[psutil.Process]:
        return [one for one in processes if is_alive(one)]

    with contextlib.suppress(AssertionError):
        eventually(lambda: not left(), within_s=within_s)
    return left()


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs, or could."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def say(name: str, seconds: list[float]) -> None:
    """A measured time, for who runs the tests with ``-rP``."""
    print(f"{name}: {', '.join(f'{one:.2f}' for one in seconds)}")
