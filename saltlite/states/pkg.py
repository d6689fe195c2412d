"""Packages that shall be there or not, at a version, newest, or kept as they are.

What a package manager can do is known to ``modules/pkg.py`` and its providers; a user's own ``pkg``
module takes their place. Comments are Salt's. Source: modules.md 3; observed on Salt 3006.30 with a
recorded apt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, SaltliteError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.pkg import requests as asked
from saltlite.providers.pkg.requests import truth

_REFRESHED = "saltlite.states.pkg.refreshed"
_INSTALLING = "An error was encountered while installing package(s): "

Installed = Mapping[str, Sequence[str]]


def _installed(ctx: MinionContext, **which: bool) -> dict[str, list[str]]:
    found = ctx.functions.call("pkg.list_pkgs", versions_as_list=True, **which)
    return {name: list(versions) for name, versions in found.items()}


def _refresh(ctx: MinionContext, refresh: bool | None) -> bool:
    """Whether the lists are to be got anew: once a run, unless it is said otherwise."""
    wanted = refresh is True or (refresh is None and not ctx.state.get(_REFRESHED))
    if wanted:
        ctx.state[_REFRESHED] = True
    return wanted


def _has(ctx: MinionContext, function: str) -> bool:
    try:
        ctx.functions.argspec(f"pkg.{function}")
    except FunctionUnavailable:
        return False
    return True


def _errors_of(error: SaltliteError) -> str:
    """What an installation said, without its changes: those are told apart from the comment."""
    head, found, rest = str(error).partition("\n\nchanges:\n")
    if not found:
        return str(error) if "Additional info" in head else f"{_INSTALLING}{head}"
    return f"{head}\n\nerrors:\n{rest.partition('errors:' + chr(10))[2]}"


def _difference(before: Installed, after: Installed) -> dict[str, Any]:
    return dict(asked.changes(before, after))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A package that shall be there; ``version`` may be a condition, ``file`` is what has it."""

    name: str
    version: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        """As comments name it: ``new``, ``new=1.9``, ``new>=1.9``."""
        if not self.version:
            return self.name
        return f"{self.name}{'' if self.version[0] in '<>=!' else '='}{self.version}"


