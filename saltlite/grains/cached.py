"""Grains of before, for ``grains_cache``: ``cachedir/grains.cache.json``."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.config.minion import MinionConfig
from saltlite.disk import make_dir, read_regular, write_file
from saltlite.errors import StoreError

log = logging.getLogger(__name__)

FILE: Final = "grains.cache.json"


def fetch(config: MinionConfig) -> dict[str, Any] | None:
    """The grains that are kept of this minion; ``None`` for none, old or unreadable ones."""
    if not config.grains.grains_cache:
        return None
    path = _cache_path(config)
    try:
        age_s = time.time() - os.stat(path).st_mtime
    except OSError:
        return None
    if not 0 <= age_s < config.grains.grains_cache_expiration:
        return None
    try:
        grains = json.loads(read_regular(path) or b"")
    except (ValueError, RecursionError, StoreError, OSError) as error:
        log.warning("%s is not used: %s", path, error)
        return None
    is_ours = isinstance(grains, dict) and grains.get("id") == config.identity.id
    return grains if is_ours else None


def keep(config: MinionConfig, grains: Mapping[str, object]) -> None:
    """Keep what was collected; one line in the log if that cannot be."""
    if not config.grains.grains_cache:
        return
    path = _cache_path(config)
    try:
        data = json.dumps(_check_value(dict(grains))).encode()
        make_dir(path.parent)
        write_file(path, data, flush=False)
    except (TypeError, ValueError, RecursionError, StoreError, OSError) as error:
        log.warning("%s: the grains are not kept: %s", path, error)


def forget(config: MinionConfig) -> None:
    """Have the grains collected the next time."""
    if config.grains.grains_cache:
        _cache_path(config).unlink(missing_ok=True)


def _check_value(value: object) -> Any:
    """``value``; raises ValueError for a key that would come back as text and is none."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {key!r} is no text")
            _check_value(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_value(item)
    return value


def _cache_path(config: MinionConfig) -> Path:
    return Path(config.paths.cachedir, FILE)
