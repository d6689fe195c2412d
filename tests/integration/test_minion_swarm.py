"""The simulator: many minions in one process, against a master of either kind."""

from __future__ import annotations

import argparse
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
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.transport.codec import pack, unpack

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


def test_a_connection_that_never_opened_is_made_anew_for_what_waits() -> None:
    """A balancer without a node behind it ends what it has just accepted."""
    simulator = SimpleNamespace(**runpy.run_path(str(SWARM), run_name="simulator"))
    with socket.create_server(("127.0.0.1", 0)) as master:
        swarm = SimpleNamespace(
            poller=simulator.Poller(), address=master.getsockname(), retries=0, timeout_s=10
        )
        minion = simulator.Minion(swarm, "sim0", None)
        minion.request({"cmd": "_return"}, lambda _: None)
        master.accept()[0].close()
        swarm.poller.poll(10)  # it can be written to
        while minion._requests is not None:
            swarm.poller.poll(10)
        minion.tick(minion._resume_s)
        assert select.select([master], [], [], 10)[0]
        minion.close()


def test_an_answer_is_read_as_what_was_asked_though_a_sign_in_is_wanted_next() -> None:
    simulator = SimpleNamespace(**runpy.run_path(str(SWARM), run_name="simulator"))
    problems: list[str] = []
    swarm = SimpleNamespace(token=b"", timeout_s=10, is_patient=False, problem=problems.append)
    minion = simulator.Minion(swarm, "sim0", None)
    minion.key = SimpleNamespace(public="", tok=b"")
    minion.session = Crypticle(new_key_string())
    sent: list[bytes] = []
    minion._requests = SimpleNamespace(is_open=True, send=lambda _, frame: sent.append(frame))
    answers: list[bool] = []
    minion.request({"cmd": "_minion_event"}, answers.append)
    minion.authenticate(lambda _: None)
    assert len(sent) == 1
    answer = minion.session.encrypt(b"pickle::" + minion._nonce + pack(None))
    minion._replied([pack(answer)])
    assert (answers, problems) == ([True], [])
    assert unpack(sent[1])["load"]["cmd"] == "_auth"


class Keyed:
    """A simulator of two minions that never connect: their sign-ins and their jobs are seen."""

    def __init__(self, keys: Path) -> None:
        simulator = SimpleNamespace(**runpy.run_path(str(SWARM), run_name="simulator"))
        (keys / "keys-0.jsonl").write_text('["", "", ""]\n')  # nothing is signed
        self.swarm = simulator.Swarm(
            argparse.Namespace(
                master="127.0.0.1", port=1, publish_port=1, timeout=1.0, patient=True,
                reauth_delay=0.0, first=None, return_kib=1, history=None, start_events=False,
                jobs=None, connect_window=1, minions=2, prefix="sim", distinct_keys=1, keys=keys,
                keysize=0, pki_dir=None,
            )
        )  # fmt: skip
        self.signs_in: list[str] = []
        self.ran: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.swarm.problem = self.problems.append
        self.private = SimpleNamespace(decrypt=lambda key, _: key)
        for minion in self.swarm.minions:
            self._watch(minion)

    def _watch(self, minion: Any) -> None:
        minion.authenticate = lambda _: self.signs_in.append(minion.name)
        minion.request = lambda load, _: self.ran.append((minion.name, load["jid"]))

    def give_key(self, number: int, key: str) -> None:
        """The answer to a sign-in of that minion."""
        minion = self.swarm.minions[number]
        minion.take_key(self.swarm.take_aes(self.private, key.encode()))

    def publish(self, number: int, frame: bytes) -> None:
        self.swarm.published(self.swarm.minions[number], frame)

    def let_pass(self) -> None:
        """The pauses that minions make."""
        later, self.swarm._later = self.swarm._later, []
        for _, what in later:
            what()

    def take_what_was_seen(self) -> tuple[list[str], list[tuple[str, str]]]:
        seen = self.signs_in[:], self.ran[:]
        self.signs_in.clear()
        self.ran.clear()
        return seen


def make_frame(key: str, jid: str, serial: int) -> bytes:
    job = {"jid": jid, "fun": "test.ping", "arg": [], "tgt": "*", "serial": serial}
    return pack({"enc": "aes", "load": Crypticle(key).encrypt(b"pickle::" + pack(job))})


def test_a_publication_under_an_earlier_key_is_read_late_without_a_sign_in(keys: Path) -> None:
    """Else each key that changes has all minions sign in without an end."""
    first, second = new_key_string(), new_key_string()
    keyed = Keyed(keys)
    keyed.give_key(0, first)
    keyed.give_key(1, first)
    keyed.publish(0, make_frame(first, "1", 7))
    assert keyed.take_what_was_seen() == ([], [("sim00000", "1")])

    new = make_frame(second, "2", 1)
    keyed.publish(0, new)
    keyed.publish(1, new)
    assert keyed.take_what_was_seen() == (["sim00000", "sim00001"], [])
    keyed.give_key(0, second)
    assert keyed.take_what_was_seen() == ([], [("sim00000", "2")])

    late = make_frame(first, "3", 8)
    keyed.publish(0, late)
    keyed.publish(1, late)
    assert keyed.take_what_was_seen() == ([], [("sim00000", "3"), ("sim00001", "3")])
    keyed.give_key(1, second)
    keyed.publish(0, make_frame(second, "4", 2))
    assert keyed.take_what_was_seen() == ([], [("sim00001", "2"), ("sim00000", "4")])
    assert keyed.problems == []


def test_a_minion_signs_in_again_when_a_node_gave_it_the_earlier_key(keys: Path) -> None:
    first, second = new_key_string(), new_key_string()
    keyed = Keyed(keys)
    keyed.give_key(0, first)
    keyed.publish(0, make_frame(second, "1", 1))
    keyed.publish(0, make_frame(second, "2", 2))
    keyed.take_what_was_seen()
    keyed.give_key(0, first)
    assert keyed.take_what_was_seen() == ([], [])  # not at once
    keyed.let_pass()
    assert keyed.take_what_was_seen() == (["sim00000"], [])  # once for both
    keyed.give_key(0, second)
    assert keyed.take_what_was_seen() == ([], [("sim00000", "1"), ("sim00000", "2")])
    assert keyed.problems == []


def test_a_key_that_nobody_gives_is_asked_for_a_few_times(keys: Path) -> None:
    first, other = new_key_string(), new_key_string()
    keyed = Keyed(keys)
    keyed.give_key(0, first)
    keyed.publish(0, make_frame(other, "1", 1))
    for _ in range(10):
        keyed.give_key(0, first)
        keyed.let_pass()
    assert keyed.take_what_was_seen() == (3 * ["sim00000"], [])
    assert keyed.problems == ["sim00000: a publication under a key that no node gives"]
