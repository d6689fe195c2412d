"""What is to be made: a user, a group."""

from __future__ import annotations

from typing import Any

from saltlite.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """A user as ``user.add`` was asked for; ``None`` leaves a value to the tools.

    ``usergroup`` ``None`` follows the machine's own rule. ``root`` is a directory to work in.
    """

    name: str
    uid: Any = None
    gid: Any = None
    home: str | None = None
    shell: str | None = None
    unique: bool = True
    system: bool = False
    createhome: bool = True
    nologinit: bool = False
    usergroup: bool | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroup:
    """A group as ``group.add`` was asked for."""

    name: str
    gid: Any = None
    system: bool = False
    non_unique: bool = False
    root: str | None = None
