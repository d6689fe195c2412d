"""The publish port's two sockets."""

from __future__ import annotations

import random

import zmq

from saltlite.transport.pub import bind_publisher, connect_subscriber
from saltlite.transport.tcp import TcpOptions


def test_what_is_published_reaches_those_who_subscribed():
    context = zmq.Context()
    publisher = bind_publisher(context, "tcp://127.0.0.1:*")
    address = publisher.getsockopt_string(zmq.LAST_ENDPOINT)
    subscriber = connect_subscriber(context, address, prefixes=(b"mine", b"all"))
    heard = []
    while not heard:  # nothing tells a PUB that somebody listens; so publish until one does
        publisher.send_multipart([b"other", b"x"])
        publisher.send_multipart([b"mine", b"y"])
        if subscriber.poll(20):
            heard = subscriber.recv_multipart()
    assert heard == [b"mine", b"y"]
    context.destroy(linger=0)


def test_publisher_options():
    context = zmq.Context()
    publisher = bind_publisher(
        context, "tcp://127.0.0.1:*", hwm=5, backlog=7, heartbeat_ivl_ms=1, heartbeat_timeout_ms=2
    )
    expected = {zmq.SNDHWM: 5, zmq.BACKLOG: 7, zmq.HEARTBEAT_IVL: 1, zmq.HEARTBEAT_TIMEOUT: 2}
    assert {option: publisher.getsockopt(option) for option in expected} == expected
    assert publisher.getsockopt(zmq.TCP_KEEPALIVE) == 1
    context.destroy(linger=0)


def test_reconnects_are_spread():
    context = zmq.Context()
    waits = {
        connect_subscriber(context, "tcp://127.0.0.1:1", chance=random.Random(seed)).getsockopt(
            zmq.RECONNECT_IVL
        )
        for seed in range(5)
    }
    assert len(waits) > 1
    assert all(1000 <= wait <= 11_000 for wait in waits)
    fixed = connect_subscriber(
        context,
        "tcp://127.0.0.1:1",
        randomize=False,
        reconnect_ms=17,
        reconnect_max_ms=90,
        routing_id=b"a",
        tcp=TcpOptions(ipv6=True, keepalive=False),
    )
    expected = {
        zmq.RECONNECT_IVL: 17,
        zmq.RECONNECT_IVL_MAX: 90,
        zmq.IPV6: 1,
        zmq.TCP_KEEPALIVE: 0,
        zmq.ROUTING_ID: b"a",
    }
    assert {option: fixed.getsockopt(option) for option in expected} == expected
    context.destroy(linger=0)


def test_a_bind_that_fails_leaves_no_socket():
    context = zmq.Context()
    taken = bind_publisher(context, "tcp://127.0.0.1:*")
    address = taken.getsockopt_string(zmq.LAST_ENDPOINT)
    try:
        bind_publisher(context, address)
    except zmq.ZMQError as error:
        assert error.errno == zmq.EADDRINUSE
    else:
        raise AssertionError("the port was bound twice")
    taken.close(linger=0)
    context.term()  # would wait for a socket left open
