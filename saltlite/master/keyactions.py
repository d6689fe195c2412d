"""What an operator does with keys: accept, reject, delete; and all that has to follow.

Used by ``salt-key`` and by ``revoke_auth``. When a key goes, so do the minion's session, its
cached data and, unless told otherwise, the publication key it knew. Each action holds the id, and
applies to the state in which the operator saw the key: it does nothing to one that has been moved
meanwhile. Source: docs/wire.md#keys-that-change, #events;
CVE-2016-9639.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from saltlite import disk
from saltlite.config.master import MasterConfig
from saltlite.core import tags
from saltlite.core.plain import PlainMap
from saltlite.master.keystore import KeyState

if TYPE_CHECKING:
    from saltlite.master.stores import CommandStores

ROTATE_REQUEST: Final = ".dfn"
"""In ``cachedir``, mode 0400: asks for another publication key.

Source: docs/architecture.md#who-owns-which-file-on-disk.
"""


class KeyActions:
    """Changes of state of keys. ``fire`` puts an event on the master's bus."""

    def __init__(
        self,
        config: MasterConfig,
        stores: CommandStores,
        *,
        fire: Callable[[str, PlainMap], object] = lambda _tag, _data: None,
    ) -> None:
        self._cachedir = Path(config.paths.cachedir)
        self._options = config.keys
        self._order_masters = config.syndic.order_masters
        self._fire = fire
        self.store = stores.keys
        self._sessions = stores.sessions
        self._stores = stores

    def accept(self, minion_id: str, source: KeyState = KeyState.UNACCEPTED) -> bool:
        """Accept the key that is in ``source``; ``False`` if there is none.

        Raises:
            CryptoError: it is no key; it stays where it is.
        """
        with self.store.hold(minion_id):
            if not self.store.has(minion_id, source):
                return False
            # Before anything is moved: what is no key would shut its minion out as an accepted one.
            self._check_key(minion_id, source)
            self._leave_others(minion_id, source, KeyState.ACCEPTED)
            self._sessions.delete(minion_id)  # whoever had the id before
            done = self.store.move(minion_id, source, KeyState.ACCEPTED)
        return self._fire_key_event(done, "accept", minion_id)

    def reject(self, minion_id: str, source: KeyState = KeyState.UNACCEPTED) -> bool:
        """Reject the key that is in ``source``; ``False`` if there is none."""
        with self.store.hold(minion_id):
            if not self.store.has(minion_id, source):
                return False
            self._leave_others(minion_id, source, KeyState.REJECTED)
            done = self.store.move(minion_id, source, KeyState.REJECTED)
            if done:
                self._end_session(minion_id, preserve_cache=self._options.preserve_minion_cache)
        return self._fire_key_event(done, "reject", minion_id)

    def delete(
        self,
        minion_id: str,
        states: Iterable[KeyState] = tuple(KeyState),
        *,
        preserve_cache: bool | None = None,
    ) -> bool:
        """Forget a minion in these states; ``False`` if nothing was known of it there."""
        keep = self._options.preserve_minion_cache if preserve_cache is None else preserve_cache
        with self.store.hold(minion_id):
            # A list, not a generator: the key is to go from every state.
            found = [state for state in states if self.store.delete(minion_id, state)]
            # Only an accepted minion has a session and knows the publication key.
            if KeyState.ACCEPTED in found:
                self._end_session(minion_id, preserve_cache=keep)
        return self._fire_key_event(bool(found), "delete", minion_id)

    def admit(self, minion_id: str, pem: str, *, replace: bool) -> bool:
        """Accept this key, whatever is known; ``False`` if one is accepted and may not go."""
        with self.store.hold(minion_id):
            is_taken = self.store.has(minion_id, KeyState.ACCEPTED)
            if is_taken and not replace:
                return False
            self._sessions.delete(minion_id)
            self.store.put(minion_id, KeyState.ACCEPTED, pem)
            # Whoever had the id before knows the publication key.
            if is_taken:
                self._ask_for_rotation()
        return True

    def _check_key(self, minion_id: str, source: KeyState) -> None:
        from saltlite.crypto.keys import PublicKey

        PublicKey.from_pem(self.store.key(minion_id, source) or "")

    def _fire_key_event(self, done: bool, act: str, minion_id: str) -> bool:
        if done:
            self._fire(tags.KEY, {"result": True, "act": act, "id": minion_id})
        return done

    def _leave_others(self, minion_id: str, source: KeyState, target: KeyState) -> None:
        """A denied key taken up replaces what the id had in another state."""
        if source is KeyState.DENIED:
            for state in (KeyState.ACCEPTED, KeyState.UNACCEPTED, KeyState.REJECTED):
                if state is not target:
                    self.store.delete(minion_id, state)
            self._sessions.delete(minion_id)

    def _end_session(self, minion_id: str, *, preserve_cache: bool) -> None:
        self._sessions.delete(minion_id)
        if not preserve_cache:
            self._stores.facts.forget(minion_id)
        if self._order_masters:
            from saltlite.master.syndics import forget_marker

            forget_marker(self._cachedir, minion_id)
        self._ask_for_rotation()

    def _ask_for_rotation(self) -> None:
        if self._options.rotate_aes_key:
            request_rotation(self._cachedir)


def request_rotation(cachedir: Path) -> None:
    """Ask the running master for another publication key.

    Raises:
        StoreError: the request cannot be written.
    """
    disk.make_dir(cachedir)
    # Not waited for: after a power cut the master begins with another key anyway.
    disk.write_file(cachedir / ROTATE_REQUEST, b"", mode=0o400, flush=False)


def take_rotation_request(cachedir: Path) -> bool:
    """Whether there is a request file of the one accepted mode; it is removed.

    Raises:
        StoreError: it cannot be removed.
    """
    path = cachedir / ROTATE_REQUEST
    try:
        status = os.lstat(path)
    except OSError:
        return False
    # Salt makes it with this mode too, and ignores any other.
    if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != 0o400:
        return False
    return disk.remove(path)
