"""The whole minion as processes, under a master made for the test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import zmq
import zmq.asyncio
from asyncio_master import JID, FakeMaster, job

import saltlite
from saltlite.crypto.keys import PrivateKey

DEADLINE_S = 30.0
MASTER_KEY = PrivateKey.generate(2048)
MINION_KEY = PrivateKey.generate(2048)
ROOT = str(Path(saltlite.__file__).parents[1])


@dataclass
class Installation:
    """A directory with a minion's configuration, and the minions started on it."""

    path: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    seen: dict[int, psutil.Process] = field(default_factory=dict)

    def write(self, port: int, **options: Any) -> None:
        pki = self.path / "pki"
        pki.mkdir()
        (pki / "minion.pem").write_bytes(MINION_KEY.pem)
        (pki / "minion.pem").chmod(0o600)
        lines = {
            "root_dir": self.path, "id": "m1", "master": f"127.0.0.1:{port}", "pki_dir": pki,
            "cachedir": self.path / "cache", "sock_dir": self.path / "run",
            "pidfile": self.path / "pid", "log_file": self.path / "log", "auth_timeout": 1,
            "recon_default": 50, "recon_max": 100, "random_reauth_delay": 0, **options,
        }  # fmt: skip
        text = "".join(f"{name}: {value}\n" for name, value in lines.items())
        (self.path / "minion").write_text(text)

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "saltlite.cli.salt_minion", "-c", str(self.path), *options],
            env={**os.environ, "PYTHONPATH": ROOT, "NOTIFY_SOCKET": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def family(self, process: subprocess.Popen[bytes]) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            top = psutil.Process(process.pid)
            found = [top, *top.children(recursive=True)]
            self.seen.update({one.pid: one for one in found})
            return found
        return []

    def titles(self, process: subprocess.Popen[bytes]) -> list[str]:
        """The titles of those that run; one that has ended and waits to be reaped has none."""
        found = []
        for one in self.family(process):
            with contextlib.suppress(psutil.NoSuchProcess):  # also a zombie
                found += [title.strip() for title in one.cmdline()[:1]]
        return found

    def loop_of(self, process: subprocess.Popen[bytes]) -> psutil.Process | None:
        for one in self.family(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                if one.cmdline()[0].strip() == "salt-minion Minion":
                    return one
        return None

    def clear(self) -> None:
        for process in self.started:
            self.family(process)
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
        for one in self.seen.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        shutil.rmtree(self.path)


@dataclass
class Scene:
    """A master in this process and a minion beside it."""

    master: FakeMaster
    minion: Installation
    returns: dict[str, dict[str, Any]] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    number: int = 0

    def returned(self, load: dict[str, Any]) -> None:
        self.returns[load["jid"]] = load
        self.times[load["jid"]] = self.times.get(load["jid"], 0) + 1

    async def until(self, condition: Callable[[], Any]) -> Any:
        deadline_s = time.monotonic() + DEADLINE_S
        while not (value := condition()):
            assert time.monotonic() < deadline_s, (self.minion.path / "log").read_text()[-3000:]
            await asyncio.sleep(0.01)
        return value

    def next_jid(self) -> str:
        self.number += 1
        return f"2024010203040500{self.number:04}"

    async def publish(self, fun: Any, *arg: Any, jid: str = "", **fields: Any) -> str:
        jid = jid or self.next_jid()
        await self.master.publish({**job(jid), "fun": fun, "arg": list(arg), **fields})
        return jid

    async def run(self, fun: Any, *arg: Any) -> dict[str, Any]:
        jid = await self.publish(fun, *arg)
        await self.until(lambda: jid in self.returns)
        return self.returns[jid]

    async def begun(self, jid: str) -> None:
        """The job runs, and has told the loop so: from then on it lives on without it."""
        deadline_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline_s:
            running = (await self.run("saltutil.running"))["return"]
            if any(one["jid"] == jid and one["pid"] for one in running):
                return
        raise AssertionError(f"job {jid} does not begin: {running}")

    async def here(self, times: int = 1) -> None:
        """The minion has said that it is there."""
        await self.until(lambda: self.tags.count("salt/minion/m1/start") >= times)


@contextlib.asynccontextmanager
async def scene(**options: Any) -> AsyncIterator[Scene]:
    installation = Installation(Path(tempfile.mkdtemp(prefix="slm-", dir="/tmp")))
    context = zmq.asyncio.Context()
    master = FakeMaster(context, MASTER_KEY)
    together = Scene(master, installation)
    master.replies["_return"] = together.returned
    master.replies["_minion_event"] = lambda load: together.tags.append(load["tag"])
    installation.write(master.port, **options)
    serving = asyncio.create_task(master.serve())
    hearing = asyncio.create_task(subscriptions(master))
    try:
        yield together
    finally:
        for task in (serving, hearing):
            task.cancel()
        await asyncio.gather(serving, hearing, return_exceptions=True)
        await asyncio.to_thread(installation.clear)
        master.close()
        context.destroy(linger=0)


async def subscriptions(master: FakeMaster) -> None:
    while True:
        await master.pub.recv_multipart()


def play(scenario: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    async def live() -> None:
        async with scene(**options) as together:
            await scenario(together)

    asyncio.run(live())


def test_from_the_start_to_the_end() -> None:
    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        assert now.tags == ["minion_start", "salt/minion/m1/start"]
        load = await now.run("test.ping")
        assert (load["return"], load["retcode"], load["id"]) == (True, 0, "m1")
        assert (now.minion.path / "pid").read_text() == f"{process.pid}\n"
        await now.until(lambda: now.minion.titles(process) == ["salt-minion", "salt-minion Minion"])
        process.terminate()
        assert await asyncio.to_thread(process.wait, 10) == 0
        assert not (now.minion.path / "pid").exists()
        assert not [one for one in now.minion.seen.values() if one.is_running()]

    play(scenario)


def test_states_at_the_start_once_and_under_a_jid_of_the_masters() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        await now.until(lambda: "req" in now.returns)
        load = now.returns["req"]
        assert (load["fun"], load["fun_args"], load["id"]) == ("state.sls", [["web", "db"]], "m1")

    play(scenario, startup_states="sls", sls_list=["web", "db"])


def test_jobs_have_the_masters_pillar_and_own_grains() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        assert (await now.run("pillar.items"))["return"] == {"from": "master"}
        assert (await now.run("grains.get", "colour"))["return"] == "green"
        jid = await now.publish("test.ping", tgt="colour:green", tgt_type="grain")
        await now.until(lambda: jid in now.returns)
        await now.publish("test.ping", tgt="colour:blue", tgt_type="grain")
        await now.run("test.ping")
        assert len(now.returns) == 4

    play(scenario, grains="{colour: green}")


def test_a_changed_grain_is_noticed_and_the_pillar_asked_for_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(now: Scene) -> None:
        asked: list[Any] = []
        reply = now.master.pillar_reply

        def noted(load: Mapping[str, Any]) -> bytes:
            asked.append(load["grains"].get("colour"))
            return reply(load)

        monkeypatch.setattr(now.master, "pillar_reply", noted)
        now.minion.start()
        await now.here()
        (now.minion.path / "grains").write_text("colour: blue\n")
        await now.until(lambda: "blue" in asked)
        # Once, and not again while nothing changes; before it an address of this machine may.
        assert (asked[0], asked.count("blue")) == (None, 1)
        assert (await now.run("grains.get", "colour"))["return"] == "blue"

    play(scenario, grains_refresh_every=0.002)


def test_the_start_does_not_wait_for_a_dead_resolver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    getent = tmp_path / "getent"
    getent.write_text("#!/bin/sh\nexec sleep 60\n")
    getent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        assert (await now.run("grains.get", "fqdn"))["return"] == os.uname().nodename

    play(scenario)


def test_start_events_without_the_old_one() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        assert now.tags == ["salt/minion/m1/start"]

    play(scenario, enable_legacy_startup_events=False)


def test_a_returner_that_is_not_there_is_named_and_the_master_still_gets_the_return() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        jid = await now.publish("test.ping", ret="mongo")
        await now.until(lambda: jid in now.returns)
        assert now.returns[jid]["return"] is True
        log, line = now.minion.path / "log", f"Returner mongo is not available; job {jid}"
        await now.until(lambda: log.exists() and line in log.read_text())

    play(scenario)


def test_a_job_runs_once_also_after_a_restart() -> None:
    """P-once: what counts is what ran; a return may come twice, and the master keeps one."""

    async def scenario(now: Scene) -> None:
        ran = now.minion.path / "ran"
        command = ["cmd.run", f"echo once >> {ran}", {"__kwarg__": True, "python_shell": True}]
        process = now.minion.start()
        await now.here()
        jid = await now.publish(*command)
        for _ in range(20):
            await now.publish(*command, jid=jid)
        await now.until(lambda: jid in now.returns)
        process.terminate()
        await asyncio.to_thread(process.wait, 10)
        now.minion.start()
        await now.here(2)
        await now.publish(*command, jid=jid)
        await now.run("test.ping")
        process = now.minion.started[-1]
        await now.until(lambda: len(now.minion.family(process)) == 2)
        assert ran.read_text() == "once\n"

    play(scenario)


def test_questions_are_answered_while_all_slots_are_taken() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        first = await now.publish("test.sleep", 60)
        await now.publish("test.sleep", 60)
        await now.until(lambda: (now.minion.path / "cache" / "proc" / first).exists())
        found = await now.run("saltutil.find_job", first)
        assert found["return"]["fun"] == "test.sleep"
        running = await now.run("saltutil.running")
        assert len(running["return"]) == 2
        assert (await now.run("saltutil.find_job", "20200101000000000000"))["return"] == {}
        await now.run("saltutil.kill_job", first)
        await now.until(lambda: first in now.returns)
        assert now.returns[first]["retcode"] == 254

    play(scenario, process_count_max=1)


@pytest.mark.parametrize("fun", ["test.sleep"])
def test_after_kill_9_of_everything_the_job_has_a_return(fun: str) -> None:
    """P-dead."""

    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        jid = await now.publish(fun, 60)
        await now.begun(jid)
        for one in now.minion.family(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        await asyncio.to_thread(process.wait, 10)
        now.minion.start()
        await now.until(lambda: jid in now.returns)
        assert now.returns[jid]["return"] == "The minion stopped while this job ran."
        assert now.returns[jid]["retcode"] == 254
        assert now.times[jid] == 1

    play(scenario)


def test_a_job_that_outlives_the_minion_returns_when_it_is_back() -> None:
    """P-ret, across a restart."""

    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        jid = await now.publish("test.sleep", 2)
        await now.begun(jid)
        process.terminate()
        assert await asyncio.to_thread(process.wait, 10) == 0
        now.minion.start()
        await now.until(lambda: jid in now.returns)
        assert now.returns[jid]["return"] is True
        assert now.times[jid] == 1

    play(scenario)


def test_the_loop_is_started_again_and_the_parent_keeps_its_jobs() -> None:
    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        jid = await now.publish("test.sleep", 2)
        await now.begun(jid)
        loop = now.minion.loop_of(process)
        assert loop is not None
        loop.kill()
        await now.here(2)
        assert (await now.run("test.ping"))["return"] is True
        await now.until(lambda: jid in now.returns)
        assert now.returns[jid]["return"] is True
        assert process.poll() is None

    play(scenario)


def test_without_its_parent_the_loop_ends() -> None:
    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        family = now.minion.family(process)
        process.kill()
        await asyncio.to_thread(process.wait, 10)
        await now.until(lambda: not any(one.is_running() for one in family))
        now.minion.start()
        await now.here(2)

    play(scenario)


def test_a_second_minion_on_the_same_cache_says_so_and_ends() -> None:
    async def scenario(now: Scene) -> None:
        first = now.minion.start()
        await now.here()
        before = (now.minion.path / "pid").read_text()
        second = now.minion.start()
        _, stderr = await asyncio.to_thread(second.communicate, None, 10)
        assert second.returncode == 1
        assert len(stderr.decode().splitlines()) == 1
        assert f"process {first.pid}" in stderr.decode()
        assert (now.minion.path / "pid").read_text() == before
        assert (await now.run("test.ping"))["return"] is True

    play(scenario)


@pytest.mark.parametrize("mood", ["silent", "pending", "junk"])
@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.4, 1.0])
def test_it_can_be_stopped_before_it_is_connected(mood: str, delay_s: float) -> None:
    async def scenario(now: Scene) -> None:
        now.master.mood = mood
        process = now.minion.start()
        await now.until(lambda: (now.minion.path / "pid").exists())
        await asyncio.sleep(delay_s)
        process.terminate()
        assert await asyncio.to_thread(process.wait, 10) == 0

    play(scenario)


@pytest.mark.slow
def test_a_rejected_minion_ends_with_77_after_a_while() -> None:
    async def scenario(now: Scene) -> None:
        now.master.mood = "rejected"
        process = now.minion.start()
        await now.until(lambda: now.master.auths)
        before_s = time.monotonic()
        assert await asyncio.to_thread(process.wait, 25) == 77
        assert 9 < time.monotonic() - before_s < 21

    play(scenario)


def test_a_bad_key_is_one_line_and_is_kept() -> None:
    async def scenario(now: Scene) -> None:
        (now.minion.path / "pki" / "minion.pem").write_text("junk")
        process = now.minion.start()
        code = await asyncio.to_thread(process.wait, 10)
        assert code not in (0, None)
        assert (now.minion.path / "pki" / "minion.pem").read_text() == "junk"
        assert "minion.pem" in (now.minion.path / "log").read_text()

    play(scenario)


def test_files_are_private() -> None:
    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        await now.run("test.ping")
        for path in (now.minion.path / "cache").rglob("*"):
            expected = 0o700 if path.is_dir() else 0o600
            assert path.stat().st_mode & 0o777 == expected, path
        for path in (now.minion.path / "run").iterdir():
            assert path.stat().st_mode & 0o777 == 0o600, path

    play(scenario)


def test_returns_wait_for_the_master_and_arrive_once() -> None:
    """P-ret: the master is away when the job ends."""

    async def scenario(now: Scene) -> None:
        now.minion.start()
        await now.here()
        now.master.mood = "deaf"
        jid = await now.publish("test.echo", "kept")
        await now.until(lambda: any(load["cmd"] == "_return" for load in now.master.loads))
        assert (now.minion.path / "cache" / "outbox" / jid).exists()
        now.master.mood = "accept"
        await now.until(lambda: jid in now.returns)
        await now.until(lambda: not os.listdir(now.minion.path / "cache" / "outbox"))
        assert now.times[jid] == 1

    play(scenario, return_retry_timer=1, return_retry_timer_max=1)


def has_pending(pid: int, number: int) -> bool:
    """Whether a signal waits for a process that does not run."""
    status = Path(f"/proc/{pid}/status").read_text()
    masks = [int(line.split()[1], 16) for line in status.splitlines() if "Pnd:" in line]
    return any(mask >> (number - 1) & 1 for mask in masks)


def test_signals_end_it_at_once_the_second_time() -> None:
    async def scenario(now: Scene) -> None:
        process = now.minion.start()
        await now.here()
        loop = now.minion.loop_of(process)
        assert loop is not None
        os.kill(loop.pid, signal.SIGSTOP)
        await now.until(lambda: loop.status() == psutil.STATUS_STOPPED)  # or SIGTERM comes first
        process.terminate()
        await now.until(lambda: has_pending(loop.pid, signal.SIGTERM))  # the first one is heeded
        process.terminate()
        assert await asyncio.to_thread(process.wait, 8) == 0  # alone, the first takes 10 s
        await now.until(lambda: not loop.is_running())

    play(scenario)


# A list of masters at once, and one after the other.


def without_master(now: Scene) -> None:
    path = now.minion.path / "minion"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("master:")]
    path.write_text("\n".join(lines) + "\n")


class Second:
    """Another master with the same key beside the scene's, and behind those ``before`` it."""

    def __init__(self, now: Scene, before: Sequence[Second] = ()) -> None:
        self.context = zmq.asyncio.Context()
        self.master = FakeMaster(self.context, MASTER_KEY)
        self.returns: list[dict[str, Any]] = []
        self.tags: list[str] = []
        self.master.replies["_return"] = self.returns.append
        self.master.replies["_minion_event"] = lambda load: self.tags.append(load["tag"])
        masters = [now.master, *(one.master for one in before), self.master]
        without_master(now)
        path = now.minion.path / "minion"
        addresses = [f"127.0.0.1:{one.port}" for one in masters]
        path.write_text(path.read_text() + f"master: {addresses}\n")

    async def __aenter__(self) -> Second:
        self.tasks = [
            asyncio.create_task(self.master.serve()),
            asyncio.create_task(subscriptions(self.master)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.master.close()
        self.context.destroy(linger=0)


def test_each_master_gets_its_own_returns_and_a_job_runs_once() -> None:
    async def scenario(now: Scene) -> None:
        async with Second(now) as second:
            now.minion.start()
            await now.here()
            await now.until(lambda: "salt/minion/m1/start" in second.tags)
            await now.run("test.ping")
            job = {"fun": "test.echo", "arg": ["x"], "tgt": "*", "tgt_type": "glob", "ret": ""}
            await second.master.publish({**job, "jid": JID})
            await now.until(lambda: second.returns)
            assert [load["jid"] for load in second.returns] == [JID]
            await now.publish("test.echo", "x", jid=JID)
            await now.run("test.ping")
            assert JID not in now.returns

    play(scenario)


def test_fail_over_and_back() -> None:
    async def scenario(now: Scene) -> None:
        now.master.mood = "silent"
        async with Second(now) as second:
            now.minion.start()
            await now.until(lambda: "salt/minion/m1/start" in second.tags)
            assert now.tags == []
            now.master.mood = "accept"
            await now.here()
            assert (await now.run("test.ping"))["return"] is True
            assert second.returns == []

    play(scenario, master_type="failover", master_failback=True, master_failback_interval=1)


def test_the_third_master_is_asked_when_two_do_not_answer() -> None:
    """Salt's issue 35041: with three masters a minion went to and fro between the first two."""

    async def scenario(now: Scene) -> None:
        async with Second(now) as second, Second(now, [second]) as third:
            now.master.mood = second.master.mood = "silent"
            now.minion.start()
            await now.until(lambda: "salt/minion/m1/start" in third.tags)
            assert now.master.auths and second.master.auths
            assert now.tags == second.tags == []

    play(scenario, master_type="failover")
