"""Jobs in real processes: each has a return, however it ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT, SUPPORT

from saltlite.config.load import load_minion
from saltlite.core.plain import PlainMap
from saltlite.errors import RequestTimeout
from saltlite.minion.executor import NOT_STARTED_TEXT, STOPPED_TEXT, Executor
from saltlite.minion.outbox import Parcel, Spool
from saltlite.minion.pipe import frame_message
from saltlite.minion.proc import ProcDir, ProcEntry
from saltlite.minion.process import Setup
from saltlite.minion.spawner import SpawnFailed, ThreadSpawner
from saltlite.minion.taken_job import TakenJob
from saltlite.process import start_ticks

DEADLINE_S = 20.0

CHILD = """
import socket, sys
import job_functions
from saltlite.config.load import load_minion
from saltlite.minion.process import Setup, run_forked
config = load_minion({etc!r})
sys.exit(run_forked(socket.socket(fileno=int(sys.argv[1])), Setup(config, "m1", 0o022)))
"""


class ProcessSpawner:
    """Stands in for the parent: the same child, in a fresh interpreter."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.children: list[subprocess.Popen[bytes]] = []

    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        fd = sock.fileno()
        child = subprocess.Popen(
            [sys.executable, "-c", self.code, str(fd)],
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SUPPORT}"},
            pass_fds=[fd],
        )
        sock.close()
        self.children.append(child)
        loop = asyncio.get_running_loop()
        exited: asyncio.Future[int] = loop.create_future()
        pidfd = os.pidfd_open(child.pid)

        def ended() -> None:
            loop.remove_reader(pidfd)
            os.close(pidfd)
            code = child.wait()
            exited.set_result(-code if code < 0 else code << 8)

        loop.add_reader(pidfd, ended)
        return exited


class NoSpawner:
    async def spawn(self, title: str, sock: socket.socket) -> asyncio.Future[int]:
        sock.close()
        raise SpawnFailed("Resource temporarily unavailable")


