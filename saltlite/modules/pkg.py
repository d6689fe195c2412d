"""Install, upgrade and remove packages, and ask about them.

One module for all package managers: what differs is in ``saltlite/providers/pkg``, chosen by the
grain ``os_family`` or by the option ``providers``. A function that this system's package manager
cannot serve is not available. Source: modules.md 10; answers observed on Salt 3006.30 (Debian).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, UsageError
from saltlite.providers.pkg import (
    Change,
    Comparing,
    Describing,
    Holding,
    Packages,
    Repositories,
    Wanted,
    provider,
)
from saltlite.providers.pkg import requests as asked
from saltlite.providers.pkg.requests import joined, truth

_Feature = TypeVar("_Feature")


def _with(ctx: MinionContext, feature: type[_Feature], function: str) -> _Feature:
    """The provider, if it has a feature."""
    found = provider(ctx)
    if not isinstance(found, feature):
        raise FunctionUnavailable(f"pkg.{function}")
    return found


def _apt(ctx: MinionContext, function: str) -> Any:
    """The provider, if it is apt's: some functions are of Debian alone."""
    from saltlite.providers.pkg.apt import Apt

    found = provider(ctx)
    if not isinstance(found, Apt):
        raise FunctionUnavailable(f"pkg.{function}")
    return found


