"""``--auth``: user name and password, asked for where they were not given; tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite import disk
from saltlite.errors import StoreError

if TYPE_CHECKING:
    import optparse

TOKEN_FILE = Path("~/.salt/token")
"""Where ``-T`` keeps the token. Source: cli.md 1.4."""


def credentials(options: optparse.Values) -> dict[str, Any] | None:
    """What goes into a load: ``eauth``, ``username``, ``password``.

    ``None`` if the user did not answer.
    """
    username, password = options.username, options.password
    try:
        if not username:
            sys.stdout.write("username: ")
            sys.stdout.flush()
            username = sys.stdin.readline().strip()
        if not password:
            import getpass

            password = getpass.getpass("password: ")
    except (EOFError, KeyboardInterrupt):
        return None
    if not username:
        return None
    return {"eauth": options.eauth, "username": username, "password": password}


def saved_token() -> str:
    """The token of an earlier ``-T``; ``""`` if there is none."""
    try:
        data = disk.read_regular(TOKEN_FILE.expanduser(), limit_bytes=4096)
    except StoreError:
        return ""
    return data.decode("utf-8", "replace").strip() if data else ""


def save_token(token: str) -> None:
    """Keep a token for later calls.

    Raises:
        StoreError: it cannot be written.
    """
    path = TOKEN_FILE.expanduser()
    disk.make_dir(path.parent)
    disk.write_file(path, token.encode())
