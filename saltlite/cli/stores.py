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
    from saltlite.core.job_query import JobQuery
    from saltlite.core.targets import Target
    from saltlite.master.jobcache import JobRecord
    from saltlite.master.keyactions import KeyActions
    from saltlite.master.keystore import KeyState
    from saltlite.master.stores import CommandStores, JobStore
    from saltlite.runner_context import PublishedJob
    from saltlite.transport.bus import EventPusher


def open_stores(config: MasterConfig) -> CommandStores:
    """The master's stores; nothing is opened before it is used."""
    from saltlite.master import embedded

    return embedded.open_stores(config)


def open_jobs(config: MasterConfig) -> JobStore:
    """The master's job store, to be read; no file is made where there is none."""
    return open_stores(config).open_jobs(read_only=True)


def list_accepted_minions(stores: CommandStores) -> list[str]:
    """The minions with accepted keys, sorted."""
    from saltlite.master.keystore import KeyState

    return stores.keys.list(KeyState.ACCEPTED)


def find_connected(stores: CommandStores) -> dict[str, str]:
    """The minions that are connected, as far as grains tell, and where they come from."""
    return stores.presence.find_connected(list_accepted_minions(stores))


def maybe_connected(config: MasterConfig) -> frozenset[str] | None:
    """The minions that are connected or of whose addresses nothing is known.

    ``None`` if nobody seems to be connected, which says nothing about anybody, and for a limited
    user, who may not look.
    """
    from saltlite.errors import StoreError
    from saltlite.master.minioncache import GRAINS

    stores = open_stores(config)
    try:
        connected = frozenset(find_connected(stores))
        if not connected:
            return None
        known = stores.facts.ids(GRAINS)
        return connected | (frozenset(list_accepted_minions(stores)) - frozenset(known))
    except (OSError, StoreError):
        return None


def list_expected_minions(
    config: MasterConfig, stores: CommandStores, target: Target, *, greedy: bool = True
) -> list[str]:
    """Whom the master would expect to return, sorted; see ``targets.find_expected`` for ``greedy``.

    Raises:
        TargetError: the target is not well formed.
    """
    from saltlite.cli import regexes
    from saltlite.core.targets import find_expected, looks_at

    grains, pillar = looks_at(target.tgt_type)
    regexes.match_outside()
    facts = stores.facts.facts(list_accepted_minions(stores), grains=grains, pillar=pillar)
    groups = config.targets.nodegroups
    return sorted(find_expected(target, facts, greedy=greedy, nodegroups=groups).minions)


class JobReader:
    """The job store as runners see it."""

    def __init__(self, store: JobStore, config: MasterConfig) -> None:
        self._store = store
        self._config = config

    def job(self, jid: str) -> JobRecord | None:
        """One job, ``None`` if it is not known."""
        return self._store.job(jid)

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """What the minions returned."""
        return self._store.returns(jid)

    def search(self, query: JobQuery) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise."""
        return self._store.jobs(query)

    def returns_of(
        self, minion: str, *, since: str = ""
    ) -> Iterator[tuple[PublishedJob, Mapping[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned."""
        yield from self._store.list_returned(minion, since=since)

    def record(
        self, jid: str, load: Mapping[str, Any], minion: str, ret: Mapping[str, Any]
    ) -> None:
        """Keep a job that is done already, with its one return; also where jobs are mirrored."""
        from saltlite.master.job_mirror import JobMirror

        self._store.new_job(jid, load, [])
        self._store.add_return(jid, minion, ret)
        mirror = JobMirror(self._config)
        mirror.job(jid, load, [])
        mirror.note_return(
            {"jid": jid, "id": minion, "fun": load.get("fun"), "fun_args": [], **ret}
        )


