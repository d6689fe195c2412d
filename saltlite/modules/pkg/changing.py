"""Install, upgrade and remove."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.pkg._backend import (
    apt_alone,
    changes_since,
    keeps_configuration,
    local_file,
    order,
    trouble,
    unless_failed,
)
from saltlite.providers.pkg import features, package_files, patches, provider
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg.names import join_versions, truth
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import Change, Holding, PackageRequest, Packages


def install(
    ctx: MinionContext,
    name: str | None = None,
    refresh: bool = False,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    debconf: str | None = None,
    pkgs: object = None,
    sources: object = None,
    reinstall: bool = False,
    downloadonly: bool = False,
    ignore_epoch: bool = False,
    normalize: bool = True,
    **kwargs: Any,
) -> dict[str, Any]:
    """Install packages; ``{name: {"old", "new"}}`` of all that changed.

    ``pkgs`` is a list of names and ``{name: version}``; a version may be a condition (``>=1.2``,
    ``1.*``). ``sources`` is a list of ``{name: file or URL}``. ``version`` is for a single name.
    Keywords of apt: ``install_recommends``, ``only_upgrade``, ``force_conf_new``, ``force_yes``,
    ``cache_valid_time``; of dnf: ``disablerepo``, ``enablerepo``, ``disableexcludes``, ``setopt``;
    ``hold`` keeps what was installed as it is; ``advisory_ids`` are patches (dnf, zypper).

    CLI Example:

        salt '*' pkg.install nginx
        salt '*' pkg.install nginx version=1.22.1-9
        salt '*' pkg.install pkgs='["foo", {"bar": ">=1.2"}]'
    """
    back_end = provider(ctx)
    chosen = {"fromrepo": fromrepo, "skip_verify": skip_verify}
    chosen |= {"reinstall": reinstall, "downloadonly": downloadonly, "ignore_epoch": ignore_epoch}
    options = PackageOptions.of({**kwargs, **chosen})
    lacking = features.lacking(ctx, options)
    if lacking:
        raise FunctionError(lacking)
    if debconf:
        from saltlite.modules import debconf as questions

        questions.set_file(ctx, str(debconf))
    if truth(refresh):
        back_end.refresh(options)
    if options.advisory_ids:
        return _install_patches(ctx, back_end, options)
    wanted, errors = _choose_targets(ctx, back_end, name, pkgs, sources, options)
    before, files = back_end.list_installed(), _choose_files(ctx, options)
    if wanted:
        with _let_go(back_end, wanted, options):
            errors += back_end.change(Change("install", wanted, options, before))
    changed = changes_since(back_end, before)
    if truth(reinstall) and not errors:
        changed |= _list_reinstalled(wanted, before, changed)
    changed |= package_files.changes(files, _choose_files(ctx, options))
    _hold_too(back_end, wanted, options)
    return unless_failed(trouble(back_end, "installing"), changed, errors)


def _choose_files(ctx: MinionContext, options: PackageOptions) -> dict[str, Any]:
    """The package files in the cache, if they are all that is asked for and count as changes."""
    counts = options.downloadonly and package_files.tells_files(ctx)
    return package_files.list_downloaded(ctx) if counts else {}


def _install_patches(
    ctx: MinionContext, back_end: Packages, options: PackageOptions
) -> dict[str, Any]:
    """Patches instead of packages: those of ``advisory_ids``."""
    ids = options.advisory_ids
    known = patches.patches(ctx, "list_patches")
    patches.check(known.list_patches(), ids)
    before, files = back_end.list_installed(), _choose_files(ctx, options)
    errors = known.install(ids, options)
    changed = changes_since(back_end, before)
    changed |= package_files.changes(files, _choose_files(ctx, options))
    return unless_failed(trouble(back_end, "installing"), changed, errors)


@contextlib.contextmanager
def _let_go(
    back_end: Packages, wanted: Sequence[PackageRequest], options: PackageOptions
) -> Iterator[None]:
    """Packages that are held and named all the same are not held meanwhile.

    apt would refuse otherwise; elsewhere it has to be asked for (``update_holds``).
    """
    chosen = options.update_holds
    lets_go = keeps_configuration(back_end) if chosen is None else chosen
    held = set(back_end.list_held()) if lets_go and isinstance(back_end, Holding) else set()
    names = [each.name for each in wanted if each.name in held]
    if not names or not isinstance(back_end, Holding):
        yield
        return
    back_end.unhold(names)
    try:
        yield
    finally:
        back_end.hold(names)


def _list_reinstalled(
    wanted: Sequence[PackageRequest],
    before: Mapping[str, Sequence[str]],
    changed: Mapping[str, object],
) -> dict[str, Any]:
    """What was put in place again has the same version twice."""
    there = join_versions(before)
    return {
        each.name: {"old": there[each.name], "new": there[each.name]}
        for each in wanted
        if each.name in there and each.name not in changed
    }


def _hold_too(
    back_end: Packages, wanted: Sequence[PackageRequest], options: PackageOptions
) -> None:
    if options.hold and isinstance(back_end, Holding):
        back_end.hold([each.name for each in wanted])


def _choose_targets(
    ctx: MinionContext,
    back_end: Packages,
    name: str | None,
    pkgs: object,
    sources: object,
    options: PackageOptions,
) -> tuple[list[PackageRequest], list[str]]:
    """What is to be installed, and complaints about conditions that nothing satisfies."""
    if pkgs and sources:
        raise FunctionError('Only one of "pkgs" and "sources" can be used.')
    if sources:
        files = asked.sources_of(sources)
        return [
            PackageRequest(each, file=local_file(ctx, path)) for each, path in files.items()
        ], []
    packages = asked.packages_of(pkgs) if pkgs else asked.packages_of(name)
    if len(packages) == 1 and not pkgs and options.version:
        packages = dict.fromkeys(packages, str(options.version))
    wanted: list[PackageRequest] = []
    errors: list[str] = []
    for each, condition in packages.items():
        found = _resolve_version(back_end, each, condition, options, errors)
        wanted += [] if found is None else [found]
    return wanted, errors


def _resolve_version(
    back_end: Packages,
    name: str,
    version: str | None,
    options: PackageOptions,
    errors: list[str],
) -> PackageRequest | None:
    if version is None or version == "latest" or not asked.is_condition(version):
        return PackageRequest(name, None if version == "latest" else version)
    offered = back_end.list_offered([name], options).get(name, [])
    there = back_end.list_installed().get(name, [])
    compare = _compare_with(back_end, ignore_epoch=options.ignore_epoch)
    chosen = asked.satisfying(version, there, compare) or asked.satisfying(
        version, offered, compare
    )
    if chosen is None:
        known = ", ".join(offered) or "none"
        errors.append(f"No version matching '{name}{version}' could be found (available: {known})")
        return None
    return None if chosen in there else PackageRequest(name, chosen)


def _compare_with(back_end: Packages, *, ignore_epoch: bool) -> asked.Compare:
    def compare(first: str, second: str) -> int | None:
        if ignore_epoch:
            first, second = first.split(":", 1)[-1], second.split(":", 1)[-1]
        return order(back_end, first, second)

    return compare


def remove(
    ctx: MinionContext, name: str | None = None, pkgs: object = None, **kwargs: Any
) -> dict[str, Any]:
    """Remove packages; ``{name: {"old", "new"}}`` of all that went.

    CLI Example:

        salt '*' pkg.remove nginx
        salt '*' pkg.remove pkgs='["foo", "bar"]'
    """
    return _remove_packages(ctx, "remove", name, pkgs, kwargs)


def purge(
    ctx: MinionContext, name: str | None = None, pkgs: object = None, **kwargs: Any
) -> dict[str, Any]:
    """Remove packages and their configuration.

    On Debian ``{"installed": {…}, "removed": {…}}``: what was there, and what was only left over.

    CLI Example:

        salt '*' pkg.purge nginx
    """
    back_end = provider(ctx)
    before = back_end.list_installed(removed=True)
    gone = _remove_packages(ctx, "purge", name, pkgs, kwargs)
    if not keeps_configuration(back_end):
        return gone
    left = dict(asked.changes(before, back_end.list_installed(removed=True)))
    return {"installed": gone, "removed": left} if gone or left else {}


def _remove_packages(
    ctx: MinionContext, action: str, name: str | None, pkgs: object, options: Mapping[str, object]
) -> dict[str, Any]:
    names = asked.names_of(name, pkgs)
    if not names:
        raise UsageError("One of name or pkgs must be specified.")
    back_end = provider(ctx)
    before = back_end.list_installed()
    there = {**before, **back_end.list_installed(removed=True)} if action == "purge" else before
    wanted = [PackageRequest(each) for each in names if each in there]
    if not wanted:
        return {}
    errors = back_end.change(Change(action, wanted, PackageOptions.of(options), before))
    return unless_failed(trouble(back_end, "removing"), changes_since(back_end, before), errors)


def upgrade(
    ctx: MinionContext, refresh: bool = True, dist_upgrade: bool = False, **kwargs: Any
) -> dict[str, Any]:
    """Bring all packages up to date; ``{name: {"old", "new"}}`` of all that changed.

    CLI Example:

        salt '*' pkg.upgrade
        salt '*' pkg.upgrade dist_upgrade=True
    """
    back_end = provider(ctx)
    options = PackageOptions.of({"dist_upgrade": dist_upgrade, **kwargs})
    if truth(refresh):
        back_end.refresh(options)
    before = back_end.list_installed()
    names = [
        PackageRequest(each) for each in asked.names_of(kwargs.get("name"), kwargs.get("pkgs"))
    ]
    errors = back_end.change(Change("upgrade", names, options, before))
    return unless_failed(
        "Problem encountered upgrading packages", changes_since(back_end, before), errors
    )


def autoremove(ctx: MinionContext, list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that came as dependencies and are not needed any more.

    With ``list_only`` only their names are told.

    CLI Example:

        salt '*' pkg.autoremove list_only=True
    """
    back_end = apt_alone(ctx, "autoremove")
    if truth(list_only):
        return back_end.list_unneeded()
    before = back_end.list_installed()
    errors = back_end.change(Change("autoremove", (), PackageOptions(purge=truth(purge)), before))
    return unless_failed(trouble(back_end, "removing"), changes_since(back_end, before), errors)


def download(ctx: MinionContext, *packages: str, **kwargs: Any) -> dict[str, Any]:
    """Get packages without installing them; the changes are none.

    CLI Example:

        salt '*' pkg.download httpd postfix
    """
    if not packages:
        raise FunctionError("No packages were specified")
    kwargs["downloadonly"] = True
    return install(ctx, pkgs=list(packages), **own_keywords(kwargs))
