"""Let in whom a directory lets in; the options are ``auth.ldap.*``. Needs the package ldap3.

A target ``ldap(OU=...,DC=...)`` in a user's access list means the computers below that entry, as
they are in the directory at the login.
"""

from __future__ import annotations

import re
from typing import Any, Final

from saltlite.core.lazyregex import regex
from saltlite.providers.ldap import Directory
from saltlite.providers.login import AuthContext

_BRANCH: Final = regex(r"ldap\((.*)\)", re.DOTALL)

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


def process_acl(ctx: AuthContext, entries: list[Any]) -> list[Any]:
    """Put the minions of a branch in its place; one without computers gives nothing."""
    return [new for entry in entries for new in _expand(ctx, entry)]


def _expand(ctx: AuthContext, entry: object) -> list[Any]:
    if not isinstance(entry, dict):
        return [entry]
    found: list[Any] = []
    for target, functions in entry.items():
        branch = _BRANCH.fullmatch(str(target))
        if branch is None:
            found.append({target: functions})
        elif ids := _search_directory(ctx).find_computers(branch[1]):
            found.append({f"L@{','.join(ids)}": functions})
    return found


def _search_directory(ctx: AuthContext) -> Directory:
    """The one of the login that is going on, whose connection may serve."""
    own = (one for one in _directories.values() if one.opts is ctx.opts)
    return next(own, None) or Directory(ctx.opts)
