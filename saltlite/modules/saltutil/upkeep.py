"""Keys and caches of the minion."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from saltlite.context import MinionContext

_CACHES = ("files", "extrn_files", "localfiles", "file_lists", "accumulator")
"""What ``clear_cache`` removes below ``cachedir``: copies of what can be had again."""


def regen_keys(ctx: MinionContext) -> None:
    """Remove the minion's key, so that the next start makes a new one.

    The master has to accept that one; remove the old one there with ``salt-key -d``.

    CLI Example:

        salt '*' saltutil.regen_keys
    """
    from pathlib import Path

    from saltlite import disk

    for name in ("minion.pem", "minion.pub"):
        disk.remove(Path(ctx.config.paths.pki_dir) / name)


def revoke_auth(ctx: MinionContext, preserve_minion_cache: bool = False) -> Any:
    """Have the master remove this minion's key; ``False`` without a master.

    CLI Example:

        salt '*' saltutil.revoke_auth
    """
    if ctx.master is None:
        return False
    return ctx.master.request(
        {"cmd": "revoke_auth", "preserve_minion_cache": bool(preserve_minion_cache)}
    )


def clear_cache(ctx: MinionContext) -> bool:
    """Remove copies of the master's files.

    CLI Example:

        salt '*' saltutil.clear_cache
    """
    for name in _CACHES:
        shutil.rmtree(os.path.join(ctx.config.paths.cachedir, name), ignore_errors=True)
    return True


def clear_job_cache(ctx: MinionContext, hours: float = 24) -> bool:
    """Remove returns that were kept on the minion for longer than this.

    CLI Example:

        salt '*' saltutil.clear_job_cache hours=12
    """
    root = os.path.join(ctx.config.paths.cachedir, "minion_jobs")
    oldest_s = time.time() - float(hours) * 3600
    for name in ctx.host.names(root):
        path = os.path.join(root, name)
        if os.lstat(path).st_mtime < oldest_s:
            shutil.rmtree(path, ignore_errors=True)
    return True
