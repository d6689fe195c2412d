"""Bodies that are never finished, from many addresses: what they take is bounded in all."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import psutil
import pytest
from api import RECORDED_AUTH, ApiCluster
from programs import many_descriptors

from cluster import eventually
from saltlite.api import limits

ADDRESSES = 10
OF_EACH = 16
SIZE = 1024 * 1024
"""One byte of each body does not come. In all it is two and a half times what there is room for."""

OVERHEAD = 24 * 2**20
"""Beside the bodies: buffers of connections, and what the allocator has not given back."""

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    with ApiCluster(minions=0, master_options={"external_auth": RECORDED_AUTH}) as cluster:
        yield cluster.start()


def hold_body(cluster: ApiCluster, address: str) -> socket.socket:
    """A connection from ``address`` whose body lacks its last byte, or that was refused before."""
    connection = socket.socket()
    connection.settimeout(10)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", cluster.api_port))
    head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {SIZE}\r\n\r\n"
    with contextlib.suppress(ConnectionError):
        connection.sendall(head.encode() + b" " * (SIZE - 1))
    return connection


def is_refused(connection: socket.socket) -> bool:
    """Whether salt-api has answered 503, or has closed the connection already."""
    connection.setblocking(False)
    try:
        answer = connection.recv(100, socket.MSG_PEEK)  # it is looked at again
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    assert answer == b"" or answer.startswith(b"HTTP/1.1 503 "), answer
    return True


def test_bodies_are_bounded_in_all(cluster: ApiCluster) -> None:
    process = psutil.Process(cluster.api.pid)
    session = cluster.client.log_in("anna")
    before = process.memory_info().rss
    most = 0
    with many_descriptors(1000), contextlib.ExitStack() as stack:
        held = []
        for _ in range(OF_EACH):
            for number in range(ADDRESSES):
                held.append(stack.enter_context(hold_body(cluster, f"127.0.2.{number + 1}")))
            most = max(most, process.memory_info().rss)
        started = time.monotonic()
        headers = {**JSON, "X-Auth-Token": session, "Content-Type": "application/json"}
        large = cluster.client.ask("POST", "/", headers, " " * 200_000 + "[]")
        assert large.body == {"return": []}, "who sends little has room"
        assert cluster.client.log_in("ben")
        assert time.monotonic() - started < 5
        refused = sum(map(is_refused, held))
    assert most - before < limits.BODIES_BYTES_MOST + OVERHEAD
    assert refused >= ADDRESSES * OF_EACH - limits.BODIES_BYTES_MOST // (SIZE - 1)
    eventually(
        lambda: process.memory_info().rss < before + OVERHEAD, within_s=20, what="memory comes back"
    )


def test_one_address_has_a_share(cluster: ApiCluster) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(hold_body(cluster, "127.0.3.1")) for _ in range(20)]
        fit = limits.BODIES_OF_ADDRESS_BYTES_MOST // (SIZE - 1)
        eventually(lambda: sum(map(is_refused, held)) == len(held) - fit, what="the rest is 503")
        assert cluster.client.ask("GET", "/", JSON).status == 200
