"""Session keys: one per minion, in ``cachedir/sessions/<id>``, known again after a restart.

A worker keeps what it has read, and looks at the file's status for every request: a key that was
deleted or replaced by anyone is gone in all workers with the next request. Source:
docs/wire.md#keys-that-change.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_minion_id
from saltlite.errors import CryptoError

if TYPE_CHECKING:
    from saltlite.crypto.cipher import Crypticle
    from saltlite.master.keystore import AcceptedKey

_KEY_LIMIT_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class SessionCipher:
    """A session key string and the cipher made of it."""

    key: str
    crypticle: Crypticle
    stamp: tuple[int, int]
    path: Path

    def __repr__(self) -> str:
        return "SessionCipher(***)"


class Sessions:
    """The session keys below ``directory``. ``lifetime_s`` is the option ``publish_session``."""

    def __init__(self, directory: Path, *, lifetime_s: float, cached: int = 4096) -> None:
        self._directory = directory
        self._lifetime_s = lifetime_s
        self._cached = cached
        self._sessions: OrderedDict[str, SessionCipher] = OrderedDict()

    def get(self, minion_id: str, *, accepted: AcceptedKey | None = None) -> SessionCipher | None:
        """The session of an id if it has one that is not too old.

        With ``accepted``, one that is older than this key's file does not count: it may have been
        another machine's.

        Raises:
            StoreError: the file is there and cannot be read.
        """
        session = self._look_up(minion_id)
        if session is None or accepted is None or session.stamp[0] / 1e9 >= accepted.mtime_s:
            return session
        return None

    def _look_up(self, minion_id: str) -> SessionCipher | None:
        known = self._sessions.get(minion_id)
        # The id of a known one was checked when its path was made.
        path = disk.child(self._directory, minion_id) if known is None else known.path
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._sessions.pop(minion_id, None)
            return None
        # Left in its place: only _auth replaces it, which holds the id.
        if time.time() - status.st_mtime > self._lifetime_s:
            return None
        stamp = _stamp_of(status)
        if known is not None and known.stamp == stamp:
            return known
        return self._read(minion_id, path, stamp)

    def get_or_make(self, minion_id: str, *, accepted: AcceptedKey | None = None) -> SessionCipher:
        """The session of an accepted minion; only ``_auth`` makes one, while it holds the id.

        One that may be of another key is replaced, see :meth:`get`.

        Raises:
            StoreError: it cannot be written.
        """
        session = self.get(minion_id, accepted=accepted)
        if session is not None:
            return session
        from saltlite.crypto.cipher import new_key_string

        disk.make_dir(self._directory)
        path = disk.child(self._directory, minion_id)
        key = new_key_string()
        # Not waited for: after a power cut the memory of nonces is gone, and all sessions with it.
        # It is not read back: should somebody delete it now, the next request finds it gone.
        status = disk.write_file(path, key.encode(), flush=False)
        return self._keep(minion_id, key, _stamp_of(status), path)

    def delete(self, minion_id: str) -> bool:
        """End the session of an id, in all workers; ``False`` if it had none."""
        self._sessions.pop(minion_id, None)
        return disk.remove(disk.child(self._directory, minion_id))

    def clear(self) -> None:
        """End all sessions; every minion authenticates again."""
        for minion_id in self.ids():
            self.delete(minion_id)

    def ids(self) -> list[str]:
        """The ids that have a session."""
        try:
            return [name for name in os.listdir(self._directory) if valid_minion_id(name)]
        except FileNotFoundError:
            return []

    def _read(self, minion_id: str, path: Path, stamp: tuple[int, int]) -> SessionCipher | None:
        data = disk.read_regular(path, limit_bytes=_KEY_LIMIT_BYTES)
        if data is None:
            return None
        try:
            return self._keep(minion_id, data.decode("ascii").strip(), stamp, path)
        except (ValueError, CryptoError):
            # Damaged: the minion signs in again, and gets another.
            disk.remove(path)
            return None

    def _keep(self, minion_id: str, key: str, stamp: tuple[int, int], path: Path) -> SessionCipher:
        """The session of a key string, known from now on.

        Raises:
            CryptoError: it is no key string.
        """
        from saltlite.crypto.cipher import Crypticle

        session = SessionCipher(key, Crypticle(key), stamp, path)
        self._sessions[minion_id] = session
        while len(self._sessions) > self._cached:
            self._sessions.popitem(last=False)
        return session


def _stamp_of(status: os.stat_result) -> tuple[int, int]:
    """What tells a session file from one that has taken its place."""
    return status.st_mtime_ns, status.st_ino
