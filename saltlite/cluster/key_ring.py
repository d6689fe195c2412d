"""The publication key of a cluster: generations in a table, sealed, and the latest of them here.

What a node needs at each sign-in is in memory that its processes share; ClusterBridge brings it up
to date. Only who publishes asks the table, where serials are given in the order of commits. They
are microseconds of the server's clock where that has moved on: a node that has to give serials
alone for a while goes on by its own clock, and neither falls behind the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.cluster.identity import ClusterIdentity
from saltlite.errors import ServerAway
from saltlite.master.shared import PublicationKey, PublicationKeys

SERIALS_LOCK: Final = 0x5A17_0004
"""Advisory: who gives a serial, or makes another key, is alone."""

KEYS_KEPT: Final = 4
"""Of those that are not used any more."""

_STATE: Final = """
SELECT generation, sealed, serial,
       extract(epoch FROM clock_timestamp() - made)::float8,
       (SELECT value FROM counters WHERE name = 'epoch'),
       extract(epoch FROM clock_timestamp())::float8
FROM publication_keys ORDER BY generation DESC LIMIT 1
"""

_ADD: Final = """
INSERT INTO publication_keys (generation, sealed, serial)
SELECT %s, %b, coalesce(max(serial), 0) FROM publication_keys ON CONFLICT DO NOTHING
"""
"""Serials go on: who reads what was published keeps one place for all keys."""


def take_serials_lock(transaction: Transaction, timeout_s: float) -> None:
    """Be alone with the serials until this transaction ends, which it does though we hang."""
    fetch(
        transaction,
        "SELECT pg_advisory_xact_lock(%s), "
        "set_config('idle_in_transaction_session_timeout', %s, true)",
        [SERIALS_LOCK, f"{round(timeout_s * 1000)}ms"],
    )


class ClusterKeyRing(PublicationKeys):
    """The key ring of a node. Made before the fork; each process connects by itself."""

    _EPOCH: Final = 4
    _WANTED: Final = 5
    _CLOCK_OFFSET: Final = 6

    def __init__(
        self, engine: ClusterEngine, identity: ClusterIdentity, *, timeout_s: float
    ) -> None:
        super().__init__()
        self._engine = engine
        self._identity = identity
        self._timeout_s = timeout_s

    def begin(self, new_key: Callable[[], str], now_s: float) -> None:
        """Take up the key that is there, or make the cluster's first.

        Raises:
            ServerAway: the table cannot be read.
            CryptoError: it belongs to another cluster.
        """
        if not self.refresh(now_s):
            self.rotate(new_key(), now_s)

    def refresh(self, now_s: float) -> bool:
        """Bring the copy here up to date; ``False`` if the table has no key.

        Raises:
            ServerAway: the table cannot be read; the copy stays.
            CryptoError: the key was sealed by somebody else; the copy stays.
        """
        rows = self._engine.execute(_STATE)
        if not rows:
            return False
        generation, sealed, serial, age_s, epoch, server_s = rows[0]
        key = self._identity.open(sealed)
        with self._area.lock():
            words = self._area.words
            words[self._EPOCH] = epoch
            self._area.reals[self._CLOCK_OFFSET] = server_s - time.time()
            if words[self._GENERATION] != generation:
                self._place_key(generation, key, now_s - age_s)
                words[self._SERIAL] = max(words[self._SERIAL], serial)
        return True

    def key_of(self, generation: int) -> str | None:
        """The key of a generation, ``None`` if it is not in the table."""
        known = self.current()
        if known.generation == generation:
            return known.key
        statement = "SELECT sealed FROM publication_keys WHERE generation = %s"
        rows = self._engine.execute(statement, [generation])
        return self._identity.open(rows[0][0]) if rows else None

    def rotate(self, key: str, now_s: float) -> int:
        """Put ``key`` in place of the current one, unless another node has just done so."""
        generation = self.current().generation + 1
        sealed = self._identity.seal(key)

        def write(transaction: Transaction) -> None:
            take_serials_lock(transaction, self._timeout_s)
            fetch(transaction, _ADD, [generation, sealed])
            fetch(
                transaction,
                "DELETE FROM publication_keys WHERE generation <= %s",
                [generation - KEYS_KEPT],
            )

        self._engine.transact(write)
        self._engine.execute("NOTIFY saltlite_keyring")
        self.refresh(now_s)
        return self.current().generation

    def rotate_if(self, asked: Callable[[], bool], key: Callable[[], str], now_s: float) -> bool:
        """Rotate if ``asked`` says so, now or while the server was away; whether it did."""
        # The question is asked once, and its answer kept until it was obeyed.
        if asked():
            self._area.words[self._WANTED] = 1
        if not self._area.words[self._WANTED]:
            return False
        try:
            self.rotate(key(), now_s)
        except ServerAway:
            # It has to wait: a key of one node alone would shut its minions out of the others.
            return False
        self._area.words[self._WANTED] = 0
        return True

    def next_serial(self) -> tuple[PublicationKey, int]:
        """The key, and a serial that no minion has seen; for what a node publishes alone."""
        with self._area.lock():
            words = self._area.words
            words[self._SERIAL] += 1
            return self._key(), words[self._SERIAL]

    def go_alone(self) -> None:
        """Give serials by this node's clock from now on, set right by the server's."""
        with self._area.lock():
            words = self._area.words
            now_us = int((time.time() + self._area.reals[self._CLOCK_OFFSET]) * 1e6)
            words[self._SERIAL] = max(words[self._SERIAL], now_us)

    def note_serial(self, serial: int) -> None:
        """This one has been handed to the Publisher."""
        with self._area.lock():
            self._area.words[self._SERIAL] = max(self._area.words[self._SERIAL], serial)

    def last_serial(self) -> int:
        """The highest serial that this node has given out, or handed to its Publisher."""
        return self._area.words[self._SERIAL]

    def epoch(self) -> int:
        """Another number ends all sessions."""
        return self._area.words[self._EPOCH]

    def end_epoch(self) -> None:
        """End all sessions, on all nodes.

        Raises:
            ServerAway: they go on.
        """
        self._engine.execute("UPDATE counters SET value = value + 1 WHERE name = 'epoch'")
        self._engine.execute("NOTIFY saltlite_keyring")
        self.refresh(time.monotonic())
