"""Owner, group, mode and attributes as wanted; what was and what changed, in Salt's words."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, UntrustedPath
from saltlite.host import Host
from saltlite.openat import Held
from saltlite.providers.file import attributes, owners


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredPermissions:
    """What a file shall have; ``None`` (and ``""`` for owners) leaves it as it is."""

    user: Any = None
    group: Any = None
    mode: Any = None
    attrs: str | None = None

    def owner(self) -> tuple[int, int]:
        """User and group id, -1 for what is not given; nobody's if one of them is not there."""
        uid, gid, complaint = owners.ids(self.user, self.group)
        return (owners.UNCHANGED, owners.UNCHANGED) if complaint else (uid, gid)


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
    with owners.hold_file(name, follow=follow, user=wanted.user) as held:
        checked = _Check(name, ret, wanted, host, held, test)
        checked.owners()
        checked.mode()
        checked.attrs()
    if test and ret["changes"] and ret["result"]:
        ret["result"] = None
    earlier = ret["comment"]
    said: Any = checked.comments
    if isinstance(earlier, str):
        said = "; ".join(part for part in (earlier, *checked.comments) if part)
    ret["comment"] = said
    return ret, checked.seen


class _Check:
    """One file under examination: it stays the same one, whatever is put at its path."""

    def __init__(
        self,
        name: str,
        ret: dict[str, Any],
        wanted: DesiredPermissions,
        host: Host,
        held: Held,
        test: bool,
    ) -> None:
        self.name, self.ret, self.wanted, self.host = name, ret, wanted, host
        self.held, self.test = held, test
        self.comments: list[str] = []
        self.seen: dict[str, Any] = {
            "luser": self._owner_name(),
            "lgroup": self._group_name(),
            "lmode": owners.mode_text(self._file_status().st_mode),
        }

    def _file_status(self) -> os.stat_result:
        return self.held.status()

    def _owner_name(self) -> Any:
        uid = self._file_status().st_uid
        return uid if isinstance(self.wanted.user, int) else owners.user_name(uid, self.wanted.user)

    def _group_name(self) -> Any:
        gid = self._file_status().st_gid
        return (
            gid if isinstance(self.wanted.group, int) else owners.group_name(gid, self.wanted.group)
        )

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
            self._give_to(given.get("user", ""), given.get("group", ""))
        for part, value, now in other:
            if self.test or now() == value:
                self.ret["changes"][part] = value
            else:
                self._add_failure(f"Failed to change {part} to {value}")

    def _give_to(self, user: object, group: object) -> None:
        uid, gid, complaint = owners.ids(user, group)
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
        mode = owners.normalize_mode(self.wanted.mode)
        if mode == owners.mode_text(self._file_status().st_mode):
            return
        if not self.test:
            self.seen["cmode"] = mode
            self._set_mode(mode)
        if self.test or owners.mode_text(self._file_status().st_mode) == mode:
            self.ret["changes"]["mode"] = mode
        else:
            self._add_failure(f"Failed to change mode to {mode}")

    def _set_mode(self, mode: str) -> None:
        try:
            self.held.chmod(owners.mode_number(mode))
        except UntrustedPath as error:
            self.comments.append(str(error))
        except (FunctionError, OSError):
            return

    def attrs(self) -> None:
        """Add and remove attributes, where there are any."""
        if self.wanted.attrs is None or self.held.is_link:
            return
        try:
            now = (attributes.read(self.host, self.name) or {}).get(self.name)
        except FunctionError:
            return
        if now is None:
            return
        added, removed = attributes.differing(now, self.wanted.attrs)
        if not added and not removed:
            return
        for operator, letters in (("add", added), ("remove", removed)):
            if letters and not self.test:
                self._change_attrs(operator, letters)
        self.ret["changes"]["attrs"] = {"old": "".join(now), "new": self.wanted.attrs}

    def _change_attrs(self, operator: str, letters: str) -> None:
        spot = self.held.spot
        path, cwd = (self.name, None) if spot.is_trusted else (f"./{spot.name}", spot.folder)
        if not attributes.change(self.host, [path], operator, letters, cwd=cwd):
            self._add_failure(f"Failed to {operator} attributes {letters}")

    def _add_failure(self, text: str) -> None:
        self.ret["result"] = False
        self.comments.append(text)
