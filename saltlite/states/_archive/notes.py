"""Which archive was unpacked where: a note for each directory and source, below the cache.

Salt notes the hash for each archive, not for each directory: of two states that unpack one archive
the second never saw an update.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.disk import child, make_dir, read_regular, write_file
from saltlite.providers.file import hashes

_FOLDER = "archive_hash"


@dataclass(frozen=True, slots=True)
class Note:
    """The hash of the archive that is unpacked in a directory; ``wanted`` is the one of now."""

    path: Path
    wanted: Mapping[str, str]

    @classmethod
    def of(cls, ctx: MinionContext, name: str, source: str, wanted: Mapping[str, str]) -> Note:
        """The note on ``source`` in the directory ``name``."""
        key = hashlib.sha256(f"{name}\0{source}".encode()).hexdigest()
        return cls(child(Path(ctx.config.paths.cachedir, _FOLDER), key), wanted)

    def is_of(self, archive: str = "") -> bool | None:
        """Whether it is of the archive that is wanted; ``None`` without a note.

        ``archive`` is its path, for a note with another kind of hash; without it such a note is of
        another one. Raises OSError.
        """
        noted = read_regular(self.path)
        if noted is None:
            return None
        kind, _, value = noted.decode("ascii", "replace").strip().partition(":")
        if kind == self.wanted["hash_type"]:
            return value == self.wanted["hsum"]
        return bool(archive) and kind in hashes.LENGTHS and hashes.file_hash(archive, kind) == value

    def write(self) -> None:
        """Note the archive that is wanted; raises OSError."""
        make_dir(self.path.parent)
        write_file(self.path, f"{self.wanted['hash_type']}:{self.wanted['hsum']}\n".encode())
