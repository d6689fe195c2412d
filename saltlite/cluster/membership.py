"""A master as a node of its cluster: what it checks before it starts, and how its parts are made.

The parent makes a ``Membership`` before it forks; its processes make the rest from it, each with a
connection of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import zmq

from saltlite.cluster import schema
from saltlite.cluster.bridge import BridgeParts, ClusterBridge
from saltlite.cluster.copies import list_duties
from saltlite.cluster.dead_nodes import DeadNodes
from saltlite.cluster.engine import ClusterEngine, describe_place, read_parameters
from saltlite.cluster.feeds import EventExchange, ReturnFeed, ReturnPlaces
from saltlite.cluster.identity import ClusterIdentity, load_cluster_key
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.jobs import ClusterJobStore
from saltlite.cluster.key_ring import ClusterKeyRing
from saltlite.cluster.nodes import Heart, claim_database, register_node
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.cluster.publications import ClusterPublisher, PublicationFeed
from saltlite.config.master import MasterConfig
from saltlite.core.dataclasses import dataclass, field
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import ServerAway
from saltlite.master.jobcache import Flush
from saltlite.master.publishqueue import PublishQueue
from saltlite.transport.addresses import MasterSockets

log = logging.getLogger(__name__)

WILD: Final = "*?["

WAIT_S: Final = 0.5
"""Between two looks at the server before a master starts; attempts are up to 5 s apart."""


def name_node(config: MasterConfig) -> str:
    """This master's name in the cluster."""
    return config.cluster.cluster_node or config.process.id


def open_engine(config: MasterConfig) -> ClusterEngine:
    """A connection for one thread of this process; nothing is opened yet.

    Raises:
        ConfigError: ``cluster_dsn`` cannot be used.
    """
    return ClusterEngine(read_parameters(config), timeout_s=config.cluster.cluster_timeout)


def open_spool(config: MasterConfig, *, flush: Flush | None = None, sync: str = "") -> JobSpool:
    """What this node keeps on its disk while PostgreSQL is away."""
    return JobSpool(
        Path(config.paths.cachedir),
        most_bytes=config.cluster.cluster_spool_max,
        sync=sync or config.jobs.job_cache_sync,
        flush=flush,
    )


def open_jobs(
    config: MasterConfig, engine: ClusterEngine, *, flush: Flush | None = None
) -> ClusterJobStore:
    """The job cache of this node."""
    return ClusterJobStore(
        PostgresJobStore(engine, name_node(config)),
        open_spool(config, flush=flush),
        serves=serves_alone(config),
    )


def serves_alone(config: MasterConfig) -> bool:
    """Whether this node goes on while PostgreSQL is away."""
    return config.cluster.cluster_degraded == "serve"


