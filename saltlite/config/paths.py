"""Where files and directories are: ``root_dir``, and what follows from it. Pure.

Source: ``salt --config-dump`` and ``salt-call --local test.get_opts`` of 3006.30 and 3008.5.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any

DEFAULT_DIR = "/etc/salt"


def put_below_root(path: str, root: str) -> str:
    """``path`` below ``root``, unless it is there already.

    That is true of absolute paths too, set or default: with ``root_dir: /srv/x``, ``/var/run/salt``
    is ``/srv/x/var/run/salt``. Devices and log addresses (``file:///dev/log``) stay.
    """
    if not path or "://" in path or path.startswith("/dev/"):
        return path
    path = os.path.normpath(os.path.expanduser(path))
    if path == root or path.startswith(root.rstrip("/") + "/"):
        return path
    return os.path.join(root, path.lstrip("/"))


def place(values: MutableMapping[str, Any], defaults: Mapping[str, str | None]) -> None:
    """Make every rooted path absolute, in place; ``root_dir`` is so already.

    ``values`` are the options that were set; ``defaults`` are all rooted options with their
    defaults. Afterwards ``values`` has all of them.
    """
    root = values["root_dir"]
    for name, default in defaults.items():
        path = values.get(name, default)
        values[name] = put_below_root(path, root) if path else path
    if "token_dir" in defaults:
        values["token_dir"] = os.path.join(values["cachedir"], "tokens")
    if len(values["sock_dir"]) > len(values["cachedir"]) + 10:  # Unix sockets have short names
        values["sock_dir"] = os.path.join(values["cachedir"], ".salt-unix")


def add_minion_id(values: MutableMapping[str, Any], minion_id: str) -> None:
    """Give the directories in ``append_minionid_config_dirs`` the id as their last part."""
    for name in values.get("append_minionid_config_dirs", ()):
        if name in ("pki_dir", "cachedir", "extension_modules"):
            values[name] = os.path.join(values[name], minion_id)
