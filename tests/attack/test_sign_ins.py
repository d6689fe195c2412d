"""Many minions sign in for the first time, keys go and come: nobody else's session suffers.

Source: docs/security.md#keys-that-come-change-and-go.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attacks import Stranger
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.crypto.keys import PrivateKey

pytestmark = pytest.mark.alone

NEWCOMERS = int(os.environ.get("SALTLITE_SIGN_INS", "2000"))
SWARM_MOST = 2500
SCRIPT = Path(__file__).parents[2] / "scripts" / "minion_swarm"
LOOK_S = 1.0
"""How often Maintenance looks for sessions without a key."""


@pytest.fixture
def world() -> Iterator[tuple[Cluster, Stranger]]:
    with Cluster(minions=0, master_options={"worker_threads": 3}) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        yield cluster, stranger
        stranger.close()


def rotations(cluster: Cluster) -> list[str]:
    return re.findall(r"The publication key was changed \((.*)\)", cluster.master.log())


class Swarm:
    """So many simulated minions of one process; its reports are read one by one."""

    def __init__(self, cluster: Cluster, prefix: str, minions: int) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable, str(SCRIPT), f"--port={cluster.ret_port}", f"--prefix={prefix}",
                f"--minions={minions}", f"--keys={cluster.root / prefix}", "--distinct-keys=2",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def report(self, phase: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["phase"] == phase:
                return found
        raise AssertionError(f"the swarm has ended without {phase}")

    def end(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.report("summary")


@contextlib.contextmanager
def swarms(cluster: Cluster, minions: int) -> Iterator[list[Swarm]]:
    """All newcomers, in processes whose descriptors suffice."""
    sizes = [SWARM_MOST] * (minions // SWARM_MOST) + [minions % SWARM_MOST]
    started = [Swarm(cluster, f"s{n}x", size) for n, size in enumerate(sizes) if size]
    try:
        yield started
    finally:
        for one in started:
            one.process.kill()
            one.process.wait()


@pytest.mark.timeout(120 + NEWCOMERS // 10)
def test_first_sign_ins_end_no_session(world: tuple[Cluster, Stranger]) -> None:
    """While Maintenance looks all the time, since keys come all the time.

    ``SALTLITE_SIGN_INS=10000`` for the storm that once cost 129 sessions.
    """
    cluster, stranger = world
    early = Rogue(cluster, stranger, "early")
    early.authenticate()
    with swarms(cluster, NEWCOMERS) as newcomers:
        ready = [one.report("ready") for one in newcomers]
        print(f"{NEWCOMERS} sign-ins:", ready)
        assert sum(one["done"] for one in ready) == NEWCOMERS
        time.sleep(2 * LOOK_S)  # in which a look would end sessions
        sessions = [one.name for one in (cluster.cache_dir / "sessions").iterdir()]
        assert len(sessions) == NEWCOMERS + 1
        patience_s = 30 + NEWCOMERS // 100
        target = "s*x*", "test.ping", "--out=json", "--static", f"--timeout={patience_s}"
        returned = cluster.salt(*target, timeout_s=10 * patience_s)
        assert set(returned.json) == {*sessions} - {early.id}
        assert set(returned.json.values()) == {True}
        ended = [one.end() for one in newcomers]
    print(ended)
    assert sum(one["lost"] + one["bad_loads"] + one["pending"] for one in ended) == 0
    assert early.send({"cmd": "_file_envs"}) == Sealed(["base"])
    assert "its key is not accepted" not in cluster.master.log()
    assert not rotations(cluster)


def test_one_deletion_changes_the_publication_key_once(world: tuple[Cluster, Stranger]) -> None:
    """By whatever hand; and the others go on with the sessions they have."""
    cluster, stranger = world
    staying = Rogue(cluster, stranger, "stays")
    staying.authenticate()
    for number, how in enumerate(["salt-key", "salt-key", "by hand", "salt-key"]):
        going = Rogue(cluster, stranger, f"goes{number}", staying.key)
        going.authenticate()
        if how == "salt-key":
            assert cluster.salt_key("-d", going.id, "-y").exit_code == 0
        else:
            (cluster.pki_dir / "minions" / going.id).unlink()
        eventually(lambda n=number: len(rotations(cluster)) > n, within_s=10, what="a rotation")
        time.sleep(2 * LOOK_S)  # in which a second one would come
        assert len(rotations(cluster)) == number + 1
        assert not (cluster.cache_dir / "sessions" / going.id).exists()
        assert staying.send({"cmd": "_file_envs"}) == Sealed(["base"])


def test_keys_that_go_while_their_minions_sign_in(world: tuple[Cluster, Stranger]) -> None:
    """No session is left to an id that has no key, whoever was first."""
    cluster, stranger = world
    key = PrivateKey.generate(2048)
    minions = [Rogue(cluster, stranger, f"churn{n}", key) for n in range(4)]
    done = threading.Event()

    def remove_keys() -> None:
        while not done.is_set():
            for one in minions:
                (cluster.pki_dir / "minions" / one.id).unlink(missing_ok=True)
                time.sleep(0.01)

    thread = threading.Thread(target=remove_keys)
    thread.start()
    try:
        for _ in range(100):
            for one in minions:
                one.authenticate()  # each time the key is accepted again
    finally:
        done.set()
        thread.join()
    for one in minions:
        (cluster.pki_dir / "minions" / one.id).unlink(missing_ok=True)
    sessions = cluster.cache_dir / "sessions"
    eventually(lambda: not list(sessions.iterdir()), within_s=10, what="no session without a key")
