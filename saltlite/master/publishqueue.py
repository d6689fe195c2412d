"""The way of a job to the Publisher. Source: docs/wire.md#sockets."""

from __future__ import annotations

from typing import Final

import zmq

from saltlite.core.plain import PlainMap
from saltlite.errors import StoreError
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.codec import pack_bin

WAITING_LIMIT: Final = 1000
"""Jobs that wait for the Publisher; a worker then waits, and gives up after HAND_OVER_S."""

HAND_OVER_S: Final = 5.0
LINGER_MS: Final = 1000


class PublishQueue:
    """A worker's way to the Publisher. ``context`` is the worker's own."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        sockets: MasterSockets,
        *,
        timeout_s: float = HAND_OVER_S,
    ) -> None:
        self._socket = context.socket(zmq.PUSH)
        self._socket.setsockopt(zmq.SNDHWM, WAITING_LIMIT)
        self._socket.setsockopt(zmq.SNDTIMEO, round(timeout_s * 1000))
        self._socket.setsockopt(zmq.LINGER, LINGER_MS)
        # Nothing is put in line for a Publisher that is not there: the caller is to be told.
        self._socket.setsockopt(zmq.IMMEDIATE, 1)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self._socket.connect(ipc(sockets.publish_pull))

    def publish(self, job: PlainMap, topics: list[bytes]) -> str:
        """Hand over a job; there is nothing to know of it.

        Raises:
            StoreError: the Publisher was away for longer than five seconds.
        """
        self._send_order({"job": job, "topics": topics})
        return ""

    def publish_frame(self, frame: bytes, job: PlainMap, topics: list[bytes]) -> None:
        """Hand over a job that is sealed already: ``frame`` goes out as it is.

        Raises:
            StoreError: as :meth:`publish`.
        """
        self._send_order({"job": job, "topics": topics, "frame": frame})

    def _send_order(self, order: PlainMap) -> None:
        try:
            self._socket.send(pack_bin(order))
        except zmq.Again as error:
            raise StoreError("the publisher does not take jobs") from error
