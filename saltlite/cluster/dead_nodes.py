"""What the minions of a node that died may have missed: its latest jobs, published once more.

A minion reconnects to another node within seconds, and what was published meanwhile reaches it
nowhere. So whoever keeps house publishes each job of that time again, with a new serial, for those
who were asked and have not returned. Who runs it already knows its jid and does nothing.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from saltlite.channel.publication import topics
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.nodes import list_nodes
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.cluster.publications import PublicationFeed
from saltlite.core.plain import PlainMap
from saltlite.errors import CryptoError, WireError

log = logging.getLogger(__name__)

BEFORE_S: Final = 15.0
"""Jobs that were published so long before the last beat of the node, or since."""

_RECENT: Final = """
WITH recent (since) AS (SELECT now() - make_interval(secs => %s))
SELECT DISTINCT ON (jid) jid, generation, serial FROM publications, recent
WHERE at > since
  AND NOT EXISTS (
    SELECT FROM publications AS first WHERE first.jid = publications.jid AND first.at <= since
  )
ORDER BY jid, serial
"""
"""Those that were published again count from the first time. Else each death would repeat what the
one before it had, as long as somebody does not return; a minion of Salt knows only its last hundred
jobs (``minion_jid_queue_hwm``), and would run an older one once more.
"""

_FRAME: Final = "SELECT frame FROM publications WHERE generation = %s AND serial = %s"


class JobSink(Protocol):
    """Where jobs are published, on all nodes."""

    def publish(self, job: PlainMap, topics: list[bytes]) -> str:
        """Publish a job; raises StoreError."""


class DeadNodes:
    """Looks after the jobs of nodes that are not heard of any more."""

    def __init__(
        self,
        engine: ClusterEngine,
        jobs: PostgresJobStore,
        feed: PublicationFeed,
        publisher: JobSink,
        *,
        lease_s: float,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._feed = feed
        self._publisher = publisher
        self._lease_s = lease_s

    def repeat_jobs(self) -> None:
        """Publish the latest jobs again for each node that has died since the last call.

        Raises:
            StoreError: it is tried again.
        """
        for node in list_nodes(self._engine):
            if node.silent_s <= self._lease_s or node.is_repeated:
                continue
            count = self._repeat_since(node.silent_s + BEFORE_S)
            # Afterwards: who dies meanwhile leaves it to the next one.
            self._engine.execute(
                "UPDATE nodes SET repeated = true, keeps_house = false WHERE node = %s",
                [node.node],
            )
            log.warning(
                "The node %s is not heard of for %.0f s; %d jobs were published again",
                node.node,
                node.silent_s,
                count,
            )

    def _repeat_since(self, age_s: float) -> int:
        count = 0
        for jid, generation, serial in self._engine.execute(_RECENT, [age_s]):
            asked = self._jobs.minions(jid) or []
            returned = self._jobs.returned_ids(jid)
            missing = [one for one in asked if one not in returned]
            if not missing:
                continue
            # One after the other: all frames of that time may be gigabytes.
            rows = self._engine.execute(_FRAME, [generation, serial])
            if not rows:  # swept since, as what is long ago
                continue
            try:
                job, _serial = self._feed.open_frame(generation, rows[0][0])
            except (WireError, CryptoError) as error:
                log.error("Job %s cannot be published again: %s", jid, error)
                continue
            again = {**job, "tgt": missing, "tgt_type": "list"}
            self._publisher.publish(again, topics("list", missing, missing))
            count += 1
        return count
