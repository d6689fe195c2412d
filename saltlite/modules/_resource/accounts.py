"""Users and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields, write_fields
from saltlite.modules import group, shadow, user
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)

_AGES = {
    "min": "mindays",
    "max": "maxdays",
    "warn": "warndays",
    "inact": "inactdays",
    "expire": "expire",
}
"""What ``shadow.info`` calls the ages of a password, and a declaration."""

_GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """What ``user.info`` tells."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str
    groups: list[str]
    fullname: str = ""
    roomnumber: str = ""
    workphone: str = ""
    homephone: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """What ``group.getent`` tells."""

    name: str
    gid: int
    members: list[str] = field(default_factory=list)


def _list_users(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(user.list_users), pattern)


def _list_groups(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names((each.name for each in _read_groups(ctx)), pattern)


def _read_groups(ctx: MinionContext) -> list[GroupEntry]:
    return [read_fields(GroupEntry, each) for each in ctx.follow(group.getent)]


def _declare_users(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    groups = {each.gid: each.name for each in reversed(_read_groups(ctx))}
    for name in ask.names:
        found = ctx.follow(user.info, name)
        if found:
            there = read_fields(UserEntry, found)
            yield StateDeclaration(
                of=name,
                fun="user.present",
                name=name,
                arguments=_user_arguments(ctx, there, groups.get(there.gid, ""), ask.secrets),
            )


def _user_arguments(
    ctx: MinionContext, there: UserEntry, primary: str, secrets: bool
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "uid": there.uid,
        "gid": there.gid,
        "groups": [name for name in there.groups if name != primary],
        "home": there.home,
        "shell": there.shell,
        **{key: str(value or "") for key, value in write_fields(there).items() if key in _GECOS},
    }
    if there.home and not ctx.host.is_dir(there.home):
        said["createhome"] = False
    aging = ctx.follow(shadow.info, there.name)
    # What is not set is -1, and of an account without an entry a text.
    said |= {word: aging[key] for key, word in _AGES.items() if isinstance(aging[key], int)}
    kept = {key: value for key, value in said.items() if value not in ("", -1)}
    return {**kept, **_password_arguments(aging, secrets)}


def _password_arguments(aging: Mapping[str, Any], secrets: bool) -> dict[str, Any]:
    """Whether it is locked, and the hash if it may be shown."""
    kept = str(aging["passwd"])
    bare = kept.lstrip("!")
    # "*" and "!" alone are no passwords: nobody logs in with one.
    if not bare.startswith("$"):
        return {}
    hashed = {"password": bare} if secrets else {}
    return {**hashed, "password_lock": True} if kept != bare else hashed


def _declare_groups(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {
        each.name: {"gid": each.gid, "members": list(each.members)}
        for each in reversed(_read_groups(ctx))
    }
    yield from declare_each("group.present", ask, there)


TYPES = {
    "user": ListedType(_list_users, _declare_users),
    "group": ListedType(_list_groups, _declare_groups),
}