@dataclass
class Services:
    """The minion, as far as jobs can tell."""

    events: list[tuple[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    returns: list[tuple[str, str]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def fire(self, tag: str, data: PlainMap) -> None:
        self.events.append((tag, data))

    async def request(self, master: str, load: dict[str, Any]) -> Any:
        self.requests.append((master, load))
        if load["cmd"] == "silent":
            raise RequestTimeout("tcp://m", 3)
        return {"echo": load["cmd"]}

    async def refresh_grains(self) -> PlainMap:
        return {"id": "m1", "new": True}

    def facts(self, master: str) -> tuple[PlainMap, PlainMap]:
        return {"id": "m1", "os": "Testix"}, {"secret": "pillar"}

    def note_return(self, jid: str, master: str) -> None:
        self.returns.append((jid, master))
        self.changed.set()


@dataclass
class Bench:
    """An executor with everything around it."""

    setup: Setup
    spawner: Any
    services: Services
    executor: Executor
    number: int = 0

    def job(self, fun: Any, *arg: Any, **fields: Any) -> dict[str, Any]:
        self.number += 1
        jid = f"2024010203040500{self.number:04}"
        return {"jid": jid, "fun": fun, "arg": list(arg), "tgt": "m1", "tgt_type": "glob",
                "ret": "", "user": "root", **fields}  # fmt: skip

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.01)

    async def result(self, job: dict[str, Any]) -> dict[str, Any]:
        jid = job["jid"]
        await self.until(lambda: any(name == jid for name, _ in self.services.returns))
        await self.until(lambda: all(one["jid"] != jid for one in self.executor.running()))
        await self.until(lambda: all(one.jid != jid for one in self.setup.proc().entries()))
        parcel = self.setup.spool().get(jid) or self.executor._spool.get(jid)
        assert parcel is not None
        return parcel.load

    async def run(self, fun: Any, *arg: Any, **fields: Any) -> dict[str, Any]:
        job = self.job(fun, *arg, **fields)
        self.executor.take(TakenJob.of(job), "m:1")
        return await self.result(job)

    async def pid(self, job: dict[str, Any]) -> int:
        def started() -> bool:
            return any(one["jid"] == job["jid"] and one["pid"] for one in self.executor.running())

        await self.until(started)
        pids = [one["pid"] for one in self.executor.running() if one["jid"] == job["jid"]]
        assert isinstance(pids[0], int)
        return pids[0]


Scenario = Callable[[Bench], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., None]:
    """Run a scenario in a loop of its own."""
    etc = tmp_path / "etc"
    etc.mkdir()

    def run(scenario: Scenario, spawner: Any = None, **options: Any) -> None:
        written = {"root_dir": str(tmp_path), "id": "m1", **options}
        (etc / "minion").write_text(
            "".join(f"{name}: {value}\n" for name, value in written.items())
        )
        setup = Setup(load_minion(etc), "m1", 0o022)
        code = CHILD.format(etc=str(etc))

        async def live() -> None:
            children = spawner(setup) if spawner else ProcessSpawner(code)
            services = Services()
            executor = Executor(setup, children, setup.spool(), services, queue_limit=3)
            bench = Bench(setup, children, services, executor)
            try:
                await scenario(bench)
            finally:
                executor.stop()
                for child in getattr(children, "children", []):
                    child.kill()
                    child.wait()

        asyncio.run(live())

    return run


def test_a_disk_that_fails_is_told_once_and_again_after_it_has_worked(
    play: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(bench: Bench) -> None:
        folder = bench.setup.cachedir / "proc"

        async def run_some() -> int:
            caplog.clear()
            for _ in range(3):
                job = bench.job("test.ping")
                bench.executor.take(TakenJob.of(job), "m:1")
                await bench.until(lambda: not bench.executor.running())
            return sum("not noted on disk" in one for one in caplog.messages)

        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("no directory")
        assert await run_some() == 1
        assert await run_some() == 0
        folder.unlink()
        assert await run_some() == 0
        shutil.rmtree(folder)
        folder.write_text("no directory")
        assert await run_some() == 1

    caplog.set_level("WARNING")
    play(scenario, spawner=lambda _setup: NoSpawner())


def test_a_job_runs_and_its_return_is_in_the_spool(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        load = await bench.run("job_functions.facts")
        assert load["return"] == {
            "os": "Testix", "pillar": {"secret": "pillar"}, "umask": 0o022, "leader": True,
        }  # fmt: skip
        assert (load["cmd"], load["id"], load["retcode"], load["user"]) == (
            "_return", "m1", 0, "root",
        )  # fmt: skip
        assert bench.services.returns[0][1] == "m:1"
        assert list(bench.setup.proc().entries()) == []

    play(scenario)


def test_a_job_reaches_the_bus_the_master_and_the_other_jobs(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        load = await bench.run("job_functions.reach")
        assert load["return"] == {
            "reply": {"echo": "_file_envs"},
            "timeout": "no reply from tcp://m within 3 s",
            "running": [],
        }
        assert bench.services.events == [("my/tag", {"a": [1]})]
        assert bench.services.requests[0] == ("m:1", {"cmd": "_file_envs"})

    play(scenario)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_killed_job_returns_254_with_the_signals_name(
    play: Callable[..., None], number: signal.Signals
) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("test.sleep", 60)
        bench.executor.take(TakenJob.of(job), "m:1")
        os.kill(await bench.pid(job), number)
        load = await bench.result(job)
        assert load["return"] == f"The job's process was ended by {number.name}."
        assert (load["retcode"], load["success"]) == (254, False)
        assert list(bench.setup.proc().entries()) == []

    play(scenario)


def test_a_job_that_leaves_without_a_return(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        load = await bench.run("job_functions.vanish", 5)
        assert load["return"] == ("The job's process ended with exit code 5 and without a return.")
        assert load["retcode"] == 254

    play(scenario)


def test_signals_reach_the_job_and_what_it_has_started(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("job_functions.with_child")
        bench.executor.take(TakenJob.of(job), "m:1")
        pid = await bench.pid(job)
        await bench.until(lambda: bool(bench.services.events))
        child = bench.services.events[0][1]["pid"]
        assert bench.executor.signal(job["jid"], 15) == (
            f"Signal 15 sent to job {job['jid']} at pid {pid}"
        )
        await bench.result(job)
        await bench.until(lambda: not start_ticks(child))
        assert bench.executor.signal(job["jid"], 15) == ""

    play(scenario)


def test_a_job_that_waits_for_its_turn_can_be_ended(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        first, second, third = (
            bench.job("test.sleep", 60),
            *(bench.job("test.echo", number) for number in (2, 3)),
        )
        for job in (first, second, third):
            bench.executor.take(TakenJob.of(job), "m:1")
        said = bench.executor.signal(second["jid"], signal.SIGTERM)
        assert said == f"Job {second['jid']} waited for its turn and will not run"
        load = await bench.result(second)
        assert load["return"] == "The job was ended by SIGTERM before its turn came."
        assert (load["retcode"], load["success"]) == (254, False)
        # Other signals mean something to who runs.
        told = bench.executor.signal(third["jid"], signal.SIGUSR1)
        assert told == f"Job {third['jid']} has no process of its own to be signalled"
        await bench.pid(first)
        bench.executor.signal(first["jid"], signal.SIGKILL)
        assert (await bench.result(third))["return"] == 3

    play(scenario, process_count_max=1)


def test_a_job_whose_process_is_about_to_be_made_is_ended_when_it_is(
    play: Callable[..., None],
) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("test.sleep", 60)
        bench.executor.take(TakenJob.of(job), "m:1")
        said = bench.executor.signal(job["jid"], signal.SIGKILL)
        assert said == (f"Signal 9 will be sent to job {job['jid']} as soon as it has a process")
        load = await bench.result(job)
        assert load["return"] == "The job's process was ended by SIGKILL."

    play(scenario)


def test_when_no_process_can_be_made_the_job_says_so(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        load = await bench.run("test.ping")
        assert load["return"] == ("The job could not be started: Resource temporarily unavailable")
        assert load["retcode"] == 254

    play(scenario, lambda _setup: NoSpawner())


def test_in_a_thread(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        assert (await bench.run("test.echo", "x"))["return"] == "x"
        assert (await bench.run("test.retcode", 7))["retcode"] == 7

    play(scenario, lambda setup: ThreadSpawner(setup, os.getpid()))


def test_jobs_wait_their_turn_and_then_are_refused(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        first = bench.job("test.sleep", 60)
        waiting = [bench.job("test.echo", number) for number in range(3)]
        too_many = bench.job("test.echo", "x")
        ping = bench.job("test.ping")
        for job in (first, *waiting, too_many, ping):
            bench.executor.take(TakenJob.of(job), "m:1")
        refused = await bench.result(too_many)
        assert refused["return"] == "Refused: 1 jobs run and 3 wait on this minion."
        assert refused["retcode"] == 254
        assert (await bench.result(ping))["return"] is True, "ping needs no slot"
        jids = {one["jid"] for one in bench.executor.running()}
        assert jids == {job["jid"] for job in (first, *waiting)}
        bench.executor.signal(first["jid"], 9) if await bench.pid(first) else None
        for number, job in enumerate(waiting):
            assert (await bench.result(job))["return"] == number

    play(scenario, process_count_max=1)


def test_what_an_earlier_run_left_behind(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        dead, queued, done = (bench.job("test.ping") for _ in range(3))
        proc, spool = bench.setup.proc(), bench.setup.spool()
        gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        proc.write(TakenJob.of(dead), gone.pid, "m:2")
        gone.communicate(b"\n")
        proc.write(TakenJob.of(queued), 0, "m:2")
        proc.write(TakenJob.of(done), os.getpid() + 100_000, "m:2")
        spool.put(done["jid"], Parcel({"return": "kept as it is"}, "m:2", 0).pack())
        bench.executor.inherit("m:1")
        load = await bench.result(dead)
        assert (load["return"], load["retcode"]) == (STOPPED_TEXT, 254)
        assert (await bench.result(queued))["return"] == NOT_STARTED_TEXT
        assert (await bench.result(done))["return"] == "kept as it is"
        assert len(bench.services.returns) == 3
        assert {master for _, master in bench.services.returns} == {"m:2"}
        assert list(proc.entries()) == []

    play(scenario)


def test_what_a_killed_job_waits_for_ends_with_it(play: Callable[..., None]) -> None:
    """Not what it has only started. Source: docs/reliability.md#the-minion-goes-away."""

    async def scenario(bench: Bench) -> None:
        pids = bench.setup.cachedir / "pids"
        job = bench.job("job_functions.start_and_wait", str(pids))
        bench.executor.take(TakenJob.of(job), "m:1")
        await bench.until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        await bench.until(Path(f"{pids}.held").exists)
        started, shell, below = map(int, pids.read_text().split())
        os.kill(await bench.pid(job), signal.SIGKILL)
        await bench.result(job)
        try:
            await bench.until(lambda: not any(map(start_ticks, (shell, below))))
            assert start_ticks(started)
        finally:
            os.kill(started, signal.SIGKILL)

    play(scenario)


def test_a_scheduled_job_that_was_cut_short_returns_as_scheduled_ones_do(
    play: Callable[..., None],
) -> None:
    async def scenario(bench: Bench) -> None:
        asked, unheard = (bench.job("state.apply") for _ in range(2))
        asked |= {"schedule": "highstate", "unasked": True}
        unheard |= {"schedule": "quiet", "unreturned": True}
        proc = bench.setup.proc()
        gone_pid = os.getpid() + 100_000
        for job in (asked, unheard):
            proc.write(TakenJob.of(job), gone_pid, "m:2")
        bench.executor.inherit("m:1")
        load = await bench.result(asked)
        assert (load["return"], load["retcode"]) == (STOPPED_TEXT, 254)
        assert (load["jid"], load["schedule"], load["pid"]) == ("req", "highstate", gone_pid)
        assert [jid for jid, _ in bench.services.returns] == [asked["jid"]]
        assert list(proc.entries()) == []

    play(scenario)


def test_a_job_that_outlived_the_minion_is_adopted(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("test.ping")
        alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        bench.setup.proc().write(TakenJob.of(job), alive.pid, "m:2")
        bench.executor.inherit("m:1")
        assert [one["pid"] for one in bench.executor.running()] == [alive.pid]
        alive.communicate(b"\n")
        load = await bench.result(job)
        assert load["return"] == STOPPED_TEXT

    play(scenario)


def test_the_return_that_an_adopted_job_left_is_sent(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("test.ping")
        alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        bench.setup.proc().write(TakenJob.of(job), alive.pid, "m:2")
        bench.executor.inherit("m:1")
        bench.setup.spool().put(job["jid"], Parcel({"return": "mine"}, "m:2", 0).pack())
        alive.communicate(b"\n")
        assert (await bench.result(job))["return"] == "mine"
        assert bench.services.returns == [(job["jid"], "m:2")]

    play(scenario)


def test_a_job_that_ends_while_the_next_loop_begins_is_sent(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any moment: its return is spooled first, and its proc file goes last."""

    async def scenario(bench: Bench) -> None:
        names, entries = Spool.names, ProcDir.entries
        proc, spool = bench.setup.proc(), bench.setup.spool()
        ending: list[dict[str, Any]] = []

        def end() -> None:
            for job in ending:
                spool.put(job["jid"], Parcel({"return": "mine"}, "m:2", 0).pack())
                proc.remove(job["jid"])
            ending.clear()

        def names_then_end(self: Spool) -> list[str]:
            found = names(self)
            end()
            return found

        def end_between(self: ProcDir) -> Iterator[ProcEntry]:
            found = list(entries(self))
            end()
            yield from found

        for patched, name, moment in (
            (Spool, "names", names_then_end),
            (ProcDir, "entries", end_between),
        ):
            job = bench.job("test.ping")
            alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            proc.write(TakenJob.of(job), alive.pid, "m:2")
            ending.append(job)
            with monkeypatch.context() as patch:
                patch.setattr(patched, name, moment)
                bench.executor.inherit("m:1")
            alive.communicate(b"\n")
            assert (await bench.result(job))["return"] == "mine"

    play(scenario)


def test_an_adopted_job_whose_return_was_sent_is_not_called_cut_short(
    play: Callable[..., None],
) -> None:
    async def scenario(bench: Bench) -> None:
        job = bench.job("test.ping")
        alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        bench.setup.proc().write(TakenJob.of(job), alive.pid, "m:2")
        bench.executor.inherit("m:1")
        bench.setup.proc().remove(job["jid"])
        alive.communicate(b"\n")
        await bench.until(lambda: not bench.executor.running())
        assert not bench.services.returns
        assert not bench.setup.spool().names()

    play(scenario)


def test_a_job_that_ends_while_its_proc_file_is_read_is_no_fault(
    play: Callable[..., None], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(bench: Bench) -> None:
        proc = bench.setup.proc()
        proc.write(TakenJob.of(bench.job("test.ping")), 0, "m:2")
        read = ProcDir._read_entry

        def late(self: ProcDir, name: str) -> ProcEntry | None:
            self.remove(name)
            return read(self, name)

        monkeypatch.setattr(ProcDir, "_read_entry", late)
        assert list(proc.entries()) == []
        assert not caplog.records

    play(scenario)


def test_a_job_whose_loop_has_gone_before_is_not_begun(play: Callable[..., None]) -> None:
    """The next loop may have returned for it already. What was sent to it is in its pipe."""

    async def scenario(bench: Bench) -> None:
        mark = bench.setup.cachedir / "ran"
        job = bench.job("file.touch", str(mark))
        start = {"task": "job", "job": job, "master": "m:1", "grains": {"id": "m1"}, "pillar": {}}
        ours, theirs = socket.socketpair()
        ours.sendall(frame_message(start))
        ours.close()
        exited = await bench.spawner.spawn("job", theirs)
        assert await exited == 1 << 8
        assert not mark.exists()
        assert [entry.jid for entry in bench.setup.proc().entries()] == [job["jid"]]

    play(scenario)


def test_another_process_with_a_jobs_old_id_is_left_alone(play: Callable[..., None]) -> None:
    """The job has ended, and its id is in use again, before the loop has read its pipe's end."""

    async def scenario(bench: Bench) -> None:
        job = bench.job("test.sleep", 300)
        bench.executor.take(TakenJob.of(job), "m:1")
        pid = await bench.pid(job)
        running = bench.executor._running[job["jid"]]
        other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        running.pid = other.pid
        said = bench.executor.signal(job["jid"], signal.SIGKILL)
        assert "was not running" in said
        running.pid = pid
        assert other.communicate(b"\n") == (None, None)
        assert other.returncode == 0
        bench.executor.signal(job["jid"], signal.SIGKILL)
        await bench.result(job)

    play(scenario)


def test_a_full_disk_does_not_stop_a_job(play: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        for name in ("outbox", "proc"):
            (bench.setup.cachedir).mkdir(parents=True, exist_ok=True)
            (bench.setup.cachedir / name).write_text("in the way")
        assert (await bench.run("test.echo", "x"))["return"] == "x"

    play(scenario)
