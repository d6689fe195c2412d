"""The ``minionfs`` back end: what minions have pushed (``cp.push``), by their ids.

A file ``/etc/hosts`` of ``web1`` is ``salt://web1/etc/hosts``, below ``minionfs_mountpoint``, in
the one environment ``minionfs_env``. Links in what was pushed lead nowhere. Source: Salt's
documentation of the options; observed on Salt 3006.30.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from saltlite.core import dataclasses
from saltlite.core.ids import valid_minion_id
from saltlite.fileserver.gitfs import fits_any, path_parts
from saltlite.fileserver.paths import safe_parts
from saltlite.fileserver.roots import Listing, OpenFile, Roots

if TYPE_CHECKING:
    from saltlite.fileserver.roots import FileOptions

PUSHED = "files"
"""The directory of a minion's files below ``cachedir/minions/<id>``."""


class Minionfs:
    """The pushed files of all minions that the lists let through."""

    name = "minionfs"

    def __init__(self, options: FileOptions, cachedir: Path, extra: Mapping[str, object]) -> None:
        self._place = cachedir / "minions"
        self._env = str(extra.get("minionfs_env") or "base")
        self._mountpoint = path_parts(extra.get("minionfs_mountpoint"))
        self._white = extra.get("minionfs_whitelist") or ()
        self._black = extra.get("minionfs_blacklist") or ()
        self._options = options

    def envs(self) -> list[str]:
        """The one environment."""
        return [self._env]

    def open(self, path: object, saltenv: object) -> OpenFile | None:
        """Open a pushed file; ``None`` if there is no such file."""
        parts, depth = safe_parts(path), len(self._mountpoint)
        if parts is None or saltenv != self._env or parts[:depth] != self._mountpoint:
            return None
        below = parts[depth:]
        if len(below) < 2 or not self._is_open(below[0]):
            return None
        file = self._open_roots(below[0]).open("/".join(below[1:]), "pushed")
        if file is not None:
            file.rel = "/".join(parts)
        return file

    def listing(self, saltenv: object) -> Listing:
        """All that was pushed."""
        found = Listing()
        if saltenv != self._env:
            return found
        for minion_id in self._list_minions():
            before = "/".join([*self._mountpoint, minion_id])
            pushed = self._open_roots(minion_id).listing("pushed")
            found.files += [f"{before}/{name}" for name in pushed.files]
            found.dirs += [before, *(f"{before}/{name}" for name in pushed.dirs)]
        found.files.sort()
        found.dirs.sort()
        return found

    def forget(self) -> None:
        """Nothing is kept."""

    def clear(self) -> bool:
        """Nothing is kept on disk."""
        return False

    def update(self) -> bool:
        """What was pushed is there."""
        return False

    def _list_minions(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._place))
        except OSError:
            return []
        return [name for name in names if self._is_open(name) and self._push_dir(name).is_dir()]

    def _is_open(self, minion_id: str) -> bool:
        if not valid_minion_id(minion_id) or fits_any(minion_id, self._black):
            return False
        return not self._white or fits_any(minion_id, self._white)

    def _push_dir(self, minion_id: str) -> Path:
        return self._place / minion_id / PUSHED

    def _open_roots(self, minion_id: str) -> Roots:
        roots = {"pushed": [str(self._push_dir(minion_id))]}
        return Roots(
            dataclasses.replace(
                self._options,
                file_roots=roots,
                fileserver_followsymlinks=False,
                fileserver_ignoresymlinks=True,
            )
        )
