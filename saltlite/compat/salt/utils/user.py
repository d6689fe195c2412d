"""``salt.utils.user``."""

from __future__ import annotations

import getpass
import grp
import os
import pwd
from typing import Any


def get_user() -> str:
    """The user who runs this."""
    return pwd.getpwuid(os.geteuid()).pw_name


def get_specific_user() -> str:
    """The user who runs this, with the one who became root."""
    user = get_user()
    before = os.environ.get("SUDO_USER")
    return f"sudo_{before}" if user == "root" and before else user


def get_uid(user: str | None = None) -> int | None:
    """The number of a user; ours without a name, ``None`` if there is none."""
    if user is None:
        return os.geteuid()
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def get_gid(group: str | None = None) -> int | None:
    """The number of a group; ours without a name, ``None`` if there is none."""
    if group is None:
        return os.getegid()
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None


def get_default_group(user: str) -> str:
    """The name of a user's first group."""
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def get_group_dict(user: str, include_default: bool = True) -> dict[str, int]:
    """Name → number of the groups that a user is in; empty without such a user."""
    try:
        own = pwd.getpwnam(user).pw_gid
    except KeyError:
        return {}
    groups = (grp.getgrgid(gid) for gid in os.getgrouplist(user, own))
    named = {group.gr_name: group.gr_gid for group in groups}
    return {name: gid for name, gid in named.items() if include_default or gid != own}


def get_group_list(user: str, include_default: bool = True) -> list[str]:
    """The names of the groups that a user is in, sorted."""
    return sorted(get_group_dict(user, include_default))


def get_gid_list(user: str, include_default: bool = True) -> list[int]:
    """The numbers of the groups that a user is in, sorted."""
    return sorted(set(get_group_dict(user, include_default).values()))


def get_current_user(with_domain: bool = True) -> Any:
    """The user who runs this."""
    return getpass.getuser()
