"""A minion's SUB."""

from __future__ import annotations

import random

import zmq

from saltlite.transport.pub import connect_subscriber
from saltlite.transport.tcp import TcpOptions


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
