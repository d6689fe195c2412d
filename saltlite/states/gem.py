"""Packages of Ruby and where they are got from. Source: observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import gem as gems
from saltlite.providers.gem import is_condition, satisfies
from saltlite.states._fact import Fact


def installed(
    name: str,
    ruby: str | None = None,
    gem_bin: str | None = None,
    user: str | None = None,
    version: object = None,
    rdoc: bool = False,
    ri: bool = False,
    pre_releases: bool = False,
    proxy: str | None = None,
    source: str | None = None,
) -> Installed:
    """A gem in any version, or in one that ``version`` allows: ``1.5``, ``>= 2``, ``~> 4.0``."""
    return Installed(
        name=name,
        version=None if version is None else str(version),
        which={"ruby": ruby, "runas": user, "gem_bin": gem_bin},
        options={
            "rdoc": rdoc,
            "ri": ri,
            "pre_releases": pre_releases,
            "proxy": proxy,
            "source": source,
        },
    )


def removed(
    name: str, ruby: str | None = None, user: str | None = None, gem_bin: str | None = None
) -> Fact:
    """No version of a gem."""
    which = {"ruby": ruby, "runas": user, "gem_bin": gem_bin}
    return Fact(
        holds=lambda ctx: not _find_versions(ctx, name, which),
        make=lambda ctx: ctx.follow(gems.uninstall, [name], **which),
        intent=f"The gem {name} would have been removed",
        report="Gem was successfully removed.",
        known="Gem is not installed.",
        told={name: "Removed"},
        remains="Could not remove gem.",
    )


def sources_add(name: str, ruby: str | None = None, user: str | None = None) -> Fact:
    """An address from which gems are got."""
    which = {"ruby": ruby, "runas": user}
    return Fact(
        holds=lambda ctx: name in ctx.follow(gems.sources_list, **which),
        make=lambda ctx: ctx.follow(gems.sources_add, name, **which),
        intent=f"The gem source {name} would have been added.",
        report="Gem source was successfully added.",
        known="Gem source is already added.",
        told={name: "Installed"},
        remains="Could not add gem source.",
    )


def sources_remove(name: str, ruby: str | None = None, user: str | None = None) -> Fact:
    """An address from which no gems are got."""
    which = {"ruby": ruby, "runas": user}
    return Fact(
        holds=lambda ctx: name not in ctx.follow(gems.sources_list, **which),
        make=lambda ctx: ctx.follow(gems.sources_remove, name, **which),
        intent="The gem source would have been removed.",
        report="Gem source was successfully removed.",
        known="Gem source is already removed.",
        told={name: "Removed"},
        remains="Could not remove gem source.",
    )


def _find_versions(ctx: MinionContext, name: str, which: Mapping[str, Any]) -> list[str]:
    """The versions of a gem; other gems begin with the same letters."""
    return ctx.follow(gems.list_, name, **which).get(name, [])


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed(Resource[list[str]]):
    """A gem that is there, perhaps in a certain version."""

    name: str
    version: str | None
    which: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def read(self, ctx: MinionContext) -> list[str]:
        return _find_versions(ctx, self.name, self.which)

    def plan(self, now: list[str]) -> list[Step]:
        wanted = self.version
        if now and (wanted is None or any(satisfies(each, wanted) for each in now)):
            return []
        step = Step(
            would=f"The gem {self.name} would have been installed",
            did="Gem was successfully installed",
            changes={self.name: "Installed"},
            run=lambda ctx: ctx.follow(
                gems.install, [self.name], version=wanted, **self.which, **self.options
            ),
        )
        return [step]

    def comment_unchanged(self, now: list[str]) -> str:
        if self.version is not None and is_condition(self.version):
            return "Installed Gem meets version requirements."
        return "Gem is already installed."

    def unmet(self, after: list[str], left: Sequence[Step]) -> str:
        return "Could not install gem."