@dataclass(frozen=True, slots=True)
class Stock:
    """The packages of a machine, and which of the wanted ones are not as they shall be."""

    installed: Installed
    missing: tuple[Wanted, ...] = ()
    coming: Mapping[str, str] = field(default_factory=dict)
    """The version that an installation would bring."""
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Present(Resource[Stock]):
    """Packages that are installed; ``hold`` also says whether they are kept as they are."""

    wanted: tuple[Wanted, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None
    hold: bool | None = None
    reinstall: bool = False
    ignore_epoch: bool = False

    def read(self, ctx: MinionContext) -> Stock:
        """Ask what is there; what is offered only if something is missing."""
        installed = _installed(ctx)
        missing = tuple(each for each in self.wanted if not self._is_there(ctx, each, installed))
        names = [each.name for each in missing if each.file is None]
        return Stock(
            installed=installed,
            missing=missing,
            coming={**_candidates(ctx, names, self.options), **self._chosen(ctx, missing)},
            held=_holds(ctx) if self.hold is not None else frozenset(),
        )

    def _is_there(self, ctx: MinionContext, wanted: Wanted, installed: Installed) -> bool:
        versions = installed.get(wanted.name, ())
        if not versions or wanted.version is None:
            return bool(versions)
        if not asked.is_condition(wanted.version) and wanted.version in versions:
            return True
        return asked.satisfying(wanted.version, versions, self._compare_with(ctx)) is not None

    def _compare_with(self, ctx: MinionContext) -> asked.Compare:
        def compare(first: str, second: str) -> int | None:
            call = ctx.functions.call
            order = call("pkg.version_cmp", first, second, ignore_epoch=self.ignore_epoch)
            return None if order is None else int(order)

        return compare

    def _chosen(self, ctx: MinionContext, missing: Sequence[Wanted]) -> dict[str, str]:
        """The offered version that fits each condition."""
        chosen = {}
        for each in missing:
            if each.version and asked.is_condition(each.version):
                offered = ctx.functions.call("pkg.list_repo_pkgs", each.name).get(each.name, [])
                fits = asked.satisfying(each.version, offered, self._compare_with(ctx))
                chosen[each.name] = fits or ""
        return chosen

    def plan(self, now: Stock) -> Sequence[Step] | Verdict:
        """One command installs all that is missing; another holds or lets go."""
        return [*self._installing(now), *self._holding(now)]

    def _installing(self, now: Stock) -> list[Step]:
        if not now.missing:
            return []
        names = _listed([each.name for each in now.missing])
        return [
            Step(
                would=f"The following packages would be installed/updated: {names}",
                did=f"The following packages were installed/updated: {self._named(now.missing)}",
                run=lambda ctx: self._install(ctx, now.missing),
                changes={
                    each.name: {
                        "old": ",".join(now.installed.get(each.name, ())),
                        "new": self._expected(each, now),
                    }
                    for each in now.missing
                },
            )
        ]

    @staticmethod
    def _named(wanted: Sequence[Wanted]) -> str:
        return _listed([str(each) for each in wanted])

    @staticmethod
    def _expected(wanted: Wanted, now: Stock) -> str:
        if wanted.version and not asked.is_condition(wanted.version):
            return wanted.version
        return now.coming.get(wanted.name) or "installed"

    def _install(self, ctx: MinionContext, wanted: Sequence[Wanted]) -> None:
        pkgs = [
            {each.name: each.version} if each.version else each.name
            for each in wanted
            if each.file is None
        ]
        sources = [{each.name: each.file} for each in wanted if each.file is not None]
        given = {**self.options, "pkgs": pkgs or None, "sources": sources or None}
        given["ignore_epoch"] = self.ignore_epoch
        if self.reinstall:
            given["reinstall"] = True
        try:
            ctx.functions.call("pkg.install", refresh=_refresh(ctx, self.refresh), **given)
        except FunctionError as error:
            raise FunctionError(_errors_of(error)) from error

    def _holding(self, now: Stock) -> list[Step]:
        if self.hold is None:
            return []
        coming = {
            name: change for step in self._installing(now) for name, change in step.changes.items()
        }
        names = [each.name for each in self.wanted if (each.name in now.held) is not self.hold]
        return [_hold_step(name, self.hold, coming.get(name, {})) for name in names]

    def settled(self, now: Stock) -> str:
        """All is there."""
        said = "All specified packages are already installed"
        if any(each.version for each in self.wanted):
            said += " and are at the desired version"
        if self.hold is None:
            return said
        about = "to be held" if self.hold else "not to be held"
        held = [f"Package {each.name} is already set {about}." for each in self.wanted]
        return "\n".join([f"{said}.", *held])

    def would(self, now: Stock, steps: Sequence[Step]) -> str:
        """What is missing; holding is told only if nothing is."""
        if now.missing:
            return steps[0].would
        told = self.settled(now).split("\n")[0]
        return "\n".join([told, *(step.would for step in steps)])

    def done(self, before: Stock, after: Stock, steps: Sequence[Step]) -> str:
        """What was installed, what was there, and what is held now."""
        there = [each for each in self.wanted if each not in before.missing]
        told = [steps[0].did] if before.missing else [self.settled(before).split("\n")[0]]
        if before.missing and there:
            told.append(f"The following packages were already installed: {self._named(there)}")
        if self.hold is not None:
            now = {step.did for step in self._holding(before)}
            about = "to be held" if self.hold else "not to be held"
            for each in self.wanted:
                did = _hold_step(each.name, self.hold).did
                told.append(did if did in now else f"Package {each.name} is already set {about}.")
        return "\n".join(told)

    def changes(self, before: Stock, after: Stock, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed, also those that came along; then what is held."""
        changed = _difference(before.installed, after.installed)
        for name in (name for step in steps[bool(before.missing) :] for name in step.changes):
            changed[name] = _both(changed.get(name, {}), _hold_change(bool(self.hold)))
        return changed

    def unmet(self, after: Stock, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        return (
            "The following packages failed to install/update:"
            f" {self._named(after.missing) or _listed([step.would for step in left])}"
        )


def _both(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Two changes of one package, as Salt lays them out: one value below the other."""
    keys = [*first, *(key for key in second if key not in first)]
    return {
        key: "\n".join(value for value in (first.get(key), second.get(key)) if value)
        for key in keys
    }


def _candidates(
    ctx: MinionContext, names: Sequence[str], options: Mapping[str, Any]
) -> dict[str, str]:
    """The versions an installation would bring, from the lists as they are."""
    if not names:
        return {}
    given = {"fromrepo": options["fromrepo"]} if options.get("fromrepo") else {}
    try:
        found = ctx.functions.call("pkg.latest_version", *names, refresh=False, **given)
    except SaltliteError:
        return {}
    return {names[0]: found} if isinstance(found, str) else dict(found)


def _holds(ctx: MinionContext) -> frozenset[str]:
    return frozenset(ctx.functions.call("pkg.list_holds", full=False))


def _hold_step(name: str, hold: bool, besides: Mapping[str, str] | None = None) -> Step:
    function = "pkg.hold" if hold else "pkg.unhold"
    return Step(
        would=f"Package {name} is set {'to be held' if hold else 'not to be held'}.",
        did=f"Package {name} is {'now' if hold else 'no longer'} being held.",
        run=lambda ctx: _set_hold(ctx, function, name),
        changes={name: _both(besides or {}, _hold_change(hold))},
    )


def _hold_change(hold: bool) -> dict[str, str]:
    states = ("install", "hold")
    return dict(zip(("old", "new"), states if hold else reversed(states), strict=True))


def _set_hold(ctx: MinionContext, function: str, name: str) -> None:
    answer = ctx.functions.call(function, name)
    failed = [each for each in answer.values() if each.get("result") is False]
    if failed:
        raise FunctionError(str(failed[0].get("comment", "")))


@dataclass(frozen=True, slots=True)
class Offer:
    """Packages and their newest versions; ``newest`` is ``""`` where there is nothing newer."""

    installed: Installed
    newest: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Newest(Resource[Offer]):
    """Packages that are there in their newest version."""

    names: tuple[str, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None

    def read(self, ctx: MinionContext) -> Offer:
        """The lists are got anew once a run: what is newest is known only then."""
        given = {"fromrepo": self.options["fromrepo"]} if self.options.get("fromrepo") else {}
        refresh = _refresh(ctx, self.refresh)
        found = ctx.functions.call("pkg.latest_version", *self.names, refresh=refresh, **given)
        newest = {self.names[0]: found} if isinstance(found, str) else dict(found)
        return Offer(_installed(ctx), newest)

    def _targets(self, now: Offer) -> list[str]:
        return sorted(name for name in self.names if now.newest.get(name))

    def plan(self, now: Offer) -> Sequence[Step] | Verdict:
        """One command for all that is not the newest."""
        unknown = [
            name for name in self.names if not (now.newest.get(name) or name in now.installed)
        ]
        if unknown:
            said = "\n".join(f"No information found for '{name}'." for name in unknown)
            return Verdict(result=False, comment=said)
        targets = self._targets(now)
        if not targets:
            return []
        return [
            Step(
                would=f"The following packages would be installed/upgraded: {_listed(targets)}",
                run=lambda ctx: self._install(ctx, targets),
                changes={
                    name: {"old": ",".join(now.installed.get(name, ())), "new": now.newest[name]}
                    for name in targets
                },
            )
        ]

    def _install(self, ctx: MinionContext, targets: Sequence[str]) -> None:
        try:
            ctx.functions.call("pkg.install", pkgs=list(targets), refresh=False, **self.options)
        except FunctionError as error:
            raise FunctionError(f"{_INSTALLING}{error}") from error

    def settled(self, now: Offer) -> str:
        """All are the newest."""
        if len(self.names) == 1:
            return f"Package {self.names[0]} is already up-to-date"
        return f"All packages are up-to-date ({_listed(sorted(self.names))})."

    def _fresh(self, now: Offer) -> list[str]:
        return sorted(set(self.names) - set(self._targets(now)))

    def would(self, now: Offer, steps: Sequence[Step]) -> str:
        """What would change, and what is fine."""
        fresh = [f"{name} ({','.join(now.installed[name])})" for name in self._fresh(now)]
        more = f"\nThe following packages are already up-to-date: {_listed(fresh)}"
        return steps[0].would + (more if fresh else "")

    def done(self, before: Offer, after: Offer, steps: Sequence[Step]) -> str:
        """What changed, and what was fine."""
        names = _listed(self._targets(before))
        said = f"The following packages were successfully installed/upgraded: {names}"
        fresh = self._fresh(before)
        more = f" The following packages were already up-to-date: {_listed(fresh)}"
        return said + (more if fresh else "")

    def changes(self, before: Offer, after: Offer, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed."""
        return _difference(before.installed, after.installed)

    def unmet(self, after: Offer, left: Sequence[Step]) -> str:
        """They were installed and are not the newest."""
        return f"The following packages failed to update: {_listed(self._targets(after))}"


@dataclass(frozen=True, slots=True)
class Remains:
    """What is installed, and of what only configuration is left."""

    installed: Installed
    left: Installed


@dataclass(frozen=True, kw_only=True)
class Gone(Resource[Remains]):
    """Packages that are not there; ``purge``: nor is their configuration."""

    wanted: tuple[Wanted, ...]
    purge: bool
    options: Mapping[str, Any]
    keeps_configuration: bool = False

    def read(self, ctx: MinionContext) -> Remains:
        """What is there, and what is left over where that matters."""
        left = _installed(ctx, removed=True) if self.purge and self.keeps_configuration else {}
        return Remains(_installed(ctx), left)

    def _targets(self, now: Remains) -> list[str]:
        return [
            each.name
            for each in self.wanted
            if each.name in now.left
            or (
                each.name in now.installed
                and (each.version is None or each.version in now.installed[each.name])
            )
        ]

    def plan(self, now: Remains) -> Sequence[Step] | Verdict:
        """One command for all that is there."""
        targets = self._targets(now)
        if not targets:
            return []
        function = "pkg.purge" if self.purge else "pkg.remove"
        done = "purged" if self.purge else "removed"
        there = {**now.left, **now.installed}
        changes = {name: {"old": ",".join(there[name]), "new": ""} for name in targets}
        return [
            Step(
                would=f"The following packages will be {done}: {_listed(sorted(targets))}.",
                run=lambda ctx: self._remove(ctx, function, targets),
                changes=self._laid_out(changes, now),
            )
        ]

    def _remove(self, ctx: MinionContext, function: str, targets: Sequence[str]) -> None:
        try:
            ctx.functions.call(function, pkgs=list(targets), **self.options)
        except FunctionError as error:
            raise FunctionError(_errors_of(error)) from error

    def _laid_out(self, changed: dict[str, Any], before: Remains) -> dict[str, Any]:
        """Purged packages are told by what they were, where configuration can be left."""
        if not (self.purge and self.keeps_configuration):
            return changed
        split: dict[str, Any] = {"installed": {}, "removed": {}}
        for name, change in changed.items():
            split["installed" if name in before.installed else "removed"][name] = change
        return split

    def settled(self, now: Remains) -> str:
        """None of them is there."""
        if self.purge:
            return "None of the targeted packages are installed or partially installed"
        versions = any(each.version for each in self.wanted)
        which = " (matching specified versions)" if versions else ""
        return f"All specified packages{which} are already absent"

    def done(self, before: Remains, after: Remains, steps: Sequence[Step]) -> str:
        """What went, and what had not been there."""
        done = "purged" if self.purge else "removed"
        targets = self._targets(before)
        absent = sorted({each.name for each in self.wanted} - set(targets))
        if not absent:
            return f"All targeted packages were {done}."
        return (
            f"The following packages were not installed: {_listed(absent)}"
            f" The following packages were {done}: {_listed(sorted(targets))}."
        )

    def changes(self, before: Remains, after: Remains, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that went, also those that depended on it."""
        old = {**before.left, **before.installed}
        new = {**after.left, **after.installed}
        return self._laid_out(_difference(old, new), before)

    def unmet(self, after: Remains, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        done = "purge" if self.purge else "remove"
        return f"The following packages failed to {done}: {_listed(sorted(self._targets(after)))}."


@dataclass(frozen=True, slots=True)
class Upgrades:
    """What could be upgraded, and what is there; ``error`` if that cannot be told."""

    installed: Installed
    newer: Mapping[str, str]
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class UpToDate(Resource[Upgrades]):
    """A system without anything to upgrade; ``pkgs`` limits it to some packages."""

    pkgs: tuple[str, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None

    def read(self, ctx: MinionContext) -> Upgrades:
        """Ask for what is newer; the lists are got anew once a run."""
        refresh = _refresh(ctx, self.refresh)
        installed = _installed(ctx)
        try:
            newer = ctx.functions.call("pkg.list_upgrades", refresh=refresh, **self.options)
        except FunctionError as error:
            return Upgrades(installed, {}, str(error).rpartition("listing upgrades: ")[2])
        chosen = {name: newer[name] for name in newer if not self.pkgs or name in self.pkgs}
        return Upgrades(installed, chosen)

    def plan(self, now: Upgrades) -> Sequence[Step] | Verdict:
        """One command upgrades them."""
        if now.error:
            return Verdict(result=False, comment=f"Failed to get upgrades: {now.error}")
        if not now.newer:
            return []
        return [
            Step(
                would="System update will be performed",
                did="Upgrade ran successfully",
                run=self._upgrade,
                changes={
                    name: {"old": ",".join(now.installed.get(name, ())), "new": version}
                    for name, version in now.newer.items()
                },
            )
        ]

    def _upgrade(self, ctx: MinionContext) -> None:
        given = {**self.options, "pkgs": list(self.pkgs)} if self.pkgs else dict(self.options)
        ctx.functions.call("pkg.upgrade", refresh=False, **given)

    def settled(self, now: Upgrades) -> str:
        """There is nothing newer."""
        return "System is already up-to-date"

    def changes(self, before: Upgrades, after: Upgrades, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed."""
        return _difference(before.installed, after.installed)

    def unmet(self, after: Upgrades, left: Sequence[Step]) -> str:
        """The command succeeded and left some."""
        return f"The following packages failed to update: {_listed(sorted(after.newer))}"


@dataclass(frozen=True, kw_only=True)
class Kept(Resource[frozenset[str]]):
    """Packages that are held, or not. ``alone``: all others are not held."""

    names: tuple[str, ...]
    hold: bool
    alone: bool = False

    def read(self, ctx: MinionContext) -> frozenset[str]:
        """What is held."""
        return _holds(ctx)

    def plan(self, now: frozenset[str]) -> Sequence[Step] | Verdict:
        """A step for each that is not as it shall be."""
        wrong = [name for name in self.names if (name in now) is not self.hold]
        others = sorted(now - set(self.names)) if self.alone else []
        return [
            *(self._step(name, self.hold) for name in wrong),
            *(self._step(name, not self.hold) for name in others),
        ]

    @staticmethod
    def _step(name: str, hold: bool) -> Step:
        step = _hold_step(name, hold)
        answer = {"name": name, "changes": _hold_change(hold), "result": True, "comment": step.did}
        return Step(
            would=f"The following package would be {'held' if hold else 'unheld'}: {name}",
            did=step.did.removesuffix(".") if hold else step.did,
            run=step.run,
            changes={name: answer},
        )

    def settled(self, now: frozenset[str]) -> str:
        """All is so already."""
        return "No changes made"


def installed(
    ctx: MinionContext,
    name: str,
    version: Any = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    skip_suggestions: bool = False,
    pkgs: Any = None,
    sources: Any = None,
    allow_updates: bool = False,
    pkg_verify: Any = False,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    reinstall: bool = False,
    update_holds: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages are installed: one by ``name``, or those of ``pkgs``, or files of ``sources``.

    A version is exact, a glob (``1.*``), a condition (``>=1.2,<2``) or ``latest``. Without one
    any will do. ``hold`` also keeps them as they are, or lets them go. With ``allow_updates`` a
    newer version than the exact one will do. Other keywords are those of ``pkg.install``.
    """
    if pkgs and sources:
        return Verdict(result=False, comment='Only one of "pkgs" and "sources" is permitted.')
    if any(given is not None and not given for given in (pkgs, sources)):
        return Verdict(result=True, comment="No packages to install provided")
    hold = kwargs.pop("hold", None)
    lacking = _lacking(ctx, hold=hold is not None, pkg_verify=pkg_verify, reinstall=reinstall)
    if lacking:
        return lacking
    options = {
        "fromrepo": fromrepo,
        "skip_verify": skip_verify,
        "update_holds": update_holds or hold is not None,
        **kwargs,
    }
    wanted = _wanted(ctx, name, version, pkgs, sources, normalize)
    if allow_updates:
        wanted = [_or_newer(each) for each in wanted]
    return Present(
        wanted=tuple(_newest_named(ctx, wanted, options)),
        options=options,
        refresh=refresh,
        hold=None if hold is None else truth(hold),
        ignore_epoch=bool(ignore_epoch),
    )


def _lacking(
    ctx: MinionContext, *, hold: bool = False, pkg_verify: Any = False, reinstall: bool = False
) -> Verdict | None:
    """What this package manager, or saltlite, cannot do: said before anything has run."""
    if hold and not _can_hold(ctx):
        return _refusal("The package manager of this machine cannot hold packages")
    if pkg_verify:
        return _refusal("pkg_verify is not supported")
    if reinstall:
        return _refusal("reinstall is not supported; use module.run with pkg.install instead")
    return None


def _can_hold(ctx: MinionContext) -> bool:
    try:
        _holds(ctx)
    except FunctionUnavailable:
        return False
    return True


def _refusal(sentence: str) -> Verdict:
    return Verdict(result=False, comment=sentence)


def _wanted(
    ctx: MinionContext, name: str, version: Any, pkgs: Any, sources: Any, normalize: bool
) -> list[Wanted]:
    if sources:
        return [Wanted(each, file=path) for each, path in asked.sources_of(sources).items()]
    if pkgs:
        found = [Wanted(each, wish) for each, wish in asked.packages_of(pkgs).items()]
    else:
        found = [Wanted(name, None if version in (None, "") else str(version))]
    if not (normalize and _has(ctx, "normalize_name")):
        return found
    call = ctx.functions.call
    return [Wanted(str(call("pkg.normalize_name", each.name)), each.version) for each in found]


def _or_newer(wanted: Wanted) -> Wanted:
    if wanted.version is None or asked.is_condition(wanted.version):
        return wanted
    return Wanted(wanted.name, f">={wanted.version}")


def _newest_named(
    ctx: MinionContext, wanted: Sequence[Wanted], options: Mapping[str, Any]
) -> list[Wanted]:
    """``latest`` becomes the version that it means now."""
    names = [each.name for each in wanted if each.version == "latest"]
    newest = _candidates(ctx, names, options)
    there = _installed(ctx) if names else {}
    return [
        Wanted(each.name, newest.get(each.name) or ",".join(there.get(each.name, ())) or None)
        if each.version == "latest"
        else each
        for each in wanted
    ]


def latest(
    ctx: MinionContext,
    name: str,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    pkgs: Any = None,
    watch_flags: bool = True,
    **kwargs: Any,
) -> Declared:
    """Packages are there in their newest version."""
    if pkgs is not None and not pkgs:
        return Verdict(result=True, comment="No packages to install provided")
    names = asked.names_of(name, pkgs)
    options = {"fromrepo": fromrepo, "skip_verify": skip_verify, **kwargs}
    return Newest(names=tuple(names), options=options, refresh=refresh)


def removed(
    ctx: MinionContext,
    name: str,
    version: Any = None,
    pkgs: Any = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Packages are not there; of a ``version`` only that one. Configuration may stay."""
    return _gone(ctx, name, version, pkgs, normalize, kwargs, purge=False)


def purged(
    ctx: MinionContext,
    name: str,
    version: Any = None,
    pkgs: Any = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Packages are not there, and neither is their configuration."""
    return _gone(ctx, name, version, pkgs, normalize, kwargs, purge=True)


def _gone(
    ctx: MinionContext,
    name: str,
    version: Any,
    pkgs: Any,
    normalize: bool,
    options: Mapping[str, Any],
    *,
    purge: bool,
) -> Declared:
    empty = pkgs is not None and not pkgs
    wanted = [] if empty else _wanted(ctx, name, version, pkgs, None, normalize)
    return Gone(
        wanted=tuple(wanted),
        purge=purge,
        options=options,
        keeps_configuration=ctx.grains.get("os_family") == "Debian",
    )


def uptodate(
    ctx: MinionContext, name: str, refresh: bool | None = None, pkgs: Any = None, **kwargs: Any
) -> Declared:
    """There is nothing to upgrade; of ``pkgs`` if they are given, else of all packages."""
    if not _has(ctx, "list_upgrades"):
        return _refusal("State pkg.uptodate is not available")
    names = asked.names_of(None, pkgs) if pkgs else []
    return UpToDate(pkgs=tuple(names), options=kwargs, refresh=refresh)


def held(
    ctx: MinionContext,
    name: str,
    version: Any = None,
    pkgs: Any = None,
    replace: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages are kept at the version they have; with ``replace`` all others are not."""
    return _kept(ctx, name, pkgs, hold=True, alone=bool(replace))


def unheld(
    ctx: MinionContext,
    name: str,
    version: Any = None,
    pkgs: Any = None,
    all: bool = False,
    **kwargs: Any,
) -> Declared:
    """Packages may be upgraded again; with ``all`` every one that is held."""
    names = sorted(_holds(ctx)) if all and _can_hold(ctx) else pkgs
    return _kept(ctx, name, names, hold=False)


def _kept(ctx: MinionContext, name: str, pkgs: Any, *, hold: bool, alone: bool = False) -> Declared:
    if not _can_hold(ctx):
        return _refusal("The package manager of this machine cannot hold packages")
    return Kept(names=tuple(asked.names_of(name, pkgs)), hold=hold, alone=alone)


def group_installed(
    ctx: MinionContext, name: str, skip: Any = None, include: Any = None, **kwargs: Any
) -> Declared:
    """A group of packages is installed; no provider has groups yet."""
    return _refusal("pkg.group_install not available for this platform")


def mod_watch(ctx: MinionContext, name: str, sfun: str | None = None, **kwargs: Any) -> Declared:
    """Something that a package depends on has changed: it is looked at once more."""
    again: Mapping[str, Callable[..., Declared]] = {
        "installed": installed,
        "latest": latest,
        "removed": removed,
        "purged": purged,
    }
    if sfun is None or sfun not in again:
        return _refusal(f"pkg.{sfun} does not work with the watch requisite")
    return again[sfun](ctx, name, **kwargs)
