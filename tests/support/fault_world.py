"""The world of the fault lab: a master, minions behind proxies, simulated ones, and the load.

It runs in namespaces of its own (scripts/fault_lab), as root there: caches are small file systems,
minions reach the master under the address of a proxy. Everything it sees goes into a history.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import psutil
from fault_history import DRAFTS, HistoryFile, digest_of
from fault_script import JOBS, MINIONS, WORKERS, Job, Script
from fault_shim import Shim, compile_shim, has_compiler
from net import Proxy
from repository import ROOT

from cluster import OURS, SALT_3006, Cluster, Daemon, bin_dir, eventually, is_installed
from saltlite.client.job_request import JobRequest
from saltlite.client.jobs import JobClient
from saltlite.config.load import load_master
from saltlite.core.job_query import JobQuery
from saltlite.errors import SaltliteError
from saltlite.master.jobcache import SqliteJobStore
from saltlite.master.stores import JobStore
from saltlite.transport.bus import EventPusher, EventSubscriber

SWARM = ROOT / "scripts" / "minion_swarm"
PUBLISH_S = 3.0
CLI_TIMEOUT_S = 5
GATHER_S = 2
THREADS = 4
LARGE = 1 << 20
DISK = "size=96m,nr_inodes=4000,mode=700"
SHELL = {"__kwarg__": True, "python_shell": True}
PROXY = "127.0.0.2"
MARKED = (
    "read t _ < /proc/uptime; echo '{n} start '$t >> $MINION_HOME/ran; {body}; "
    "read t _ < /proc/uptime; echo '{n} finish '$t >> $MINION_HOME/ran"
)
STATE = """\
mark:
  cmd.run:
    - name: {{ pillar['command'] | json }}
written:
  file.managed:
    - name: {{ opts['root_dir'] }}/managed
    - contents: {{ pillar['number'] }}
