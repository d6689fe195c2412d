"""Clear requests of the command line to the master, blocking.

Source: docs/wire.md#clear-commands.
"""

from __future__ import annotations

from collections.abc import Mapping

import zmq

from saltlite.core.messages import Envelope
from saltlite.core.plain import Plain
from saltlite.errors import RequestTimeout
from saltlite.transport.codec import pack, unpack
from saltlite.transport.req import Requester
from saltlite.transport.tcp import DEFAULT_TCP, TcpOptions


class ClearChannel:
    """Speaks clear commands to one master."""

    def __init__(
        self,
        address: str,
        timeout_s: float,
        tries: int = 1,
        *,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        tcp: TcpOptions = DEFAULT_TCP,
    ) -> None:
        """Prepare; ``timeout_s`` is for each of ``tries``."""
        self._address = address
        self._timeout_s = timeout_s
        self._tries = max(1, tries)
        self._requester = Requester(address, context=context, tcp=tcp)

    def send(
        self, load: Mapping[str, Plain], *, timeout_s: float | None = None, tries: int | None = None
    ) -> Plain:
        """Send one command and give back what the master answered.

        Raises:
            RequestTimeout: no answer to any of the tries.
            WireError: the answer does not decode.
        """
        frame = pack(Envelope(enc="clear", load=load).to_wire())
        wait_s = self._timeout_s if timeout_s is None else timeout_s
        times = self._tries if tries is None else max(1, tries)
        # A clear load has no nonce, so one frame serves all tries.
        last: RequestTimeout | None = None
        for _ in range(times):
            try:
                return unpack(self._requester.request(frame, timeout_s=wait_s))
            except RequestTimeout as error:  # noqa: PERF203 - a try lasts seconds
                last = error
        raise RequestTimeout(self._address, wait_s * times) from last

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()

    def __enter__(self) -> ClearChannel:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
