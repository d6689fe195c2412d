"""Does what the script of the fault lab says, to whom it says, and writes down when it was over."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from fault_script import Fault
from fault_world import World, slack

from cluster import eventually

PROCESS_BACK_S = 5.0
NETWORK_BACK_S = 30.0
START_BACK_S = 10.0
"""A daemon that is started anew: Python's own start is in it."""

LONGEST_S = 8.0

VICTIM_S = 2.0
HANG_S = 75.0
"""More than a child may be silent. Source: docs/reliability.md#processes-die."""


@dataclass
class Done:
    """What the history tells of a fault."""

    begun_s: float
    minions: list[str] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    back_within_s: float = PROCESS_BACK_S
    is_disk_lost: bool = False
    ended_daemon: str = ""
    nodes: list[str] = field(default_factory=list)
    ended_s: float = 0.0
    was_done: bool = True


Act = Callable[[Fault, Done], None]


class Nemesis:
    """One thread that waits for jobs, and for each fault one that does it."""

    longest_s = LONGEST_S
    """No fault lasts longer, even if jobs are slow to come."""

    def __init__(self, world: World, faults: Iterable[Fault]) -> None:
        self._world = world
        self._faults = list(faults)
        self._over = threading.Event()
        self._lock = threading.Lock()  # daemons are started and stopped by one fault at a time
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """The load is over: what is under way comes to its end, and nothing new begins."""
        self._over.set()
        self._thread.join(HANG_S + 60)
        if self._thread.is_alive():
            raise AssertionError("a fault does not end")

    def _run(self) -> None:
        waiting = sorted(self._faults, key=lambda one: one.at_job)
        while waiting and not self._over.is_set():
            at_job = waiting[0].at_job
            if not self._world.wait_for_job(at_job, 0.5):
                continue
            now = [one for one in waiting if one.at_job == at_job]
            waiting = waiting[len(now) :]
            threads = [threading.Thread(target=self._strike, args=(one,)) for one in now]
            for one in threads:
                one.start()
            for one in threads:
                one.join()

    def _strike(self, fault: Fault) -> None:
        done = Done(time.monotonic())
        self._acts()[fault.kind](fault, done)
        done.ended_s = done.ended_s or time.monotonic()
        done.back_within_s *= slack()
        name = f"{fault.name} at job {fault.at_job}"
        self._world.history.note("fault", name=name, **asdict(done))

    def _acts(self) -> dict[str, Act]:
        """What is done, by the kind of a fault."""
        return {
            "kill": self._kill, "term": self._terminate, "pause": self._pause, "hang": self._hang,
            "net": self._net, "disk": self._fill_disk, "inodes": self._fill_inodes,
            "write": self._fail_call, "clock": self._step_clock, "corrupt": self._corrupt,
            "key": self._rotate_key, "hup": self._hang_up,
        }  # fmt: skip

    def _last(self, fault: Fault) -> None:
        """While it lasts: so many jobs, and not too long."""
        self._world.wait_for_job(fault.at_job + fault.for_jobs, self.longest_s)

    # --- processes ---------------------------------------------------------------------------

    def _victims(self, fault: Fault, done: Done) -> list[psutil.Process]:
        """One process, if there is one soon: a command or a job is only just being started."""
        until_s = time.monotonic() + VICTIM_S
        while not (found := self._look_for(fault, done)) and time.monotonic() < until_s:
            time.sleep(0.02)
        return found

    def _look_for(self, fault: Fault, done: Done) -> list[psutil.Process]:
        part, _, minion = fault.victim.partition(" ")
        if minion:
            done.minions = [minion]
            title = {"loop": "salt-minion Minion", "job": "salt-minion job"}[part]
            return self._world.daemon(minion).titled(title)[:1]
        if part == "cli":
            found = list(self._world.commands.running)[:1]
            self._world.commands.killed.update(found if fault.kind != "pause" else ())
            time.sleep(fault.for_jobs / 20)  # somewhere between its start and its end
            return [psutil.Process(pid) for pid in found if psutil.pid_exists(pid)]
        return self._world.daemon("master").titled(f"salt-master {part}")[:1]

    def _kill(self, fault: Fault, done: Done) -> None:
        if fault.victim in ("master", *(f"minion {name}" for name in self._world.minions)):
            self._end_daemon(fault, done, signal.SIGKILL)
            return
        victims = self._victims(fault, done)
        done.was_done = bool(victims)
        for one in victims:
            if not done.minions and fault.victim != "cli":
                done.pids.append(one.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def _terminate(self, fault: Fault, done: Done) -> None:
        if fault.victim == "master" or fault.victim.startswith("minion "):
            self._end_daemon(fault, done, signal.SIGTERM)
            return
        for one in self._victims(fault, done):
            if fault.victim != "cli":
                done.pids.append(one.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                one.terminate()

    def _end_daemon(self, fault: Fault, done: Done, how: signal.Signals) -> None:
        """End a daemon's first process, and start it again as an init system does."""
        side = fault.victim.removeprefix("minion ")
        daemon = self._world.daemon(side)
        is_master = side in self._world.masters
        done.minions = [] if is_master else [side]
        done.ended_daemon = side
        done.back_within_s = START_BACK_S
        with self._lock:
            daemon.processes()
            assert daemon.process is not None
            daemon.process.send_signal(how)
            daemon.process.wait(60)
            left = [one for one in daemon.family.values() if one.pid != daemon.pid]
            eventually(lambda: not any(map(is_alive, left)), within_s=10, what="all have ended")
            daemon.family.clear()
            daemon.start()
            done.ended_s = time.monotonic()
            if is_master:
                self._wait_for_master(side)

    def _wait_for_master(self, side: str) -> None:
        listens = self._world.cluster_of(side)._master_listens
        eventually(listens, within_s=60, what="the master listens")

    def _pause(self, fault: Fault, done: Done) -> None:
        victims = self._victims(fault, done)
        done.was_done = bool(victims)
        for one in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
        self._last(fault)
        for one in victims:
            if fault.victim == "cli":
                self._world.commands.paused_s[one.pid] += round(time.monotonic() - done.begun_s)
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    def _hang(self, fault: Fault, done: Done) -> None:
        """Longer than the heartbeat: the supervisor has to see it, and to replace the child."""
        master = self._world.cluster.master
        for one in self._victims(fault, done):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
            done.pids.append(one.pid)
            until_s = time.monotonic() + HANG_S * slack()
            while is_alive(one) and time.monotonic() < until_s:
                time.sleep(0.2)
            if is_alive(one):
                done.back_within_s = 0.0  # it was not replaced, which nobody should get over
                one.resume()
            master.processes()

    def _hang_up(self, _fault: Fault, _done: Done) -> None:
        os.kill(self._world.cluster.master.pid, signal.SIGHUP)

    # --- the network -------------------------------------------------------------------------

    def _net(self, fault: Fault, done: Done) -> None:
        """All minions are behind the same proxies."""
        done.minions, done.back_within_s = list(self._world.minions), NETWORK_BACK_S
        for proxy in self._world.proxies:
            proxy.misbehave(fault.how)
        self._last(fault)
        for proxy in self._world.proxies:
            proxy.behave()

    # --- disks -------------------------------------------------------------------------------

    def _side(self, fault: Fault, done: Done) -> Path:
        if fault.victim != "master":
            done.minions = [fault.victim]
            done.is_disk_lost = fault.kind != "corrupt"
        return self._world.cache_dir(fault.victim)

    def _fill_disk(self, fault: Fault, done: Done) -> None:
        filler = self._side(fault, done) / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        self._last(fault)
        filler.unlink()

    def _fill_inodes(self, fault: Fault, done: Done) -> None:
        folder = self._side(fault, done) / "fillers"
        made = []
        with contextlib.suppress(OSError):
            folder.mkdir()
            for number in range(100_000):
                (folder / str(number)).touch()
                made.append(number)
        self._last(fault)
        for number in made:
            (folder / str(number)).unlink()
        folder.rmdir()

    def _fail_call(self, fault: Fault, done: Done) -> None:
        below = self._side(fault, done)
        shim = self._world.shims.get(fault.victim)
        if shim is None:
            done.was_done = False
            return
        call, how = fault.how.split()
        shim.fail(call, fault.nth, how, below)
        self._last(fault)
        done.was_done = shim.disarm()

    def _step_clock(self, fault: Fault, done: Done) -> None:
        done.minions = [fault.victim] if fault.victim != "master" else list(self._world.minions)
        done.back_within_s = NETWORK_BACK_S
        shim = self._world.shims.get(fault.victim)
        if shim is None:
            done.was_done = False
            return
        shim.step_clock(float(fault.how))
        self._last(fault)
        shim.step_clock(0)

    def _corrupt(self, fault: Fault, done: Done) -> None:
        """Files that can be had again are spoilt, and the daemon is killed and started on them."""
        cache = self._side(fault, done)
        folders = {"master": ("sessions", "grains", "pillar", "mine")}
        dice = random.Random(fault.at_job)
        for folder in folders.get(fault.victim, ("files", "facts", "extmods")):
            files = [one for one in (cache / folder).rglob("*") if one.is_file()]
            for path in files[:50]:
                with contextlib.suppress(OSError):
                    spoil(path, fault.how, dice)
        victim = fault.victim if fault.victim == "master" else f"minion {fault.victim}"
        self._end_daemon(Fault(fault.at_job, "kill", victim), done, signal.SIGKILL)

    # --- keys --------------------------------------------------------------------------------

    def _rotate_key(self, _fault: Fault, done: Done) -> None:
        """A key is deleted, so that all minions get another publication key."""
        done.minions = list(self._world.minions)
        cluster = self._world.cluster
        accepted = cluster.pki_dir / "minions"
        (accepted / "spare").write_bytes((accepted / self._world.minions[0]).read_bytes())
        cluster.salt_key("-d", "spare", "-y")


def spoil(path: Path, how: str, dice: random.Random) -> None:
    """Another content: nothing, a half, noise, or something well-formed that is not meant."""
    data = path.read_bytes()
    new = {"empty": b"", "half": data[: len(data) // 2], "random": dice.randbytes(len(data)),
           "other": b"\x93\x01\x02\x03"}  # fmt: skip
    path.write_bytes(new[how])


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
