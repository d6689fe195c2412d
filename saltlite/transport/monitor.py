"""What ZeroMQ says about a socket's connections.

``zmq.utils.monitor`` would bring asyncio and TLS into every process of the master: three megabytes.
"""

from __future__ import annotations

import struct
from typing import Final

import zmq

# 16 bits of event and 32 of value, in the order of the machine and without padding.
_HEAD: Final = struct.Struct("=Hi")


def open_monitor(socket: zmq.Socket[bytes], events: int) -> zmq.Socket[bytes]:
    """What tells of a socket's connections, without a bound: ZeroMQ must never wait for us.

    It must stay open until ``disable_monitor`` of the socket has returned, else both wait for ever:
    an event that nobody takes blocks ZeroMQ's own thread.
    """
    address = f"inproc://monitor-{id(socket)}"
    socket.monitor(address, events)
    monitor: zmq.Socket[bytes] = socket.context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.LINGER, 0)
    monitor.setsockopt(zmq.RCVHWM, 0)
    monitor.connect(address)
    return monitor


def recv_monitor_event(monitor: zmq.Socket[bytes]) -> tuple[int, int]:
    """The next event of a monitor socket and its value, which for most is the descriptor.

    The second frame, the address, is dropped. Source: zmq_socket_monitor(3).

    Raises:
        zmq.Again: there is none now.
    """
    event, value = _HEAD.unpack(monitor.recv_multipart(zmq.NOBLOCK)[0])
    return event, value
