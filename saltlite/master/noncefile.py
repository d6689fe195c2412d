"""The memory of nonces across an orderly restart: ``cachedir/.nonces``, used once.

After any other end the file is not there, and the next master ends all sessions: what was sent to
the last one does not decrypt any more, and honest minions authenticate again.
"""

from __future__ import annotations

import logging
import struct
import time
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.errors import StoreError
from saltlite.master.replay import ReplayTable

log = logging.getLogger(__name__)

FILE_NAME: Final = ".nonces"
_LIMIT_BYTES: Final = 64 * 1024 * 1024
# A mark of the format, and the wall clock: the steady one begins anew with each boot.
_HEAD: Final = struct.Struct("<8sd")
_MAGIC: Final = b"nonces1\n"
# A slot of the table, and for how many seconds it still mattered.
_ENTRY: Final = struct.Struct("<16sd")


def save(cachedir: Path, table: ReplayTable, steady_s: float) -> None:
    """Write what still matters; without it the next start is only stricter."""
    data = [_HEAD.pack(_MAGIC, time.time())]
    data += [_ENTRY.pack(slot, ends_s - steady_s) for slot, ends_s in table.dump(steady_s)]
    try:
        disk.write_file(cachedir / FILE_NAME, b"".join(data))
    except StoreError as error:
        log.warning("The memory of nonces is not kept: %s", error)


def load(cachedir: Path, table: ReplayTable, steady_s: float) -> bool:
    """Take back what :func:`save` wrote and delete it; ``False`` if nothing whole was there."""
    path = cachedir / FILE_NAME
    try:
        data = disk.read_regular(path, limit_bytes=_LIMIT_BYTES)
        # Before it is used: after a crash it would lack the nonces that came since.
        disk.remove(path)
    except StoreError as error:
        log.warning("The memory of nonces is not used: %s", error)
        return False
    if data is None or len(data) < _HEAD.size or (len(data) - _HEAD.size) % _ENTRY.size:
        return False
    magic, saved_s = _HEAD.unpack_from(data)
    # A clock that was set back counts as no time, so that nonces are kept too long.
    away_s = max(0.0, time.time() - saved_s)
    if magic != _MAGIC:
        return False
    for slot, left_s in _ENTRY.iter_unpack(data[_HEAD.size :]):
        if left_s > away_s:
            table.restore(slot, now_s=steady_s, until_s=steady_s + left_s - away_s)
    return True
