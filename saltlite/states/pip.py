"""Packages of Python: there, not there, up to date. Source: observed on Salt 3006.30.

Only pip knows what a requirement comes to, so what it would install is asked with ``--dry-run``
(pip 22.2); an older one is not asked, and then a test run cannot name versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import write_fields
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Action, Resource, Step, Verdict
from saltlite.modules import pip
from saltlite.providers.pip import (
    PipOptions,
    conflicts,
    names_of,
    normalize_name,
    requirement,
    would_install,
)
from saltlite.states._fact import Fact

_ALREADY = "All specified packages are already installed"


_INSTALLED = (
    "name pkgs pip_bin requirements bin_env use_wheel no_use_wheel log proxy timeout repo"
    " editable find_links index_url extra_index_url no_index mirrors build target download"
    " download_cache source upgrade force_reinstall ignore_installed exists_action no_deps"
    " no_install no_download install_options global_options user cwd pre_releases cert"
    " allow_all_external allow_external allow_unverified process_dependency_links env_vars"
    " use_vt trusted_host no_cache_dir cache_dir no_binary extra_args"
)
"""Salt's arguments of ``installed``, in Salt's order."""

_OWN = frozenset({"name", "pkgs", "pip_bin", "requirements", "repo", "editable"})
"""Those that are not handed on to ``pip.install`` as they are."""


@takes_options(PipOptions, _INSTALLED)
def installed(
    options: PipOptions,
    /,
    name: str,
    pkgs: object = None,
    pip_bin: str | None = None,
    requirements: object = None,
    repo: str | None = None,
    **kwargs: Any,
) -> Action | Verdict:
    """A package, all of ``pkgs``, or those of files with ``requirements``.

    ``name`` may be an address or have conditions: ``a``, ``a>=1.0,<2``. ``bin_env`` is a virtual
    environment or a pip. With ``upgrade`` in the newest version that is allowed. All else is for
    ``pip.install``.
    """
    files = tuple(names_of(requirements))
    editables = tuple(names_of(options.editable))
    wanted = (repo or name,) if pkgs is None else tuple(_list_packages(pkgs))
    wrong = next((text for text in map(_find_mistake, wanted) if text), "")
    if wrong and not (files or editables):
        return Verdict(result=False, comment=wrong)
    saltenv = str(kwargs.get("saltenv") or kwargs.get("__env__") or "base")
    values = write_fields(options)
    given = {each: values[each] for each in _INSTALLED.split() if each not in _OWN}
    order = Order(
        wanted=() if files or editables else wanted,
        files=files,
        editables=editables,
        options={**given, "bin_env": options.bin_env or pip_bin, "saltenv": saltenv},
    )
    return Action(would="", run=order.run, foreseen=order.foreseen)


def _list_packages(pkgs: Any) -> list[str]:
    """A list of names, with ``{name: version}`` for ``name==version``."""
    listed = []
    for each in names_of(pkgs) if isinstance(pkgs, str) else pkgs:
        if isinstance(each, Mapping):
            listed += [f"{name}=={version}" for name, version in each.items()]
        else:
            listed.append(str(each))
    return listed


def _find_mistake(wanted: str) -> str:
    if re.match(r"[\w.\-\[\], ]+=[^=]", wanted) and "://" not in wanted:
        return (
            f"Invalid version specification in package {wanted}. '=' is not supported, use '=='"
            " instead."
        )
    return ""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What pip is to be asked for, and whether there is anything to ask."""

    wanted: tuple[str, ...]
    files: tuple[str, ...]
    editables: tuple[str, ...]
    options: Mapping[str, Any]

    def foreseen(self, ctx: MinionContext) -> Verdict:
        """The verdict of a test run."""
        try:
            due, said = self._find_due(ctx)
            if not self._is_any(due):
                return Verdict(result=True, comment="\n".join([*said, _ALREADY]))
            coming = self._foresee_versions(ctx, due)
        except SaltliteError as error:
            return Verdict(
                result=False, comment=f"Error installing {self._name_packages()!r}: {error}"
            )
        if coming == {}:
            return self._build_verdict(said, {}, due)
        would = f"Python package(s) set to be installed:\n{self._name_packages()}"
        if self.files:
            would = f"Requirements file '{self._name_packages()}' will be processed."
        changes = self._find_changes(due, coming or {})
        return Verdict(result=None, comment="\n".join([*said, would]), changes=changes)

    def run(self, ctx: MinionContext) -> Verdict:
        """Install what is missing, and look what came of it."""
        try:
            due, said = self._find_due(ctx)
            if not self._is_any(due):
                return Verdict(result=True, comment="\n".join([*said, _ALREADY]))
            before = self._read_installed(ctx)
            answer = self._install_packages(ctx, due)
            after = self._read_installed(ctx)
        except SaltliteError as error:
            return Verdict(
                result=False, comment=f"Error installing {self._name_packages()!r}: {error}"
            )
        new = {name: version for name, version in after.items() if before.get(name) != version}
        if answer.get("retcode", 1) != 0:
            told = " ".join(answer.get(each, "") for each in ("stdout", "stderr"))
            return Verdict(
                result=False,
                comment=f"{self._say_failed()} {told}",
                changes=self._find_changes(due, new),
            )
        if self._is_forced:
            new |= {name: after[name] for name in map(_name_of, due) if name in after}
        return self._build_verdict(said, self._find_changes(due, new), due)

    @property
    def _is_forced(self) -> bool:
        return bool(self.options["force_reinstall"] or self.options["ignore_installed"])

    def _is_any(self, due: tuple[str, ...]) -> bool:
        return bool(due or self.files or self.editables)

    def _find_due(self, ctx: MinionContext) -> tuple[tuple[str, ...], list[str]]:
        """What is not there as it shall be; and what is said of the others."""
        if self._is_forced or self.options["upgrade"] or not self.wanted:
            return self.wanted, []
        there = self._read_installed(ctx)
        due = tuple(each for each in self.wanted if conflicts(each, there))
        kept = [each for each in self.wanted if each not in due]
        return due, [f"Python package {each} was already installed" for each in kept]

    def _read_installed(self, ctx: MinionContext) -> dict[str, str]:
        which = ("bin_env", "user", "cwd", "env_vars")
        found = ctx.follow(pip.list_, **{each: self.options[each] for each in which})
        return {normalize_name(name): version for name, version in found.items()}

    def _foresee_versions(self, ctx: MinionContext, due: tuple[str, ...]) -> dict[str, str] | None:
        """Names and versions that pip would install; ``None`` if it does not tell."""
        wanted = {
            "pkgs": list(due) or None,
            "requirements": list(self.files) or None,
            "editable": list(self.editables) or None,
        }
        return would_install(ctx, {**self.options, **wanted})

    def _install_packages(self, ctx: MinionContext, due: tuple[str, ...]) -> dict[str, Any]:
        return ctx.follow(
            pip.install,
            pkgs=list(due) or None,
            requirements=list(self.files) or None,
            editable=list(self.editables) or None,
            **self.options,
        )

    def _find_changes(self, due: tuple[str, ...], new: Mapping[str, str]) -> dict[str, Any]:
        if not due:
            kind = "requirements" if self.files else "editable"
            return {kind: True} if new else {}
        shown = {_name_of(each): requirement(each)[0] for each in due}
        return {f"{shown[name]}=={new[name]}": "Installed" for name in shown if name in new}

    def _build_verdict(
        self, said: list[str], changes: Mapping[str, object], due: tuple[str, ...]
    ) -> Verdict:
        if not changes:
            return Verdict(result=True, comment="\n".join([*said, f"{_ALREADY}{self._say_newest}"]))
        told = "All packages were successfully installed"
        if self.files:
            told = f"Successfully processed requirements file {self._name_packages()}."
        elif self.editables:
            told = f"Package successfully installed from VCS checkout {self._name_packages()}."
        return Verdict(result=True, comment="\n".join([*said, told]), changes=changes)

    @property
    def _say_newest(self) -> str:
        return " and up-to-date" if self.options["upgrade"] else ""

    def _say_failed(self) -> str:
        if self.files:
            return f'Unable to process requirements file "{self._name_packages()}" Error:'
        return f"Failed to install packages: {self._name_packages()}. Error:"

    def _name_packages(self) -> str:
        return ", ".join(self.files or self.editables or self.wanted)


