"""Packages that shall be there or not, at a version, newest, or kept as they are.

What a package manager can do is known to ``modules/pkg`` and its providers; a user's own ``pkg``
module takes their place. Comments are Salt's. Source: docs/states-reference.md; observed on Salt
3006.30 with a
recorded apt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.highstate.resource import Declared, Verdict
from saltlite.providers.pkg import features
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.options import PackageOptions
from saltlite.states._pkg.again import Again
from saltlite.states._pkg.aggregate import aggregate
from saltlite.states._pkg.downloads import Downloaded
from saltlite.states._pkg.gone import Gone
from saltlite.states._pkg.groups import Grouped
from saltlite.states._pkg.held import Kept, can_hold, holds
from saltlite.states._pkg.newest import Newest
from saltlite.states._pkg.patches import Patched
from saltlite.states._pkg.present import InstalledPackages
from saltlite.states._pkg.uptodate import UpToDate
from saltlite.states._pkg.verified import Verified
from saltlite.states._pkg.versions import PackageSpec, candidates, has, list_installed


def installed(
    ctx: MinionContext,
    name: str,
    version: object = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    skip_suggestions: bool = False,
    pkgs: object = None,
    sources: object = None,
    allow_updates: bool = False,
    pkg_verify: object = False,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    reinstall: bool = False,
    update_holds: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages are installed: one by ``name``, or those of ``pkgs``, or files of ``sources``.

    A version is exact, a glob (``1.*``), a condition (``>=1.2,<2``) or ``latest``. Without one
    any will do. ``hold`` also keeps them as they are, or lets them go. With ``allow_updates`` a
    newer version than the exact one will do. With ``reinstall`` what is there already is put in
    place again, each time; with ``pkg_verify`` what has files that were altered. ``pkg_verify`` may
    be a list of ``ignore_types`` and ``verify_options``. Other keywords are those of
    ``pkg.install``.
    """
    if pkgs and sources:
        return Verdict(result=False, comment='Only one of "pkgs" and "sources" is permitted.')
    if any(given is not None and not given for given in (pkgs, sources)):
        return Verdict(result=True, comment="No packages to install provided")
    hold = kwargs.pop("hold", None)
    checks = _parse_checks(pkg_verify)
    if isinstance(checks, Verdict):
        return checks
    given = {**kwargs, "fromrepo": fromrepo}
    lacking = _find_lacking(ctx, given, hold=hold is not None, verify=checks is not None)
    if lacking:
        return lacking
    options = {
        "fromrepo": fromrepo,
        "skip_verify": skip_verify,
        "update_holds": update_holds or hold is not None,
        **kwargs,
    }
    wanted = _wanted_packages(ctx, name, version, pkgs, sources, normalize)
    if allow_updates:
        wanted = [_or_newer(each) for each in wanted]
    present = InstalledPackages(
        wanted=tuple(_newest_named(ctx, wanted, options)),
        options=options,
        refresh=refresh,
        hold=None if hold is None else truth(hold),
        ignore_epoch=bool(ignore_epoch),
    )
    if checks is not None and not truth(reinstall):
        return Verified(
            present=present,
            wanted=tuple(each for each in present.wanted if each.file is None),
            options=options,
            verify=checks,
            refresh=refresh,
            ignore_epoch=present.ignore_epoch,
        )
    if not truth(reinstall):
        return present
    again = Again(
        present=present,
        wanted=tuple(each for each in present.wanted if each.file is None),
        options=options,
        ignore_epoch=present.ignore_epoch,
    )
    return again.action()


def _find_lacking(
    ctx: MinionContext, given: Mapping[str, object], *, hold: bool = False, verify: bool = False
) -> Verdict | None:
    """What this package manager, or saltlite, cannot do: said before anything has run."""
    if hold and not can_hold(ctx):
        return _no_holds(ctx)
    if verify and not _has_function(ctx, "verify"):
        return _refuse_with("pkg.verify not implemented")
    try:
        lacking = features.lacking(ctx, PackageOptions.of(given))
    except FunctionUnavailable:  # a user's own module, on a system that we do not know
        lacking = ""
    return _refuse_with(lacking) if lacking else None


def _parse_checks(pkg_verify: object) -> Mapping[str, Any] | Verdict | None:
    """The keywords for ``pkg.verify``; ``None`` if nothing is to be compared."""
    if not isinstance(pkg_verify, (list, tuple, Mapping)):
        return {} if truth(pkg_verify) else None
    maps = [pkg_verify] if isinstance(pkg_verify, Mapping) else pkg_verify
    given: dict[str, Any] = {}
    for each in maps:
        known = isinstance(each, Mapping) and set(each) <= {"ignore_types", "verify_options"}
        if not known:
            said = "pkg_verify takes True, or a list of ignore_types and verify_options"
            return _refuse_with(f"{said}; not {each}")
        given |= each
    return given


