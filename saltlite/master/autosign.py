"""Which keys are accepted or rejected unseen: ``autosign_file``, ``autoreject_file`` and their kin.

Nothing here builds a path from what a peer sent: lists are read from where the configuration says,
and what the peer sent is compared with their lines. Source: docs/wire.md#which-key-is-let-in;
CVE-2025-22241.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.config.master import KeyOptions
from saltlite.core.patterns import fits_whole
from saltlite.core.plain import Plain
from saltlite.errors import PatternTooSlow, StoreError, TargetError
from saltlite.master.keystore import AUTOSIGN_FOLDER

log = logging.getLogger(__name__)

_LIST_LIMIT_BYTES: Final = 4 * 1024 * 1024


class AutoSign:
    """The lists of the configuration, read again when their files change."""

    def __init__(self, options: KeyOptions, pki_dir: Path) -> None:
        self._options = options
        self._markers = pki_dir / AUTOSIGN_FOLDER
        self._lists: dict[Path, tuple[int, list[str]]] = {}
        self._slow_lines: set[str] = set()

    def rejects(self, minion_id: str) -> bool:
        """Whether ``autoreject_file`` names this id."""
        path = self._options.autoreject_file
        return bool(path) and self._lists_id(Path(str(path)), minion_id)

    def signs(self, minion_id: str, grains: Mapping[str, Plain], now_s: float) -> bool:
        """Whether this id, or one of the grains it sent, is to be accepted unseen."""
        if self._options.auto_accept:
            return True
        path = self._options.autosign_file
        if path and self._lists_id(Path(str(path)), minion_id):
            return True
        return self._has_marker(minion_id, now_s) or self._signs_grain(grains)

    def consume_marker(self, minion_id: str) -> None:
        """Remove the marker in ``minions_autosign``: it counts once."""
        disk.remove(disk.child(self._markers, minion_id))

    def sweep(self, now_s: float) -> None:
        """Delete markers older than ``autosign_timeout`` minutes."""
        for marker, status in disk.entries_of(self._markers):
            if stat.S_ISREG(status.st_mode) and self._is_late(status, now_s):
                disk.remove(Path(marker.path))

    def _has_marker(self, minion_id: str, now_s: float) -> bool:
        # Not followed: a link would have the age of the file that it leads to.
        try:
            status = os.lstat(disk.child(self._markers, minion_id))
        except FileNotFoundError:
            return False
        return stat.S_ISREG(status.st_mode) and not self._is_late(status, now_s)

    def _is_late(self, status: os.stat_result, now_s: float) -> bool:
        return now_s - status.st_mtime > self._options.autosign_timeout * 60

    def _lists_id(self, path: Path, minion_id: str) -> bool:
        return any(self._line_fits(line, minion_id) for line in self._lines_that_count(path))

    def _line_fits(self, line: str, minion_id: str) -> bool:
        """Whether a line names the id: literally, as a glob or as an expression."""
        if line == minion_id or fnmatch.fnmatchcase(minion_id, line):
            return True
        try:
            return fits_whole(line, minion_id)
        except PatternTooSlow as error:
            # Once for a line: strangers choose the ids that it is slow for.
            if line not in self._slow_lines:
                self._slow_lines.add(line)
                log.warning("autosign: %s; it signs nobody", error)
            return False
        # Most globs (*.example.org) are no valid expressions; that is not worth a line.
        except TargetError:
            return False

    def _signs_grain(self, grains: Mapping[str, Plain]) -> bool:
        directory = self._options.autosign_grains_dir
        if not directory or not grains:
            return False
        try:
            known = os.listdir(directory)
        except OSError:
            return False
        # The directory's names lead: no path is made of the name of a grain that a minion sent.
        return any(
            str(grains[name]) in self._lines_that_count(Path(directory) / name)
            for name in known
            if name in grains
        )

    def _lines_that_count(self, path: Path) -> list[str]:
        """The lines of a list that count; none of a file that others may write."""
        try:
            status = path.stat()
        except OSError:
            return []
        known = self._lists.get(path)
        # ctime: chmod and chown change it too, and whether the list counts depends on both.
        if known is not None and known[0] == status.st_ctime_ns:
            return known[1]
        lines: list[str] = []
        if self._is_safe(path, status):
            lines = _read_lines(path)
        self._lists[path] = (status.st_ctime_ns, lines)
        return lines

    def _is_safe(self, path: Path, status: os.stat_result) -> bool:
        # permissive_pki_access lets the group write, in Salt as here.
        forbidden = stat.S_IWOTH if self._options.permissive_pki_access else 0o022
        if status.st_mode & forbidden or status.st_uid not in (0, os.geteuid()):
            log.warning("%s is not used: others may write to it", path)
            return False
        return True


def _read_lines(path: Path) -> list[str]:
    try:
        data = disk.read_regular(path, limit_bytes=_LIST_LIMIT_BYTES)
    except StoreError as error:
        log.warning("%s", error)
        return []
    lines = (line.strip() for line in (data or b"").decode("utf-8", "replace").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
