"""``passwd``, ``group`` and ``shadow``: lines to values and back. Pure, but for three readers.

Of this machine users and groups come from its name service (``pwd``, ``grp``), which may know more
than the files; below another root they come from the files there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.host import Host

if TYPE_CHECKING:
    import grp
    import pwd

GECOS_FIELDS = ("fullname", "roomnumber", "workphone", "homephone", "other")


@dataclass(frozen=True, slots=True)
class PasswdLine:
    """A line of ``passwd``."""

    name: str
    password: str
    uid: int
    gid: int
    gecos: str
    home: str
    shell: str


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A line of ``group``."""

    name: str
    password: str
    gid: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shadow:
    """A line of ``shadow``; days since 1970 or numbers of days, -1 where the line has none."""

    name: str
    password: str
    changed: int
    minimum: int
    maximum: int
    warn: int
    inactive: int
    expire: int


_Entry = TypeVar("_Entry")


def parse_passwd(text: str) -> list[PasswdLine]:
    """The users of a ``passwd`` file; lines of another form (NIS, comments) are left out."""
    return _parse_entries(text, _parse_user)


def parse_group(text: str) -> list[GroupLine]:
    """The groups of a ``group`` file."""
    return _parse_entries(text, _parse_group)


def parse_shadow(text: str) -> list[Shadow]:
    """The entries of a ``shadow`` file."""
    return _parse_entries(text, _parse_shadow)


def _parse_entries(text: str, entry: Callable[[list[str]], _Entry]) -> list[_Entry]:
    found = (_parse_entry(line, entry) for line in text.splitlines())
    return [each for each in found if each is not None]


def _parse_entry(line: str, entry: Callable[[list[str]], _Entry]) -> _Entry | None:
    try:
        return entry(line.split(":"))
    except (ValueError, IndexError):
        return None


def _parse_user(part: list[str]) -> PasswdLine:
    return PasswdLine(part[0], part[1], int(part[2]), int(part[3]), part[4], part[5], part[6])


def _parse_group(part: list[str]) -> GroupLine:
    members = tuple(name for name in part[3].split(",") if name)
    return GroupLine(part[0], part[1], int(part[2]), members)


def _parse_shadow(part: list[str]) -> Shadow:
    numbers = [int(text) if text else -1 for text in part[2:8]]
    return Shadow(part[0], part[1], *numbers)


def with_password(text: str, name: str, password: str, day: int) -> str | None:
    """A ``shadow`` file with another password for ``name``; ``None`` if it is not in there.

    ``day`` (since 1970) is when it was changed.
    """
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        parts = line.split(":")
        if parts[0] == name and len(parts) > 2:
            parts[1:3] = [password, str(day)]
            lines[index] = ":".join(parts)
            return "".join(lines)
    return None


def parse_gecos(text: str) -> dict[str, str]:
    """The five parts of a user's description; the last takes what remains."""
    parts = [*text.split(",", 4), "", "", "", "", ""][: len(GECOS_FIELDS)]
    return dict(zip(GECOS_FIELDS, parts, strict=True))


def build_gecos(parts: dict[str, str]) -> str:
    """The description made of its parts, without the commas that nothing follows."""
    return ",".join(parts.get(field, "") for field in GECOS_FIELDS).rstrip(",")


def group_names(user: PasswdLine, groups: Iterable[GroupLine]) -> list[str]:
    """All groups of a user by these groups, sorted."""
    return sorted(
        {group.name for group in groups if group.gid == user.gid or user.name in group.members}
    )


def below(root: str | None, path: str) -> str:
    """``path`` as it is called from outside ``root``."""
    return path if root is None else os.path.join(root, path.lstrip("/"))


def users(host: Host, root: str | None = None) -> list[PasswdLine]:
    """All users, in their order."""
    if root is not None:
        return parse_passwd(host.read_text(below(root, "/etc/passwd")) or "")
    import pwd

    return [_from_pwd(entry) for entry in pwd.getpwall()]


def user(host: Host, name: str, root: str | None = None) -> PasswdLine | None:
    """A user by name, ``None`` if there is none."""
    if root is not None:
        return next((each for each in users(host, root) if each.name == name), None)
    import pwd

    try:
        return _from_pwd(pwd.getpwnam(name))
    except (KeyError, ValueError):
        return None


def _from_pwd(entry: pwd.struct_passwd) -> PasswdLine:
    return PasswdLine(
        entry.pw_name,
        entry.pw_passwd,
        entry.pw_uid,
        entry.pw_gid,
        entry.pw_gecos,
        entry.pw_dir,
        entry.pw_shell,
    )


def groups(host: Host, root: str | None = None) -> list[GroupLine]:
    """All groups, in their order."""
    if root is not None:
        return parse_group(host.read_text(below(root, "/etc/group")) or "")
    import grp

    return [_from_grp(entry) for entry in grp.getgrall()]


def group(name: str) -> GroupLine | None:
    """A group of this machine by name, ``None`` if there is none."""
    import grp

    try:
        return _from_grp(grp.getgrnam(name))
    except (KeyError, ValueError):
        return None


def _from_grp(entry: grp.struct_group) -> GroupLine:
    return GroupLine(entry.gr_name, entry.gr_passwd or "", entry.gr_gid, tuple(entry.gr_mem))


def groups_of(host: Host, entry: PasswdLine, root: str | None = None) -> list[str]:
    """The names of all groups that a user is in, sorted."""
    if root is not None:
        return group_names(entry, groups(host, root))
    names = (_group_name(gid) for gid in os.getgrouplist(entry.name, entry.gid))
    return sorted({name for name in names if name is not None})


def _group_name(gid: int) -> str | None:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None


def shadows(host: Host, root: str | None = None) -> list[Shadow]:
    """All entries of ``shadow``; none for one who may not read it."""
    return parse_shadow(host.read_text(below(root, "/etc/shadow")) or "")


@contextlib.contextmanager
def lock_accounts(root: str | None = None) -> Iterator[None]:
    """Hold the lock that ``passwd`` and ``vipw`` take, so that nobody else changes accounts.

    Raises:
        FunctionError: it cannot be had, since the directory may not be written.
    """
    path = below(root, "/etc/.pwd.lock")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise FunctionError(f"Unable to lock {path}: {error.strerror}") from error
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
