"""Groups of packages, where the package manager is dnf or yum."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.factories import alias_function
from saltlite.core.keywords import own_keywords
from saltlite.errors import UsageError
from saltlite.providers.pkg import groups
from saltlite.providers.pkg.names import truth


def group_list(ctx: MinionContext) -> dict[str, Any]:
    """The groups there are, installed and available ones.

    CLI Example:

        salt '*' pkg.group_list
    """
    return groups.list_groups(ctx)


def group_info(
    ctx: MinionContext, name: str, expand: bool = False, ignore_groups: object = None, **kwargs: Any
) -> dict[str, Any]:
    """What belongs to a group: mandatory, optional, default and conditional packages.

    An environment has groups instead; with ``expand`` their packages, but for those of the groups
    in ``ignore_groups``.

    CLI Example:

        salt '*' pkg.group_info 'Perl Support'
    """
    return groups.info(
        ctx, str(name), expand=truth(expand), ignored=_check_names(ignore_groups, "ignore_groups")
    ).as_map()


def group_diff(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """The packages of a group that are installed, and those that are not.

    CLI Example:

        salt '*' pkg.group_diff 'Perl Support'
    """
    return dict(groups.difference(ctx, str(name)))


def group_install(
    ctx: MinionContext, name: str, skip: object = (), include: object = (), **kwargs: Any
) -> dict[str, Any]:
    """Install what a group must have and has by default; ``{name: {"old", "new"}}``.

    ``skip`` names default packages that are not wanted, ``include`` others that are. Other
    keywords are those of ``pkg.install``.

    CLI Example:

        salt '*' pkg.group_install 'My Group'
        salt '*' pkg.group_install 'My Group' skip='["foo"]' include='["bar"]'
    """
    found = groups.difference(ctx, str(name))
    wanted = groups.missing(found, _check_names(skip, "skip"), _check_names(include, "include"))
    if not wanted:
        return {}
    changed: dict[str, Any] = ctx.functions.call("pkg.install", pkgs=wanted, **own_keywords(kwargs))
    return changed


groupinstall = alias_function(group_install, "groupinstall", "pkg.group_install")


def _check_names(given: object, what: str) -> list[str]:
    if given in (None, ""):
        return []
    if isinstance(given, str):
        return [each.strip() for each in given.split(",")]
    if not isinstance(given, (list, tuple)):
        raise UsageError(f"{what} must be formatted as a list")
    return [str(each) for each in given]
