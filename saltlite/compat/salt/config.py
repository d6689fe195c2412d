"""``salt.config``: the options that the daemon or command has, whatever file is named.

In a plain script those of the file.
"""

from __future__ import annotations

import os
from typing import Any

from saltlite.compat.salt.client import _in_salts_words, _outside
from saltlite.loader.surroundings import CURRENT

DEFAULT_MINION_OPTS: dict[str, Any] = {}
DEFAULT_MASTER_OPTS: dict[str, Any] = {}


def minion_config(path: str | None = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The options of the minion whose function runs; another file is read anew."""
    return _load_options(path, "minion")


def master_config(path: str | None = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The options of the master whose function runs; another file is read anew."""
    return _load_options(path, "master")


def client_config(path: str | None = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The same as ``master_config``."""
    return _load_options(path, "master")


def _load_options(path: str | None, role: str) -> dict[str, Any]:
    around = CURRENT.get(None)
    if around is None:
        found: dict[str, Any] = _in_salts_words(_outside().options)(role, path)
        return found
    opts = dict(around.opts)
    if opts.get("__role") == role:
        return opts
    from saltlite.config.load import load_master, load_minion
    from saltlite.config.opts import flat_opts

    directory = os.path.dirname(path) if path else str(opts.get("config_dir", "/etc/salt"))
    config = load_master(directory) if role == "master" else load_minion(directory)
    return flat_opts(config)


def get_id(opts: Any, cache_minion_id: bool = False) -> tuple[str, bool]:
    """The minion's id, and whether it is an address."""
    return str(opts.get("id", "")), False


def prepend_root_dir(opts: dict[str, Any], path_options: object) -> None:
    """Nothing: options come with their whole paths."""