def _name_of(wanted: str) -> str:
    return normalize_name(requirement(wanted)[0])


def removed(
    name: str,
    requirements: object = None,
    bin_env: str | None = None,
    log: str | None = None,
    proxy: str | None = None,
    timeout: object = None,
    user: str | None = None,
    cwd: str | None = None,
    use_vt: bool = False,
) -> Fact:
    """No such package, or none of those in files with ``requirements``."""
    which = {"bin_env": bin_env, "user": user, "cwd": cwd}
    options: dict[str, Any] = {"log": log, "proxy": proxy, "timeout": timeout}
    files = names_of(requirements) or None
    key = normalize_name(str(name))
    return Fact(
        holds=lambda ctx: key not in map(normalize_name, ctx.follow(pip.list_, **which)),
        make=lambda ctx: ctx.follow(
            pip.uninstall, pkgs=str(name), requirements=files, **which, **options
        ),
        intent=f"Package {name} is set to be removed",
        report="Package was successfully removed.",
        known="Package is not installed.",
        told={str(name): "Removed"},
        remains="Could not remove package.",
    )


def uptodate(
    name: str,
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    use_vt: bool = False,
) -> UpToDate:
    """All packages in their newest version."""
    return UpToDate(which={"bin_env": bin_env, "user": user, "cwd": cwd})


@dataclass(frozen=True, slots=True)
class Versions:
    """The installed versions, and the newer ones that there are."""

    installed: Mapping[str, str]
    newer: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDate(Resource[Versions]):
    """Packages that are all the newest."""

    which: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Versions:
        newer = ctx.follow(pip.list_upgrades, **self.which)
        shown = {name: text.partition(" [")[0] for name, text in newer.items()}
        return Versions(ctx.follow(pip.list_, **self.which) if shown else {}, shown)

    def plan(self, now: Versions) -> list[Step]:
        changed = {
            name: {"old": now.installed.get(name, ""), "new": version}
            for name, version in now.newer.items()
        }
        step = Step(
            would=f"{len(changed)} package(s) will be updated",
            did="Upgrade successful.",
            changes={"changes": changed, "result": True, "comment": ""},
            run=lambda ctx: ctx.follow(pip.upgrade, **self.which),
        )
        return [step] if changed else []

    def comment_unchanged(self, now: Versions) -> str:
        return "System is already up-to-date."

    def unmet(self, after: Versions, left: object) -> str:
        return f"Could not upgrade: {', '.join(after.newer)}"
