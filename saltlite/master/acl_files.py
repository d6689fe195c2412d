"""Lets the users of ``publisher_acl`` reach what their ``salt`` needs, and nobody else anything.

Their key lies in ``cachedir`` and returns come from a socket in ``sock_dir``, both closed to
others. So each of these users gets, by name, the right to pass through the two directories and to
use that one socket: entries of a POSIX access list, written as the file system keeps them. Where it
keeps none, a line says so, and these users cannot use ``salt``. Source: acl(5),
linux/posix_acl_xattr.h; docs/security.md#secrets-at-rest.
"""

from __future__ import annotations

import logging
import os
import pwd
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

PASS: Final = 1
READ_WRITE: Final = 6

_ATTRIBUTE: Final = "system.posix_acl_access"
_VERSION: Final = struct.pack("<I", 2)
_ENTRY: Final = struct.Struct("<HHI")
_OWNER, _USER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_NOBODY: Final = 0xFFFFFFFF


def user_ids(names: Iterable[str]) -> list[int]:
    """The numbers of those users that have an account and are not us, sorted."""
    found = {_user_id(name) for name in names}
    return sorted(one for one in found if one not in (None, os.geteuid()))


def _user_id(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def access_list(mode: int, uids: Iterable[int], rights: int) -> bytes:
    """The attribute of a file with ``mode`` that gives ``rights`` to some users as well. Pure."""
    group, other = mode >> 3 & 7, mode & 7
    # The kernel refuses the entries in another order of their tags.
    entries = [
        (_OWNER, mode >> 6 & 7, _NOBODY),
        *((_USER, rights, uid) for uid in uids),
        (_GROUP, group, _NOBODY),
        (_MASK, group | rights, _NOBODY),
        (_OTHER, other, _NOBODY),
    ]
    return _VERSION + b"".join(_ENTRY.pack(*one) for one in entries)


def _has_list(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, _ATTRIBUTE))
    except OSError:
        return False


def let_in(path: Path, uids: Iterable[int], rights: int) -> None:
    """Give ``rights`` on a file or directory to some users, and to these only."""
    # A list of an earlier start is emptied when publisher_acl has no names any more.
    uids = list(uids)
    if not uids and not _has_list(path):
        return
    mode = path.stat().st_mode & ~0o070 & 0o777  # with a list, these bits are not the group's
    try:
        os.setxattr(path, _ATTRIBUTE, access_list(mode, uids, rights if uids else 0))
    except OSError as error:
        log.warning("The users of publisher_acl cannot reach %s: %s", path, error.strerror)


def let_through(path: Path, uids: Iterable[int]) -> None:
    """Let some users pass through a directory of ours, and name what keeps them from reaching it.

    What lies above is not ours to open: it may be somebody's home.
    """
    uids = list(uids)
    let_in(path, uids, PASS)
    closed = [str(one) for one in path.parents if not one.stat().st_mode & 0o001]
    if uids and closed:
        log.warning(
            "The users of publisher_acl may not pass through %s (chmod o+x, or setfacl)", closed[-1]
        )
