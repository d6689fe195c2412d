"""The files of packages, and package files in the cache."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.modules.pkg._backend import able, apt_alone, one_or_all
from saltlite.providers.pkg.protocol import Describing


def file_list(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The files of packages, in one sorted list: ``{"errors", "files"}``.

    CLI Example:

        salt '*' pkg.file_list hostname
    """
    found = file_dict(ctx, *args)
    if isinstance(found, str):
        return found
    files = {path for paths in found["packages"].values() for path in paths}
    return {"errors": found["errors"], "files": sorted(files)}


def file_dict(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The files of each package: ``{"errors", "packages"}``.

    CLI Example:

        salt '*' pkg.file_dict hostname
    """
    back_end = able(ctx, Describing, "file_dict")  # type: ignore[type-abstract]
    found = back_end.files([str(name) for name in args])
    if isinstance(found, str):
        return found
    return {"errors": found[1], "packages": found[0]}


def owner(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The package that a file belongs to, ``""`` for none; a map for several files.

    CLI Example:

        salt '*' pkg.owner /bin/ls /etc/passwd
    """
    if not args:
        return ""
    paths = [str(path) for path in args]
    back_end = able(ctx, Describing, "owner")  # type: ignore[type-abstract]
    return one_or_all(paths, back_end.owners(paths))


def which(ctx: MinionContext, path: str) -> Any:
    """The same as ``pkg.owner`` for one file."""
    return owner(ctx, path)


def list_downloaded(ctx: MinionContext, root: str | None = None, **kwargs: Any) -> dict[str, Any]:
    """The package files in the cache: name, version, and path, size and time of each.

    Known of apt, dnf, yum and zypper.

    CLI Example:

        salt '*' pkg.list_downloaded
    """
    from saltlite.providers.pkg import package_files

    return package_files.list_downloaded(ctx, root)


def verify(ctx: MinionContext, *names: str, **kwargs: Any) -> dict[str, Any]:
    """The files that are not as they were installed: ``{path: {"mismatch", "type"}}``.

    Of all packages without names. ``ignore_types`` are kinds of files that do not count
    (``config``, ``doc`` …); ``verify_options`` are options of rpm, without dashes. dpkg knows the
    content alone.

    CLI Example:

        salt '*' pkg.verify httpd
        salt '*' pkg.verify httpd ignore_types='["config", "doc"]'
    """
    from saltlite.providers.pkg import verifying

    return dict(verifying.find_altered(ctx, [str(name) for name in names], kwargs))


def services_need_restart(ctx: MinionContext, **kwargs: Any) -> list[str]:
    """The services that use files which were replaced meanwhile (needs ``checkrestart``).

    CLI Example:

        salt '*' pkg.services_need_restart
    """
    from saltlite.providers.pkg import apt_files

    apt_alone(ctx, "services_need_restart")
    return apt_files.services_need_restart(ctx)
