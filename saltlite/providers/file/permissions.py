"""Owner, group, mode and attributes of files: what they are, what they shall be, what changed.

Salt's functions answer ``""`` for a name that nobody has, and the number for a number.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, UntrustedPath, UsageError
from saltlite.host import Host
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
    if follow:
        with contextlib.suppress(OSError):
            return os.stat(path)
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FunctionError(f"Path not found: {path}") from None
    except OSError as error:
        raise FunctionError(error.strerror or str(error)) from error


LETTERS = "aAcCdDeijPsStTu"
SET_BY_THE_SYSTEM = frozenset("e")
"""Extents: an ext4 file has them, and nobody can take them away."""


def parse_attributes(text: str) -> dict[str, list[str]]:
    """The attributes of each file in the output of ``lsattr``, as letters."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        letters, _, path = line.partition(" ")
        if path.startswith("/") and not line.startswith("lsattr"):
            found[path.strip()] = [letter for letter in letters if letter in LETTERS]
    return found


def read_attributes(host: Host, path: str) -> dict[str, list[str]] | None:
    """Attributes of a file, or of the files in a directory; ``None`` without the program.

    Raises:
        UsageError: there is no such file.
    """
    if host.which("lsattr") is None:
        return None
    if not os.path.exists(path):
        raise UsageError(f"File or directory does not exist: {path}")
    return parse_attributes(host.run(["lsattr", "--", path]).stdout)


def change_attributes(
    host: Host,
    paths: Sequence[str],
    operator: str | None,
    attributes: str | None,
    flags: str | None = None,
    version: object = None,
    *,
    cwd: str | None = None,
) -> bool:
    """Add or remove attributes; whether that could be done. ``chattr`` runs in ``cwd``.

    Raises:
        UsageError: operator or attributes are missing.
    """
    if operator not in ("add", "remove"):
        raise UsageError("Need an operator: 'add' or 'remove' to modify attributes.")
    if attributes is None:
        raise UsageError(f"Need attributes: [{LETTERS}]")
    sign = "+" if operator == "add" else "-"
    argv = ["chattr", f"{sign}{attributes}"]
    if flags is not None:
        argv.append(f"-{flags}")
    if version is not None:
        argv += ["-v", str(version)]
    return host.run([*argv, *paths], cwd=cwd).exit_code == 0


