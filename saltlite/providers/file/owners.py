"""Users, groups and modes of files: from names to numbers and back, and who owns what.

Salt's functions answer ``""`` for a name that nobody has, and the number for a number.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from typing import Any

from saltlite.errors import FunctionError, UntrustedPath
from saltlite.openat import Held, Spot, reach

UNCHANGED = -1


def user_name(uid: Any, wanted: object = None) -> Any:
    """The name of a user id, of several the ``wanted`` one; the id itself without one."""
    if isinstance(wanted, str) and user_id(wanted) == uid:
        return wanted
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return uid


def group_name(gid: Any, wanted: object = None) -> Any:
    """The name of a group id, of several the ``wanted`` one.

    The id itself without one, ``""`` for what is no number.
    """
    if isinstance(wanted, str) and group_id(wanted) == gid:
        return wanted
    try:
        number = int(gid)
    except ValueError:
        return ""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return gid


def user_id(user: object) -> Any:
    """The id of a user name, ``""`` without one; ``None`` is who we are, a number itself."""
    if user is None:
        return os.geteuid()
    if isinstance(user, int):
        return user
    try:
        return pwd.getpwnam(str(user)).pw_uid
    except KeyError:
        return ""


def group_id(group: object) -> Any:
    """The id of a group name, ``""`` without one; a number is itself."""
    if group is None:
        return ""
    if isinstance(group, int):
        return group
    try:
        return grp.getgrnam(str(group)).gr_gid
    except KeyError:
        return ""


def ids(user: object, group: object) -> tuple[int, int, str]:
    """User id, group id and Salt's complaint about names that nobody has.

    Without a name the id is ``UNCHANGED``.
    """
    complaint = ""
    uid: Any = UNCHANGED if user in (None, "") else user_id(user)
    if uid == "":
        uid, complaint = UNCHANGED, "User does not exist\n"
    gid: Any = UNCHANGED if group in (None, "") else group_id(group)
    if gid == "":
        gid, complaint = UNCHANGED, f"{complaint}Group does not exist\n"
    return int(uid), int(gid), complaint


def chown(path: str, user: object, group: object, *, follow: bool) -> str | None:
    """Give a file away; ``None``, or Salt's complaint. A link to nowhere is itself given away.

    Raises:
        OSError: it cannot be done.
    """
    uid, gid, complaint = ids(user, group)
    if complaint:
        return complaint
    if follow and not os.path.lexists(path):
        return "File not found"
    with hold_file(path, follow=follow, user=user) as one:
        one.chown(uid, gid)
    return None


@contextlib.contextmanager
def hold_file(path: str, *, follow: bool, user: object = None) -> Iterator[Held]:
    """A file by its descriptor, for whoever changes it; of a link to nowhere, the link.

    ``user`` is the name or the id of the user that it is declared to have.

    Raises:
        FunctionError: there is no such file.
        UntrustedPath: a link on the way is not to be followed.
    """
    follow = follow and not (os.path.islink(path) and not os.path.exists(path))
    try:
        with reach_as(path, follow=follow, user=user) as spot, spot.hold() as one:
            yield one
    except (FileNotFoundError, NotADirectoryError):
        raise FunctionError(f"Path not found: {path}") from None


def reach_as(path: str, *, follow: bool, user: object) -> Spot:
    """As :func:`saltlite.openat.reach`, for the name or id of a user; mostly none is looked up."""
    try:
        return reach(path, follow=follow)
    except UntrustedPath:
        uid = None if user in (None, "") else user_id(user)
        if not isinstance(uid, int):
            raise
        return reach(path, follow=follow, user=uid)


def normalize_mode(mode: object) -> str:
    """A mode as Salt writes it: ``0644`` for ``644``, ``"0o644"`` and ``'0644'``."""
    return str(mode).strip("\"'").lstrip("0Oo").zfill(4)


def mode_number(mode: object) -> int:
    """A mode as the system takes it.

    Raises:
        FunctionError: it has other digits than octal ones.
    """
    text = normalize_mode(mode)
    try:
        return int(text, 8) & 0o7777
    except ValueError:
        raise FunctionError(f"Failed to change mode to {text}") from None


def mode_text(mode: int) -> str:
    """A mode of the system as Salt shows it."""
    return f"{stat.S_IMODE(mode):04o}"


def status(path: str, *, follow: bool = True) -> os.stat_result:
    """The status of a file; a link to nowhere has its own.

    Raises:
        FunctionError: there is no such file.
    """
    try:
        return os.stat(path) if follow and os.path.exists(path) else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FunctionError(f"Path not found: {path}") from None
    except OSError as error:
        raise FunctionError(error.strerror or str(error)) from error


def default_mode() -> int:
    """The mode of a new file that nobody gave a mode."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
