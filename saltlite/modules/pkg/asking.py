"""What there is: installed, offered, newer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.factories import alias_function
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionUnavailable
from saltlite.modules.pkg._backend import able, one_or_all, order
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.names import join_versions, truth
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import NO_OPTIONS, Comparing, Describing, Packages


def list_pkgs(
    ctx: MinionContext,
    versions_as_list: bool = False,
    removed: bool = False,
    purge_desired: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """The installed packages and their versions.

    ``removed`` lists those of which configuration files are left. Several versions of a package
    are joined by commas unless ``versions_as_list`` is set.

    CLI Example:

        salt '*' pkg.list_pkgs
        salt '*' pkg.list_pkgs versions_as_list=True
    """
    found = provider(ctx).list_installed(removed=truth(removed), purge_desired=truth(purge_desired))
    ordered = {name: found[name] for name in sorted(found)}
    return dict(ordered) if truth(versions_as_list) else dict(join_versions(ordered))


def version(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The installed version of a package, ``""`` for none; a map for several or a glob.

    CLI Example:

        salt '*' pkg.version bash
        salt '*' pkg.version bash 'lib*'
    """
    import fnmatch

    pkgs = list_pkgs(ctx, versions_as_list=truth(kwargs.get("versions_as_list", False)))
    found: dict[str, Any] = {}
    globbed = False
    for name in map(str, args):
        if set(name) & set("*?["):
            globbed = True
            found |= {each: pkgs[each] for each in pkgs if fnmatch.fnmatch(each, name)}
        else:
            found[name] = pkgs.get(name, "")
    return found if globbed or len(found) != 1 else next(iter(found.values()))


def latest_version(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The version of a package that an installation would bring; ``""`` if that is there already.

    ``fromrepo`` limits where it comes from, ``show_installed`` also tells the version that is
    there, ``refresh=False`` asks the lists as they are.

    CLI Example:

        salt '*' pkg.latest_version nginx
        salt '*' pkg.latest_version nginx bash refresh=False
    """
    if not args:
        return ""
    names = [str(name) for name in args]
    back_end, options = provider(ctx), PackageOptions.of(kwargs)
    if truth(kwargs.get("refresh", True)):
        back_end.refresh(options)
    available = back_end.available(names, options)
    if not truth(kwargs.get("show_installed", False)):
        there = back_end.list_installed()
        available = {
            name: candidate if _is_news(back_end, candidate, there.get(name, [])) else ""
            for name, candidate in available.items()
        }
    return one_or_all(names, available)


def _is_news(back_end: Packages, candidate: str, installed: Sequence[str]) -> bool:
    return bool(candidate) and all(
        (order(back_end, candidate, each) or 0) > 0 for each in installed
    )


available_version = alias_function(latest_version, "available_version", "pkg.latest_version")


def upgrade_available(ctx: MinionContext, name: str, **kwargs: Any) -> bool:
    """Whether there is a newer version of a package, or one at all.

    CLI Example:

        salt '*' pkg.upgrade_available bash
    """
    return bool(latest_version(ctx, name, **kwargs) != "")


def list_upgrades(
    ctx: MinionContext, refresh: bool = True, dist_upgrade: bool = True, **kwargs: Any
) -> dict[str, str]:
    """The packages that ``pkg.upgrade`` would bring up to date, and their new versions.

    CLI Example:

        salt '*' pkg.list_upgrades
    """
    back_end = provider(ctx)
    if truth(refresh):
        back_end.refresh(PackageOptions.of(kwargs))
    return back_end.upgrades(PackageOptions.of(kwargs | {"dist_upgrade": dist_upgrade}))


def refresh_db(
    ctx: MinionContext, cache_valid_time: float = 0, failhard: bool = False, **kwargs: Any
) -> Any:
    """Get the lists of packages anew.

    Lists that are younger than ``cache_valid_time`` seconds stay (apt). On Debian each list is
    ``True`` (got), ``None`` (unchanged) or ``False`` (not got).

    CLI Example:

        salt '*' pkg.refresh_db
    """
    options = kwargs | {"cache_valid_time": cache_valid_time, "failhard": failhard}
    return provider(ctx).refresh(PackageOptions.of(options))


def list_repo_pkgs(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """All versions of packages that there are, newest first; names may be globs.

    CLI Example:

        salt '*' pkg.list_repo_pkgs bash
        salt '*' pkg.list_repo_pkgs 'python3-*'
    """
    return dict(provider(ctx).list_offered([str(name) for name in args], PackageOptions.of(kwargs)))


def info_installed(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Details of installed packages: version, architecture, source, description and more.

    With ``failhard=False`` names that are not installed are left out.

    CLI Example:

        salt '*' pkg.info_installed bash
    """
    back_end = able(ctx, Describing, "info_installed")  # type: ignore[type-abstract]
    return back_end.info([str(name) for name in args], own_keywords(kwargs))


def show(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Details of the versions of packages that are offered.

    ``filter`` names the fields wanted; ``refresh`` gets the lists first.

    CLI Example:

        salt '*' pkg.show bash filter=description-md5
    """
    back_end = provider(ctx)
    if truth(kwargs.get("refresh", False)):
        back_end.refresh(NO_OPTIONS)
    if not isinstance(back_end, Describing):
        raise FunctionUnavailable("pkg.show")
    fields = asked.words(kwargs.get("filter"))
    return back_end.show([str(name) for name in args], fields)


def version_cmp(
    ctx: MinionContext, pkg1: object, pkg2: object, ignore_epoch: bool = False, **kwargs: Any
) -> int | None:
    """-1, 0 or 1 as the first version is older than, equal to or newer than the second.

    ``None`` if they cannot be compared.

    CLI Example:

        salt '*' pkg.version_cmp 0.2.4-0ubuntu1 0.2.4.1-0ubuntu1
    """
    first, second = str(pkg1), str(pkg2)
    if truth(ignore_epoch):
        first, second = first.split(":", 1)[-1], second.split(":", 1)[-1]
    back_end = able(ctx, Comparing, "version_cmp")  # type: ignore[type-abstract]
    return back_end.compare(first, second)


def normalize_name(ctx: MinionContext, name: str) -> str:
    """A package name without the architecture, if that is this machine's own.

    CLI Example:

        salt '*' pkg.normalize_name zsh:amd64
    """
    back_end = able(ctx, Comparing, "normalize_name")  # type: ignore[type-abstract]
    return back_end.normalize(str(name))


def parse_arch(ctx: MinionContext, name: str) -> dict[str, str | None]:
    """A package name taken apart: ``{"name", "arch"}``.

    CLI Example:

        salt '*' pkg.parse_arch zsh:amd64
    """
    back_end = able(ctx, Comparing, "parse_arch")  # type: ignore[type-abstract]
    return back_end.parse_arch(str(name))
