"""Users of the machine.

``root`` is another directory that takes the place of ``/``. A change is made by the machine's own
tools; whether it was is read afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import command
from saltlite.providers.accounts import files, provider, shadow_utils
from saltlite.providers.accounts.plans import NewUser
from saltlite.providers.command import CommandOptions, Outcome

_HOME_NOT_REMOVED = 12
"""The exit code of ``userdel`` when a home or a mail box could not be removed."""


def add(
    ctx: MinionContext,
    name: str,
    uid: object = None,
    gid: object = None,
    groups: object = None,
    home: str | None = None,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: object = "",
    roomnumber: object = "",
    workphone: object = "",
    homephone: object = "",
    other: object = "",
    createhome: bool = True,
    loginclass: str | None = None,
    nologinit: bool = False,
    root: str | None = None,
    usergroup: bool | None = None,
) -> bool:
    """Make a user; ``False`` if the machine's tools refuse.

    ``groups`` are those besides the primary one ``gid``, which by default bears the user's name.
    ``unique=False`` allows a ``uid`` that another user has.

    CLI Example:

        salt '*' user.add name <uid> <gid> <groups> <home> <shell>
    """
    user = NewUser(
        name=str(name),
        uid=uid,
        gid=_choose_gid(ctx.host, str(name), gid, groups, root),
        home=home,
        shell=shell,
        unique=unique,
        system=system,
        createhome=createhome,
        nologinit=nologinit,
        usergroup=usergroup,
        root=root,
    )
    if _run_command(ctx, provider(ctx).add_user(user)).retcode != 0:
        return False
    if groups:
        chgroups(ctx, name, groups, root=root)
    said = (fullname, roomnumber, workphone, homephone, other)
    gecos = {
        field: str(value)
        for field, value in zip(files.GECOS_FIELDS, said, strict=True)
        if value not in ("", None)
    }
    if gecos:
        _change_gecos(ctx, name, gecos, root)
    return True


def _choose_gid(host: Host, name: str, gid: object, groups: object, root: str | None) -> Any:
    """The group to give; one with the user's name is it, if it is wanted and there already."""
    if gid not in (None, "") or not groups or name not in _split_groups(groups):
        return gid
    there = (group.gid for group in files.groups(host, root) if group.name == name)
    return next(there, gid)


def delete(
    ctx: MinionContext,
    name: str,
    remove: bool = False,
    force: bool = False,
    root: str | None = None,
) -> bool:
    """Delete a user; ``remove`` takes the home along, ``force`` does so while it is logged in.

    CLI Example:

        salt '*' user.delete name remove=True force=True
    """
    argv = provider(ctx).delete_user(str(name), remove=remove, force=force, root=root)
    done = _run_command(ctx, argv)
    if done.retcode == _HOME_NOT_REMOVED and "mail" in done.stderr:
        ctx.retcode = 0
        return True  # there was no mail box to remove
    return done.retcode == 0


def getent(
    ctx: MinionContext, refresh: bool = False, root: str | None = None
) -> list[dict[str, Any]]:
    """All users, as ``user.info`` shows them.

    CLI Example:

        salt '*' user.getent
    """
    return [_describe_user(ctx.host, user, root) for user in files.users(ctx.host, root)]


def info(ctx: MinionContext, name: str, root: str | None = None) -> dict[str, Any]:
    """What is known of a user; empty if there is none.

    CLI Example:

        salt '*' user.info root
    """
    user = files.user(ctx.host, str(name), root)
    return {} if user is None else _describe_user(ctx.host, user, root)


def _describe_user(host: Host, user: files.PasswdLine, root: str | None) -> dict[str, Any]:
    return {
        "gid": user.gid,
        "groups": files.groups_of(host, user, root),
        "home": user.home,
        "name": user.name,
        "passwd": user.password,
        "shell": user.shell,
        "uid": user.uid,
        **files.parse_gecos(user.gecos),
    }


def list_groups(ctx: MinionContext, name: str) -> list[str]:
    """The groups that a user is in.

    CLI Example:

        salt '*' user.list_groups foo
    """
    user = files.user(ctx.host, str(name))
    return [] if user is None else files.groups_of(ctx.host, user)


def list_users(ctx: MinionContext, root: str | None = None) -> list[str]:
    """The names of all users, sorted.

    CLI Example:

        salt '*' user.list_users
    """
    return sorted(user.name for user in files.users(ctx.host, root))


def primary_group(ctx: MinionContext, name: str) -> str:
    """The name of a user's primary group.

    CLI Example:

        salt '*' user.primary_group saltadmin
    """
    options = CommandOptions(python_shell=False, redirect_stderr=True)
    return command.run(ctx, ["id", "-g", "-n", str(name)], options).stdout


def get_loginclass(ctx: MinionContext, name: str) -> bool:
    """The login class of a user: Linux has none.

    CLI Example:

        salt '*' user.get_loginclass foo
    """
    return False


def chloginclass(ctx: MinionContext, name: str, loginclass: str, root: str | None = None) -> bool:
    """Change a login class: Linux has none.

    CLI Example:

        salt '*' user.chloginclass foo staff
    """
    return False


def chuid(ctx: MinionContext, name: str, uid: object, root: str | None = None) -> bool:
    """Change a user's id.

    CLI Example:

        salt '*' user.chuid foo 4376
    """
    return _change_value(ctx, name, "uid", uid, ["-u"], root)


