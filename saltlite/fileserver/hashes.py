"""Hashes of large files, on disk: taken once, for all processes of a master and after its restarts.

A file's identity is its device, inode, size and times: another content is another file. What is
kept is a few bytes each, the latest :data:`MOST`.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.errors import StoreError

log = logging.getLogger(__name__)

FOLDER: Final = "file_hashes"
MOST: Final = 2000
SUFFIX: Final = ".hash"
LOCK: Final = ".file_hashes.lock"


class HashTakesLong(Exception):
    """The file is too large to be hashed here and now."""


class LargeHashes:
    """The hashes below ``cachedir``."""

    def __init__(self, cachedir: Path) -> None:
        self._cachedir = cachedir

    def get(self, hash_type: str, identity: tuple[int, ...]) -> str | None:
        """A hash, ``None`` if it is not known."""
        try:
            data = disk.read_regular(self._path_of(hash_type, identity), limit_bytes=1024)
        except StoreError:
            return None
        text = (data or b"").decode("ascii", "replace")
        length = hashlib.new(hash_type, usedforsecurity=False).digest_size * 2
        return text if len(text) == length else None

    def get_or_take(
        self, hash_type: str, identity: tuple[int, ...], take: Callable[[], str | None]
    ) -> str | None:
        """A hash; ``take`` takes it, for all who ask meanwhile. Its ``None`` is not kept."""
        disk.make_dir(self._cachedir)
        with disk.hold_lock_part(self._cachedir / LOCK, f"{hash_type}{identity}"):
            known = self.get(hash_type, identity)
            if known is not None:
                return known
            taken = take()
            if taken is not None:
                self._keep_hash(hash_type, identity, taken)
            return taken

    def _keep_hash(self, hash_type: str, identity: tuple[int, ...], digest: str) -> None:
        path = self._path_of(hash_type, identity)
        try:
            disk.make_dir(path.parent)
            disk.write_file(path, digest.encode(), flush=False)
            kept = disk.newest_first(path.parent, SUFFIX)
            for old in kept[MOST:]:
                disk.remove(old)
        except (StoreError, OSError) as error:
            log.warning("The hash of a large file is not kept: %s", error)

    def _path_of(self, hash_type: str, identity: tuple[int, ...]) -> Path:
        name = hashlib.sha256(repr((hash_type, identity)).encode()).hexdigest()[:32]
        return Path(os.path.join(self._cachedir, FOLDER, f"{name}{SUFFIX}"))