def _has_function(ctx: MinionContext, function: str) -> bool:
    """Whether this machine's ``pkg``, ours or a user's own, has a function that not all have."""
    try:
        return has(ctx, function) and features.serves(ctx, function)
    except FunctionUnavailable:  # a user's own module, on a system that we do not know
        return True


def _no_holds(ctx: MinionContext) -> Verdict:
    said = "The package manager of this machine cannot hold packages"
    try:
        holds(ctx)
    except FunctionUnavailable as error:
        said += f": {error.reason}" if error.reason else ""
    return _refuse_with(said)


def _refuse_with(sentence: str) -> Verdict:
    return Verdict(result=False, comment=sentence)


def _wanted_packages(
    ctx: MinionContext, name: str, version: object, pkgs: object, sources: object, normalize: bool
) -> list[PackageSpec]:
    if sources:
        return [PackageSpec(each, file=path) for each, path in asked.sources_of(sources).items()]
    if pkgs:
        found = [PackageSpec(each, wish) for each, wish in asked.packages_of(pkgs).items()]
    else:
        found = [PackageSpec(name, None if version in (None, "") else str(version))]
    if not (normalize and has(ctx, "normalize_name")):
        return found
    call = ctx.functions.call
    return [PackageSpec(str(call("pkg.normalize_name", each.name)), each.version) for each in found]


def _or_newer(wanted: PackageSpec) -> PackageSpec:
    if wanted.version is None or asked.is_condition(wanted.version):
        return wanted
    return PackageSpec(wanted.name, f">={wanted.version}")


def _newest_named(
    ctx: MinionContext, wanted: Sequence[PackageSpec], options: Mapping[str, object]
) -> list[PackageSpec]:
    """``latest`` becomes the version that it means now."""
    names = [each.name for each in wanted if each.version == "latest"]
    newest = candidates(ctx, names, options)
    there = list_installed(ctx) if names else {}
    return [
        PackageSpec(each.name, newest.get(each.name) or ",".join(there.get(each.name, ())) or None)
        if each.version == "latest"
        else each
        for each in wanted
    ]