@dataclass(frozen=True, slots=True)
class Membership:
    """What the processes of a node have in common, besides their configuration."""

    config: MasterConfig
    key: PrivateKey
    identity: ClusterIdentity
    ring: ClusterKeyRing
    number: int
    places: ReturnPlaces = field(default_factory=ReturnPlaces)

    @property
    def node(self) -> str:
        """This master's name in the cluster."""
        return name_node(self.config)

    def open_publisher(
        self,
        engine: ClusterEngine,
        context: zmq.Context[zmq.Socket[bytes]],
        *,
        renew: Callable[[], object] = lambda: None,
    ) -> ClusterPublisher:
        """A way to the minions of all nodes; ``renew`` changes the publication key if asked to."""
        config = self.config
        return ClusterPublisher(
            engine,
            self.ring,
            self.identity,
            PublishQueue(context, MasterSockets(Path(config.paths.sock_dir))),
            node=self.node,
            signer=self.key if config.keys.sign_pub_messages else None,
            sig_algo=config.keys.publish_signing_algorithm,
            serves=serves_alone(config),
            timeout_s=config.cluster.cluster_timeout,
            renew=renew,
        )

    def close(self) -> None:
        """Give back the shared memory; the children have ended."""
        self.ring.close()
        self.places.close()

    def make_bridge(self) -> ClusterBridge:
        """The bridge's process."""
        sockets = MasterSockets(Path(self.config.paths.sock_dir))
        wanted = self.config.cluster.cluster_events
        return ClusterBridge(
            sockets,
            list_prefixes(wanted),
            self._open_parts,
            max_event_bytes=self.config.events.max_event_size,
        )

    def _open_parts(self, context: zmq.Context[zmq.Socket[bytes]]) -> BridgeParts:
        config, options = self.config, self.config.cluster
        engine = open_engine(config)
        jobs = PostgresJobStore(engine, self.node)
        place = self.ring.last_serial()
        feed = PublicationFeed(engine, self.ring, config.keys, self.key.public, place=place)
        publisher = self.open_publisher(engine, context)
        heart = Heart(engine, self.node, lease_s=options.cluster_lease)
        return BridgeParts(
            number=self.number,
            engine=engine,
            heart=heart,
            ring=self.ring,
            feed=feed,
            returns=ReturnFeed(engine, self.number, self.places),
            events=EventExchange(engine, self.node, self.number, options.cluster_events),
            jobs=jobs,
            # A copy that is lost with the power is made again by nobody, and missed by nobody.
            spool=open_spool(config, sync="never"),
            publisher=PublishQueue(context, MasterSockets(Path(config.paths.sock_dir))),
            dead=DeadNodes(engine, jobs, feed, publisher, lease_s=options.cluster_lease),
            lease_s=options.cluster_lease,
            keeps_copies=serves_alone(config),
            keeps_reports=config.jobs.state_reports,
            more=list_duties(config, engine, self.number, heart),
        )


def join_cluster(config: MasterConfig, address: str) -> Membership:
    """Check that this master may be a node, and make it known.

    Waits for PostgreSQL: after a power cut it may come back later than the masters do.

    Raises:
        ConfigError: the tables, the key or the database are not the cluster's.
        StoreError: PostgreSQL went away meanwhile.
        CryptoError: the key cannot be used.
    """
    parameters: dict[str, Any] = read_parameters(config)
    key = load_cluster_key(config)
    identity = ClusterIdentity(key, config.cluster.cluster_id)
    engine = ClusterEngine(parameters, timeout_s=config.cluster.cluster_timeout)
    try:
        _wait_for_tables(engine)
        claim_database(engine, config.cluster.cluster_id, key.public.fingerprint())
        number = register_node(engine, name_node(config), address)
        ring = ClusterKeyRing(engine, identity, timeout_s=config.cluster.cluster_timeout)
        ring.begin(new_key_string, time.monotonic())
    finally:
        # Before the fork; the ring's next use opens another.
        engine.close()
    log.info(
        "Node %s, number %d, of the cluster %s on %s at %s",
        name_node(config),
        number,
        config.cluster.cluster_id,
        config.cluster.cluster_engine,
        describe_place(parameters),
    )
    return Membership(config, key, identity, ring, number)


def _wait_for_tables(engine: ClusterEngine, sleep: Callable[[float], None] = time.sleep) -> None:
    """See that the tables are ours, as soon as the server answers; one line if it does not.

    A node does not begin alone: its publication key is in the tables, and who looks after it has to
    know that it is not there yet.
    """
    is_told = False
    while reason := _find_obstacle(engine):
        if not is_told:
            log.error("%s; this master starts as soon as it is there", reason)
        is_told = True
        sleep(WAIT_S)


def _find_obstacle(engine: ClusterEngine) -> str:
    """Why the server cannot be asked for its tables; empty if it can, and they are ours."""
    try:
        schema.check(engine)
    except ServerAway as error:
        return str(error)
    return ""


def list_prefixes(globs: Sequence[str]) -> list[str]:
    """What the tags begin with that match one of ``globs``; the bus knows nothing but that."""
    found = {_literal_of(glob) for glob in globs}
    return sorted(
        one for one in found if not any(one != two and one.startswith(two) for two in found)
    )


def _literal_of(glob: str) -> str:
    ends = [at for letter in WILD if (at := glob.find(letter)) >= 0]
    return glob[: min(ends)] if ends else glob
