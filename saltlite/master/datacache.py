"""The master's data cache: banks of keys, one file each, ``cachedir/<bank>/<key>.p``.

``grains``, ``pillar`` and ``mine`` are the banks that targeting reads; runners may keep others
beside them. Bank and key come from whoever asks, so each part of a name has to be one that a
minion id may be, and no bank may be a directory of the master's own. Source: CVE-2025-22238.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.ids import valid_minion_id
from saltlite.errors import StoreError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

LOCKS: Final = ".minions.lock"
"""A file of locks, one for each minion; see ``disk.hold_lock_part``."""

RESERVED: Final = frozenset(
    (
        "extmods",
        "file_hashes",
        "files",
        "jobs",
        "proc",
        "publish_auth",
        "roots",
        "sessions",
        "syndics",
        "tokens",
    )
)
"""Directories of ``cachedir`` that are no banks."""


class DataCache:
    """The banks below ``cachedir``. Every method raises ValueError for a name that may not be."""

    def __init__(self, cachedir: Path) -> None:
        self._cachedir = cachedir

    def fetch(self, bank: str, key: str) -> Any:
        """What is kept, ``None`` for nothing; a damaged file counts as nothing.

        Raises:
            StoreError: it cannot be read.
        """
        data = disk.read_regular(self._path(bank, key))
        try:
            return None if data is None else unpack_bin(data)
        except WireError:
            return None

    def store(self, bank: str, key: str, data: object) -> None:
        """Replace what is kept.

        Raises:
            StoreError: it cannot be written, or cannot be packed.
        """
        self._path(bank, key)  # the names come first
        try:
            packed = pack_bin(data)
        except WireError as error:
            raise StoreError(f"{bank}/{key}: {error}") from error
        self.store_packed(bank, key, packed)

    def store_packed(self, bank: str, key: str, packed: bytes) -> None:
        """As :meth:`store`, of what is packed already."""
        path = self._path(bank, key)
        disk.make_dir(path.parent)
        # Not waited for: it is a cache, and what a power cut damages counts as nothing.
        with self._lock_of(key):
            disk.write_file(path, packed, flush=False)

    def drop(self, bank: str, key: str, name: str) -> None:
        """Take one entry out of a map; a minion that stores others meanwhile loses none.

        Raises:
            StoreError: it cannot be read or written.
        """
        path = self._path(bank, key)
        with self._lock_of(key):
            # Read under the lock: a worker that stores for the minion replaces the whole map.
            found = self.fetch(bank, key)
            if not isinstance(found, dict) or name not in found:
                return
            del found[name]
            disk.write_file(path, pack_bin(found), flush=False)

    def flush(self, bank: str, key: str | None = None) -> bool:
        """Forget one key of a bank, or all of them; whether there was anything."""
        found = False
        for one in self.list(bank) if key is None else [key]:
            with self._lock_of(one):
                found |= disk.remove(self._path(bank, one))
        return found

    def list(self, bank: str) -> list[str]:
        """The keys of a bank, sorted."""
        try:
            names = os.listdir(self._folder(bank))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(n[:-2] for n in names if n.endswith(".p") and valid_minion_id(n[:-2]))

    def mtime_s(self, bank: str, key: str) -> float | None:
        """When it was stored, in seconds since the epoch; ``None`` for nothing."""
        try:
            return self._path(bank, key).stat().st_mtime
        except OSError:
            return None

    def _lock_of(self, key: str) -> contextlib.AbstractContextManager[None]:
        """The lock of the workers, who change what they keep of a minion under it."""
        return hold_minion(self._cachedir, key)

    def _folder(self, bank: str) -> Path:
        parts = bank.split("/")
        if parts[0] in RESERVED or not all(map(valid_minion_id, parts)):
            raise ValueError(f"this cannot be a bank: {bank!r}")
        folder = self._cachedir
        for part in parts:
            # Each part is looked at: any of them may be a link that leads out of cachedir.
            folder = disk.child(folder, part)
            if folder.is_symlink():
                raise ValueError(f"this cannot be a bank: {bank!r}")
        return folder

    def _path(self, bank: str, key: str) -> Path:
        if not valid_minion_id(key):
            raise ValueError(f"this cannot be a key: {key!r}")
        return disk.child(self._folder(bank), f"{key}.p")


@contextlib.contextmanager
def hold_minion(cachedir: Path, minion_id: str) -> Iterator[None]:
    """Nobody else changes any file of this minion meanwhile.

    Raises:
        StoreError: the lock cannot be had.
    """
    try:
        disk.make_dir(cachedir)
        with disk.hold_lock_part(cachedir / LOCKS, minion_id):
            yield
    except OSError as error:
        raise StoreError(f"{cachedir / LOCKS}: {error.strerror}") from error