def downloaded(
    ctx: MinionContext,
    name: str,
    version: object = None,
    pkgs: object = None,
    fromrepo: str | None = None,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """The files of packages are in the package manager's cache; nothing is installed.

    Versions are as in :func:`installed`. Other keywords are those of ``pkg.install``.
    """
    refresh = kwargs.pop("refresh", None)
    if pkgs is not None and not pkgs:
        return Verdict(result=True, comment="No packages to download provided")
    if not _has_function(ctx, "list_downloaded"):
        return _refuse_with("The pkg.downloaded state is not available on this platform")
    return Downloaded(
        wanted=tuple(_wanted_packages(ctx, name, version, pkgs, None, normalize=True)),
        options={"fromrepo": fromrepo, **kwargs},
        refresh=refresh,
        ignore_epoch=bool(ignore_epoch),
        tells_files=_tells_files(ctx),
    )


def _tells_files(ctx: MinionContext) -> bool:
    from saltlite.providers.pkg import package_files

    try:
        return package_files.tells_files(ctx)
    except FunctionUnavailable:  # a user's own module
        return False


def latest(
    ctx: MinionContext,
    name: str,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    pkgs: object = None,
    watch_flags: bool = True,
    **kwargs: Any,
) -> Declared:
    """Packages are there in their newest version."""
    if pkgs is not None and not pkgs:
        return Verdict(result=True, comment="No packages to install provided")
    names = asked.names_of(name, pkgs)
    options = {"fromrepo": fromrepo, "skip_verify": skip_verify, **kwargs}
    lacking = _find_lacking(ctx, options)
    if lacking:
        return lacking
    return Newest(names=tuple(names), options=options, refresh=refresh)


def removed(
    ctx: MinionContext,
    name: str,
    version: object = None,
    pkgs: object = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Packages are not there; of a ``version`` only that one. Configuration may stay."""
    return _declare_gone(ctx, name, version, pkgs, normalize, kwargs, purge=False)


def purged(
    ctx: MinionContext,
    name: str,
    version: object = None,
    pkgs: object = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Packages are not there, and neither is their configuration."""
    return _declare_gone(ctx, name, version, pkgs, normalize, kwargs, purge=True)


def _declare_gone(
    ctx: MinionContext,
    name: str,
    version: object,
    pkgs: object,
    normalize: bool,
    options: Mapping[str, object],
    *,
    purge: bool,
) -> Declared:
    empty = pkgs is not None and not pkgs
    wanted = [] if empty else _wanted_packages(ctx, name, version, pkgs, None, normalize)
    return Gone(
        wanted=tuple(wanted),
        purge=purge,
        options=options,
        keeps_configuration=ctx.grains.get("os_family") == "Debian",
    )


def uptodate(
    ctx: MinionContext, name: str, refresh: bool | None = None, pkgs: object = None, **kwargs: Any
) -> Declared:
    """There is nothing to upgrade; of ``pkgs`` if they are given, else of all packages."""
    if not has(ctx, "list_upgrades"):
        return _refuse_with("State pkg.uptodate is not available")
    names = asked.names_of(None, pkgs) if pkgs else []
    return UpToDate(pkgs=tuple(names), options=kwargs, refresh=refresh)


def held(
    ctx: MinionContext,
    name: str,
    version: object = None,
    pkgs: object = None,
    replace: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages are kept at the version they have; with ``replace`` all others are not."""
    return _declare_kept(ctx, name, pkgs, hold=True, alone=bool(replace))


def unheld(
    ctx: MinionContext,
    name: str,
    version: object = None,
    pkgs: object = None,
    all: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages may be upgraded again; with ``all`` every one that is held."""
    names = sorted(holds(ctx)) if all and can_hold(ctx) else pkgs
    return _declare_kept(ctx, name, names, hold=False)


def _declare_kept(
    ctx: MinionContext, name: str, pkgs: object, *, hold: bool, alone: bool = False
) -> Declared:
    if not can_hold(ctx):
        return _no_holds(ctx)
    return Kept(names=tuple(asked.names_of(name, pkgs)), hold=hold, alone=alone)


def group_installed(
    ctx: MinionContext, name: str, skip: Any = None, include: Any = None, **kwargs: Any
) -> Declared:
    """What a group of packages must have and has by default is installed (dnf, yum).

    ``skip`` names default packages that are not wanted, ``include`` others that are. Other keywords
    are those of ``pkg.install``.
    """
    if not _has_function(ctx, "group_diff"):
        return _refuse_with("pkg.group_install not available for this platform")
    for what, given in (("skip", skip), ("include", include)):
        if given and not isinstance(given, (list, tuple)):
            return _refuse_with(f"{what} must be formatted as a list")
    return Grouped(
        name=str(name),
        skip=tuple(map(str, skip or ())),
        include=tuple(map(str, include or ())),
        options=kwargs,
    )


def patch_installed(
    ctx: MinionContext,
    name: str,
    advisory_ids: object = None,
    downloadonly: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Patches are installed: advisories of dnf, patches of zypper; ``name`` or ``advisory_ids``.

    With ``downloadonly`` their files are there. One that is not needed is left out.
    """
    if advisory_ids is not None and not advisory_ids:
        return Verdict(result=True, comment="No advisory ids provided")
    if not _has_function(ctx, "list_patches"):
        which = "downloaded" if downloadonly else "installed"
        return _refuse_with(f"The pkg.patch_{which} state is not available on this platform")
    return Patched(
        ids=tuple(asked.names_of(name, advisory_ids)),
        options=kwargs,
        only_files=truth(downloadonly),
        one=advisory_ids is None,
    )


def patch_downloaded(
    ctx: MinionContext, name: str, advisory_ids: object = None, **kwargs: Any
) -> Declared:
    """The files of patches are in the package manager's cache; nothing is installed."""
    kwargs.pop("downloadonly", None)
    return patch_installed(ctx, name, advisory_ids, downloadonly=True, **kwargs)


def mod_aggregate(low: Any, chunks: Any, running: object) -> Any:
    """One command for the packages of all states that can be joined with this one."""
    return aggregate(low, chunks)


def mod_watch(ctx: MinionContext, name: str, sfun: str | None = None, **kwargs: Any) -> Declared:
    """Something that a package depends on has changed: it is looked at once more."""
    again: Mapping[str, Callable[..., Declared]] = {
        "installed": installed,
        "latest": latest,
        "removed": removed,
        "purged": purged,
    }
    if sfun is None or sfun not in again:
        return _refuse_with(f"pkg.{sfun} does not work with the watch requisite")
    return again[sfun](ctx, name, **kwargs)
