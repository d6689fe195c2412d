"""What an operator does with keys: accept, reject, delete; and all that has to follow.

Used by ``salt-key`` and by ``revoke_auth``. When a key goes, so do the minion's session, its
cached data and, unless told otherwise, the publication key it knew. Source: protocol.md 7.7, 12.2;
CVE-2016-9639.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.config.master import MasterConfig
from saltlite.core import tags
from saltlite.core.plain import PlainMap
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.master.minioncache import MinionCache
from saltlite.master.sessions import Sessions

ROTATE_REQUEST: Final = ".dfn"
"""In ``cachedir``, mode 0400: asks for another publication key. Source: protocol.md 14.1."""


class KeyActions:
    """Changes of state of keys. ``fire`` puts an event on the master's bus."""

    def __init__(
        self,
        config: MasterConfig,
        *,
        fire: Callable[[str, PlainMap], object] = lambda _tag, _data: None,
    ) -> None:
        self._cachedir = Path(config.paths.cachedir)
        self._options = config.keys
        self._fire = fire
        self.store = KeyStore(Path(config.paths.pki_dir))
        self._sessions = Sessions(
            self._cachedir / "sessions", lifetime_s=config.keys.publish_session
        )
        self._minions = MinionCache(self._cachedir)

    def accept(
        self, minion_id: str, *, include_rejected: bool = False, include_denied: bool = False
    ) -> bool:
        """Accept a waiting key; ``False`` if there is none in the states that count."""
        sources = [KeyState.UNACCEPTED]
        sources += [KeyState.REJECTED] if include_rejected else []
        sources += [KeyState.DENIED] if include_denied else []
        return self._move(minion_id, sources, KeyState.ACCEPTED, "accept")

    def reject(
        self, minion_id: str, *, include_accepted: bool = False, include_denied: bool = False
    ) -> bool:
        """Reject a waiting key; ``False`` if there is none in the states that count."""
        sources = [KeyState.UNACCEPTED]
        sources += [KeyState.ACCEPTED] if include_accepted else []
        sources += [KeyState.DENIED] if include_denied else []
        done = self._move(minion_id, sources, KeyState.REJECTED, "reject")
        if done:
            self._end(minion_id, preserve_cache=self._options.preserve_minion_cache)
        return done

    def delete(self, minion_id: str, *, preserve_cache: bool | None = None) -> bool:
        """Forget a minion in every state; ``False`` if nothing was known of it."""
        # A list, not a generator: the key is to go from every state.
        found = [state for state in KeyState if self.store.delete(minion_id, state)]
        if not found:
            return False
        keep = self._options.preserve_minion_cache if preserve_cache is None else preserve_cache
        if KeyState.ACCEPTED in found:
            self._end(minion_id, preserve_cache=keep)
        self._fire(tags.KEY, {"result": True, "act": "delete", "id": minion_id})
        return True

    def _move(self, minion_id: str, sources: list[KeyState], target: KeyState, act: str) -> bool:
        for source in sources:
            if self.store.path(minion_id, source).is_file():
                self._leave_others(minion_id, source, target)
                if self.store.move(minion_id, source, target):
                    self._fire(tags.KEY, {"result": True, "act": act, "id": minion_id})
                    return True
        return False

    def _leave_others(self, minion_id: str, source: KeyState, target: KeyState) -> None:
        """A denied key taken up replaces what the id had in another state."""
        if source is KeyState.DENIED:
            for state in (KeyState.ACCEPTED, KeyState.UNACCEPTED, KeyState.REJECTED):
                if state is not target:
                    self.store.delete(minion_id, state)
            self._sessions.delete(minion_id)

    def _end(self, minion_id: str, *, preserve_cache: bool) -> None:
        self._sessions.delete(minion_id)
        if not preserve_cache:
            self._minions.forget(minion_id)
        if self._options.rotate_aes_key:
            request_rotation(self._cachedir)


def request_rotation(cachedir: Path) -> None:
    """Ask the running master for another publication key.

    Raises:
        StoreError: the request cannot be written.
    """
    disk.make_dir(cachedir)
    disk.write_file(cachedir / ROTATE_REQUEST, b"", mode=0o400, flush=False)
