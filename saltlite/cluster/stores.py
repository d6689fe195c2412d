"""The stores of a node of a cluster, for one process: one connection, and this node's copies.

Given out by ``master.embedded.open_stores`` with ``cluster_id``. Daemons have a ``Membership``;
commands do without, and publish through the master.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from saltlite.cluster.facts import ClusterBanks, ClusterFacts
from saltlite.cluster.forwarded import ClusterForwarded
from saltlite.cluster.identity import ClusterIdentity, DerivedSessions, load_cluster_key
from saltlite.cluster.jobs import ClusterJobStore
from saltlite.cluster.key_ring import ClusterKeyRing
from saltlite.cluster.keys import ClusterKeys
from saltlite.cluster.membership import (
    Membership,
    name_node,
    open_engine,
    open_jobs,
    serves_alone,
)
from saltlite.cluster.nodes import HouseChores
from saltlite.cluster.nonces import ClusterNonces
from saltlite.cluster.postgres_reports import PostgresReports
from saltlite.cluster.presence import ClusterPresence
from saltlite.config.master import MasterConfig
from saltlite.errors import StoreError
from saltlite.master.datacache import DataCache
from saltlite.master.keystore import KeyStore
from saltlite.master.minioncache import MinionCache
from saltlite.master.pillarcache import PillarCache
from saltlite.master.presence import LocalPresence
from saltlite.master.replay import ReplayGuard

if TYPE_CHECKING:
    import zmq

    from saltlite.cluster.publications import ClusterPublisher
    from saltlite.master.jobcache import Flush
    from saltlite.master.replay import LockFactory, ReplayTable


class ClusterStores:
    """Fulfils ``master.stores.Stores``. ``renew`` changes the publication key if asked to."""

    def __init__(
        self,
        config: MasterConfig,
        membership: Membership | None = None,
        renew: Callable[[], object] = lambda: None,
    ) -> None:
        self._config = config
        self._membership = membership
        self._renew = renew
        self._cachedir = Path(config.paths.cachedir)
        self.engine = open_engine(config)

    @cached_property
    def keys(self) -> ClusterKeys:
        """The table ``keys``, and the key directory."""
        return ClusterKeys(self.engine, KeyStore(Path(self._config.paths.pki_dir)))

    @cached_property
    def sessions(self) -> DerivedSessions:
        """None is stored: they follow from the keys."""
        member = self._membership
        if member is not None:
            return DerivedSessions(member.identity, self.keys, member.ring)
        key = load_cluster_key(self._config)
        identity = ClusterIdentity(key, self._config.cluster.cluster_id)
        timeout_s = self._config.cluster.cluster_timeout
        ring = ClusterKeyRing(self.engine, identity, timeout_s=timeout_s)
        ring.refresh(time.monotonic())
        return DerivedSessions(identity, self.keys, ring)

    @cached_property
    def facts(self) -> ClusterFacts:
        """The table ``banks``, and the files of a single master."""
        return ClusterFacts(
            self.engine,
            MinionCache(self._cachedir),
            shares_pillar=self._config.cluster.cluster_cache_pillar,
        )

    @cached_property
    def banks(self) -> ClusterBanks:
        """The same for runners."""
        return ClusterBanks(self.engine, DataCache(self._cachedir))

    @cached_property
    def presence(self) -> ClusterPresence:
        """Who is connected to any node."""
        local = LocalPresence(self._config.network.publish_port, self.facts)
        return ClusterPresence(
            self.engine,
            local,
            node=name_node(self._config),
            lease_s=self._config.cluster.cluster_lease,
        )

    @cached_property
    def chores(self) -> HouseChores:
        """They are this node's while it keeps house."""
        lease_s = self._config.cluster.cluster_lease
        return HouseChores(self.engine, name_node(self._config), lease_s=lease_s)

    @cached_property
    def reports(self) -> PostgresReports:
        """The tables of runs of states; what comes meanwhile of the spool follows later."""
        return PostgresReports(self.engine)

    def open_jobs(self, *, flush: Flush | None = None, read_only: bool = False) -> ClusterJobStore:
        """The tables of jobs, and the spool; a store for one thread."""
        # One that only reads may be of another thread: a connection is for one.
        engine = open_engine(self._config) if read_only else self.engine
        return open_jobs(self._config, engine, flush=flush)

    def open_nonces(self, table: ReplayTable, lock: LockFactory) -> ClusterNonces:
        """The table that this node's workers share, and that of all nodes."""
        ttl_s = self._config.keys.request_ttl
        local = ReplayGuard(table, lock, ttl_s=ttl_s)
        return ClusterNonces(local, self.engine, ttl_s=ttl_s, serves=serves_alone(self._config))

    def open_pillars(self, wall_s: Callable[[], float]) -> PillarCache:
        """Compiled pillar; in ``banks`` unless that is switched off."""
        return PillarCache.of_keys(self._config.pillar, self.facts, wall_s, self.keys)

    def open_publisher(self, context: zmq.Context[zmq.Socket[bytes]]) -> ClusterPublisher:
        """A way to the Publishers of all nodes."""
        if self._membership is None:
            raise StoreError("only the master itself publishes")
        return self._membership.open_publisher(self.engine, context, renew=self._renew)

    def open_forwarded(self) -> ClusterForwarded:
        """The rows that this node's syndic sends up."""
        return ClusterForwarded(self.engine, name_node(self._config))
