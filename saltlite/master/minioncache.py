"""What the master remembers of each minion: grains, pillar and mine.

In the layout of Salt 3008, ``cachedir/{grains,pillar,mine}/<id>.p``; each file is replaced as a
whole. An unreadable file counts as absent. Targeting reads them through :meth:`MinionCache.facts`,
which looks at a file again only when it has changed. Source: protocol.md 14.1.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.ids import valid_minion_id
from saltlite.core.plain import Plain
from saltlite.core.targets import MinionFacts
from saltlite.errors import StoreError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

GRAINS: Final = "grains"
PILLAR: Final = "pillar"
MINE: Final = "mine"
BANKS: Final = (GRAINS, PILLAR, MINE)
MINE_LIMIT_BYTES: Final = 10 * 1024 * 1024
"""Source: security.md 3.2."""


class MinionCache:
    """The files below ``cachedir``. ``cached`` bounds how many decoded files are kept in memory."""

    def __init__(self, cachedir: Path, *, cached: int = 2000) -> None:
        self._cachedir = cachedir
        self._cached = cached
        self._decoded: OrderedDict[Path, tuple[tuple[int, int], dict[str, Any]]] = OrderedDict()

    def read(self, bank: str, minion_id: str) -> dict[str, Any] | None:
        """What is kept of a minion in ``grains``, ``pillar`` or ``mine``; ``None`` for nothing.

        The map is shared with later calls: do not change it.
        """
        path = self._path(bank, minion_id)
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._decoded.pop(path, None)
            return None
        stamp = (status.st_mtime_ns, status.st_ino)
        known = self._decoded.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        value = _decode(path)
        if value is not None:
            self._decoded[path] = (stamp, value)
            while len(self._decoded) > self._cached:
                self._decoded.popitem(last=False)
        return value

    def write(self, bank: str, minion_id: str, value: Mapping[str, Plain]) -> bool:
        """Replace what is kept; ``False`` if it was the same already.

        Raises:
            StoreError: it cannot be written; the old one stays.
        """
        path = self._path(bank, minion_id)
        try:
            data = pack_bin(value)
        except WireError as error:
            raise StoreError(f"{bank} of {minion_id}: {error}") from error
        if bank == MINE and len(data) > MINE_LIMIT_BYTES:
            raise StoreError(f"mine of {minion_id} is larger than {MINE_LIMIT_BYTES} bytes")
        disk.make_dir(path.parent)
        if _same(path, data):
            return False
        disk.write_file(path, data, flush=False)
        return True

    def facts(
        self, minion_ids: Iterable[str], *, grains: bool = True, pillar: bool = True
    ) -> Iterator[MinionFacts]:
        """What targeting may know of these minions; what is not asked for is not read."""
        for minion_id in minion_ids:
            yield MinionFacts(
                id=minion_id,
                grains=self.read(GRAINS, minion_id) if grains else None,
                pillar=self.read(PILLAR, minion_id) if pillar else None,
            )

    def delete(self, minion_id: str, bank: str) -> None:
        """Forget one bank of a minion."""
        disk.remove(self._path(bank, minion_id))

    def forget(self, minion_id: str) -> None:
        """Forget a minion: also its pushed files and what Salt 3006 kept of it."""
        import shutil  # with the archive modules it brings; seldom needed

        for bank in BANKS:
            self.delete(minion_id, bank)
        folder = disk.child(self._cachedir / "minions", minion_id)
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)

    def ids(self, bank: str) -> list[str]:
        """The minions of which this bank knows something."""
        try:
            names = os.listdir(self._cachedir / bank)
        except FileNotFoundError:
            return []
        return sorted(n[:-2] for n in names if n.endswith(".p") and valid_minion_id(n[:-2]))

    def _path(self, bank: str, minion_id: str) -> Path:
        if bank not in BANKS or not valid_minion_id(minion_id):
            raise ValueError(f"no such bank or id: {bank!r}, {minion_id!r}")
        return disk.child(self._cachedir / bank, f"{minion_id}.p")


def _decode(path: Path) -> dict[str, Any] | None:
    try:
        data = disk.read_regular(path)
        value = None if data is None else unpack_bin(data)
    except (StoreError, WireError) as error:
        log.warning("%s is not used: %s", path, error)
        return None
    return value if isinstance(value, dict) else None


def _same(path: Path, data: bytes) -> bool:
    try:
        return disk.read_regular(path) == data
    except StoreError:
        return False
