"""Which stores a master has: files and SQLite below ``pki_dir`` and ``cachedir``.

The one module that names the classes which keep something. Each is imported where it is made:
a command pays for those it uses.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import zmq

    from saltlite.cluster.membership import Membership
    from saltlite.config.master import MasterConfig
    from saltlite.master.jobcache import Flush
    from saltlite.master.replay import LockFactory, ReplayTable
    from saltlite.master.stores import (
        Chores,
        FactStore,
        ForwardedReturns,
        Jids,
        JobSink,
        JobStore,
        Keys,
        Nonces,
        Pillars,
        Presence,
        PublicationKeyRing,
        SessionKeys,
        StateReports,
        Stores,
    )
    from saltlite.runner_context import Cache

SESSIONS_DIR = "sessions"


def open_stores(
    config: MasterConfig,
    member: Membership | None = None,
    *,
    renew: Callable[[], object] = lambda: None,
) -> Stores:
    """The stores that the configuration means, for this process; nothing is opened yet.

    ``member`` is what the processes of a cluster's node share; commands have none. ``renew``
    changes the publication key if somebody has asked for that.
    """
    if config.cluster.cluster_id:
        from saltlite.cluster.stores import ClusterStores

        return ClusterStores(config, member, renew)
    return EmbeddedStores(config)


def make_key_ring() -> PublicationKeyRing:
    """The publication key, in memory of this process and of those that it will fork."""
    from saltlite.master.shared import PublicationKeys

    return PublicationKeys()


def make_jid_source(share: int | None = None) -> Jids:
    """The source of job ids, in memory of this process and of those that it will fork.

    ``share`` is that of a master beside others: see :func:`saltlite.core.jid.new_jid`.
    """
    from saltlite.master.shared import JidSource

    return JidSource(share)


class EmbeddedStores:
    """The stores of a master that shares them with no other. See :class:`~.stores.Stores`."""

    def __init__(self, config: MasterConfig) -> None:
        self._config = config
        self._cachedir = Path(config.paths.cachedir)

    @cached_property
    def keys(self) -> Keys:
        """The key directory."""
        from saltlite.master.keystore import KeyStore

        return KeyStore(Path(self._config.paths.pki_dir))

    @cached_property
    def sessions(self) -> SessionKeys:
        """A file for each session."""
        from saltlite.master.sessions import Sessions

        lifetime_s = self._config.keys.publish_session
        return Sessions(self._cachedir / SESSIONS_DIR, lifetime_s=lifetime_s)

    @cached_property
    def facts(self) -> FactStore:
        """A file for each minion and bank."""
        from saltlite.master.minioncache import MinionCache

        return MinionCache(self._cachedir)

    @cached_property
    def banks(self) -> Cache:
        """The same files and others."""
        from saltlite.master.datacache import DataCache

        return DataCache(self._cachedir)

    @cached_property
    def presence(self) -> Presence:
        """The kernel's list of connections, and the addresses among the grains."""
        from saltlite.master.presence import LocalPresence

        return LocalPresence(self._config.network.publish_port, self.facts)

    @cached_property
    def chores(self) -> Chores:
        """All of them are this master's."""
        return _AllChores()

    @cached_property
    def reports(self) -> StateReports:
        """Another SQLite file, opened at its first use."""
        from saltlite.jobs.report_file import StateReportFile

        return StateReportFile(self._cachedir)

    def open_jobs(self, *, flush: Flush | None = None, read_only: bool = False) -> JobStore:
        """The SQLite file, opened at its first use."""
        from saltlite.master.jobcache import SqliteJobStore

        sync = self._config.jobs.job_cache_sync
        return SqliteJobStore(self._cachedir, sync=sync, flush=flush, read_only=read_only)

    def open_nonces(self, table: ReplayTable, lock: LockFactory) -> Nonces:
        """The shared table is all there is."""
        from saltlite.master.replay import ReplayGuard

        return ReplayGuard(table, lock, ttl_s=self._config.keys.request_ttl)

    def open_pillars(self, wall_s: Callable[[], float]) -> Pillars:
        """In the same files as the facts, or in memory."""
        from saltlite.master.pillarcache import PillarCache

        return PillarCache.of_keys(self._config.pillar, self.facts, wall_s, self.keys)

    def open_publisher(self, context: zmq.Context[zmq.Socket[bytes]]) -> JobSink:
        """The Publisher's socket."""
        from saltlite.master.publishqueue import PublishQueue
        from saltlite.transport.addresses import MasterSockets

        return PublishQueue(context, MasterSockets(Path(self._config.paths.sock_dir)))

    def open_forwarded(self) -> ForwardedReturns:
        """A table of the job cache."""
        from saltlite.master.forwardqueue import ForwardQueue

        # What is in the store is the master's; a row of these that is lost is a repeat.
        return ForwardQueue(self._cachedir, sync="never")


class _AllChores:
    """No other master shares these stores."""

    def are_ours(self) -> bool:
        """Always."""
        return True