def compare_attributes(now: Sequence[str], wanted: str) -> tuple[str, str]:
    """The letters to add and those to remove."""
    there, needed = set(now) - SET_BY_THE_SYSTEM, set(wanted) - SET_BY_THE_SYSTEM
    return "".join(sorted(needed - there)), "".join(sorted(there - needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredPermissions:
    """What a file shall have; ``None`` (and ``""`` for owners) leaves it as it is."""

    user: Any = None
    group: Any = None
    mode: Any = None
    attrs: str | None = None

    def owner(self) -> tuple[int, int]:
        """User and group id, -1 for what is not given; nobody's if one of them is not there."""
        uid, gid, complaint = ids(self.user, self.group)
        return (UNCHANGED, UNCHANGED) if complaint else (uid, gid)


def check(
    name: str,
    ret: dict[str, Any] | None,
    wanted: DesiredPermissions,
    host: Host,
    *,
    follow: bool,
    test: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Change what is not as wanted; a state's return, and what was (``l...``) and comes (``c...``).

    Raises:
        FunctionError: there is no such file.
    """
    ret = ret or {"name": name, "changes": {}, "comment": "", "result": True}
    checked = _examine(name, wanted, host, follow=follow, test=test)
    changes, earlier = {**ret["changes"], **checked.changes}, ret["comment"]
    result = False if checked.has_failed else ret["result"]
    said: Any = checked.comments
    if isinstance(earlier, str):
        said = "; ".join(part for part in (earlier, *checked.comments) if part)
    ret |= {
        "changes": changes,
        "result": None if test and changes and result else result,
        "comment": said,
    }
    return ret, checked.seen


def find_differences(
    name: str, wanted: DesiredPermissions, host: Host, *, follow: bool
) -> dict[str, Any]:
    """What is not as wanted, in the form of a state's ``changes``; raises FunctionError."""
    return _examine(name, wanted, host, follow=follow, test=True).changes


def enforce(
    name: str, wanted: DesiredPermissions, host: Host, *, follow: bool = False
) -> dict[str, Any]:
    """Change what is not as wanted; what was changed. Raises FunctionError for what cannot be."""
    checked = _examine(name, wanted, host, follow=follow, test=False)
    if checked.has_failed:
        raise FunctionError("; ".join(filter(None, checked.comments)))
    return checked.changes


def _examine(
    name: str, wanted: DesiredPermissions, host: Host, *, follow: bool, test: bool
) -> _Check:
    with hold_file(name, follow=follow, user=wanted.user) as held:
        checked = _Check(name, wanted, host, held, test)
        checked.owners()
        checked.mode()
        checked.attrs()
    return checked


class _Check:
    """One file under examination: it stays the same one, whatever is put at its path."""

    def __init__(
        self,
        name: str,
        wanted: DesiredPermissions,
        host: Host,
        held: Held,
        test: bool,
    ) -> None:
        self.name, self.wanted, self.host = name, wanted, host
        self.held, self.test = held, test
        self.changes: dict[str, Any] = {}
        self.has_failed = False
        self.comments: list[str] = []
        self.seen: dict[str, Any] = {
            "luser": self._owner_name(),
            "lgroup": self._group_name(),
            "lmode": mode_text(self._file_status().st_mode),
        }

    def _file_status(self) -> os.stat_result:
        return self.held.status()

    def _owner_name(self) -> Any:
        uid = self._file_status().st_uid
        return uid if isinstance(self.wanted.user, int) else user_name(uid, self.wanted.user)

    def _group_name(self) -> Any:
        gid = self._file_status().st_gid
        return gid if isinstance(self.wanted.group, int) else group_name(gid, self.wanted.group)

    def owners(self) -> None:
        """Give the file away, if it belongs to others."""
        parts: list[tuple[str, Any, Callable[[], Any]]] = [
            ("user", self.wanted.user, self._owner_name),
            ("group", self.wanted.group, self._group_name),
        ]
        other = [part for part in parts if part[1] not in (None, "") and part[1] != part[2]()]
        for part, value, _ in other:
            self.seen[f"c{part}"] = value
        if other and not self.test:
            given = {part: value for part, value, _ in other}
            self._give_to(*(given.get(part, "") for part, _, _ in parts))
        for part, value, now in other:
            if self.test or now() == value:
                self.changes[part] = value
            else:
                self._add_failure(f"Failed to change {part} to {value}")

    def _give_to(self, user: object, group: object) -> None:
        uid, gid, complaint = ids(user, group)
        if complaint:
            self.comments.append(complaint)
        try:
            self.held.chown(uid, gid)
        except OSError as error:
            self.comments.append(str(error))

    def mode(self) -> None:
        """Set the mode; links have none of their own."""
        if self.wanted.mode is None or self.held.is_link:
            return
        mode = normalize_mode(self.wanted.mode)
        if mode == mode_text(self._file_status().st_mode):
            return
        if not self.test:
            self.seen["cmode"] = mode
            self._set_mode(mode)
        if self.test or mode_text(self._file_status().st_mode) == mode:
            self.changes["mode"] = mode
        else:
            self._add_failure(f"Failed to change mode to {mode}")

    def _set_mode(self, mode: str) -> None:
        try:
            self.held.chmod(mode_number(mode))
        except UntrustedPath as error:
            self.comments.append(str(error))
        except (FunctionError, OSError):
            return

    def attrs(self) -> None:
        """Add and remove attributes, where there are any."""
        if self.wanted.attrs is None or self.held.is_link:
            return
        try:
            now = (read_attributes(self.host, self.name) or {}).get(self.name)
        except FunctionError:
            return
        if now is None:
            return
        added, removed = compare_attributes(now, self.wanted.attrs)
        if not added and not removed:
            return
        for operator, letters in (("add", added), ("remove", removed)):
            if letters and not self.test:
                self._change_attrs(operator, letters)
        self.changes["attrs"] = {"old": "".join(now), "new": self.wanted.attrs}

    def _change_attrs(self, operator: str, letters: str) -> None:
        spot = self.held.spot
        path, cwd = (self.name, None) if spot.is_trusted else (f"./{spot.name}", spot.folder)
        if not change_attributes(self.host, [path], operator, letters, cwd=cwd):
            self._add_failure(f"Failed to {operator} attributes {letters}")

    def _add_failure(self, text: str) -> None:
        self.has_failed = True
        self.comments.append(text)


NOT_SET = (
    "selinux: the context of a file is not set by {0} here; declare it with"
    " selinux.fcontext_policy_present and selinux.fcontext_policy_applied"
)


def refuse_context(function: str, *parts: Any) -> None:
    """Refuse a wish for a context.

    Raises:
        FunctionError: one of its parts is given.
    """
    if any(parts):
        raise FunctionError(NOT_SET.format(function))
