"""SELinux: its mode, booleans, modules, and the contexts of files and ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import selinux
from saltlite.providers.selinux import policy


def mode(name: str) -> Mode | Verdict:
    """Enforcing, Permissive or Disabled, now and after a restart."""
    wanted = selinux.mode_of(name)
    if wanted is None:
        return Verdict(result=False, comment=f"{name} is not an accepted mode")
    return Mode(wanted=wanted)


def boolean(name: str, value: object, persist: bool = False) -> Boolean | Verdict:
    """A boolean of the policy that is on or off; with ``persist`` also after a restart."""
    wanted = selinux.switch(value)
    if wanted not in ("on", "off"):
        return Verdict(result=False, comment=f"{value} is not a valid value for the boolean")
    return Boolean(name=str(name), value=wanted, persist=bool(persist))


def module(
    name: str,
    module_state: str = "Enabled",
    version: object = "any",
    install: bool = False,
    source: str | None = None,
    remove: bool = False,
    **kwargs: Any,
) -> Module | NoModule | Verdict:
    """A module of the policy, on or off; with ``install`` from ``source``, if it is not there.

    ``remove``: no such module.
    """
    if remove:
        return module_remove(name)
    state = {"enabled": "Enabled", "disabled": "Disabled"}.get(str(module_state).lower())
    if state is None:
        said = f"{module_state} is not a valid state for the {name} module."
        return Verdict(result=False, comment=said)
    if install and not source:
        return Verdict(result=False, comment=f"{name}: install needs a source")
    return Module(
        name=str(name), state=state, version=str(version), source=source if install else None
    )


def module_install(name: str) -> Module:
    """The module of a compiled file (``/root/mine.pp``, ``salt://mine.pp``), if it is not there."""
    return Module(name=PurePath(name).stem, state="", version="any", source=str(name))


def module_remove(name: str) -> NoModule:
    """No module of that name."""
    return NoModule(name=str(name))


def fcontext_policy_present(
    name: str,
    sel_type: str,
    filetype: str = "a",
    sel_user: str | None = None,
    sel_level: str | None = None,
) -> FileRule:
    """A rule for the context of files; ``name`` is a regular expression for paths.

    ``filetype`` is one of ``a`` (all), ``f``, ``d``, ``c``, ``b``, ``s``, ``l``, ``p``.
    """
    kind = selinux.filetype_id_to_string(filetype)
    wanted = {"filetype": kind, "sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level}
    return FileRule(
        name=str(name),
        filetype=filetype,
        wanted={key: str(value) for key, value in wanted.items() if value is not None},
    )


def fcontext_policy_absent(
    name: str,
    filetype: str = "a",
    sel_type: str | None = None,
    sel_user: str | None = None,
    sel_level: str | None = None,
) -> NoFileRule:
    """No such rule, or none with this type, user and level."""
    selinux.filetype_id_to_string(filetype)
    given = {"sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level}
    return NoFileRule(name=str(name), filetype=filetype, given=given)


def fcontext_policy_applied(name: str, recursive: bool = False) -> Applied:
    """A path, with ``recursive`` also all below, that has the context of the rules."""
    return Applied(name=str(name), recursive=bool(recursive))


def port_policy_present(
    name: str,
    sel_type: str,
    protocol: str | None = None,
    port: object = None,
    sel_range: str | None = None,
) -> PortType:
    """A port or range of ports, ``tcp/8080-8090``, with this type."""
    selinux.port_of(name, protocol, port)
    return PortType(
        name=str(name), sel_type=sel_type, protocol=protocol, port=port, sel_range=sel_range
    )


def port_policy_absent(
    name: str, sel_type: str | None = None, protocol: str | None = None, port: object = None
) -> NoPortType:
    """A port or range of ports without a type, or without this one."""
    selinux.port_of(name, protocol, port)
    return NoPortType(name=str(name), sel_type=sel_type, protocol=protocol, port=port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode(Resource[tuple[str, str | None]]):
    """The mode; read are the one that holds and the one after a restart."""

    wanted: str

    def read(self, ctx: MinionContext) -> tuple[str, str | None]:
        return ctx.follow(selinux.getenforce), ctx.follow(selinux.getconfig)

    def plan(self, now: tuple[str, str | None]) -> list[Step]:
        runs, kept = now
        # To and from Disabled the kernel goes only by a restart.
        waits = "Disabled" in (runs, self.wanted)
        if (kept or runs if waits else runs) == self.wanted:
            return []
        old = kept or runs if runs == self.wanted else runs
        would = f"SELinux mode is set to be changed to {self.wanted}"
        return [Step(would=would, changes={"old": old, "new": self.wanted}, run=self._set_mode)]

    def _set_mode(self, ctx: MinionContext) -> None:
        ctx.follow(selinux.setenforce, self.wanted)

    def comment_unchanged(self, now: tuple[str, str | None]) -> str:
        return f"SELinux is already in {self.wanted} mode"

    def comment_changed(
        self, before: tuple[str, str | None], after: tuple[str, str | None], steps: Sequence[Step]
    ) -> str:
        return f"SELinux has been set to {self.wanted} mode"

    def unmet(self, after: tuple[str, str | None], left: Sequence[Step]) -> str:
        return f"Failed to set SELinux to {self.wanted} mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Resource[Mapping[str, str]]):
    """A boolean; read is what ``selinux.getsebool`` tells."""

    name: str
    value: str
    persist: bool

    def read(self, ctx: MinionContext) -> Mapping[str, str]:
        return ctx.follow(selinux.getsebool, self.name)

    def plan(self, now: Mapping[str, str]) -> list[Step] | Verdict:
        if not now:
            return Verdict(result=False, comment=f"Boolean {self.name} is not available")
        keys = ("State", "Default") if self.persist else ("State",)
        if all(now[key] == self.value for key in keys):
            return []
        changes = {key: {"old": now[key], "new": self.value} for key in keys}
        would = f"Boolean {self.name} is set to be changed to {self.value}"
        return [Step(would=would, changes=changes, run=self._set_boolean)]

    def _set_boolean(self, ctx: MinionContext) -> None:
        if not ctx.follow(selinux.setsebool, self.name, self.value, self.persist):
            raise FunctionError(f"Failed to set the boolean {self.name} to {self.value}")

    def comment_unchanged(self, now: Mapping[str, str]) -> str:
        return "Boolean is in the correct state"

    def comment_changed(
        self, before: Mapping[str, str], after: Mapping[str, str], steps: Sequence[Step]
    ) -> str:
        return f"Boolean {self.name} has been set to {self.value}"


Semod = Mapping[str, bool | str | None]
"""What ``selinux.getsemod`` tells: empty without the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module(Resource[Semod]):
    """A module of the policy; ``state`` empty: it does not matter. ``source``: where it is from."""

    name: str
    state: str
    version: str
    source: str | None

    def read(self, ctx: MinionContext) -> Semod:
        return ctx.follow(selinux.getsemod, self.name)

    def plan(self, now: Semod) -> list[Step] | Verdict:
        if not now and self.source is None:
            return Verdict(result=False, comment=f"Module {self.name} is not available")
        if now and self.version not in ("any", now["Version"]):
            return Verdict(result=False, comment=self._other_version(now))
        old = ("Enabled" if now["Enabled"] else "Disabled") if now else ""
        steps = []
        if not now:
            would = f"Module {self.source} is set to be installed"
            changes = {"old": "", "new": "Enabled"}
            did = f"Module {self.source} has been installed"
            steps.append(Step(would=would, did=did, changes=changes, run=self._install_module))
        if self.state and self.state != (old or "Enabled"):
            would = f"Module {self.name} is set to be toggled to {self.state}"
            did = f"Module {self.name} has been set to {self.state}"
            changes = {"old": old, "new": self.state}
            steps.append(Step(would=would, did=did, changes=changes, run=self._toggle_module))
        return steps

    def _other_version(self, now: Semod) -> str:
        return (
            f"Module version is {now['Version']} and does not match the desired version of "
            f"{self.version} or you are using semodule >= 2.4"
        )

    def _install_module(self, ctx: MinionContext) -> None:
        if not ctx.follow(selinux.install_semod, str(self.source)):
            raise FunctionError(f"Failed to install module {self.source}")

    def _toggle_module(self, ctx: MinionContext) -> None:
        if not ctx.follow(selinux.setsemod, self.name, self.state):
            raise FunctionError(f"Failed to set the Module {self.name} to {self.state}")

    def comment_unchanged(self, now: Semod) -> str:
        return f"Module {self.name} is in the desired state"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoModule(Resource[Semod]):
    """No such module of the policy."""

    name: str

    def read(self, ctx: MinionContext) -> Semod:
        return ctx.follow(selinux.getsemod, self.name)

    def plan(self, now: Semod) -> list[Step]:
        if not now:
            return []
        changes = {"old": "Enabled" if now["Enabled"] else "Disabled", "new": ""}
        would = f"Module {self.name} is set to be removed"
        did = f"Module {self.name} has been removed"
        return [Step(would=would, did=did, changes=changes, run=self._remove_module)]

    def _remove_module(self, ctx: MinionContext) -> None:
        if not ctx.follow(selinux.remove_semod, self.name):
            raise FunctionError(f"Failed to remove module {self.name}")

    def comment_unchanged(self, now: Semod) -> str:
        return f"Module {self.name} is not available"


Rule = Mapping[str, str] | None
"""A row of ``semanage fcontext -l`` or ``semanage port -l``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule(Resource[Rule]):
    """A rule for the context of files."""

    name: str
    filetype: str
    wanted: Mapping[str, str]

    def read(self, ctx: MinionContext) -> Rule:
        return ctx.follow(selinux.fcontext_get_policy, self.name, self.filetype)

    def plan(self, now: Rule) -> list[Step]:
        if now is not None and all(now[key] == value for key, value in self.wanted.items()):
            return []
        old = {} if now is None else {self.name: {key: now[key] for key in self.wanted}}
        changes = {"old": old, "new": {self.name: dict(self.wanted)}}
        would = f'SELinux policy for "{self.name}" is set to be {self._show_rule()}'
        did = f'SELinux policy for "{self.name}" has been set to {self._show_rule()}'
        return [Step(would=would, did=did, changes=changes, run=self._add_rule)]

    def _show_rule(self) -> str:
        return ", ".join(f'{key} "{value}"' for key, value in self.wanted.items())

    def _add_rule(self, ctx: MinionContext) -> None:
        contexts = {key: value for key, value in self.wanted.items() if key != "filetype"}
        done = ctx.follow(selinux.fcontext_add_policy, self.name, self.filetype, **contexts)
        _check_done(done, "Error adding new rule")

    def comment_unchanged(self, now: Rule) -> str:
        return (
            f'SELinux policy for "{self.name}" already present with specified filetype '
            f'"{self.wanted["filetype"]}" and sel_type "{self.wanted["sel_type"]}".'
        )


def _check_done(done: Mapping[str, object], what: str) -> None:
    """Raise FunctionError for a command that failed."""
    if done["retcode"] != 0:
        raise FunctionError(f"{what}: {done['stderr'] or done['stdout']}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFileRule(Resource[Rule]):
    """No such rule for the context of files."""

    name: str
    filetype: str
    given: Mapping[str, str | None]

    def read(self, ctx: MinionContext) -> Rule:
        return ctx.follow(selinux.fcontext_get_policy, self.name, self.filetype, **self.given)

    def plan(self, now: Rule) -> list[Step]:
        if now is None:
            return []
        would = f'SELinux policy for "{self.name}" is set to be removed'
        did = f'SELinux policy for "{self.name}" has been removed'
        changes = {"old": {self.name: dict(now)}, "new": {}}
        return [Step(would=would, did=did, changes=changes, run=self._delete_rule)]

    def _delete_rule(self, ctx: MinionContext) -> None:
        done = ctx.follow(selinux.fcontext_delete_policy, self.name, self.filetype, **self.given)
        _check_done(done, "Error removing policy")

    def comment_unchanged(self, now: Rule) -> str:
        return (
            f'SELinux policy for "{self.name}" already absent with specified filetype '
            f'"{self.filetype}" and sel_type "{self.given["sel_type"]}".'
        )

    def unmet(self, after: Rule, left: Sequence[Step]) -> str:
        return f'SELinux policy for "{self.name}" is there still: the policy itself has one'


Relabelled = Mapping[str, Mapping[str, Mapping[str, str]]]
"""The old and the new type of paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Resource[Relabelled]):
    """Contexts as the rules have them; read is what is to be relabelled."""

    name: str
    recursive: bool

    def read(self, ctx: MinionContext) -> Relabelled:
        said = ctx.follow(selinux.fcontext_policy_is_applied, self.name, self.recursive)
        return policy.parse_relabelled(said)

    def plan(self, now: Relabelled) -> list[Step]:
        if not now:
            return []
        would = f'SELinux policies are set to be applied to filespec "{self.name}"'
        did = f'SELinux policies have been applied to filespec "{self.name}"'
        return [Step(would=would, did=did, changes=now, run=self._apply_policy)]

    def _apply_policy(self, ctx: MinionContext) -> None:
        _check_done(
            ctx.follow(selinux.fcontext_apply_policy, self.name, self.recursive), "Error applying"
        )

    def comment_unchanged(self, now: Relabelled) -> str:
        return f'SElinux policies are already applied for filespec "{self.name}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PortType(Resource[tuple[Rule, Rule]]):
    """A port with a type; read are its row of that type, and the first one it is in."""

    name: str
    sel_type: str
    protocol: str | None
    port: Any
    sel_range: str | None

    def read(self, ctx: MinionContext) -> tuple[Rule, Rule]:
        of_port = partial(selinux.port_get_policy, ctx, self.name)
        having = of_port(self.sel_type, self.protocol, self.port)
        return having, having or of_port(None, self.protocol, self.port)

    def plan(self, now: tuple[Rule, Rule]) -> list[Step]:
        having, other = now
        if having is not None:
            return []
        protocol, port = selinux.port_of(self.name, self.protocol, self.port)
        changes = {
            "old": None if other is None else {**other, "port": port},
            "new": {"sel_type": self.sel_type, "protocol": protocol, "port": port},
        }
        would = f'SELinux policy for "{self.name}" is set to be sel_type "{self.sel_type}"'
        did = f'SELinux policy for "{self.name}" has been set to sel_type "{self.sel_type}"'
        return [Step(would=would, did=did, changes=changes, run=self._add_port)]

    def _add_port(self, ctx: MinionContext) -> None:
        done = ctx.follow(
            selinux.port_add_policy,
            self.name,
            self.sel_type,
            self.protocol,
            self.port,
            self.sel_range,
        )
        _check_done(done, "Error adding new policy")

    def comment_unchanged(self, now: tuple[Rule, Rule]) -> str:
        return (
            f'SELinux policy for "{self.name}" already present with specified sel_type '
            f'"{self.sel_type}", protocol "{self.protocol}" and port "{self.port}".'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPortType(Resource[Rule]):
    """A port without a type."""

    name: str
    sel_type: str | None
    protocol: str | None
    port: Any

    def read(self, ctx: MinionContext) -> Rule:
        return ctx.follow(
            selinux.port_get_policy, self.name, self.sel_type, self.protocol, self.port
        )

    def plan(self, now: Rule) -> list[Step]:
        if now is None:
            return []
        _, port = selinux.port_of(self.name, self.protocol, self.port)
        would = f'SELinux policy for "{self.name}" is set to be removed'
        did = f'SELinux policy for "{self.name}" has been removed'
        changes = {"old": {**now, "port": port}, "new": None}
        return [Step(would=would, did=did, changes=changes, run=self._delete_port)]

    def _delete_port(self, ctx: MinionContext) -> None:
        done = ctx.follow(selinux.port_delete_policy, self.name, self.protocol, self.port)
        _check_done(done, "Error deleting policy")

    def comment_unchanged(self, now: Rule) -> str:
        return (
            f'SELinux policy for "{self.name}" already absent with specified sel_type '
            f'"{self.sel_type}", protocol "{self.protocol}" and port "{self.port}".'
        )

    def unmet(self, after: Rule, left: Sequence[Step]) -> str:
        kind = after["sel_type"] if after else ""
        return f'SELinux policy for "{self.name}" is still "{kind}": the policy itself says so'
