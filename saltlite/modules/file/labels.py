"""What a file carries beside owner and mode: attributes, and its SELinux context."""

from __future__ import annotations

import re
from typing import Any

from saltlite.context import MinionContext
from saltlite.providers.file import permissions, programs
from saltlite.providers.file.paths import home


def lsattr(ctx: MinionContext, path: str) -> dict[str, list[str]] | None:
    """The attributes of a file, or of the files in a directory.

    CLI Example:

        salt '*' file.lsattr foo1.txt
    """
    return permissions.read_attributes(ctx.host, path)


def chattr(ctx: MinionContext, *args: str, **kwargs: Any) -> bool:
    """Add or remove attributes of files.

    ``operator`` is ``add`` or ``remove``, ``attributes`` letters; ``flags`` and ``version`` are for
    ``chattr``.

    CLI Example:

        salt '*' file.chattr foo1.txt foo2.txt operator=add attributes=ai
        salt '*' file.chattr foo3.txt operator=remove attributes=i version=2
    """
    return permissions.change_attributes(
        ctx.host,
        [home(path) for path in args],
        kwargs.get("operator"),
        kwargs.get("attributes"),
        kwargs.get("flags"),
        kwargs.get("version"),
    )


def get_selinux_context(ctx: MinionContext, path: str) -> str:
    """The SELinux context of a file.

    CLI Example:

        salt '*' file.get_selinux_context /etc/hosts
    """
    shown = ctx.host.run(["ls", "-Z", "-d", "--", home(path)]).stdout
    match = re.match(r"(\w+:\w+:\w+:\S+)\s", shown)
    return match[1] if match else f"No selinux context information is available for {path}"


def set_selinux_context(
    ctx: MinionContext,
    path: str,
    user: object = None,
    role: object = None,
    type: object = None,
    range: object = None,
    persist: bool = False,
) -> Any:
    """Set parts of the SELinux context of a file; the context, or ``False``.

    CLI Example:

        salt '*' file.set_selinux_context /etc/yum.repos.d/epel.repo system_u object_r
    """
    parts = (("-u", user), ("-r", role), ("-t", type), ("-l", range))
    options = [word for option, value in parts if value for word in (option, str(value))]
    if not options or ctx.host.which("chcon") is None:
        return False
    if ctx.host.run(["chcon", *options, "--", home(path)]).exit_code:
        return False
    if persist and type and ctx.host.which("semanage"):
        ctx.host.run(["semanage", "fcontext", "-a", "-t", str(type), home(path)])
    return get_selinux_context(ctx, path)


def restorecon(ctx: MinionContext, path: str, recursive: bool = False) -> bool:
    """Give a file the SELinux context that the policy has for it.

    CLI Example:

        salt '*' file.restorecon /home/user/.ssh/authorized_keys
    """
    argv = ["restorecon", "-FR" if recursive else "-F", home(path)]
    return bool(programs.run(ctx, argv)["retcode"] == 0)
