"""The simulator: many minions in one process, against a master of either kind."""

from __future__ import annotations

import json
import runpy
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster import OURS, SALT_3006, Cluster, is_installed

SWARM = Path(__file__).parents[2] / "scripts" / "minion_swarm"
MINIONS = 12


class Swarm:
    """The running simulator; its reports come one at a time."""

    def __init__(self, cluster: Cluster, keys: Path) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(SWARM),
                f"--port={cluster.ret_port}",
                f"--minions={MINIONS}",
                f"--keys={keys}",
                f"--pki-dir={cluster.pki_dir}",
                "--start-events",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def job(self, fun: str) -> dict[str, Any]:
        """The next job of that function; real ``salt`` publishes more than it was asked for."""
        while True:
            found = self.report("job")
            if found["fun"] == fun:
                return found

    def report(self, phase: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert found["phase"] == phase, found
        return found


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(
    params=[
        OURS,
        pytest.param(
            SALT_3006,
            marks=[
                pytest.mark.interop,
                pytest.mark.skipif(not is_installed(SALT_3006), reason="no real Salt here"),
            ],
        ),
    ]
)
def master(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(master=request.param, minions=0, auto_accept=False) as cluster:
        cluster.start_master()
        yield cluster


def test_a_swarm_signs_in_answers_and_loses_nothing(master: Cluster, keys: Path) -> None:
    swarm = Swarm(master, keys)
    try:
        ready = swarm.report("ready")
        assert (ready["done"], ready["lost"]) == (MINIONS, 0)

        pinged = master.salt("swarm*", "test.ping", "--out=json", "--static")
        assert pinged.json == {f"swarm{number:05d}": True for number in range(MINIONS)}
        job = swarm.job("test.ping")
        assert (job["received"], job["expected"], job["lost"]) == (MINIONS, MINIONS, 0)

        one = master.salt("swarm00003", "test.echo", "hello", "--out=json", "--static")
        assert one.json == {"swarm00003": "hello"}
        assert swarm.job("test.echo")["expected"] == 1

        swarm.say("auth-storm 2")
        assert swarm.report("auth-storm")["done"] == 2 * MINIONS
        swarm.say("events 3")
        assert swarm.report("events")["done"] == 3 * MINIONS

        swarm.say("quit")
        summary = swarm.report("summary")
        assert (summary["lost"], summary["problems"]) == (0, 0)
        assert swarm.process.wait(20) == 0
    finally:
        swarm.process.kill()
        swarm.process.communicate()


def test_a_refused_swarm_says_that_it_lost_all(keys: Path) -> None:
    """Without ``--pki-dir`` the keys stay pending."""
    with Cluster(minions=0, auto_accept=False) as cluster:
        cluster.start_master()
        done = subprocess.run(
            [
                sys.executable,
                str(SWARM),
                f"--port={cluster.ret_port}",
                "--minions=3",
                f"--keys={keys}",
                "--seconds=2",
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [one["phase"] for one in reports] == ["ready", "summary"]
    assert reports[0]["lost"] == 3
    assert reports[1]["pending"] >= 3


def test_what_the_simulator_has_not_read_yet_is_not_the_masters_delay() -> None:
    """One process for thousands reads late at times, and must not ask once more for that."""
    simulator = SimpleNamespace(**runpy.run_path(str(SWARM), run_name="simulator"))
    problems: list[str] = []
    swarm = SimpleNamespace(problem=problems.append, retries=0, timeout_s=10, is_patient=True)
    minion = simulator.Minion(swarm, "sim0", None)
    with socket.create_server(("127.0.0.1", 0)) as master:
        minion._requests = simulator.Connection(
            simulator.Poller(), master.getsockname(), b"REQ",
            on_open=minion._next, on_message=minion._replied, on_close=minion._dropped,
        )  # fmt: skip
        minion._nonce = b"asked"
        with master.accept()[0] as peer:
            peer.send(b"x")
            assert select.select([minion._requests.fd], [], [], 10)[0]
            minion.tick(minion._deadline_s + 1)
            assert (minion._nonce, swarm.retries) == (b"asked", 0)
            minion._requests.readable()
            minion.tick(minion._deadline_s + 1)
    assert (minion._nonce, swarm.retries) == (b"", 1)
    assert problems == ["sim0: no reply within 10 s"]
