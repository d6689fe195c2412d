"""The jobs this minion has taken: each job id is taken once, also across restarts.

One text file, a job id per line; appended to with one write per job and shortened now and then. It
is not flushed to the disk: after a power cut no master repeats a publication by itself.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from pathlib import Path

from saltlite.core.ids import valid_jid
from saltlite.disk import append_whole, read_regular, write_file
from saltlite.errors import StoreError

log = logging.getLogger(__name__)

KEPT = 1000


class SeenJobs:
    """Remembers the last ``kept`` job ids in ``path``."""

    def __init__(self, path: Path, kept: int = KEPT) -> None:
        self._path = path
        self._kept = max(kept, KEPT)
        self._jids: OrderedDict[str, None] = OrderedDict()
        self._lines = 0
        self._writable = True
        self._load()

    def has(self, jid: str) -> bool:
        """Whether ``jid`` was taken."""
        return jid in self._jids

    def take(self, jid: str) -> bool:
        """Note ``jid``; ``False`` if it was taken before."""
        if jid in self._jids:
            return False
        self._jids[jid] = None
        while len(self._jids) > self._kept:
            self._jids.popitem(last=False)
        self._append(jid)
        return True

    def _load(self) -> None:
        try:
            text = (read_regular(self._path) or b"").decode("ascii", "replace")
        except StoreError as error:
            log.warning("Job ids of the last run are not known: %s", error)
            return
        lines = text.splitlines()
        self._lines = len(lines)
        # The last line may have been cut by a full disk.
        for line in lines[-self._kept :]:
            if valid_jid(line):
                self._jids[line] = None

    def _append(self, jid: str) -> None:
        try:
            # At twice as many the file is written whole: once in a thousand jobs or more.
            if self._lines >= 2 * self._kept:
                self._shorten()
                return
            append_whole(self._path, f"{jid}\n".encode())
            self._lines += 1
            self._writable = True
        except StoreError as error:
            if self._writable:
                log.warning("Job ids cannot be kept on disk: %s", error)
            self._writable = False

    def _shorten(self) -> None:
        write_file(self._path, "".join(f"{jid}\n" for jid in self._jids).encode(), flush=False)
        self._lines = len(self._jids)
