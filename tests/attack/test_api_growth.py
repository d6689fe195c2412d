"""What salt-api takes at rest and for streams; what it has answered leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import psutil
import pytest
from api import RECORDED_AUTH, ApiCluster

from cluster import eventually
from saltlite.core.jid import new_jid
from saltlite.master.jobcache import SqliteJobStore

pytestmark = pytest.mark.slow

JOBS = 5_000
"""Nearly as many as a list of jobs may have to fit an event: 1 MiB."""

GROWTH_MOST = 9 * 2**20
WAITING_BYTES_MOST = 16 * 2**20
"""For the commands of one session that have a turn or wait for one."""

AT_REST_MOST = 45 * 2**20
STREAMS = 500
STREAMS_MOST = 30 * 2**20
USERS = ("anna", "ben", "cara", "zed")

LIST_JOBS = {"client": "runner", "fun": "jobs.list_jobs"}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


@pytest.fixture
def cluster() -> Iterator[ApiCluster]:
    with ApiCluster(master_options={"external_auth": RECORDED_AUTH}) as cluster:
        yield cluster.start()


@pytest.fixture
def busy_cluster() -> Iterator[ApiCluster]:
    with ApiCluster(master_options={"external_auth": RECORDED_AUTH}) as cluster:
        fill_job_store(cluster.cache_dir)
        yield cluster.start()


def fill_job_store(cachedir: Path) -> None:
    """Jobs of the last hours, as a busy master has them."""
    cachedir.mkdir(parents=True, exist_ok=True, mode=0o700)
    store = SqliteJobStore(cachedir)
    begin = datetime.now(timezone.utc) - timedelta(hours=2)
    for number in range(JOBS):
        jid = new_jid(begin + timedelta(milliseconds=number), None)
        store.new_job(
            jid, {"fun": "test.ping", "arg": [], "tgt": "m1", "user": "root", "jid": jid}, ["m1"]
        )
    store.close()


def test_large_lists_leave_no_memory_behind(busy_cluster: ApiCluster) -> None:
    process = psutil.Process(busy_cluster.api.pid)
    session = busy_cluster.client.log_in("anna")
    for _ in range(20):
        busy_cluster.client.run(session, {"client": "runner", "fun": "test.arg"})
    before = process.memory_info().rss
    lengths: list[int] = []

    def ask() -> None:
        for _ in range(8):
            reply = busy_cluster.client.run(session, LIST_JOBS)
            lengths.append(len(reply.body["return"][0]))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(lengths) == 32
    assert min(lengths) >= JOBS
    eventually(
        lambda: process.memory_info().rss - before < GROWTH_MOST, within_s=40, what="memory is back"
    )


def test_commands_that_nobody_waits_for_are_bounded(cluster: ApiCluster) -> None:
    """Each connection is closed as soon as its command is sent; all are of one session."""
    process = psutil.Process(cluster.api.pid)
    session = cluster.client.log_in("anna")
    for _ in range(20):
        cluster.client.run(session, PING)
    before = process.memory_info().rss
    body = json.dumps(PING)
    head = (
        f"POST / HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nX-Auth-Token: {session}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    most = 0
    for _ in range(3_000):
        with socket.create_connection(("127.0.0.1", cluster.api_port), timeout=20) as connection:
            connection.sendall(head)
        most = max(most, process.memory_info().rss)
    other = cluster.client.log_in("ben")
    assert cluster.client.run(other, PING).body == {"return": [{"m1": True}]}
    assert most - before < WAITING_BYTES_MOST, f"{before / 2**20:.1f} -> {most / 2**20:.1f} MiB"


def test_it_is_small_at_rest_and_for_every_stream_it_may_have(cluster: ApiCluster) -> None:
    process = psutil.Process(cluster.api.pid)
    at_rest = process.memory_info().rss
    assert at_rest < AT_REST_MOST, f"{at_rest / 2**20:.1f} MiB"
    with contextlib.ExitStack() as opened:
        streams = []
        for number in range(STREAMS):
            if number % 10 == 0:  # so many a session may have
                session = cluster.client.log_in(USERS[number // 10 % len(USERS)])
            source = f"127.0.1.{number // 100 + 1}"  # an address may have 200 connections
            streams.append(opened.enter_context(open_stream(cluster.api_port, source, session)))
        for stream in streams:
            read_until(stream, b"retry:")
        cluster.client.ask("POST", "/hook/all", {"X-Auth-Token": session}, {"a": "x" * 100_000})
        most = 0
        for stream in streams:
            read_until(stream, b"netapi/hook/all")
            most = max(most, process.memory_info().rss)  # the others have not read it yet
            read_until(stream, b"\n\n")
        taken = most - at_rest
    print(f"{at_rest / 2**20:.1f} MiB at rest, {taken / 2**20:.1f} MiB for {STREAMS} streams")
    assert taken < STREAMS_MOST, f"{taken / 2**20:.1f} MiB for {STREAMS} streams"


def open_stream(port: int, source: str, session: str) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))
    stream.sendall(f"GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {session}\r\n\r\n".encode())
    return stream


def read_until(stream: socket.socket, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        block = stream.recv(65536)
        assert block, "the stream has ended"
        seen = seen[-len(wanted) :] + block
