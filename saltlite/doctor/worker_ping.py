"""Ask a master's request port for a sign of life: a clear ``ping``, which any worker answers."""

from __future__ import annotations

import time

from saltlite.core.messages import Envelope
from saltlite.errors import SaltliteError
from saltlite.transport.addresses import tcp
from saltlite.transport.codec import pack
from saltlite.transport.req import Requester

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "*": "127.0.0.1"}  # noqa: S104 - where it listens


def ask_worker(interface: str, port: int, timeout_s: float) -> float | None:
    """How long the answer took, in seconds; ``None`` if there was none in time."""
    began_s = time.monotonic()
    address = EVERYWHERE.get(interface.strip("[]"), interface.strip("[]"))
    try:
        with Requester(tcp(address, port)) as requester:
            frame = pack(Envelope(enc="clear", load={"cmd": "ping"}).to_wire())
            requester.request(frame, timeout_s=timeout_s)
    except SaltliteError:
        return None
    return time.monotonic() - began_s
