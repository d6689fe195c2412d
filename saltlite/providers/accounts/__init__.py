"""Users, groups and passwords of the machine: the files that hold them, the tools that change them.

``files.py`` parses ``passwd``, ``group`` and ``shadow``; ``shadow_utils.py`` and ``busybox.py``
build the commands of the two families of tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from saltlite.context import MinionContext
from saltlite.providers.accounts import busybox, shadow_utils
from saltlite.providers.accounts.plans import NewGroup, NewUser


class Tools(Protocol):
    """What a family of tools can do; each method gives the command for it."""

    def add_user(self, user: NewUser) -> list[str]:
        """Make a user."""

    def delete_user(self, name: str, *, remove: bool, force: bool, root: str | None) -> list[str]:
        """Delete a user; ``remove`` takes the home along."""

    def set_groups(
        self,
        name: str,
        wanted: Sequence[str],
        now: Sequence[str],
        *,
        append: bool,
        root: str | None,
    ) -> list[list[str]]:
        """Put a user into groups, and out of those that list it ``now`` unless ``append``."""

    def add_group(self, group: NewGroup) -> list[str]:
        """Make a group."""

    def delete_group(self, name: str, *, root: str | None) -> list[str]:
        """Delete a group."""

    def add_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """Put a user into a group."""

    def delete_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """Take a user out of a group."""


def provider(ctx: MinionContext) -> Tools:
    """The tools of this machine: shadow-utils wherever they are, else busybox's (Alpine)."""
    if ctx.host.which("useradd") is None and ctx.host.which("adduser") is not None:
        return busybox.BusyboxTools()
    return shadow_utils.ShadowTools()
