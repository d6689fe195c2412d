"""Virtual environments of Python, and the packages in them. Source: observed on Salt 3006.30."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Action, Verdict
from saltlite.modules import pip
from saltlite.modules import virtualenv as environments
from saltlite.providers.pip import names_of, normalize_name, would_install


def managed(
    name: str,
    venv_bin: str | None = None,
    requirements: object = None,
    system_site_packages: bool = False,
    distribute: bool = False,
    use_wheel: bool = False,
    clear: bool = False,
    python: str | None = None,
    extra_search_dir: object = None,
    never_download: bool | None = None,
    prompt: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    pre_releases: bool = False,
    no_deps: bool = False,
    pip_download: str | None = None,
    pip_download_cache: str | None = None,
    pip_exists_action: str | None = None,
    pip_ignore_installed: bool = False,
    proxy: str | None = None,
    use_vt: bool = False,
    env_vars: Mapping[str, object] | None = None,
    no_use_wheel: bool = False,
    pip_upgrade: bool = False,
    pip_pkgs: object = None,
    pip_no_cache_dir: bool = False,
    pip_cache_dir: str | None = None,
    process_dependency_links: bool = False,
    no_binary: object = None,
    **kwargs: Any,
) -> Action:
    """An environment in the directory ``name``, with ``pip_pkgs`` and files of ``requirements``.

    ``clear`` makes it anew each time. What begins with ``pip_``, and the addresses, are for pip.
    """
    saltenv = str(kwargs.get("saltenv") or kwargs.get("__env__") or "base")
    requirement_files = tuple(names_of(requirements))
    environment = Environment(
        path=str(name),
        clear=clear,
        saltenv=saltenv,
        requirements=requirement_files,
        has_packages=bool(pip_pkgs or requirements),
        options={
            "venv_bin": venv_bin,
            "system_site_packages": system_site_packages,
            "python": python,
            "extra_search_dir": extra_search_dir,
            "never_download": never_download,
            "prompt": prompt,
            "user": user,
        },
        packages={
            "pkgs": pip_pkgs,
            "requirements": requirements,
            "bin_env": str(name),
            "proxy": proxy,
            "index_url": index_url,
            "extra_index_url": extra_index_url,
            "download": pip_download,
            "download_cache": pip_download_cache,
            "upgrade": pip_upgrade,
            "ignore_installed": pip_ignore_installed,
            "exists_action": pip_exists_action,
            "no_deps": no_deps,
            "pre_releases": pre_releases,
            "user": user,
            "cwd": cwd,
            "env_vars": env_vars,
            "no_cache_dir": pip_no_cache_dir,
            "cache_dir": pip_cache_dir,
            "no_binary": no_binary,
            "saltenv": saltenv,
        },
    )
    return Action(would="", run=environment.run, foreseen=environment.foreseen)


def manage(name: str, **kwargs: Any) -> Action:
    """As :func:`managed`, under its old name."""
    return managed(name, **kwargs)


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What came of virtualenv, or of pip."""

    retcode: int
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """How an environment is made and what is installed in it; only pip knows when that is so."""

    path: str
    clear: bool
    saltenv: str
    requirements: tuple[str, ...]
    has_packages: bool
    options: Mapping[str, Any]
    packages: Mapping[str, Any]

    @property
    def _python_path(self) -> str:
        return os.path.join(self.path, "bin", "python")

    def foreseen(self, ctx: MinionContext) -> Verdict:
        """The verdict of a test run: what pip would install is known where there is a pip."""
        if missing := self._missing_file(ctx):
            return Verdict(result=False, comment=missing)
        exists = ctx.host.exists(self._python_path)
        if not exists:
            said = f"Virtualenv {self.path} is set to be created"
            return Verdict(result=None, comment=said)
        if self.clear:
            said = f"Virtualenv {self.path} is set to be cleared"
            cleared = {
                "cleared_packages": self._freeze_packages(ctx),
                "old": self._read_version(ctx),
            }
            return Verdict(result=None, comment=said, changes=cleared)
        said = f"Virtualenv {self.path} is already created"
        coming = would_install(ctx, self.packages) if self.has_packages else {}
        if coming == {}:
            return Verdict(result=True, comment=said)
        return Verdict(
            result=None,
            comment=f"{said}; packages are set to be installed",
            changes={"packages": self._show_coming(ctx, coming)} if coming else {},
        )

    def _missing_file(self, ctx: MinionContext) -> str:
        """What is said of a file of requirements that the master does not have, before all else."""
        for each in self.requirements:
            is_there = not each.startswith("salt://") or ctx.functions.call(
                "cp.hash_file", each, self.saltenv
            )
            if not is_there:
                return f"pip requirements file '{each}' not found"
        return ""

    def _show_coming(self, ctx: MinionContext, coming: Mapping[str, str]) -> dict[str, Any]:
        before = self._freeze_packages(ctx)
        new = sorted(f"{name}=={version}" for name, version in coming.items())
        old = sorted(line for line in before if normalize_name(line.partition("==")[0]) in coming)
        return {"new": new, "old": old or ""}

    def run(self, ctx: MinionContext) -> Verdict:
        """Make it if it is not there, and have pip see to the packages."""
        if missing := self._missing_file(ctx):
            return Verdict(result=False, comment=missing)
        changes: dict[str, Any] = {}
        exists = ctx.host.exists(self._python_path)
        said = "virtualenv exists"
        if not exists or self.clear:
            if exists:
                changes = {
                    "cleared_packages": self._freeze_packages(ctx),
                    "old": self._read_version(ctx),
                }
            try:
                told = ctx.follow(environments.create, self.path, clear=self.clear, **self.options)
            except SaltliteError as error:
                return Verdict(result=False, comment=f"Failed to create virtualenv: {error}")
            done = read_fields(ProgramRun, told)
            if done.retcode != 0:
                return Verdict(result=False, comment=done.stdout + done.stderr)
            changes["new"] = self._read_version(ctx)
            said = "Cleared existing virtualenv" if exists else "Created new virtualenv"
        if not self.has_packages:
            return Verdict(result=True, comment=said, changes=changes)
        return self._with_packages(ctx, said, changes)

    def _with_packages(self, ctx: MinionContext, said: str, changes: dict[str, Any]) -> Verdict:
        try:
            before = self._freeze_packages(ctx)
            done = read_fields(ProgramRun, ctx.follow(pip.install, **self.packages))
            after = self._freeze_packages(ctx)
        except SaltliteError as error:
            return Verdict(result=False, comment=f"{said}\n{error}", changes=changes)
        new = sorted(set(after) - set(before))
        old = sorted(set(before) - set(after))
        if new or old:
            changes["packages"] = {"new": new or "", "old": old or ""}
        if done.retcode != 0:
            told = f"{said}\n{done.stdout}\n{done.stderr}"
            return Verdict(result=False, comment=told, changes=changes)
        return Verdict(result=True, comment=said, changes=changes)

    def _freeze_packages(self, ctx: MinionContext) -> list[str]:
        which = {name: self.packages[name] for name in ("bin_env", "user", "cwd", "env_vars")}
        return ctx.follow(pip.freeze, **which)

    def _read_version(self, ctx: MinionContext) -> str:
        done = ctx.host.run([self._python_path, "-V"])
        return (done.stdout or done.stderr).strip()
