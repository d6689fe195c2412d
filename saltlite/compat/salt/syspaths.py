"""``salt.syspaths``: the directories of the minion or master that loads the file."""

from __future__ import annotations

import os
from typing import Any

from saltlite.loader.surroundings import CURRENT

ROOT_DIR = "/"
CONFIG_DIR = "/etc/salt"
CACHE_DIR = "/var/cache/salt"
SOCK_DIR = "/var/run/salt"
SRV_ROOT_DIR = "/srv"
BASE_FILE_ROOTS_DIR = "/srv/salt"
BASE_PILLAR_ROOTS_DIR = "/srv/pillar"
BASE_MASTER_ROOTS_DIR = "/srv/salt-master"
BASE_THORIUM_ROOTS_DIR = "/srv/thorium"
LOGS_DIR = "/var/log/salt"
PIDFILE_DIR = "/var/run"
SHARE_DIR = "/usr/share/salt"
HOME_DIR = os.path.expanduser("~")
INSTALL_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def __getattr__(name: str) -> Any:
    """What depends on where the configuration is."""
    around = CURRENT.get(None)
    if name == "CONF_DIR" and around is not None:
        return around.opts.get("config_dir", CONFIG_DIR)
    raise AttributeError(f"module 'salt.syspaths' has no attribute {name!r}")