class KeyDirectory:
    """The key directory as :mod:`saltlite.keyring` sees it; changes are fired as events."""

    def __init__(
        self, config: MasterConfig, stores: CommandStores, *, fire: Callable[[str, PlainMap], None]
    ) -> None:
        self._config = config
        self._stores = stores
        self._fire = fire
        self._changes: KeyActions | None = None

    def list(self, state: str) -> list[str]:
        """The ids in a state, sorted."""
        return self._stores.keys.list(_state_of(state))

    def key(self, minion_id: str, state: str) -> str | None:
        """The key's PEM text."""
        return self._stores.keys.key(minion_id, _state_of(state))

    def accept(self, minion_id: str, state: str) -> bool:
        """Accept a key that is in ``state``."""
        return self._actions().accept(minion_id, _state_of(state))

    def reject(self, minion_id: str, state: str) -> bool:
        """Reject a key that is in ``state``."""
        return self._actions().reject(minion_id, _state_of(state))

    def delete(self, minion_id: str, state: str) -> bool:
        """Forget a key that is in ``state``."""
        return self._actions().delete(minion_id, [_state_of(state)])

    def _actions(self) -> KeyActions:
        """What changes keys; who only looks at them does not load it."""
        if self._changes is None:
            from saltlite.master.keyactions import KeyActions

            self._changes = KeyActions(self._config, self._stores, fire=self._fire)
        return self._changes


def forget_token(config: MasterConfig, token: str) -> bool:
    """Remove a token of external authentication; whether there was one.

    Raises:
        StoreError: it cannot be removed.
    """
    from saltlite.master.logintokens import LoginTokens

    return LoginTokens(Path(config.paths.token_dir)).forget(token)


def _state_of(folder: str) -> KeyState:
    """The state that has this folder."""
    from saltlite.master.keystore import FOLDERS

    return next(state for state, name in FOLDERS.items() if name == folder)


class KeyMaterial:
    """Keys themselves, as wheel functions see them."""

    def __init__(self, config: MasterConfig, stores: CommandStores) -> None:
        self._config = config
        self._stores = stores
        self._pki_dir = Path(config.paths.pki_dir)

    def local(self) -> dict[str, str]:
        """The master's own key files: name → PEM text, ``""`` for the private one."""
        from saltlite import disk

        public = disk.read_regular(self._pki_dir / "master.pub") or b""
        names = {"master.pem": "", "master.pub": public.decode("utf-8", "replace")}
        return {name: text for name, text in names.items() if (self._pki_dir / name).exists()}

    def fingerprint(self, pem: str, hash_type: str) -> str:
        """A key's fingerprint, hexadecimal with colons."""
        from saltlite.crypto.keys import pem_fingerprint

        return pem_fingerprint(pem, hash_type)

    def generate(self, bits: int) -> tuple[str, str]:
        """A new pair: private and public PEM."""
        from saltlite.crypto.keys import PrivateKey

        key = PrivateKey.generate(bits)
        return key.pem.decode(), key.public.pem

    def admit(self, minion_id: str, pem: str, *, replace: bool) -> bool:
        """Accept this public key for a minion; ``False`` if it has one that may not go."""
        from saltlite.master.keyactions import KeyActions

        actions = KeyActions(self._config, self._stores)
        return actions.admit(minion_id, pem, replace=replace)


class LazyEvents:
    """Fires on the master's bus; connects with the first event, and not at all without a master."""

    def __init__(self, config: MasterConfig) -> None:
        self._sock_dir = Path(config.paths.sock_dir)
        self._pusher: EventPusher | None = None

    def fire(self, tag: str, data: PlainMap) -> None:
        """Fire one event."""
        if self._pusher is None:
            from saltlite.transport.addresses import MasterSockets

            path = MasterSockets(self._sock_dir).event_pull
            if not path.exists():
                return
            from saltlite.transport.bus import EventPusher

            self._pusher = EventPusher(path)
        self._pusher.fire(tag, data)

    def close(self) -> None:
        """Let what was fired leave, and close."""
        if self._pusher is not None:
            self._pusher.close()