"""
QUIET_S = 1.5
WARM = 1_000_000
"""Numbers of jobs before the load."""

NUMBERS = 10_000
"""For the jobs of each seed of a world: those of the third begin at 20,000."""


@dataclass
class Commands:
    """The ``salt`` processes that run now, so that something can be done to them."""

    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    killed: set[int] = field(default_factory=set)
    paused_s: Counter[int] = field(default_factory=Counter)


class World:
    """Start it, load it, let it come to rest, and write down what is on record."""

    masters: tuple[str, ...] = ("master",)
    listens_to: dict[str, str] = {"all": "", "some": "lab/"}  # noqa: RUF012 - never changed
    """Subscribers on the bus of each master, and what their tags begin with."""

    history: HistoryFile
    """That of the seed whose turn it is."""

    def __init__(self, root: Path, *, simulated: int, real_salt: bool, rate: float) -> None:
        self.simulated = simulated
        self.rate = rate
        self.root = root
        self.minions: list[str] = []
        self.real: list[str] = []
        self.proxies: list[Proxy] = []
        self.shims: dict[str, Shim] = {}
        self.commands = Commands()
        self.asked = 0
        self._asked_more = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self._swarm: subprocess.Popen[str] | None = None
        self._pusher_lock = threading.Lock()
        self._pushers: dict[str, EventPusher] = {}
        self._fired = itertools.count(1)
        self._turn = -1
        self._told: set[str] = set()
        self._swarm_place = 0
        self._swarm_notes: list[str] = []
        self._swarm_owes: Counter[str] = Counter()
        self._build(real_salt)

    def _build(self, real_salt: bool) -> None:
        options = {"worker_threads": WORKERS, "gather_job_timeout": GATHER_S}
        self.cluster = Cluster(
            minions=dict.fromkeys(MINIONS, OURS), master_options=options, root=self.root
        )
        self.minions = list(MINIONS)
        self.real = ["r1"] if real_salt and is_installed(SALT_3006) else []
        for name in self.real:
            self.cluster.add_minion(name, SALT_3006)

    @property
    def everybody(self) -> list[str]:
        return [*self.minions, *self.real]

    @property
    def sides(self) -> list[str]:
        """Daemons of ours."""
        return [*self.masters, *self.minions]

    def cluster_of(self, _side: str) -> Cluster:
        """Where a master or a minion belongs."""
        return self.cluster

    def daemon(self, side: str) -> Daemon:
        cluster = self.cluster_of(side)
        return cluster.master if side in self.masters else cluster.minions[side]

    def home(self, side: str) -> Path:
        """The directory of a daemon."""
        return self.cluster_of(side).root / ("master" if side in self.masters else side)

    def cache_dir(self, side: str) -> Path:
        return self.home(side) / "cache"

    # --- start and end -----------------------------------------------------------------------

    def start(self) -> None:
        """Everything, until every minion has answered and every kind of job has been done once."""
        self._lay_out()
        self.cluster.start_master()
        ports = (self.cluster.publish_port, self.cluster.ret_port)
        self.proxies = [Proxy((PROXY, port), ("127.0.0.1", port)) for port in ports]
        for name in self.everybody:
            self.cluster.minions[name].start()
        self._start_swarm()
        for name in self.everybody:
            self.cluster.wait_for_ping(name)
        self._begin_to_watch()

    @contextlib.contextmanager
    def begin(self, path: Path) -> Iterator[HistoryFile]:
        """The turn of a seed: from now on what is seen belongs to its history."""
        self._turn += 1
        self.asked = 0
        self.history = HistoryFile(path)
        with contextlib.closing(self.history):
            yield self.history

    def _is_of_turn(self, number: int) -> bool:
        """Whether a job is one of this seed's."""
        if number >= WARM:
            return self._turn == 0
        return number // NUMBERS == self._turn

    def _begin_to_watch(self) -> None:
        self._watch("log", self._read_logs)
        for master in self.masters:
            bus = self.cluster_of(master).sock_dir
            self._pushers[master] = EventPusher(bus / "master_event_pull.ipc")
            for name, prefix in self.listens_to.items():
                called = name if len(self.masters) == 1 else f"{name}@{master}"
                self._watch(called, self._listen, bus / "master_event_pub.ipc", called, prefix)

    def _lay_out(self) -> None:
        self._mount_caches()
        self._write_files(self.home("master") / "srv")
        for name in self.minions:
            path = self.cluster.minion_dir(name) / "minion"
            self.cluster.reconfigure(path, master=PROXY)
        self._preload_shims()

    def _mount_caches(self) -> None:
        for side in self.sides:
            cache = self.cache_dir(side)
            cache.mkdir(parents=True, mode=0o700)
            subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "none", str(cache)], check=True)

    def _write_files(self, srv: Path) -> None:
        srv.mkdir(parents=True)
        (srv / "lab.sls").write_text(STATE)
        (srv / "blob").write_bytes(os.urandom(300_000))

    def _preload_shims(self) -> None:
        if has_compiler():
            library = compile_shim(self.root)
            for side in self.sides:
                shim = Shim(library, self.root / f"{side}.shim")
                self.daemon(side).env.update(shim.environment)
                self.shims[side] = shim

    def _swarm_words(self) -> list[str]:
        """How the simulator reaches the master."""
        return [f"--port={self.cluster.ret_port}", f"--pki-dir={self.cluster.pki_dir}"]

    def _start_swarm(self) -> None:
        if not self.simulated:
            return
        self._swarm = subprocess.Popen(
            [
                sys.executable, str(SWARM), *self._swarm_words(), "--prefix=sim",
                f"--minions={self.simulated}", f"--keys={self.root / 'keys'}",
                "--distinct-keys=2", "--timeout=10",
                f"--history={self.root / 'swarm.jsonl'}", "--patient",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._swarm.stdout is not None
        self._swarm.stdout.readline()
        self._watch("swarm", self._drain, self._swarm.stdout)

    @staticmethod
    def _drain(reports: IO[str]) -> None:
        """Reports that nobody reads would make the simulator wait."""
        for _line in reports:
            pass

    def close(self) -> None:
        self._ended.set()
        self._end_swarm()
        for thread in self._threads:
            thread.join(10)
        for one in self.proxies:
            one.close()
        self._keep_logs()
        self._close_clusters()

    def _end_swarm(self) -> None:
        if self._swarm is not None:
            self._swarm.kill()
            self._swarm.wait()

    def _close_clusters(self) -> None:
        self.cluster.close()

    def _keep_logs(self) -> None:
        """Beside the last seed's history; the directory of the cluster goes."""
        logs = self.history.path.with_suffix(".logs")
        logs.mkdir(exist_ok=True)
        for path in (*self.root.rglob("*.out"), *self.root.glob("**/master/log")):
            shutil.copy(path, logs / "-".join(path.relative_to(self.root).parts))

    def warm_up(self) -> None:
        """One of each, so that what is imported and opened once is there before anybody counts."""
        clients = self._open_clients()
        for number, what in enumerate(JOBS):
            self._do(clients, Job(WARM + number, what, 0.1))
        for client in clients.values():
            client.close()
        self.settle(60)

    def _open_clients(self) -> dict[str, JobClient]:
        """One for each master."""
        return {
            name: JobClient(load_master(self.cluster_of(name).master_dir)) for name in self.masters
        }

    def master_for(self, job: Job) -> str:
        """The master that is asked for a job."""
        return self.masters[job.number % len(self.masters)]

    # --- who only looks ----------------------------------------------------------------------

    def _watch(self, name: str, what: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=what, args=arguments, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _listen(self, path: Path, name: str, prefix: str) -> None:
        seen = (1, 0)
        with EventSubscriber(path, (prefix,)) as events:
            events.connect_confirmed(10)
            while not self._ended.is_set():
                event = events.get(0.2)
                if (events.connections, events.lost) != seen:
                    seen = (events.connections, events.lost)
                    self.history.note("link", subscriber=name, connections=seen[0], lost=seen[1])
                if event is not None and event.tag.startswith("lab/"):
                    self.history.note("event", subscriber=name, **event_fields(event.data))

    def _read_logs(self) -> None:
        sides = self.sides
        places = dict.fromkeys(sides, 0)
        rest = dict.fromkeys(sides, "")
        while True:
            is_last = self._ended.wait(0.3)
            for side in sides:
                path = self.daemon(side).log_path
                with path.open(errors="replace") as file:
                    file.seek(places[side])
                    text = rest[side] + file.read()
                    places[side] = file.tell()
                *lines, rest[side] = text.split("\n")
                for line in lines:
                    if re.search(r"\[(WARNING|ERROR|CRITICAL)|^Traceback", line):
                        self.history.note("log", daemon=side, line=line[:400])
            if is_last:
                return

    # --- the load ----------------------------------------------------------------------------

    def load(self, script: Script) -> None:
        """All jobs of the script, by several threads; comes back when the last has been asked."""
        jobs = iter(script.jobs)
        lock = threading.Lock()
        threads = [
            threading.Thread(target=self._work_off, args=(jobs, lock), daemon=True)
            for _ in range(THREADS)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def _work_off(self, jobs: Iterator[Job], lock: threading.Lock) -> None:
        clients = self._open_clients()
        try:
            while True:
                begun_s = time.monotonic()
                with lock:
                    job = next(jobs, None)
                    if job is None:
                        return
                    with self._asked_more:
                        self.asked = job.number
                        self._asked_more.notify_all()
                self._do(clients, replace(job, number=job.number + self._turn * NUMBERS))
                pause_s = THREADS / self.rate - (time.monotonic() - begun_s)
                self._ended.wait(max(0.0, pause_s))
        finally:
            for client in clients.values():
                client.close()

    def wait_for_job(self, number: int, within_s: float) -> bool:
        """Until that job has been asked for; whether it was."""
        with self._asked_more:
            return self._asked_more.wait_for(lambda: self.asked >= number, within_s)

    def _do(self, clients: dict[str, JobClient], job: Job) -> None:
        master = self.master_for(job)
        if job.what == "event":
            self._fire(master)
        elif job.what == "cli":
            self._run_salt(job, master)
        else:
            self._publish(clients[master], job, master)

    def _fire(self, master: str) -> None:
        with self._pusher_lock:
            number = next(self._fired)
            self.history.note("fired", number=number, origin=master)
            if master in self._pushers:
                event = {"number": number, "origin": master}
                self._pushers[master].fire(f"lab/{number}", event)

    def _request_of(self, job: Job) -> tuple[JobRequest, str | None]:
        """What is asked for, and the digest of what must come back."""
        n, text = job.number, str(job.number)
        if job.what in ("ping", "swarm"):
            tgt = "*" if job.what == "swarm" else "[mr]*"
            return JobRequest(tgt=tgt, fun="test.ping"), None
        if job.what == "refresh":
            return JobRequest(tgt="m*", fun="saltutil.refresh_pillar"), None
        if job.what == "fetch":
            path = f"/{self.root}/fetched"
            return JobRequest(tgt="m*", fun="cp.get_file", arg=["salt://blob", path]), None
        if job.what == "state":
            command = MARKED.format(n=n, body="true")
            pillar = {"__kwarg__": True, "pillar": {"number": n, "command": command}}
            return JobRequest(tgt="[mr]*", fun="state.apply", arg=["lab", pillar]), None
        body, wanted = f"echo {n}", text
        if job.what == "sleep":
            body = f"sleep {job.size * 3:.1f}; echo {n}"
        elif job.what == "large":
            body, wanted = f"head -c {LARGE} /dev/zero | tr '\\0' x", "x" * LARGE
        command = MARKED.format(n=n, body=body)
        return JobRequest(tgt="[mr]*", fun="cmd.run", arg=[command, SHELL]), digest_of(wanted)

    def _publish(self, client: JobClient, job: Job, master: str) -> None:
        request, digest = self._request_of(job)
        asked_s = time.monotonic()
        self.history.note("asked", number=job.number, what=job.what, digest=digest, node=master)
        try:
            reply = client.publish(request, timeout_s=PUBLISH_S)
            jid, said = reply.jid if reply is not None else None, "nobody matches"
        except SaltliteError as error:
            jid, said = None, f"{type(error).__name__}: {error}"[:300]
        kind = "published" if jid else "refused"
        answer = {"jid": jid} if jid else {"said": said}
        self.history.note(kind, number=job.number, asked_s=asked_s, answered_s=time.monotonic(),
                          node=master, **answer)  # fmt: skip

    def _run_salt(self, job: Job, master: str) -> None:
        command = MARKED.format(n=job.number, body=f"echo {job.number}")
        words = ["m*", "cmd.run", command, "python_shell=True", f"--timeout={CLI_TIMEOUT_S}"]
        digest = digest_of(str(job.number))
        self.history.note("asked", number=job.number, what="cli", digest=digest, node=master)
        cluster = self.cluster_of(master)
        begun_s = time.monotonic()
        process = subprocess.Popen(
            [str(bin_dir(OURS) / "salt"), "-c", str(cluster.master_dir), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=cluster._environment(),
        )  # fmt: skip
        self.commands.running[process.pid] = process
        try:
            said, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        del self.commands.running[process.pid]
        # Publishing may take its own patience, and more than one look whether somebody still works.
        limit_s = CLI_TIMEOUT_S + GATHER_S + 5 + self.commands.paused_s[process.pid]
        self.history.note("cli", number=job.number, minions=self.minions, begun_s=begun_s,
                          ended_s=time.monotonic(), limit_s=(limit_s + 5) * slack(),
                          exit_code=process.returncode, said=said[-1500:], node=master,
                          was_killed=process.pid in self.commands.killed)  # fmt: skip

    # --- at rest -----------------------------------------------------------------------------

    def settle(self, within_s: float) -> None:
        """Until nothing is under way any more; what is then missing is the checker's to find."""
        store = self.open_store()
        try:
            with contextlib.suppress(AssertionError):
                eventually(lambda: self._is_at_rest(store), within_s=within_s)
        finally:
            store.close()
        time.sleep(QUIET_S)  # for processes that are just ending, which nothing tells of

    def open_store(self) -> JobStore:
        """The job cache of all masters, to be read."""
        return SqliteJobStore(self.cluster.cache_dir, read_only=True)

    def _is_at_rest(self, store: JobStore) -> bool:
        time.sleep(0.3)
        self._read_swarm()
        if any(self._swarm_owes.values()):
            return False
        jids = self._jids(store)
        for minion in self.minions:
            started = {
                number
                for number, what, _ in self.runs(minion)
                if what == "start" and self._is_of_turn(number)
            }
            outbox = self.cache_dir(minion) / "outbox"
            if any(path.is_file() and path.name[0] != "." for path in outbox.rglob("*")):
                return False
            if self.daemon(minion).titled("salt-minion job"):
                return False
            if any(n in jids and minion not in store.returns(jids[n]) for n in started):
                return False
        return True

    def _jids(self, store: JobStore) -> dict[int, str]:
        return {number: jid for jid, number, _ in self._list_jobs(store) if number}

    def _list_jobs(self, store: JobStore) -> Iterator[tuple[str, int, str]]:
        for record in store.jobs(JobQuery()):
            found = re.search(r"echo '(\d+) start", str(record.load.get("arg")))
            yield record.jid, int(found[1]) if found else 0, str(record.load.get("fun"))

    def runs(self, minion: str) -> list[tuple[int, str, float]]:
        path = self.home(minion) / "ran"
        lines = path.read_text().splitlines() if path.exists() else []
        words = [line.split() for line in lines]
        return [(int(one[0]), one[1], float(one[2])) for one in words if len(one) == 3]

    def note_records(self) -> None:
        """Write down what minions ran and what is on record of this seed's jobs."""
        # What is acknowledged while the records are read may not be found in them.
        self._read_swarm()
        noted, self._swarm_notes = self._swarm_notes, []
        offset_s = time.monotonic() - time.clock_gettime(time.CLOCK_BOOTTIME)
        for minion in self.everybody:
            is_real = minion in self.real
            for number, what, up_s in self.runs(minion):
                if self._is_of_turn(number):
                    self.history.note("run", minion=minion, number=number, what=what,
                                      at_s=up_s + offset_s, is_real_salt=is_real)  # fmt: skip
        store = self.open_store()
        jobs = [one for one in self._list_jobs(store) if one[0] not in self._told]
        for jid, number, fun in jobs:
            self.history.note("job", jid=jid, number=number, fun=fun)
            for minion, kept in store.returns(jid).items():
                self.history.note("return", jid=jid, minion=minion,
                                  retcode=int(kept.get("retcode", 0)),
                                  digest=digest_of(kept.get("return")))  # fmt: skip
        store.close()
        for line in noted:
            if json.loads(line)["jid"] not in self._told:
                self.history.copy(line)
        self._told.update(jid for jid, _, _ in jobs)

    def _read_swarm(self) -> None:
        """Take in what the simulator has noted since this was last asked."""
        path = self.root / "swarm.jsonl"
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._swarm_place)
            whole, _, _ = file.read().rpartition(b"\n")
        self._swarm_place += len(whole) + 1 if whole else 0
        lines = whole.decode().splitlines()
        self._swarm_notes += lines
        for one in map(json.loads, lines):
            self._swarm_owes[one["jid"]] += 1 if one["kind"] == "seen" else -1

    def note_usage(self, when: str) -> None:
        """Processes, what they hold, and files that are to be few."""
        found: dict[str, dict[str, float]] = {}
        zombies = 0
        for daemon_name in self.sides:
            for process in self.daemon(daemon_name).processes():
                with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    if process.status() == psutil.STATUS_ZOMBIE:
                        zombies += 1
                        continue
                    title = f"{daemon_name}: {title_of(process)}"
                    one = found.setdefault(
                        title, {"count": 0, "mib": 0, "descriptors": 0, "threads": 0}
                    )
                    one["count"] += 1
                    one["mib"] += process.memory_info().rss / (1 << 20)
                    one["descriptors"] += process.num_fds()
                    one["threads"] += process.num_threads()
        self.history.note("usage", when=when, processes=found, zombies=zombies, files=self._files())

    def _files(self) -> dict[str, int]:
        places = {f"{name}/run": self.cluster_of(name).sock_dir for name in self.masters}
        for name in self.minions:
            places |= {f"{name}/{one}": self.cache_dir(name) / one for one in ("proc", "outbox")}
        counts = {
            name: sum(one.name[0] != "." and not one.is_dir() for one in path.rglob("*"))
            for name, path in places.items()
        }
        drafts = [one for side in self.sides
                  for one in self.cache_dir(side).rglob(".*.tmp")]  # fmt: skip
        return {**counts, DRAFTS: len(drafts)}


def event_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a history has of an event of the load."""
    return {"number": data["number"], "origin": data.get("origin", "")}


def title_of(process: psutil.Process) -> str:
    """The name of a process, without what is another at each start."""
    words = " ".join(process.cmdline()).strip()
    return re.sub(r"^.*/(salt-\w+)", r"\1", re.sub(r"\d{20}", "JID", words)).split(" -c ")[0]


def slack() -> float:
    """How much longer things may take on a machine that others use, too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
