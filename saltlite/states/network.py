"""Interfaces of Debian, their routes, and settings of the network as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import UsageError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import ip
from saltlite.providers.network import ifupdown, settings, stanza


def managed(
    ctx: MinionContext, name: str, enabled: bool = True, **kwargs: Any
) -> Interface | Verdict:
    """An interface in ``/etc/network/interfaces``, that is up if it is ``enabled``, else down.

    ``type`` is eth, bond, bridge, slave or vlan; ``proto`` is static, dhcp, manual ...; then
    ``ipaddr`` ``addresses`` ``netmask`` ``gateway`` ``dns`` ``hwaddr`` ``mtu`` ``metric``
    ``hotplug``, commands (``up_cmds`` ``pre_up_cmds`` ...), for IPv6 ``ipv6proto``
    ``ipv6ipaddr`` ..., ``ports`` and others of a bridge, ``slaves`` ``mode`` and others of a bond,
    ``master`` of a slave, ``vlan_raw_device``. ``noifupdown``: only the file.
    """
    ifupdown.only_debian(ctx)
    kind = str(kwargs.get("type") or "eth")
    try:
        wanted = stanza.of_declared(str(name), kind, bool(enabled), kwargs)
    except UsageError as error:
        return Verdict(result=False, comment=str(error))
    return Interface(
        name=str(name),
        kind=kind,
        enabled=bool(enabled),
        wanted=tuple(wanted),
        options=kwargs,
        keeps_state=bool(kwargs.get("noifupdown")) or kind == "slave",
    )


def routes(ctx: MinionContext, name: str, **kwargs: Any) -> Routes | Verdict:
    """``routes`` of an interface, a list of maps: ipaddr, netmask, gateway, metric, name.

    The service ``networking`` starts anew when they change, unless ``require_reboot``.
    """
    ifupdown.only_debian(ctx)
    try:
        declared = stanza.routes_of(str(name), kwargs.get("routes"))
    except UsageError as error:
        return Verdict(result=False, comment=str(error))
    return Routes(
        name=str(name),
        scripts=ifupdown.route_scripts(str(name), declared),
        options=kwargs,
    )


def system(ctx: MinionContext, name: str, **kwargs: Any) -> System | Verdict:
    """Whether interfaces come up at a start (``enabled``), ``hostname`` and ``search``.

    ``apply_hostname``: the machine gets that name. The service ``networking`` starts anew when
    something changes, unless ``require_reboot``.
    """
    ifupdown.only_debian(ctx)
    try:
        settings.want_settings([], kwargs)
    except UsageError as error:
        return Verdict(result=False, comment=str(error))
    return System(options=kwargs)


@dataclass(frozen=True, slots=True)
class Configured:
    """What the file says of an interface, by line, and whether the interface is up."""

    lines: Sequence[str] = field(repr=False)
    is_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface(Resource[Configured]):
    """An interface. ``keeps_state``: it is not brought up or down."""

    name: str
    kind: str
    enabled: bool
    wanted: tuple[str, ...] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    keeps_state: bool

    def read(self, ctx: MinionContext) -> Configured:
        return Configured(
            ctx.follow(ip.get_interface, self.name), ifupdown.is_up(ctx.host, self.name)
        )

    def plan(self, now: Configured) -> list[Step]:
        steps = [] if tuple(now.lines) == self.wanted else [self._plan_writing(now)]
        if not self.keeps_state:
            steps += self._plan_bringing(now, is_changed=bool(steps))
        return steps

    def _plan_writing(self, now: Configured) -> Step:
        if now.lines:
            told = ifupdown.difference(now.lines, self.wanted) or "Updated network interface."
            would = f"Interface {self.name} is set to be updated:\n{told}"
            did = f"Interface {self.name} updated."
        else:
            told = "Added network interface."
            would = f"Interface {self.name} is set to be added."
            did = f"Interface {self.name} added."
        return Step(would=would, did=did, changes={"interface": told}, run=self._write_interface)

    def _write_interface(self, ctx: MinionContext) -> None:
        given = {key: value for key, value in self.options.items() if key != "test"}
        ctx.follow(ip.build_interface, self.name, self.kind, self.enabled, **given)

    def _plan_bringing(self, now: Configured, *, is_changed: bool) -> list[Step]:
        """Up, down, or with another configuration down and up."""
        if self.enabled and now.is_up:
            told = f"Interface {self.name} restart to validate" if is_changed else ""
            actions = ["ifdown", "ifup"]
        elif self.enabled:
            told, actions = f"Interface {self.name} is up", ["ifup"]
        else:
            told, actions = f"Interface {self.name} down" if now.is_up else "", ["ifdown"]
        if not told:
            return []
        would = f"Interface {self.name}: {', '.join(actions)} is to run"
        run = partial(self._bring_interface, actions=actions)
        return [Step(would=would, changes={"status": told}, run=run)]

    def _bring_interface(self, ctx: MinionContext, actions: Sequence[str]) -> None:
        for action in actions:
            (ip.up if action == "ifup" else ip.down)(ctx, self.name, self.kind)

    def would(self, now: Configured, steps: Sequence[Step]) -> str:
        return steps[0].would

    def comment_unchanged(self, now: Configured) -> str:
        return f"Interface {self.name} is up to date."

    def comment_changed(self, before: Configured, after: Configured, steps: Sequence[Step]) -> str:
        return next((step.did for step in steps if step.did), self.comment_unchanged(after))

    def unmet(self, after: Configured, left: Sequence[Step]) -> str:
        state = "up" if after.is_up else "not up"
        return f"Interface {self.name} is {state}, though that was to be changed"


@dataclass(frozen=True, slots=True)
class Scripts:
    """The programs for the routes of an interface, and directories that are missing for them."""

    lines: Sequence[str]
    missing: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes(Resource[Scripts]):
    """The routes that come and go with an interface."""

    name: str
    scripts: tuple[str, str]
    options: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Scripts:
        places = [str(PurePath(path).parent) for path in ifupdown.route_files(self.name)]
        missing = [place for place in places if not ctx.host.is_dir(place)]
        return Scripts(ctx.follow(ip.get_routes, self.name), missing)

    def plan(self, now: Scripts) -> list[Step] | Verdict:
        if now.missing:
            path = f"{now.missing[0]}/route-{self.name}"
            said = f"{path} cannot be written. {now.missing[0]}/ does not exist"
            return Verdict(result=False, comment=said)
        wanted = [line for text in self.scripts for line in text.splitlines(keepends=True)]
        if list(now.lines) == wanted:
            return []
        if now.lines:
            told = ifupdown.difference(now.lines, wanted)
            would = f"Interface {self.name} routes are set to be updated:\n{told}"
            did = f"Interface {self.name} routes updated."
        else:
            told = f"Added interface {self.name} routes."
            would = f"Interface {self.name} routes are set to be added."
            did = f"Interface {self.name} routes added."
        return [
            Step(would=would, did=did, changes={"network_routes": told}, run=self._write_routes)
        ]

    def _write_routes(self, ctx: MinionContext) -> None:
        given = {key: value for key, value in self.options.items() if key != "test"}
        ctx.follow(ip.build_routes, self.name, **given)
        ctx.follow(ip.apply_network_settings, **given)

    def comment_unchanged(self, now: Scripts) -> str:
        return f"Interface {self.name} routes are up to date."


@dataclass(frozen=True, slots=True, kw_only=True)
class System(Resource[Sequence[str]]):
    """Settings of the network as a whole; read are the lines of ``ip.get_network_settings``."""

    options: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Sequence[str]:
        return ctx.follow(ip.get_network_settings)

    def plan(self, now: Sequence[str]) -> list[Step]:
        wanted = settings.want_settings(now, self.options)
        if wanted == now:
            return []
        told = ifupdown.difference(now, wanted)
        would = f"Global network settings are set to be updated:\n{told}"
        return [Step(would=would, changes={"network_settings": told}, run=self._write_settings)]

    def _write_settings(self, ctx: MinionContext) -> None:
        given = {key: value for key, value in self.options.items() if key != "test"}
        ctx.follow(ip.build_network_settings, **given)
        ctx.follow(ip.apply_network_settings, **given)

    def comment_unchanged(self, now: Sequence[str]) -> str:
        return "Global network settings are up to date."

    def comment_changed(
        self, before: Sequence[str], after: Sequence[str], steps: Sequence[Step]
    ) -> str:
        return self.comment_unchanged(after)
