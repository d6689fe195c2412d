"""Copies of files that were changed, as Salt keeps them.

``cachedir/file_backup/<path>_<Weekday_Month_day_time_microseconds_year>``, times of this place.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.disk import make_dir
from saltlite.providers.file.content import copy

if TYPE_CHECKING:
    from datetime import datetime

STAMP = "%a_%b_%d_%H:%M:%S_%f_%Y"
SHOWN = "%a %b %d %Y %H:%M:%S.%f"


class Backups:
    """The copies below one directory."""

    def __init__(self, cachedir: str) -> None:
        self._root = os.path.join(cachedir, "file_backup")

    def keep(self, path: str, *, name: str = "", user: int | None = None) -> str:
        """Copy a file here; where the copy is. Owner and mode are the file's.

        ``name`` is the path that the copy is found by, where it is another one.

        Raises:
            OSError: it cannot be copied.
        """
        from datetime import datetime, timezone

        now = datetime.now(tz=timezone.utc).astimezone()
        target = f"{self._backup_folder(name or path)}_{now.strftime(STAMP)}"
        make_dir(Path(target).parent)
        copy(path, target, user=user)
        return target

    def of(self, path: str, limit: object = None) -> dict[int, dict[str, Any]]:
        """The copies of a file, newest first, numbered from 0; ``limit`` of them."""
        place = self._backup_folder(path)
        rows = self._list_rows(os.path.dirname(place), os.path.basename(place))
        return dict(enumerate(rows[: _parse_limit(limit)]))

    def of_directory(self, path: str, limit: object = None) -> dict[str, dict[int, dict[str, Any]]]:
        """The copies of all files beside ``path``, or in it if it ends in ``/``."""
        folder = os.path.dirname(self._backup_folder(path, keep_end=True))
        names = {_original_name(name) for name in _list_names(folder)}
        return {
            name: dict(enumerate(self._list_rows(folder, name)[: _parse_limit(limit)]))
            for name in sorted(names)
        }

    def _backup_folder(self, path: str, *, keep_end: bool = False) -> str:
        end = "/" if keep_end and path.endswith("/") else ""
        return f"{self._root}/{os.path.normpath('/' + path).lstrip('/')}{end}"

    def _list_rows(self, folder: str, name: str) -> list[dict[str, Any]]:
        rows = []
        for found in _list_names(folder):
            moment = _parse_moment(found, name)
            if moment is None:
                continue
            location = os.path.join(folder, found)
            shown = moment.strftime(SHOWN)
            size = os.stat(location).st_size
            rows.append((moment, {"Backup Time": shown, "Size": size, "Location": location}))
        return [row for _, row in sorted(rows, key=lambda row: row[0], reverse=True)]


def _list_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _parse_moment(found: str, name: str) -> datetime | None:
    """When a copy was made, ``None`` if it is none of this file."""
    from datetime import datetime, timezone

    if not found.startswith(f"{name}_"):
        return None
    try:
        return datetime.strptime(found[len(name) + 1 :], STAMP).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _original_name(found: str) -> str:
    """The name of the file that a copy is of."""
    name = found.rsplit("_", 6)[0] if found.count("_") >= 6 else found
    return name if name != found and _parse_moment(found, name) else found


def _parse_limit(limit: Any) -> int | None:
    try:
        return None if limit is None else int(limit)
    except (TypeError, ValueError):
        return None


def timestamp_path(path: str) -> str:
    """Where ``file.line`` keeps its copy: beside the file, named by the second."""
    return f"{path}.{time.strftime('%Y-%m-%d-%H-%M-%S')}"