def chgid(ctx: MinionContext, name: str, gid: object, root: str | None = None) -> bool:
    """Change a user's primary group, given by its number.

    CLI Example:

        salt '*' user.chgid foo 4376
    """
    return _change_value(ctx, name, "gid", gid, ["-g"], root)


def chshell(ctx: MinionContext, name: str, shell: str, root: str | None = None) -> bool:
    """Change a user's login shell.

    CLI Example:

        salt '*' user.chshell foo /bin/zsh
    """
    return _change_value(ctx, name, "shell", shell, ["-s"], root)


def chhome(
    ctx: MinionContext, name: str, home: str, persist: bool = False, root: str | None = None
) -> bool:
    """Change a user's home; ``persist`` moves what is in the old one.

    CLI Example:

        salt '*' user.chhome foo /home/users/foo True
    """
    return _change_value(ctx, name, "home", home, ["-m", "-d"] if persist else ["-d"], root)


def chgroups(
    ctx: MinionContext, name: str, groups: object, append: bool = False, root: str | None = None
) -> bool:
    """Change the groups a user is in besides its primary one; a list, or text with commas.

    ``append`` leaves it in those it is in already.

    CLI Example:

        salt '*' user.chgroups foo wheel,root
        salt '*' user.chgroups foo wheel,root append=True
    """
    wanted = list(map(str, _split_groups(groups)))
    user = files.user(ctx.host, str(name), root)
    now = [] if user is None else files.groups_of(ctx.host, user, root)
    if user is not None and now == sorted(wanted):
        return True
    listed = [group.name for group in files.groups(ctx.host, root) if str(name) in group.members]
    steps = provider(ctx).set_groups(str(name), wanted, listed, append=append, root=root)
    return all(_run_command(ctx, argv).retcode == 0 for argv in steps)


def _split_groups(groups: Any) -> list[Any]:
    return groups.split(",") if isinstance(groups, str) else list(groups)


def chfullname(ctx: MinionContext, name: str, fullname: object, root: str | None = None) -> bool:
    """Change a user's full name.

    CLI Example:

        salt '*' user.chfullname foo "Foo Bar"
    """
    return _change_gecos(ctx, name, {"fullname": str(fullname)}, root)


def chroomnumber(
    ctx: MinionContext, name: str, roomnumber: object, root: str | None = None
) -> bool:
    """Change a user's room number.

    CLI Example:

        salt '*' user.chroomnumber foo 123
    """
    return _change_gecos(ctx, name, {"roomnumber": str(roomnumber)}, root)


def chworkphone(ctx: MinionContext, name: str, workphone: object, root: str | None = None) -> bool:
    """Change a user's phone at work.

    CLI Example:

        salt '*' user.chworkphone foo 7735550123
    """
    return _change_gecos(ctx, name, {"workphone": str(workphone)}, root)


def chhomephone(ctx: MinionContext, name: str, homephone: object, root: str | None = None) -> bool:
    """Change a user's phone at home.

    CLI Example:

        salt '*' user.chhomephone foo 7735551234
    """
    return _change_gecos(ctx, name, {"homephone": str(homephone)}, root)


def chother(ctx: MinionContext, name: str, other: object, root: str | None = None) -> bool:
    """Change the rest of a user's description.

    CLI Example:

        salt '*' user.chother foo fax=7735555678
    """
    return _change_gecos(ctx, name, {"other": str(other)}, root)


def rename(ctx: MinionContext, name: str, new_name: str, root: str | None = None) -> bool:
    """Give a user another name.

    CLI Example:

        salt '*' user.rename name new_name
    """
    if files.user(ctx.host, str(new_name), root) is not None:
        raise FunctionError(f"User '{new_name}' already exists")
    _need_user(ctx.host, name, root)
    _run_command(ctx, shadow_utils.change_user(["-l", str(new_name)], str(name), root))
    return files.user(ctx.host, str(new_name), root) is not None


def _need_user(host: Host, name: str, root: str | None) -> files.PasswdLine:
    user = files.user(host, str(name), root)
    if user is None:
        raise FunctionError(f"User '{name}' does not exist")
    return user


def _change_value(
    ctx: MinionContext, name: str, field: str, value: object, flags: list[str], root: str | None
) -> bool:
    """Change one value of a user, and look whether it is as it should be afterwards."""
    _need_user(ctx.host, name, root)
    if info(ctx, name, root)[field] == value:
        return True
    _run_command(ctx, shadow_utils.change_user([*flags, str(value)], str(name), root))
    return bool(info(ctx, name, root).get(field) == value)


def _change_gecos(
    ctx: MinionContext, name: str, parts: Mapping[str, str], root: str | None
) -> bool:
    before = files.parse_gecos(_need_user(ctx.host, name, root).gecos)
    wanted = {**before, **parts}
    if wanted == before:
        return True
    flags = ["-c", files.build_gecos(wanted)]
    _run_command(ctx, shadow_utils.change_user(flags, str(name), root))
    return files.parse_gecos(_need_user(ctx.host, name, root).gecos) == wanted


def _run_command(ctx: MinionContext, argv: list[str]) -> Outcome:
    return command.run(ctx, argv, CommandOptions(python_shell=False))
