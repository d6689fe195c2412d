"""What a socket's monitor tells, against ZeroMQ's own reading of it."""

from __future__ import annotations

import zmq
from zmq.utils.monitor import parse_monitor_message

from saltlite.transport.monitor import recv_monitor_event


def test_events_of_a_connection() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        monitor = server.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        monitor.setsockopt(zmq.RCVTIMEO, 10_000)
        port = server.bind_to_random_port("tcp://127.0.0.1")
        client.connect(f"tcp://127.0.0.1:{port}")
        assert monitor.poll(10_000)
        accepted, peer = recv_monitor_event(monitor)
        assert accepted == zmq.EVENT_ACCEPTED
        client.close(linger=0)
        theirs = parse_monitor_message(monitor.recv_multipart())
        assert (theirs["event"], theirs["value"]) == (zmq.EVENT_DISCONNECTED, peer)
        try:
            recv_monitor_event(monitor)
        except zmq.Again:
            return
        raise AssertionError("an event that nobody caused")
    finally:
        context.destroy(linger=0)
