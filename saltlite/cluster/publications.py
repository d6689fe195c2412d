"""What a node publishes, and what all nodes hand to their minions.

Who publishes seals and signs the frame once, with a serial that grows in the order of commits, and
puts it into a table. Every node's bridge reads the table, checks each frame as a minion would, and
gives it to its own Publisher, which sends it unchanged: who writes the table without the cluster's
key publishes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from saltlite.channel.publication import open_publication, seal_publication
from saltlite.cluster.engine import ClusterEngine, Row, Transaction, clean_text, fetch
from saltlite.cluster.identity import ClusterIdentity
from saltlite.cluster.key_ring import ClusterKeyRing, take_serials_lock
from saltlite.cluster.portions import read_portions, select_portion
from saltlite.config.master import KeyOptions
from saltlite.core.dataclasses import dataclass
from saltlite.core.plain import PlainMap
from saltlite.core.rare_lines import RareLine
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import CryptoError, ServerAway, StoreError, WireError

log = logging.getLogger(__name__)

WAKE_UP_S: Final = 0.05
"""The least time between two wake-ups of all bridges by one process; they look by themselves too.
"""

READ_MOST: Final = 200

ALONE: Final = "The cluster engine is away: only the minions of this node are asked"

_NEXT_SERIAL: Final = """
UPDATE publication_keys
SET serial = greatest(serial + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
WHERE generation = (SELECT max(generation) FROM publication_keys)
RETURNING generation, sealed, serial
"""

_ADD: Final = """
INSERT INTO publications (generation, serial, jid, node, frame, topics)
SELECT %s, %s, %s, number, %b, %b::bytea[] FROM nodes WHERE node = %s
"""

_READ: Final = select_portion(
    "serial, generation, jid, frame, topics, node",
    "FROM publications WHERE serial > %s",
    place="serial",
    data="frame",
)


class LocalSink(Protocol):
    """The Publisher of this node."""

    def publish(self, job: PlainMap, topics: list[bytes]) -> str:
        """Hand over a job that the Publisher seals itself."""


class ClusterPublisher:
    """A worker's way to the minions of all nodes, and to those of this node alone without one."""

    def __init__(
        self,
        engine: ClusterEngine,
        ring: ClusterKeyRing,
        identity: ClusterIdentity,
        local: LocalSink,
        *,
        node: str,
        signer: PrivateKey | None,
        sig_algo: str,
        serves: bool,
        timeout_s: float,
        renew: Callable[[], object] = lambda: None,
    ) -> None:
        self._engine = engine
        self._ring = ring
        self._identity = identity
        self._local = local
        self._node = node
        self._signer = signer
        self._sig_algo = sig_algo
        self._serves = serves
        self._timeout_s = timeout_s
        self._renew = renew
        self._crypticle: tuple[int, Crypticle] | None = None
        self._next_wake_up_s = 0.0
        self._alone_lines = RareLine()

    def publish(self, job: PlainMap, topics: list[bytes]) -> str:
        """Publish on all nodes; while PostgreSQL is away, on this one with ``serve``.

        What who asked has to know then; empty otherwise.

        Raises:
            StoreError: the job goes nowhere.
        """
        try:
            # Before each job, so that a minion that was deleted here cannot open it.
            self._renew()
            self._engine.transact(lambda transaction: self._add_frame(transaction, job, topics))
        except ServerAway as error:
            if not self._serves:
                raise
            # Who asked is told each time.
            more = self._alone_lines.count(time.monotonic())
            if more is not None:
                jid = job.get("jid")
                log.warning("Job %s goes to the minions of this node only: %s%s", jid, error, more)
            self._ring.go_alone()
            self._local.publish(job, topics)
            return ALONE
        self._wake_up()
        return ""

    def _add_frame(self, transaction: Transaction, job: PlainMap, topics: list[bytes]) -> None:
        take_serials_lock(transaction, self._timeout_s)
        rows = fetch(transaction, _NEXT_SERIAL)
        if not rows:
            raise StoreError("the cluster has no publication key")
        generation, sealed, serial = rows[0]
        if self._crypticle is None or self._crypticle[0] != generation:
            self._crypticle = (generation, Crypticle(self._identity.open(sealed)))
        frame = seal_publication(
            job,
            aes=self._crypticle[1],
            serial=serial,
            signer=self._signer,
            sig_algo=self._sig_algo,
        )
        jid = clean_text(str(job.get("jid", "")))
        fetch(transaction, _ADD, [generation, serial, jid, frame, topics, self._node])

    def _wake_up(self) -> None:
        # NOTIFY takes a lock that all commits wait for: alone, and not for each job of many.
        if time.monotonic() < self._next_wake_up_s:
            return
        self._next_wake_up_s = time.monotonic() + WAKE_UP_S
        try:
            self._engine.execute("NOTIFY saltlite_pub")
        except ServerAway as error:
            log.debug("The nodes are not woken up: %s", error)


@dataclass(frozen=True, slots=True)
class Publication:
    """A frame that every node sends. ``job`` is what is in it, ``node`` the number of its node."""

    node: int
    serial: int
    jid: str
    job: dict[str, Any]
    frame: bytes
    topics: list[bytes]


class PublicationFeed:
    """What has been published since the last look, checked. ``place`` is the last serial seen."""

    def __init__(
        self,
        engine: ClusterEngine,
        ring: ClusterKeyRing,
        keys: KeyOptions,
        public: PublicKey,
        *,
        place: int,
    ) -> None:
        self.place = place
        self._engine = engine
        self._ring = ring
        self._keys = keys
        self._public = public

    def read(self) -> Iterator[Publication]:
        """Each in the order of its serial; what does not hold is named in the log and left out.

        Raises:
            ServerAway: the rest comes with the next call.
        """
        for row in read_portions(self._engine, _READ, lambda: [self.place], READ_MOST):
            publication = self._check_row(row)
            if publication is not None:
                yield publication
            # Behind it only: what was not taken comes again.
            self.place = row[0]

    def open_frame(self, generation: int, frame: bytes) -> tuple[dict[str, Any], int]:
        """The job in a frame of the table, and its serial.

        Raises:
            WireError: it is not what a minion would take.
            CryptoError: it was sealed with another key.
        """
        key = self._ring.key_of(generation)
        if key is None:
            raise WireError(f"there is no publication key {generation}")
        return open_publication(
            frame,
            crypticle=Crypticle(key),
            last_serial=0,
            master_key=self._public,
            require_signature=self._keys.sign_pub_messages,
        )

    def _check_row(self, row: Row) -> Publication | None:
        serial, generation, jid, frame, topics, node = row
        # A minion that cannot open the frame signs in again: it has to get this key then.
        if generation > self._ring.current().generation:
            self._ring.refresh(time.monotonic())
        try:
            job, inner = self.open_frame(generation, frame)
            if inner != serial:
                raise WireError("its serial is another one")
        except (WireError, CryptoError) as error:
            log.error("A publication (job %s) is not sent: %s", jid, error)
            return None
        return Publication(node, serial, jid, job, frame, [bytes(one) for one in topics])
