"""What commands on the master read of its files: jobs, keys, connections.

``client`` and ``runners`` do not know the master's package; the commands hand these in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.core.plain import PlainMap

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.core.targets import Target
    from saltlite.master.jobcache import JobRecord, SqliteJobStore
    from saltlite.transport.bus import EventPusher


def open_jobs(config: MasterConfig, *, read_only: bool = True) -> SqliteJobStore:
    """The master's job store; ``read_only`` makes no file where there is none."""
    from saltlite.master.jobcache import SqliteJobStore

    return SqliteJobStore(Path(config.paths.cachedir), read_only=read_only)


def accepted_minions(config: MasterConfig) -> list[str]:
    """The minions with accepted keys, sorted."""
    from saltlite.master.keystore import KeyState, KeyStore

    return KeyStore(Path(config.paths.pki_dir)).list(KeyState.ACCEPTED)


def connected_minions(config: MasterConfig) -> frozenset[str]:
    """The minions that have a connection to the publish port, as far as grains tell."""
    from saltlite.master.minioncache import MinionCache
    from saltlite.master.presence import connected_minions as connected

    cache = MinionCache(Path(config.paths.cachedir))
    return frozenset(connected(config.network.publish_port, accepted_minions(config), cache))


def maybe_connected(config: MasterConfig) -> frozenset[str] | None:
    """The minions that are connected or of whose addresses nothing is known.

    ``None`` if nobody seems to be connected, which says nothing about anybody.
    """
    from saltlite.master.minioncache import GRAINS, MinionCache

    connected = connected_minions(config)
    if not connected:
        return None
    known = MinionCache(Path(config.paths.cachedir)).ids(GRAINS)
    return connected | (frozenset(accepted_minions(config)) - frozenset(known))


def expected_minions(config: MasterConfig, target: Target) -> list[str]:
    """Whom the master would expect to return, sorted.

    Raises:
        TargetError: the target is not well formed.
    """
    from saltlite.core.targets import expected
    from saltlite.master.minioncache import MinionCache

    facts = MinionCache(Path(config.paths.cachedir)).facts(accepted_minions(config))
    return sorted(expected(target, facts, nodegroups=config.targets.nodegroups).minions)


class JobReader:
    """The job store as runners see it."""

    def __init__(self, store: SqliteJobStore) -> None:
        self._store = store

    def job(self, jid: str) -> JobRecord | None:
        """One job, ``None`` if it is not known."""
        return self._store.job(jid)

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """What the minions returned."""
        return self._store.returns(jid)

    def search(
        self,
        *,
        fun: str = "",
        tgt: str = "",
        since: str = "",
        until: str = "",
        metadata: Mapping[str, str] | None = None,
        limit: int = 0,
        newest_first: bool = False,
    ) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise."""
        from saltlite.master.jobcache import JobQuery

        return self._store.jobs(
            JobQuery(
                fun=fun,
                tgt=tgt,
                since=since,
                until=until,
                metadata=metadata or {},
                limit=limit,
                newest_first=newest_first,
            )
        )

    def record(
        self, jid: str, load: Mapping[str, Any], minion: str, ret: Mapping[str, Any]
    ) -> None:
        """Keep a job that is done already, with its one return."""
        self._store.new_job(jid, load, [])
        self._store.add_return(jid, minion, ret)


class KeyDirectory:
    """The key directory as :mod:`saltlite.client.key` sees it; changes are fired as events."""

    def __init__(self, config: MasterConfig, *, fire: Callable[[str, PlainMap], None]) -> None:
        from saltlite.master.keyactions import KeyActions
        from saltlite.master.keystore import FOLDERS

        self._actions = KeyActions(config, fire=fire)
        self._store = self._actions.store
        self._states = {folder: state for state, folder in FOLDERS.items()}

    def list(self, state: str) -> list[str]:
        """The ids in a state, sorted."""
        return self._store.list(self._states[state])

    def key(self, minion_id: str, state: str) -> str | None:
        """The key's PEM text."""
        return self._store.key(minion_id, self._states[state])

    def accept(self, minion_id: str, state: str) -> bool:
        """Accept a key that is in ``state``."""
        return self._actions.accept(
            minion_id,
            include_rejected=state == "minions_rejected",
            include_denied=state == "minions_denied",
        )

    def reject(self, minion_id: str, state: str) -> bool:
        """Reject a key that is in ``state``."""
        return self._actions.reject(
            minion_id,
            include_accepted=state == "minions",
            include_denied=state == "minions_denied",
        )

    def delete(self, minion_id: str, state: str) -> bool:
        """Forget a minion."""
        return self._actions.delete(minion_id)


class LazyEvents:
    """Fires on the master's bus; connects with the first event, and not at all without a master."""

    def __init__(self, config: MasterConfig) -> None:
        from saltlite.transport.addresses import MasterSockets

        self._path = MasterSockets(Path(config.paths.sock_dir)).event_pull
        self._pusher: EventPusher | None = None

    def fire(self, tag: str, data: PlainMap) -> None:
        """Fire one event."""
        if self._pusher is None:
            if not self._path.exists():
                return
            from saltlite.transport.bus import EventPusher

            self._pusher = EventPusher(self._path)
        self._pusher.fire(tag, data)

    def close(self) -> None:
        """Let what was fired leave, and close."""
        if self._pusher is not None:
            self._pusher.close()
