"""Kernel modules: loaded or not, now and after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import kmod
from saltlite.providers import textfile
from saltlite.providers.kernel import modules


def present(name: str, persist: bool = False, mods: object = None) -> Loaded:
    """A module, or all of ``mods``, loaded; ``persist`` also at every start."""
    return Loaded(modules=_list_names(name, mods), persist=persist)


def absent(name: str, persist: bool = False, comment: bool = True, mods: object = None) -> Unloaded:
    """A module, or all of ``mods``, not loaded.

    ``persist`` takes it out of the list for the start too, or with ``comment`` comments it out.
    """
    return Unloaded(modules=_list_names(name, mods), persist=persist, comment=comment)


def _list_names(name: str, mods: object) -> tuple[str, ...]:
    if isinstance(mods, (list, tuple)):
        return tuple(dict.fromkeys(map(str, mods)))
    return (str(mods or name),)


@dataclass(frozen=True, slots=True)
class Modules:
    """The names of modules: loaded, loaded at the start, and to be had at all."""

    loaded: frozenset[str]
    kept: frozenset[str]
    known: frozenset[str]


def _read_modules(ctx: MinionContext) -> Modules:
    return Modules(
        frozenset(ctx.follow(kmod.mod_list)),
        frozenset(ctx.follow(kmod.mod_list, only_persist=True)),
        frozenset(ctx.follow(kmod.available)),
    )


def _say_of(modules: Sequence[str], what: str) -> str:
    """``Kernel module a is ...``, ``Kernel modules a, b are ...``."""
    many = len(modules) > 1
    return f"Kernel module{'s' * many} {', '.join(modules)} {'are' if many else 'is'} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Resource[Modules]):
    """Modules that are loaded."""

    modules: tuple[str, ...]
    persist: bool

    def read(self, ctx: MinionContext) -> Modules:
        return _read_modules(ctx)

    def plan(self, now: Modules) -> list[Step] | Verdict:
        missing = self._find_missing(now)
        unknown = [name for name in missing if name not in now.known]
        wanted = [name for name in missing if name in now.known]
        if unknown and not wanted:
            lines = [*self._find_loaded(now), _say_of(unknown, "unavailable")]
            return Verdict(result=False, comment="\n".join(lines))
        steps = [self._plan_load(name) for name in wanted]
        if unknown:
            steps.append(Step(would=unknown[0], run=partial(self._raise_lack, names=unknown)))
        return steps

    def _find_missing(self, now: Modules) -> list[str]:
        there = now.loaded & now.kept if self.persist else now.loaded
        return [name for name in self.modules if name not in there]

    def _plan_load(self, name: str) -> Step:
        run = partial(self._load_module, name=name)
        return Step(would=name, changes={name: "loaded"}, run=run)

    def _load_module(self, ctx: MinionContext, name: str) -> None:
        answer = ctx.follow(kmod.load, name, self.persist)
        if isinstance(answer, str):
            raise FunctionError(f"Failed to load kernel module {name}: {answer}")

    def _raise_lack(self, ctx: MinionContext, names: list[str]) -> None:
        raise FunctionError(_say_of(names, "unavailable"))

    def _find_loaded(self, now: Modules) -> list[str]:
        missing = self._find_missing(now)
        there = [name for name in self.modules if name not in missing]
        return [_say_of(there, "already present")] if there else []

    def comment_unchanged(self, now: Modules) -> str:
        return _say_of(self.modules, "already present")

    def would(self, now: Modules, steps: Sequence[Step]) -> str:
        told = _say_of(self._find_missing(now), "set to be loaded")
        return "\n".join([*self._find_loaded(now), told])

    def comment_changed(self, before: Modules, after: Modules, steps: Sequence[Step]) -> str:
        names = [step.would for step in steps]
        told = f"Loaded kernel module{'s' * (len(names) > 1)} {', '.join(names)}"
        return "\n".join([*self._find_loaded(before), told])


@dataclass(frozen=True, slots=True, kw_only=True)
class Unloaded(Resource[Modules]):
    """Modules that are not loaded."""

    modules: tuple[str, ...]
    persist: bool
    comment: bool

    def read(self, ctx: MinionContext) -> Modules:
        return _read_modules(ctx)

    def plan(self, now: Modules) -> list[Step]:
        names = self._find_loaded(now)
        changes = dict.fromkeys(names, "removed")
        run = partial(self._remove_all, now=now, names=names)
        return [Step(would=", ".join(names), changes=changes, run=run)] if names else []

    def _find_loaded(self, now: Modules) -> list[str]:
        there = now.loaded | now.kept if self.persist else now.loaded
        return [name for name in self.modules if name in there]

    def _remove_all(self, ctx: MinionContext, now: Modules, names: Sequence[str]) -> None:
        """Remove each; one that is in use keeps no other one.

        Raises:
            FunctionError: some are still there; which, and why.
        """
        wrong = [said for name in names if (said := self._remove_module(ctx, now, name))]
        if wrong:
            raise FunctionError("\n".join(wrong))

    def _remove_module(self, ctx: MinionContext, now: Modules, name: str) -> str:
        """Remove one; why it is still there, ``""`` if it is not."""
        if name not in now.loaded:
            self._forget_module(ctx, name)
            return ""
        answer = ctx.follow(kmod.remove, name, self.persist, self.comment)
        return f"Failed to remove kernel module {name}: {answer}" if isinstance(answer, str) else ""

    def _forget_module(self, ctx: MinionContext, name: str) -> None:
        path = modules.SYSTEMD_FILE if ctx.grains.get("systemd") else modules.MODULES_FILE
        with textfile.hold(ctx, path):
            text = textfile.load(ctx.host, path) or ""
            textfile.save(path, modules.without_modules(text, [name], comment=self.comment))

    def comment_unchanged(self, now: Modules) -> str:
        return _say_of(self.modules, "already removed")

    def would(self, now: Modules, steps: Sequence[Step]) -> str:
        return _say_of(self._find_loaded(now), "set to be removed")

    def changes_of_failed(
        self, before: Modules, after: Modules, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """Those that are no longer there."""
        left = self._find_loaded(after)
        return {name: "removed" for name in self._find_loaded(before) if name not in left}

    def comment_changed(self, before: Modules, after: Modules, steps: Sequence[Step]) -> str:
        names = self._find_loaded(before)
        return f"Removed kernel module{'s' * (len(names) > 1)} {', '.join(names)}"
