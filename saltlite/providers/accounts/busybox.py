"""The commands of busybox: adduser, deluser, addgroup and delgroup, as Alpine has them.

They know fewer things: no other root, no second user with the same id, and no way to change a user
that is there. For those a minion needs the package ``shadow``.
"""

from __future__ import annotations

from collections.abc import Sequence

from saltlite.errors import FunctionError
from saltlite.providers.accounts.plans import NewGroup, NewUser

_WANTED = "needs the tools of the package shadow"


class BusyboxTools:
    """The family that Alpine has out of the box."""

    def add_user(self, user: NewUser) -> list[str]:
        """``adduser``, without a password."""
        _refuse_root(user.root)
        if not user.unique:
            raise FunctionError(f"A user with an id that another has {_WANTED}")
        argv = ["adduser", "-D"]
        if user.home is not None:
            argv += ["-h", user.home]
        if user.shell:
            argv += ["-s", user.shell]
        if user.gid not in (None, ""):
            argv += ["-G", str(user.gid)]
        if user.uid not in (None, ""):
            argv += ["-u", str(user.uid)]
        argv += ["-H"] * (not user.createhome) + ["-S"] * bool(user.system)
        return [*argv, user.name]

    def delete_user(self, name: str, *, remove: bool, force: bool, root: str | None) -> list[str]:
        """``deluser``; there is nothing to ``force``."""
        _refuse_root(root)
        return ["deluser", *["--remove-home"] * bool(remove), name]

    def set_groups(
        self,
        name: str,
        wanted: Sequence[str],
        now: Sequence[str],
        *,
        append: bool,
        root: str | None,
    ) -> list[list[str]]:
        """``addgroup`` and ``delgroup``, once for each group."""
        _refuse_root(root)
        added = [["addgroup", name, group] for group in wanted if group not in now]
        left = [] if append else [group for group in now if group not in wanted]
        return added + [["delgroup", name, group] for group in left]

    def add_group(self, group: NewGroup) -> list[str]:
        """``addgroup``."""
        _refuse_root(group.root)
        if group.non_unique:
            raise FunctionError(f"A group with an id that another has {_WANTED}")
        flags = [] if group.gid in (None, "") else ["-g", str(group.gid)]
        return ["addgroup", *flags, *["-S"] * bool(group.system), group.name]

    def delete_group(self, name: str, *, root: str | None) -> list[str]:
        """``delgroup``."""
        _refuse_root(root)
        return ["delgroup", name]

    def add_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """``addgroup`` with a user."""
        _refuse_root(root)
        return ["addgroup", user, group]

    def delete_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """``delgroup`` with a user."""
        _refuse_root(root)
        return ["delgroup", user, group]


def _refuse_root(root: str | None) -> None:
    if root is not None:
        raise FunctionError(f"Another root {_WANTED}")
