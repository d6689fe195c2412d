"""Packages of Node.js, on the whole machine or in a project. Source: observed on Salt 3006.30."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Resource, Step, Verdict
from saltlite.modules import npm as packages
from saltlite.providers.npm import package
from saltlite.states._fact import Fact

Listed = Mapping[str, Mapping[str, Any]]

_EXACT = regex(r"v?\d+\.\d+\.\d+\S*$")


def installed(
    name: str,
    pkgs: Any = None,
    dir: str | None = None,
    user: str | None = None,
    force_reinstall: bool = False,
    registry: str | None = None,
    env: object = None,
) -> Installed | Action:
    """A package, or all of ``pkgs``: ``name`` or ``name@1.0.0``.

    What cannot be found again among the installed packages (``name@^1``, an address) is installed
    each time, as everything with ``force_reinstall``.
    """
    wanted = tuple(str(each) for each in pkgs) if pkgs else (str(name),)
    declared = Installed(
        wanted=wanted, which={"dir": dir, "runas": user, "env": env}, registry=registry
    )
    if force_reinstall:
        return _each_time(declared, wanted)
    indefinite = [each for each in wanted if not _is_definite(each)]
    return _each_time(declared, indefinite) if indefinite else declared


def _each_time(declared: Installed, wanted: Sequence[str]) -> Action:
    """Install ``wanted`` again, and what is missing of the others."""

    def due(ctx: MinionContext) -> list[str]:
        missing = declared.missing(declared.read(ctx))
        return [each for each in declared.wanted if each in wanted or each in missing]

    def foreseen(ctx: MinionContext) -> Verdict:
        (step,) = declared.installing(due(ctx))
        return Verdict(result=None, comment=step.would, changes=step.changes)

    def run(ctx: MinionContext) -> Verdict:
        (step,) = declared.installing(due(ctx))
        try:
            step.run(ctx)
        except FunctionError as error:
            return Verdict(result=False, comment=str(error))
        return Verdict(result=True, comment=step.did, changes=step.changes)

    (step,) = declared.installing(wanted)
    return Action(would=step.would, run=run, foreseen=foreseen)


def _is_definite(wanted: str) -> bool:
    """Whether it can be seen in a list of packages that it is there."""
    name, version = package(wanted)
    if version is not None:
        return bool(_EXACT.match(version))
    return name.startswith("@") or not re.search(r"[:/]|\.tgz$", name)


def removed(name: str, dir: str | None = None, user: str | None = None) -> Fact:
    """No such package."""
    name = str(name)
    which = {"dir": dir, "runas": user}
    return Fact(
        holds=lambda ctx: name not in ctx.follow(packages.list_, depth=0, **which),
        make=lambda ctx: ctx.follow(packages.uninstall, name, **which),
        intent=f"Package '{name}' is set to be removed",
        report=f"Package '{name}' was successfully removed",
        known=f"Package '{name}' is not installed",
        told={name: "Removed"},
        remains=f"Error removing package '{name}'",
    )


def bootstrap(name: str, user: str | None = None, silent: bool = True) -> Bootstrapped:
    """What the ``package.json`` in the directory ``name`` asks for is there."""
    return Bootstrapped(name=str(name), user=user, silent=silent)


def cache_cleaned(name: str | None = None, user: str | None = None, force: bool = False) -> Fact:
    """A package, or without a name all packages, out of npm's cache."""
    what = name or "cached packages"

    def holds(ctx: MinionContext) -> bool:
        lines = ctx.follow(packages.cache_list, runas=user).splitlines()
        if name is None:
            return not lines
        root = ctx.follow(packages.cache_path, runas=user).rstrip("/")
        return not any(line.startswith(f"{root}/{name}/") for line in lines)

    return Fact(
        holds=holds,
        make=lambda ctx: ctx.follow(packages.cache_clean, name, runas=user, force=force),
        intent=f"{what} set to be removed from cache",
        report=f"{what} successfully removed from cache",
        known=f"Package {name} is not in the cache" if name else "The cache is empty",
        told={name or "cache": "Removed"},
        failed=f"Error cleaning cached {name or 'packages'}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed(Resource[Listed]):
    """Packages that are there, perhaps in certain versions."""

    wanted: tuple[str, ...]
    which: Mapping[str, Any]
    registry: str | None

    def read(self, ctx: MinionContext) -> Listed:
        return ctx.follow(packages.list_, depth=0, **self.which)

    def plan(self, now: Listed) -> list[Step]:
        missing = self.missing(now)
        return self.installing(missing) if missing else []

    def missing(self, now: Listed) -> list[str]:
        """What of the wanted is not there, or in another version."""
        return [each for each in self.wanted if not self._find_package(each, now)]

    @staticmethod
    def _find_package(wanted: str, now: Listed) -> str:
        """The installed package that is what is wanted, as ``name@version``; empty if none is."""
        name, version = package(wanted)
        there = next((each for each in now if each.lower() == name.lower()), "")
        have = str(now[there].get("version", "")) if there else ""
        if not have or (version is not None and have != version.removeprefix("v")):
            return ""
        return f"{there}@{have}"

    def installing(self, names: Sequence[str]) -> list[Step]:
        """One command for all of them."""
        listed = ", ".join(names)
        step = Step(
            would=f"NPM package(s) '{listed}' are set to be installed",
            did=f"Package(s) '{listed}' successfully installed",
            changes={"old": [], "new": list(names)},
            run=partial(self._install_packages, names=names),
        )
        return [step]

    def _install_packages(self, ctx: MinionContext, names: Sequence[str]) -> None:
        try:
            ctx.follow(packages.install, pkgs=list(names), registry=self.registry, **self.which)
        except FunctionError as error:
            listed = ", ".join(self.wanted)
            raise FunctionError(f"Error installing '{listed}': {error}") from error

    def comment_unchanged(self, now: Listed) -> str:
        found = ", ".join(self._find_package(each, now) for each in self.wanted)
        return f"Package(s) '{', '.join(self.wanted)}' satisfied by {found}"

    def unmet(self, after: Listed, left: Sequence[Step]) -> str:
        return f"Could not install package(s) '{', '.join(self.missing(after))}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapped(Resource[Any]):
    """A project with all packages that it asks for; npm itself says what it would do."""

    name: str
    user: str | None
    silent: bool

    def read(self, ctx: MinionContext) -> Any:
        try:
            return ctx.follow(
                packages.install, dir=self.name, runas=self.user, dry_run=True, silent=False
            )
        except FunctionError as error:
            return error

    def plan(self, now: object) -> list[Step] | Verdict:
        if isinstance(now, FunctionError):
            return Verdict(result=False, comment=f"Error Bootstrapping '{self.name}': {now}")
        step = Step(
            would=f"{self.name} is set to be bootstrapped",
            did="Directory was successfully bootstrapped",
            changes={self.name: "Bootstrapped"},
            run=lambda ctx: ctx.follow(
                packages.install, dir=self.name, runas=self.user, silent=self.silent
            ),
        )
        return [step] if self._is_due(now) else []

    @staticmethod
    def _is_due(now: object) -> bool:
        if not isinstance(now, Mapping):
            return bool(now)
        return any(now.get(each) for each in ("added", "changed", "removed"))

    def comment_unchanged(self, now: object) -> str:
        return "Directory is already bootstrapped"
