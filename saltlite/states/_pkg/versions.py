"""Versions of packages as the states see them: wanted, installed, offered, and how they compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionUnavailable, SaltliteError
from saltlite.providers.pkg import names as asked

_REFRESHED = "saltlite.states.pkg.refreshed"
INSTALLING = "An error was encountered while installing package(s): "

Installed = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class PackageSpec:
    """A package that shall be there; ``version`` may be a condition, ``file`` is what has it."""

    name: str
    version: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        """As comments name it: ``new``, ``new=1.9``, ``new>=1.9``."""
        if not self.version:
            return self.name
        return f"{self.name}{'' if self.version[0] in '<>=!' else '='}{self.version}"


def list_installed(ctx: MinionContext, **which: bool) -> dict[str, list[str]]:
    """The versions of each installed package."""
    found = ctx.functions.call("pkg.list_pkgs", versions_as_list=True, **which)
    return {name: list(versions) for name, versions in found.items()}


def refreshing(ctx: MinionContext, refresh: bool | None) -> bool:
    """Whether the lists are to be got anew: once a run, unless it is said otherwise."""
    wanted = refresh is True or (refresh is None and not ctx.state.get(_REFRESHED))
    if wanted:
        ctx.state[_REFRESHED] = True
    return wanted


def has(ctx: MinionContext, function: str) -> bool:
    """Whether this machine has a function of ``pkg``."""
    try:
        ctx.functions.argspec(f"pkg.{function}")
    except FunctionUnavailable:
        return False
    return True


def errors_of(error: SaltliteError) -> str:
    """What an installation said, without its changes: those are told apart from the comment."""
    head, found, rest = str(error).partition("\n\nchanges:\n")
    if not found:
        return str(error) if "Additional info" in head else f"{INSTALLING}{head}"
    return f"{head}\n\nerrors:\n{rest.partition('errors:' + chr(10))[2]}"


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return ", ".join(names)


def file_versions(ctx: MinionContext, wanted: Sequence[PackageSpec]) -> dict[str, str]:
    """The versions in those package files that are on this machine already."""
    from saltlite.providers.pkg import provider
    from saltlite.providers.pkg.protocol import Opening

    files = {each.name: each.file for each in wanted if each.file and each.file.startswith("/")}
    try:
        back_end = provider(ctx) if files else None
    except FunctionUnavailable:  # a user's own module
        back_end = None
    if not isinstance(back_end, Opening):
        return {}
    return {name: back_end.file_version(path) for name, path in files.items()}


def narrowing(options: Mapping[str, object]) -> dict[str, Any]:
    """The keywords of an installation that say which versions there are for it."""
    return {key: options[key] for key in ("fromrepo", "update_holds") if options.get(key)}


def candidates(
    ctx: MinionContext, names: Sequence[str], options: Mapping[str, object]
) -> dict[str, str]:
    """The versions an installation would bring, from the lists as they are."""
    if not names:
        return {}
    try:
        found = ctx.functions.call(
            "pkg.latest_version", *names, refresh=False, **narrowing(options)
        )
    except SaltliteError:
        return {}
    return {names[0]: found} if isinstance(found, str) else dict(found)


def comparing(ctx: MinionContext, *, ignore_epoch: bool = False) -> asked.Compare:
    """The order of versions as this machine's package manager has it."""

    def compare(first: str, second: str) -> int | None:
        order = ctx.functions.call("pkg.version_cmp", first, second, ignore_epoch=ignore_epoch)
        return None if order is None else int(order)

    return compare


def fits(wanted: PackageSpec, versions: Sequence[str], compare: asked.Compare) -> bool:
    """Whether one of these versions will do."""
    if not versions or wanted.version is None:
        return bool(versions)
    if not asked.is_condition(wanted.version) and wanted.version in versions:
        return True
    return asked.satisfying(wanted.version, versions, compare) is not None


def difference(before: Installed, after: Installed) -> dict[str, Any]:
    """``{name: {"old", "new"}}`` of all packages that changed."""
    return dict(asked.changes(before, after))


def both(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Two changes of one package, as Salt lays them out: one value below the other."""
    keys = [*first, *(key for key in second if key not in first)]
    return {
        key: "\n".join(value for value in (first.get(key), second.get(key)) if value)
        for key in keys
    }