def _own(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments without what the job brings along."""
    return {name: value for name, value in kwargs.items() if not name.startswith("__")}


def _one_or_all(names: Sequence[str], found: Mapping[str, Any]) -> Any:
    """The value of a single name; the map of several; ``""`` or nothing without any."""
    return found.get(names[0], "") if len(names) == 1 else dict(found)


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
    found = provider(ctx).installed(removed=truth(removed), purge_desired=truth(purge_desired))
    ordered = {name: found[name] for name in sorted(found)}
    return dict(ordered) if truth(versions_as_list) else dict(joined(ordered))


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
    back_end = provider(ctx)
    if truth(kwargs.get("refresh", True)):
        back_end.refresh(_own(kwargs))
    available = back_end.available(names, _own(kwargs))
    if not truth(kwargs.get("show_installed", False)):
        there = back_end.installed()
        available = {
            name: candidate if _is_news(back_end, candidate, there.get(name, [])) else ""
            for name, candidate in available.items()
        }
    return _one_or_all(names, available)


def _is_news(back_end: Packages, candidate: str, installed: Sequence[str]) -> bool:
    return bool(candidate) and all(
        (_order(back_end, candidate, each) or 0) > 0 for each in installed
    )


def _order(back_end: Packages, first: str, second: str) -> int | None:
    if isinstance(back_end, Comparing):
        return back_end.compare(first, second)
    return (first > second) - (first < second)


def available_version(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The same as ``pkg.latest_version``."""
    return latest_version(ctx, *args, **kwargs)


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
        back_end.refresh(_own(kwargs))
    return back_end.upgrades(_own(kwargs) | {"dist_upgrade": dist_upgrade})


def refresh_db(
    ctx: MinionContext, cache_valid_time: float = 0, failhard: bool = False, **kwargs: Any
) -> Any:
    """Get the lists of packages anew.

    Lists that are younger than ``cache_valid_time`` seconds stay (apt). On Debian each list is
    ``True`` (got), ``None`` (unchanged) or ``False`` (not got).

    CLI Example:

        salt '*' pkg.refresh_db
    """
    options = _own(kwargs) | {"cache_valid_time": cache_valid_time, "failhard": failhard}
    return provider(ctx).refresh(options)


def install(
    ctx: MinionContext,
    name: str | None = None,
    refresh: bool = False,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    debconf: str | None = None,
    pkgs: Any = None,
    sources: Any = None,
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
    ``hold`` keeps what was installed as it is.

    CLI Example:

        salt '*' pkg.install nginx
        salt '*' pkg.install nginx version=1.22.1-9
        salt '*' pkg.install pkgs='["foo", {"bar": ">=1.2"}]'
    """
    back_end = provider(ctx)
    options = {
        **_own(kwargs),
        "fromrepo": fromrepo,
        "skip_verify": skip_verify,
        "reinstall": reinstall,
        "downloadonly": downloadonly,
        "ignore_epoch": ignore_epoch,
    }
    if debconf:
        from saltlite.modules import debconf as questions

        questions.set_file(ctx, str(debconf))
    if truth(refresh):
        back_end.refresh(options)
    wanted, errors = _targets(ctx, back_end, name, pkgs, sources, options)
    before = back_end.installed()
    if wanted:
        with _let_go(back_end, wanted, options):
            errors += back_end.change(Change("install", wanted, options, before))
    changed = _changed(back_end, before)
    if truth(reinstall) and not errors:
        changed |= _reinstalled(wanted, before, changed)
    _hold_too(back_end, wanted, options)
    return _unless_failed(_trouble(back_end, "installing"), changed, errors)


@contextlib.contextmanager
def _let_go(
    back_end: Packages, wanted: Sequence[Wanted], options: Mapping[str, Any]
) -> Iterator[None]:
    """Packages that are held and named all the same are not held meanwhile.

    apt would refuse otherwise; elsewhere it has to be asked for (``update_holds``).
    """
    lets_go = truth(options.get("update_holds", _keeps_configuration(back_end)))
    held = set(back_end.held()) if lets_go and isinstance(back_end, Holding) else set()
    names = [each.name for each in wanted if each.name in held]
    if not names or not isinstance(back_end, Holding):
        yield
        return
    back_end.unhold(names, {})
    try:
        yield
    finally:
        back_end.hold(names, {})


def _changed(back_end: Packages, before: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return dict(asked.changes(before, back_end.installed()))


def _reinstalled(
    wanted: Sequence[Wanted], before: Mapping[str, Sequence[str]], changed: Mapping[str, Any]
) -> dict[str, Any]:
    """What was put in place again has the same version twice."""
    there = joined(before)
    return {
        each.name: {"old": there[each.name], "new": there[each.name]}
        for each in wanted
        if each.name in there and each.name not in changed
    }


def _hold_too(back_end: Packages, wanted: Sequence[Wanted], options: Mapping[str, Any]) -> None:
    if truth(options.get("hold")) and isinstance(back_end, Holding):
        back_end.hold([each.name for each in wanted], {})


def _trouble(back_end: Packages, doing: str) -> str:
    from saltlite.providers.pkg.dnf import Dnf

    happened = "Error occurred" if isinstance(back_end, Dnf) else "Problem encountered"
    return f"{happened} {doing} package(s)"


def _unless_failed(trouble: str, changed: dict[str, Any], errors: list[str]) -> dict[str, Any]:
    """The changes; with errors both are in an exception, as Salt lays them out."""
    if not errors:
        return changed
    from saltlite.outputters.nested import output as nested
    from saltlite.outputters.options import OutputOptions

    shown = nested({"changes": changed, "errors": errors}, OutputOptions())
    raise FunctionError(f"{trouble}. Additional info follows:\n\n{shown}")


def _targets(
    ctx: MinionContext,
    back_end: Packages,
    name: str | None,
    pkgs: Any,
    sources: Any,
    options: Mapping[str, Any],
) -> tuple[list[Wanted], list[str]]:
    """What is to be installed, and complaints about conditions that nothing satisfies."""
    if pkgs and sources:
        raise FunctionError('Only one of "pkgs" and "sources" can be used.')
    if sources:
        files = asked.sources_of(sources)
        return [Wanted(each, file=_local(ctx, path)) for each, path in files.items()], []
    packages = asked.packages_of(pkgs) if pkgs else asked.packages_of(name)
    if len(packages) == 1 and not pkgs and options.get("version"):
        packages = dict.fromkeys(packages, str(options["version"]))
    wanted: list[Wanted] = []
    errors: list[str] = []
    for each, condition in packages.items():
        found = _resolved(back_end, each, condition, options, errors)
        wanted += [] if found is None else [found]
    return wanted, errors


def _resolved(
    back_end: Packages,
    name: str,
    version: str | None,
    options: Mapping[str, Any],
    errors: list[str],
) -> Wanted | None:
    if version is None or version == "latest" or not asked.is_condition(version):
        return Wanted(name, None if version == "latest" else version)
    offered = back_end.offered([name], options).get(name, [])
    there = back_end.installed().get(name, [])
    compare = _compare_with(back_end)
    chosen = asked.satisfying(version, there, compare) or asked.satisfying(
        version, offered, compare
    )
    if chosen is None:
        known = ", ".join(offered) or "none"
        errors.append(f"No version matching '{name}{version}' could be found (available: {known})")
        return None
    return None if chosen in there else Wanted(name, chosen)


def _compare_with(back_end: Packages) -> asked.Compare:
    return lambda first, second: _order(back_end, first, second)


def _local(ctx: MinionContext, path: str) -> str:
    """A package file on this machine: fetched if it is a URL."""
    if "://" in path:
        found = str(ctx.functions.call("cp.cache_file", path) or "")
        if not found:
            raise FunctionError(f"{path} could not be fetched")
        return found
    if not ctx.host.exists(path):
        raise FunctionError(f"{path} does not exist on minion")
    return path


def remove(
    ctx: MinionContext, name: str | None = None, pkgs: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Remove packages; ``{name: {"old", "new"}}`` of all that went.

    CLI Example:

        salt '*' pkg.remove nginx
        salt '*' pkg.remove pkgs='["foo", "bar"]'
    """
    return _removed(ctx, "remove", name, pkgs, kwargs)


def purge(
    ctx: MinionContext, name: str | None = None, pkgs: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Remove packages and their configuration.

    On Debian ``{"installed": {…}, "removed": {…}}``: what was there, and what was only left over.

    CLI Example:

        salt '*' pkg.purge nginx
    """
    back_end = provider(ctx)
    before = back_end.installed(removed=True)
    gone = _removed(ctx, "purge", name, pkgs, kwargs)
    if not _keeps_configuration(back_end):
        return gone
    left = dict(asked.changes(before, back_end.installed(removed=True)))
    return {"installed": gone, "removed": left} if gone or left else {}


def _keeps_configuration(back_end: Packages) -> bool:
    from saltlite.providers.pkg.apt import Apt

    return isinstance(back_end, Apt)


def _removed(
    ctx: MinionContext, action: str, name: str | None, pkgs: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    names = asked.names_of(name, pkgs)
    if not names:
        raise UsageError("One of name or pkgs must be specified.")
    back_end = provider(ctx)
    before = back_end.installed()
    there = {**before, **back_end.installed(removed=True)} if action == "purge" else before
    wanted = [Wanted(each) for each in names if each in there]
    if not wanted:
        return {}
    errors = back_end.change(Change(action, wanted, _own(options), before))
    return _unless_failed(_trouble(back_end, "removing"), _changed(back_end, before), errors)


def upgrade(
    ctx: MinionContext, refresh: bool = True, dist_upgrade: bool = False, **kwargs: Any
) -> dict[str, Any]:
    """Bring all packages up to date; ``{name: {"old", "new"}}`` of all that changed.

    CLI Example:

        salt '*' pkg.upgrade
        salt '*' pkg.upgrade dist_upgrade=True
    """
    back_end = provider(ctx)
    options = {"dist_upgrade": dist_upgrade, **_own(kwargs)}
    if truth(refresh):
        back_end.refresh(options)
    before = back_end.installed()
    names = [Wanted(each) for each in asked.names_of(kwargs.get("name"), kwargs.get("pkgs"))]
    errors = back_end.change(Change("upgrade", names, options, before))
    return _unless_failed(
        "Problem encountered upgrading packages", _changed(back_end, before), errors
    )


def autoremove(ctx: MinionContext, list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that came as dependencies and are not needed any more.

    With ``list_only`` only their names are told.

    CLI Example:

        salt '*' pkg.autoremove list_only=True
    """
    back_end = _apt(ctx, "autoremove")
    if truth(list_only):
        return back_end.unneeded()
    before = back_end.installed()
    errors = back_end.change(Change("autoremove", (), {"purge": purge}, before))
    return _unless_failed(_trouble(back_end, "removing"), _changed(back_end, before), errors)


def _holding(name: Any, pkgs: Any, sources: Any) -> list[str]:
    if not (name or pkgs or sources):
        raise UsageError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise UsageError("Only one of pkgs or sources can be specified.")
    return list(asked.sources_of(sources)) if sources else asked.names_of(name, pkgs)


def hold(
    ctx: MinionContext, name: Any = None, pkgs: Any = None, sources: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Keep packages at the version they have.

    CLI Example:

        salt '*' pkg.hold nginx
        salt '*' pkg.hold pkgs='["foo", "bar"]'
    """
    names = _holding(name, pkgs, sources)
    return _with(ctx, Holding, "hold").hold(names, _own(kwargs))  # type: ignore[type-abstract]


def unhold(
    ctx: MinionContext, name: Any = None, pkgs: Any = None, sources: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Let packages be upgraded again.

    CLI Example:

        salt '*' pkg.unhold nginx
    """
    names = _holding(name, pkgs, sources)
    return _with(ctx, Holding, "unhold").unhold(names, _own(kwargs))  # type: ignore[type-abstract]


def list_holds(ctx: MinionContext, pattern: str = "", full: bool = True) -> list[str]:
    """The packages that are held; with dnf as it writes them, unless ``full`` is off.

    CLI Example:

        salt '*' pkg.list_holds
    """
    from saltlite.providers.pkg.dnf import Dnf

    back_end = _with(ctx, Holding, "list_holds")  # type: ignore[type-abstract]
    if isinstance(back_end, Dnf) and truth(full):
        return back_end.locks()
    return back_end.held()


def list_locks(ctx: MinionContext, root: str | None = None) -> dict[str, Any]:
    """The locks of zypper, and what its file says of each.

    CLI Example:

        salt '*' pkg.list_locks
    """
    from saltlite.providers.pkg.zypper import Zypper

    back_end = provider(ctx)
    if not isinstance(back_end, Zypper):
        raise FunctionUnavailable("pkg.list_locks")
    return dict(back_end.locks())


def get_selections(
    ctx: MinionContext, pattern: str | None = None, state: str | None = None
) -> dict[str, list[str]]:
    """What dpkg is told to do with packages: the names of each wanted state.

    CLI Example:

        salt '*' pkg.get_selections
        salt '*' pkg.get_selections 'python*' state=hold
    """
    found = cast(dict[str, list[str]], _apt(ctx, "get_selections").selections(pattern))
    return found if state is None else {state: found.get(state, [])}


def set_selections(
    ctx: MinionContext,
    path: str | None = None,
    selection: Any = None,
    clear: bool = False,
    saltenv: str = "base",
) -> dict[str, Any]:
    """Tell dpkg what to do with packages; ``{name: {"old", "new"}}`` of what changed.

    ``selection`` is a map of states and names (or its YAML); ``path`` is a file with lines
    ``name state``.

    CLI Example:

        salt '*' pkg.set_selections selection='{"hold": ["netcat"]}'
        salt '*' pkg.set_selections salt://path/to/file
    """
    from saltlite.providers.pkg.apt import STATES

    back_end = _apt(ctx, "set_selections")
    if path and selection:
        raise UsageError(
            "The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive,"
            " and cannot be specified together"
        )
    wanted = _selection_file(ctx, path) if path else _selection(selection)
    bad = [state for state in wanted if state not in STATES]
    if bad:
        raise UsageError(f"Invalid state(s): {', '.join(bad)}")
    return cast(dict[str, Any], back_end.select(wanted, clear=truth(clear))) if wanted else {}


def _selection(selection: Any) -> dict[str, list[str]]:
    if isinstance(selection, str):
        from saltlite.config.yaml import load

        selection = load(selection, "selection")
    if not selection:
        return {}
    if not isinstance(selection, Mapping):
        raise FunctionError("Invalid selection: it must be a map of states and names")
    return {str(state): asked.words(names) for state, names in selection.items()}


def _selection_file(ctx: MinionContext, path: str) -> dict[str, list[str]]:
    from saltlite.providers.pkg.dpkg import parse_selections

    text = ctx.host.read_text(_local(ctx, path)) or ""
    lines = (line.split() for line in text.splitlines())
    return parse_selections("\n".join("\t".join(words) for words in lines if len(words) == 2))


def list_repos(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Where packages come from.

    On Debian by address, with each source's type, distribution, components and file; elsewhere by
    the name of the repository.

    CLI Example:

        salt '*' pkg.list_repos
    """
    back_end = _with(ctx, Repositories, "list_repos")  # type: ignore[type-abstract]
    return back_end.list_repos(_own(kwargs))


def get_repo(ctx: MinionContext, repo: str, **kwargs: Any) -> dict[str, Any]:
    """One source of packages, ``{}`` if it is not there.

    CLI Example:

        salt '*' pkg.get_repo "deb http://deb.debian.org/debian bookworm main"
    """
    back_end = _with(ctx, Repositories, "get_repo")  # type: ignore[type-abstract]
    return back_end.get_repo(str(repo), _own(kwargs))


def mod_repo(
    ctx: MinionContext, repo: str, saltenv: str = "base", aptkey: bool = True, **kwargs: Any
) -> dict[str, Any]:
    """Make or change a source of packages; what it is then.

    On Debian ``repo`` is the whole line; keywords: ``comps``, ``architectures``, ``disabled``,
    ``file``, ``comments``, ``signedby``, ``dist``, ``refresh``, ``key_url``, ``key_text``. With
    dnf and zypper it is the name, and keywords are options of the repository (``baseurl`` …).

    CLI Example:

        salt '*' pkg.mod_repo "deb http://deb.debian.org/debian sid main" file=/etc/apt/sources.list.d/sid.list
    """  # noqa: E501 - the command is one line
    back_end = _with(ctx, Repositories, "mod_repo")  # type: ignore[type-abstract]
    options = _own(kwargs)
    _key_of_repo(ctx, options, saltenv, aptkey)
    return back_end.mod_repo(str(repo), options)


def _key_of_repo(
    ctx: MinionContext, options: Mapping[str, Any], saltenv: str, aptkey: bool
) -> None:
    if options.get("key_text"):
        add_repo_key(ctx, text=str(options["key_text"]), aptkey=aptkey, keyfile="key_text.gpg")
    for url in asked.words(options.get("key_url")):
        if not add_repo_key(ctx, path=url, saltenv=saltenv, aptkey=aptkey):
            raise FunctionError(f"Error: failed to add key from {url}")


def del_repo(ctx: MinionContext, repo: str, **kwargs: Any) -> Any:
    """Remove a source of packages; a sentence about it.

    CLI Example:

        salt '*' pkg.del_repo "deb http://deb.debian.org/debian sid main"
    """
    back_end = _with(ctx, Repositories, "del_repo")  # type: ignore[type-abstract]
    return back_end.del_repo(str(repo), _own(kwargs))


def list_repo_pkgs(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """All versions of packages that there are, newest first; names may be globs.

    CLI Example:

        salt '*' pkg.list_repo_pkgs bash
        salt '*' pkg.list_repo_pkgs 'python3-*'
    """
    return dict(provider(ctx).offered([str(name) for name in args], _own(kwargs)))


def info_installed(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Details of installed packages: version, architecture, source, description and more.

    With ``failhard=False`` names that are not installed are left out.

    CLI Example:

        salt '*' pkg.info_installed bash
    """
    back_end = _with(ctx, Describing, "info_installed")  # type: ignore[type-abstract]
    return back_end.info([str(name) for name in args], _own(kwargs))


def show(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Details of the versions of packages that are offered.

    ``filter`` names the fields wanted; ``refresh`` gets the lists first.

    CLI Example:

        salt '*' pkg.show bash filter=description-md5
    """
    back_end = provider(ctx)
    if truth(kwargs.get("refresh", False)):
        back_end.refresh({})
    if not isinstance(back_end, Describing):
        raise FunctionUnavailable("pkg.show")
    fields = asked.words(kwargs.get("filter"))
    return back_end.show([str(name) for name in args], fields)


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
    back_end = _with(ctx, Describing, "file_dict")  # type: ignore[type-abstract]
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
    back_end = _with(ctx, Describing, "owner")  # type: ignore[type-abstract]
    return _one_or_all(paths, back_end.owners(paths))


def which(ctx: MinionContext, path: str) -> Any:
    """The same as ``pkg.owner`` for one file."""
    return owner(ctx, path)


def version_cmp(
    ctx: MinionContext, pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any
) -> int | None:
    """-1, 0 or 1 as the first version is older than, equal to or newer than the second.

    ``None`` if they cannot be compared.

    CLI Example:

        salt '*' pkg.version_cmp 0.2.4-0ubuntu1 0.2.4.1-0ubuntu1
    """
    first, second = str(pkg1), str(pkg2)
    if truth(ignore_epoch):
        first, second = first.split(":", 1)[-1], second.split(":", 1)[-1]
    back_end = _with(ctx, Comparing, "version_cmp")  # type: ignore[type-abstract]
    return back_end.compare(first, second)


def normalize_name(ctx: MinionContext, name: str) -> str:
    """A package name without the architecture, if that is this machine's own.

    CLI Example:

        salt '*' pkg.normalize_name zsh:amd64
    """
    back_end = _with(ctx, Comparing, "normalize_name")  # type: ignore[type-abstract]
    return back_end.normalize(str(name))


def parse_arch(ctx: MinionContext, name: str) -> dict[str, str | None]:
    """A package name taken apart: ``{"name", "arch"}``.

    CLI Example:

        salt '*' pkg.parse_arch zsh:amd64
    """
    back_end = _with(ctx, Comparing, "parse_arch")  # type: ignore[type-abstract]
    return back_end.parse_arch(str(name))


def download(ctx: MinionContext, *packages: str, **kwargs: Any) -> dict[str, Any]:
    """Get packages without installing them; the changes are none.

    CLI Example:

        salt '*' pkg.download httpd postfix
    """
    if not packages:
        raise FunctionError("No packages were specified")
    kwargs["downloadonly"] = True
    return install(ctx, pkgs=list(packages), **_own(kwargs))


def list_downloaded(ctx: MinionContext, root: str | None = None, **kwargs: Any) -> dict[str, Any]:
    """The package files in apt's cache: name, version, and path, size and time of each.

    CLI Example:

        salt '*' pkg.list_downloaded
    """
    from saltlite.providers.pkg import apt_files

    _apt(ctx, "list_downloaded")
    return apt_files.downloaded(ctx, root or "/")


def services_need_restart(ctx: MinionContext, **kwargs: Any) -> list[str]:
    """The services that use files which were replaced meanwhile (needs ``checkrestart``).

    CLI Example:

        salt '*' pkg.services_need_restart
    """
    from saltlite.providers.pkg import apt_files

    _apt(ctx, "services_need_restart")
    return apt_files.services_need_restart(ctx)


def get_repo_keys(
    ctx: MinionContext, aptkey: bool = True, keydir: str | None = None
) -> dict[str, Any]:
    """The keys apt trusts, by their ids.

    With ``aptkey=False`` those of the files in ``keydir``.

    CLI Example:

        salt '*' pkg.get_repo_keys
    """
    from saltlite.providers.pkg import apt_keys

    _apt(ctx, "get_repo_keys")
    return apt_keys.listed(ctx, truth(aptkey), keydir)


def add_repo_key(
    ctx: MinionContext,
    path: str | None = None,
    text: str | None = None,
    keyserver: str | None = None,
    keyid: str | None = None,
    saltenv: str = "base",
    aptkey: bool = True,
    keydir: str | None = None,
    keyfile: str | None = None,
) -> bool:
    """Trust a key: from a file or URL, from text, or from a key server; whether that succeeded.

    With ``aptkey=False`` the key becomes the file ``keyfile`` in ``keydir``
    (``/etc/apt/keyrings``).

    CLI Example:

        salt '*' pkg.add_repo_key salt://apt/sources/test.key
        salt '*' pkg.add_repo_key keyserver=keyserver.example keyid=0000AAAA
    """
    from saltlite.providers.pkg import apt_keys

    _apt(ctx, "add_repo_key")
    source = _local(ctx, path) if path else None
    key = apt_keys.Source(source, text, keyserver, keyid, path)
    return apt_keys.add(ctx, key, truth(aptkey), keydir, keyfile)


def del_repo_key(
    ctx: MinionContext,
    name: str | None = None,
    aptkey: bool = True,
    keydir: str | None = None,
    **kwargs: Any,
) -> bool:
    """Stop trusting a key, named by ``keyid``.

    CLI Example:

        salt '*' pkg.del_repo_key keyid=0123ABCD
    """
    from saltlite.providers.pkg import apt_keys

    _apt(ctx, "del_repo_key")
    keyid = kwargs.get("keyid")
    if not keyid:
        raise UsageError("keyid or keyid_ppa and PPA name must be passed")
    return apt_keys.delete(ctx, str(keyid), truth(aptkey), keydir)
