"""Who asks: the local user's name and key for the master.

Source: docs/wire.md#clear-commands, docs/architecture.md#who-owns-which-file-on-disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from saltlite import disk
from saltlite.errors import AccessDenied, StoreError


def process_user() -> str:
    """The name of the user this process runs as, its number if it has none."""
    if os.geteuid() == 0:
        return "root"
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def sender(environ: Mapping[str, str] | None = None) -> str:
    """The ``user`` of a job: ``sudo_<name>`` when somebody else became root by sudo."""
    user = process_user()
    sudo_user = (os.environ if environ is None else environ).get("SUDO_USER", "")
    if user == "root" and sudo_user and sudo_user != "root":
        return f"sudo_{sudo_user}"
    return user


def local_key(cachedir: Path, user: str | None = None) -> str:
    """The key that the master left for ``user``; ``""`` if there is none.

    Raises:
        AccessDenied: its file, or the way to it, is closed to us.
    """
    # As the master names the file of a domain user.
    name = (user or process_user()).replace("\\", "_")
    try:
        path = disk.child(cachedir, f".{name}_key")
        # A missing file ends here, as no key; access says False of that one too.
        os.stat(path)
        if not os.access(path, os.R_OK):
            raise AccessDenied(path)
        data = disk.read_regular(path, limit_bytes=4096)
    except PermissionError:
        raise AccessDenied(cachedir / f".{name}_key") from None
    except (OSError, StoreError, ValueError):
        return ""
    return data.decode("utf-8", "replace") if data else ""
