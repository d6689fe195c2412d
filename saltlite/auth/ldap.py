"""Let in whom a directory lets in; the options are ``auth.ldap.*``. Needs the package ldap3."""

from __future__ import annotations

from saltlite.providers.ldap import Directory
from saltlite.providers.login import AuthContext

_directories: dict[str, Directory] = {}
"""By user: who may be asked for groups after the login. The process ends with it."""


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Find the user's entry, and bind as it with the password."""
    directory = _directories[username] = Directory(ctx.opts)
    return directory.bind_user(username, password)


def groups(ctx: AuthContext, username: str) -> list[str]:
    """Name the groups of the user."""
    directory = _directories.get(username) or Directory(ctx.opts)
    return directory.find_groups(username)
