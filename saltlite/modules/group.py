"""Groups of the machine. ``root`` is another directory that takes the place of ``/``."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.providers import command
from saltlite.providers.accounts import files, provider, shadow_utils
from saltlite.providers.accounts.plans import NewGroup
from saltlite.providers.command import CommandOptions


def add(
    ctx: MinionContext,
    name: str,
    gid: object = None,
    system: bool = False,
    root: str | None = None,
    non_unique: bool = False,
) -> bool:
    """Make a group; ``False`` if the machine's tools refuse.

    CLI Example:

        salt '*' group.add foo 3456
    """
    group = NewGroup(name=str(name), gid=gid, system=system, non_unique=non_unique, root=root)
    return _run_command(ctx, provider(ctx).add_group(group))


def delete(ctx: MinionContext, name: str, root: str | None = None) -> bool:
    """Delete a group.

    CLI Example:

        salt '*' group.delete foo
    """
    return _run_command(ctx, provider(ctx).delete_group(str(name), root=root))


def info(ctx: MinionContext, name: str, root: str | None = None) -> dict[str, Any]:
    """What is known of a group; empty if there is none.

    CLI Example:

        salt '*' group.info foo
    """
    group = _find_group(ctx.host, name, root)
    return {} if group is None else _describe_group(group)


def getent(
    ctx: MinionContext, refresh: bool = False, root: str | None = None
) -> list[dict[str, Any]]:
    """All groups, as ``group.info`` shows them.

    CLI Example:

        salt '*' group.getent
    """
    return [_describe_group(group) for group in files.groups(ctx.host, root)]


def chgid(
    ctx: MinionContext, name: str, gid: object, root: str | None = None, non_unique: bool = False
) -> bool:
    """Change a group's id; ``non_unique`` allows one that another group has.

    CLI Example:

        salt '*' group.chgid foo 4376
    """
    group = _find_group(ctx.host, name, root)
    if group is None:
        return False
    if group.gid == gid:
        return True
    _run_command(ctx, shadow_utils.change_gid(str(name), gid, non_unique=non_unique, root=root))
    after = _find_group(ctx.host, name, root)
    return after is not None and after.gid == gid


def adduser(ctx: MinionContext, name: str, username: str, root: str | None = None) -> bool:
    """Put a user into a group.

    CLI Example:

        salt '*' group.adduser foo bar
    """
    return _run_command(ctx, provider(ctx).add_member(str(name), str(username), root=root))


def deluser(ctx: MinionContext, name: str, username: str, root: str | None = None) -> bool:
    """Take a user out of a group; ``True`` also if it was not in there.

    CLI Example:

        salt '*' group.deluser foo bar
    """
    group = _find_group(ctx.host, name, root)
    if group is None or username not in group.members:
        return True
    return _run_command(ctx, provider(ctx).delete_member(str(name), str(username), root=root))


def members(ctx: MinionContext, name: str, members_list: str, root: str | None = None) -> bool:
    """Make these users, named with commas between, the members of a group, and nobody else.

    CLI Example:

        salt '*' group.members foo 'user1,user2,user3'
    """
    return _run_command(ctx, shadow_utils.set_members(str(name), str(members_list), root))


def _find_group(host: Host, name: str, root: str | None) -> files.GroupLine | None:
    if root is not None:
        groups = files.groups(host, root)
        return next((group for group in groups if group.name == str(name)), None)
    return files.group(str(name))


def _describe_group(group: files.GroupLine) -> dict[str, Any]:
    return {
        "name": group.name,
        "passwd": group.password,
        "gid": group.gid,
        "members": list(group.members),
    }


def _run_command(ctx: MinionContext, argv: list[str]) -> bool:
    return command.run(ctx, argv, CommandOptions(python_shell=False)).retcode == 0
