"""What ZeroMQ says about a socket's connections.

``zmq.utils.monitor`` would bring asyncio and TLS into every process of the master: three megabytes.
"""

from __future__ import annotations

import struct
from typing import Final

import zmq

# 16 bits of event and 32 of value, in the order of the machine and without padding.
_HEAD: Final = struct.Struct("=Hi")


def recv_monitor_event(monitor: zmq.Socket[bytes]) -> tuple[int, int]:
    """The next event of a monitor socket and its value, which for most is the descriptor.

    The second frame, the address, is dropped. Source: zmq_socket_monitor(3).

    Raises:
        zmq.Again: there is none now.
    """
    event, value = _HEAD.unpack(monitor.recv_multipart(zmq.NOBLOCK)[0])
    return event, value
