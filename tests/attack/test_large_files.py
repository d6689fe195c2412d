"""A file that takes long to hash: no worker is lost, and it is hashed once."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from attacks import Stranger, Victim, clear
from cluster import Cluster, eventually
from rogue import Rogue, Sealed

SIZE = 400 * 1024 * 1024
ASKED = 12


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(minions=0, master_options={"worker_threads": 2}, auto_accept=False) as one:
        root = one.root / "master" / "srv"
        root.mkdir(parents=True)
        with open(root / "large.iso", "wb") as file:
            file.truncate(SIZE)  # sparse: it takes no room
        one.start_master()
        stranger = Stranger(one.ret_port)
        eventually(lambda: stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}, what="ping")
        stranger.close()
        yield one


def test_a_large_file_is_hashed_once_and_nobody_waits_for_it(cluster: Cluster) -> None:
    victim = Victim.of(cluster, 2)
    rogue = Rogue(cluster, victim.stranger, "a").accept()
    rogue.authenticate()
    workers, before_s = victim.worker_pids(), victim.cpu_s()
    load = {"cmd": "_file_hash", "path": "large.iso", "saltenv": "base"}
    replies: list[Any] = []
    made = [rogue.make(load) for _ in range(ASKED)]
    asking = threading.Thread(target=lambda: replies.extend(rogue.send_many(made, within_s=120.0)))
    asking.start()
    while asking.is_alive():
        began_s = time.monotonic()
        victim.honest()
        assert time.monotonic() - began_s < 2
        asking.join(0.2)
    digest = hashlib.sha256()
    began_s = time.thread_time()
    for _ in range(SIZE >> 20):
        digest.update(b"\0" * (1 << 20))
    once_s = time.thread_time() - began_s
    assert replies == [Sealed({"hash_type": "sha256", "hsum": digest.hexdigest()})] * ASKED
    assert victim.worker_pids() == workers
    # A child's time is its parent's when it has ended; it is not counted here, workers' is.
    assert victim.cpu_s() - before_s < ASKED * once_s / 2 + 2
    again = rogue.make(load)
    began_s = time.monotonic()
    assert rogue.send_many([again], within_s=10.0) == replies[:1]
    assert time.monotonic() - began_s < 2
    victim.stranger.close()
