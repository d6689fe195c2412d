"""Requests that must not be served twice, wherever they come to.

What a node has served it knows itself. A request that acts is also noted in a table, so that one
that was recorded on its way to a node is refused by the others, and by that node after a crash.
One that only reads is harmless, and a return meets its row (docs/security.md#replay-and-clocks).
"""

from __future__ import annotations

import hashlib

from saltlite.cluster.engine import ClusterEngine
from saltlite.errors import ServerAway
from saltlite.master.command import Repeats
from saltlite.master.replay import ReplayGuard

_NOTE = """
INSERT INTO nonces VALUES (%b, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT DO NOTHING RETURNING true
"""


class ClusterNonces:
    """The memory of a node, and that of all. ``serves`` is ``cluster_degraded: serve``."""

    def __init__(
        self, local: ReplayGuard, engine: ClusterEngine, *, ttl_s: float, serves: bool
    ) -> None:
        self._local = local
        self._engine = engine
        # A request may be sent by a clock that is ahead by all of it.
        self._kept_s = 2 * (ttl_s or ReplayGuard.MEMORY_S) + 1
        self._serves = serves

    def problem(
        self,
        minion_id: str,
        nonce: str,
        ts: float,
        *,
        repeats: Repeats,
        wall_s: float,
        steady_s: float,
    ) -> str | None:
        """A few words on why the request must not be served; ``None`` if it may."""
        known = self._local.problem(
            minion_id, nonce, ts, repeats=repeats, wall_s=wall_s, steady_s=steady_s
        )
        if known or repeats is not Repeats.ACT:
            return known
        pair = minion_id.encode() + b"\0" + nonce.encode("utf-8", "surrogateescape")
        digest = hashlib.blake2b(pair, digest_size=16).digest()
        try:
            is_new = self._engine.execute(_NOTE, [digest, self._kept_s])
        except ServerAway as error:
            # Alone, a node knows what it has served itself: the price of serving.
            return None if self._serves else str(error)
        return None if is_new else "nonce was used before, at another node"
