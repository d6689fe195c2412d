"""Subscribers of port 4505 that do not read: what they cost the master, and what others hear.

Source: docs/reliability.md#somebody-is-slow; docs/wire.md#the-masters-ports.
"""

from __future__ import annotations

import contextlib
import time

import zmq

import zmtp
from cluster import Cluster, eventually, running
from saltlite.master.publishqueue import PublishQueue
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.publish_port import PEER_LIMIT_BYTES

SLOW = 10
JOBS = 3000
JOB_BYTES = 10_000


def test_who_does_not_read_costs_a_bound_and_keeps_nobody_waiting() -> None:
    options = {"sign_pub_messages": False}  # a signature for each would be most of the time
    with running(minions=0, master_options=options) as cluster, contextlib.ExitStack() as stack:
        for _ in range(SLOW):
            slow = stack.enter_context(zmtp.peer(cluster.publish_port, b"SUB"))
            slow.sendall(zmtp.frame(b"\x01"))
        (process,) = cluster.master.titled("salt-master Publisher")
        before_bytes = process.memory_info().rss
        heard, longest_s = publish_all(cluster)
        assert heard == JOBS
        assert longest_s < 5
        # All of them wait for the same bytes.
        assert process.memory_info().rss - before_bytes < 3 * PEER_LIMIT_BYTES
        eventually(
            lambda: cluster.master.log().count("reads too slowly") == SLOW, what="a line for each"
        )


def publish_all(cluster: Cluster) -> tuple[int, float]:
    """How many jobs one who reads has heard, and how long the next one ever took to come."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        honest = context.socket(zmq.SUB)
        honest.setsockopt(zmq.SUBSCRIBE, b"")
        honest.connect(f"tcp://127.0.0.1:{cluster.publish_port}")
        queue = PublishQueue(context, MasterSockets(cluster.sock_dir), timeout_s=30)
        job = {"jid": "20260101120000000000", "fun": "test.ping", "arg": ["x" * JOB_BYTES]}
        # Nothing tells that a subscription holds; so publish until it does.
        while not honest.poll(100):
            queue.publish(job, [])
        while honest.poll(1000):
            honest.recv()
        heard, longest_s = 0, 0.0
        for _ in range(JOBS):
            queue.publish(job, [])
            begun_s = time.monotonic()
            heard += bool(honest.poll(30_000) and honest.recv())
            longest_s = max(longest_s, time.monotonic() - begun_s)
        return heard, longest_s
    finally:
        context.destroy(linger=0)
