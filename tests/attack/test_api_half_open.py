"""Thousands of connections that ask for nothing: others are served, and nothing stays behind.

More than are kept at a time; ``SALTLITE_HALF_OPEN=10000`` says how many.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from api import RECORDED_AUTH, ApiCluster
from programs import many_descriptors

from cluster import eventually
from saltlite.api import limits

COUNT = int(os.environ.get("SALTLITE_HALF_OPEN", "3000"))
ADDRESSES = 80
PER_S = 500
OTHER_FILES = 300
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
HALVES = (
    b"",
    b"GET / HTTP/1.1\r\nHost:",
    b"POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n[",
    b"GET / HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n",
)
"""Nothing, half a header, a body that does not come, and a request whose connection is kept."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    with ApiCluster(master_options={"external_auth": RECORDED_AUTH}) as cluster:
        yield cluster.start()


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many descriptors as the connections need, in this process and for this test."""
    with many_descriptors(COUNT + OTHER_FILES):
        yield


class HonestCaller(threading.Thread):
    """Runs a job again and again, on a connection of its own each time."""

    def __init__(self, cluster: ApiCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._session = cluster.client.log_in("anna")
        self.stop = threading.Event()
        self.took_s: list[float] = []
        self.wrong: list[str] = []

    def time_of_one(self) -> float:
        """The middle one of five calls, in seconds, while nobody else is there."""
        times = []
        for _ in range(5):
            started = time.monotonic()
            assert self._cluster.client.run(self._session, PING).status == 200
            times.append(time.monotonic() - started)
        return sorted(times)[2]

    def run(self) -> None:
        while not self.stop.wait(0.1):
            started = time.monotonic()
            try:
                reply = self._cluster.client.run(self._session, PING)
            except OSError as error:
                self.wrong.append(repr(error))
                continue
            self.took_s.append(time.monotonic() - started)
            if reply.body != {"return": [{"m1": True}]}:
                self.wrong.append(f"{reply.status} {reply.raw[:200]!r}")


def connect(cluster: ApiCluster, number: int) -> socket.socket | None:
    """A connection from one of many addresses of this machine, with half of something sent."""
    connection = socket.socket()
    connection.settimeout(10)
    try:
        connection.bind((f"127.0.1.{number % ADDRESSES + 1}", 0))
        connection.connect(("127.0.0.1", cluster.api_port))
        with contextlib.suppress(ConnectionError):
            connection.sendall(HALVES[number // ADDRESSES % len(HALVES)])
    except OSError:
        connection.close()
        return None
    return connection


def open_many(cluster: ApiCluster) -> list[socket.socket | None]:
    """All of them, at a pace: this is about what stays open, not about the work of accepting."""
    opened = []
    started = time.monotonic()
    for number in range(COUNT):
        ahead_s = number / PER_S - (time.monotonic() - started)
        if ahead_s > 0.05:
            time.sleep(ahead_s)
        opened.append(connect(cluster, number))
    return opened


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("many_files")
def test_half_open_connections(cluster: ApiCluster) -> None:
    process = psutil.Process(cluster.api.pid)
    honest = HonestCaller(cluster)
    files, memory = process.num_fds(), process.memory_info().rss
    calm_s = honest.time_of_one()
    honest.start()
    opened = open_many(cluster)
    held = [one for one in opened if one is not None]
    most = process.num_fds()
    time.sleep(3)  # they stay, and the honest caller goes on
    honest.stop.set()
    honest.join(30)
    for connection in held:
        connection.close()
    assert len(held) > COUNT * 0.9
    assert limits.CONNECTIONS_MOST * 0.5 < most < limits.CONNECTIONS_MOST + limits.OTHER_FILES_MOST
    assert not honest.wrong, honest.wrong[:5]
    assert len(honest.took_s) > 10
    # Where the machine is not busy itself all of them take less than 2 s.
    assert statistics.median(honest.took_s) < max(2, 20 * calm_s)
    assert max(honest.took_s) < max(5, 100 * calm_s)
    eventually(lambda: process.num_fds() <= files + 5, within_s=20, what="descriptors come back")
    eventually(
        lambda: process.memory_info().rss < memory + 40 * 2**20, within_s=20,
        what="memory comes back",
    )  # fmt: skip
    assert "Traceback" not in cluster.api.log()
    print(
        f"{len(held)} connections, {most} descriptors at most; {len(honest.took_s)} honest calls, "
        f"{statistics.median(honest.took_s) * 1000:.0f} ms, {max(honest.took_s) * 1000:.0f} ms at "
        f"most, alone {calm_s * 1000:.0f} ms; memory {memory / 2**20:.1f} -> "
        f"{process.memory_info().rss / 2**20:.1f} MiB"
    )
