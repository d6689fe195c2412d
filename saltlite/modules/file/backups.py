"""Copies that were kept of files."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.numbers import is_digits
from saltlite.providers.file import content, paths
from saltlite.providers.file.backups import Backups
from saltlite.providers.file.paths import home


def _open_backups(ctx: MinionContext) -> Backups:
    return Backups(ctx.config.paths.cachedir)


def list_backups(ctx: MinionContext, path: str, limit: object = None) -> dict[int, dict[str, Any]]:
    """The copies that were kept of a file, newest first.

    CLI Example:

        salt '*' file.list_backups /foo/bar/baz.txt
    """
    return _open_backups(ctx).of(home(path), limit)


def list_backup(ctx: MinionContext, path: str, limit: object = None) -> dict[int, dict[str, Any]]:
    """The same as ``file.list_backups``."""
    return list_backups(ctx, path, limit)


def list_backups_dir(
    ctx: MinionContext, path: str, limit: object = None
) -> dict[str, dict[int, dict[str, Any]]]:
    """The copies that were kept of the files in a directory.

    CLI Example:

        salt '*' file.list_backups_dir /foo/bar/baz/
    """
    return _open_backups(ctx).of_directory(home(path), limit)


def _find_backup(ctx: MinionContext, path: str, backup_id: Any) -> tuple[str, str]:
    """Where a copy is, or the complaint about its number."""
    if len(str(backup_id)) != len(str(backup_id).lstrip("+-")) or not is_digits(str(backup_id)):
        return "", f"Invalid backup_id '{backup_id}'"
    found = list_backups(ctx, path).get(int(backup_id))
    if found is None:
        return "", f"backup_id '{backup_id}' does not exist for {home(path)}"
    return str(found["Location"]), ""


def restore_backup(ctx: MinionContext, path: str, backup_id: object) -> dict[str, Any]:
    """Put a copy back; what is there is kept as another copy.

    CLI Example:

        salt '*' file.restore_backup /foo/bar/baz.txt 0
    """
    path = home(path)
    location, complaint = _find_backup(ctx, path, backup_id)
    if complaint:
        return {"result": False, "comment": complaint}
    try:
        if os.path.isfile(path):
            _open_backups(ctx).keep(path)
        content.copy(location, path, follow=True)
    except OSError as error:
        comment = f"Unable to restore {location} to {path}: {error}"
        return {"result": False, "comment": comment}
    return {"result": True, "comment": f"Successfully restored {location} to {path}"}


def delete_backup(ctx: MinionContext, path: str, backup_id: object) -> dict[str, Any]:
    """Remove a copy.

    CLI Example:

        salt '*' file.delete_backup /foo/bar/baz.txt 0
    """
    location, complaint = _find_backup(ctx, home(path), backup_id)
    if complaint:
        return {"result": False, "comment": complaint}
    try:
        paths.remove_tree(location)
    except OSError as error:
        return {"result": False, "comment": f"Unable to remove {location}: {error}"}
    return {"result": True, "comment": f"Successfully removed {location}"}


def remove_backup(ctx: MinionContext, path: str, backup_id: object) -> dict[str, Any]:
    """The same as ``file.delete_backup``."""
    return delete_backup(ctx, path, backup_id)
