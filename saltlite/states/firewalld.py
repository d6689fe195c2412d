"""Zones and services of firewalld, as they are kept; a change is put into force at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import firewalld
from saltlite.providers.firewall import zones
from saltlite.providers.firewall.zones import Target

_FORWARD_PARTS = ("Source port", "Destination port", "Protocol", "Destination address")


def present(
    name: str,
    block_icmp: Any = None,
    prune_block_icmp: bool = False,
    default: Any = None,
    masquerade: bool = False,
    ports: Any = None,
    prune_ports: bool = False,
    port_fwd: Any = None,
    prune_port_fwd: bool = False,
    services: Any = None,
    prune_services: bool = False,
    interfaces: Any = None,
    prune_interfaces: bool = False,
    sources: Any = None,
    prune_sources: bool = False,
    rich_rules: Any = None,
    prune_rich_rules: bool = False,
) -> Zone:
    """A zone, with what it lets through, forwards and blocks; ``prune_…`` removes all else.

    ``port_fwd`` are ``source:destination:protocol[:address]``; ``default`` makes it the zone of
    whatever is in no other.
    """
    given = {
        "icmp_types": (block_icmp, prune_block_icmp),
        "ports": (ports, prune_ports),
        "forward_ports": (_parse_forwards(port_fwd), prune_port_fwd),
        "services": (services, prune_services),
        "interfaces": (interfaces, prune_interfaces),
        "sources": (sources, prune_sources),
        "rich_rules": (rich_rules, prune_rich_rules),
    }
    lists = {
        what: ZoneValues(values=tuple(map(str, values or ())), prune=prune)
        for what, (values, prune) in given.items()
        if values or prune
    }
    return Zone(name=str(name), default=bool(default), masquerade=masquerade, lists=lists)


def service(name: str, ports: Any = None, protocols: Any = None) -> Service:
    """A service with these ports (``80/tcp``) and protocols, and no others."""
    return Service(
        name=str(name),
        wanted={
            "ports": tuple(map(str, ports or ())),
            "protocols": tuple(map(str, protocols or ())),
        },
    )


def _parse_forwards(given: Any) -> list[str] | None:
    if given is None:
        return None
    return [_parse_forward(str(each)) for each in given]


def _parse_forward(text: str) -> str:
    parts = text.split(":", 3)
    if len(parts) < 3:
        raise FunctionError(
            f"firewalld.present: port_fwd {text} is not source:destination:protocol[:address]"
        )
    source, dest, protocol, *address = parts
    return zones.forward(source, dest, protocol, "".join(address))


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneValues:
    """What a zone shall have of one kind; with ``prune`` nothing else."""

    values: tuple[str, ...]
    prune: bool

    def find_added(self, now: Sequence[str]) -> list[str]:
        """What is missing."""
        return [value for value in dict.fromkeys(self.values) if value not in now]

    def find_removed(self, now: Sequence[str]) -> list[str]:
        """What is too much."""
        return [value for value in now if value not in self.values] if self.prune else []


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneStatus:
    """The zones there are, the default one, and what the one declared has; it may not be there."""

    zones: tuple[str, ...]
    default: str
    masquerade: bool
    lists: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone(Resource[ZoneStatus]):
    """A zone of firewalld."""

    name: str
    default: bool
    masquerade: bool
    lists: Mapping[str, ZoneValues]

    def read(self, ctx: MinionContext) -> ZoneStatus:
        names = tuple(ctx.follow(firewalld.get_zones))
        is_there = self.name in names
        target = Target(self.name)
        lists = {
            what: tuple(self._order_parts(what, zones.list_items(ctx, what, target)))
            if is_there
            else ()
            for what in self.lists
        }
        return ZoneStatus(
            zones=names,
            default=ctx.follow(firewalld.default_zone) if self.default else "",
            masquerade=is_there and ctx.follow(firewalld.get_masquerade, self.name),
            lists=lists,
        )

    @staticmethod
    def _order_parts(what: str, values: Sequence[str]) -> Sequence[str]:
        """Forwarded ports in the order in which we say their parts."""
        if what != "forward_ports":
            return values
        each = [zones.parse_forward(value) for value in values]
        return [zones.forward(*(parts[name] for name in _FORWARD_PARTS)) for parts in each]

    def plan(self, now: ZoneStatus) -> list[Step]:
        steps = []
        if self.name not in now.zones:
            changes = {self.name: {"old": list(now.zones), "new": self.name}}
            steps.append(Step(would=self.name, changes=changes, run=self._make_zone))
        if self.default and now.default != self.name:
            changes = {"default": {"old": now.default, "new": self.name}}
            steps.append(Step(would="default", changes=changes, run=self._make_default))
        if now.masquerade is not self.masquerade:
            said = "set" if self.masquerade else "disabled"
            changes = {"masquerade": {"old": "", "new": f"Masquerading successfully {said}."}}
            steps.append(Step(would="masquerade", changes=changes, run=self._switch_masquerade))
        steps += [
            step
            for what, wanted in self.lists.items()
            for step in self._list_steps(what, wanted, now.lists[what])
        ]
        return steps

    def _list_steps(self, what: str, wanted: ZoneValues, now: tuple[str, ...]) -> list[Step]:
        added, removed = wanted.find_added(now), wanted.find_removed(now)
        if not added and not removed:
            return []
        left = [value for value in now if value not in removed] + added
        key = "port_fwd" if what == "forward_ports" else what
        changes = {key: {"old": _show_items(what, now), "new": _show_items(what, left)}}
        run = partial(self._change_items, what=what, added=added, removed=removed)
        return [Step(would=key, changes=changes, run=run)]

    def _make_zone(self, ctx: MinionContext) -> None:
        ctx.follow(firewalld.new_zone, self.name)

    def _make_default(self, ctx: MinionContext) -> None:
        ctx.follow(firewalld.set_default_zone, self.name)

    def _switch_masquerade(self, ctx: MinionContext) -> None:
        switch = firewalld.add_masquerade if self.masquerade else firewalld.remove_masquerade
        switch(ctx, self.name)
        ctx.follow(firewalld.reload_rules)

    def _change_items(
        self, ctx: MinionContext, what: str, added: list[str], removed: list[str]
    ) -> None:
        target = Target(self.name)
        for verb, values in (("add", added), ("remove", removed)):
            for value in values:
                zones.change(ctx, verb, what, value, target)
        ctx.follow(firewalld.reload_rules)

    def comment_unchanged(self, now: ZoneStatus) -> str:
        return f"'{self.name}' is already in the desired state."

    def would(self, now: ZoneStatus, steps: Sequence[Step]) -> str:
        return f"Configuration for '{self.name}' will change."

    def comment_changed(self, before: ZoneStatus, after: ZoneStatus, steps: Sequence[Step]) -> str:
        return f"'{self.name}' was configured."


def _show_items(what: str, values: Sequence[str]) -> list[Any]:
    if what == "forward_ports":
        return [zones.parse_forward(value) for value in values]
    return list(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Resource[Mapping[str, tuple[str, ...]] | None]):
    """A service of firewalld; read is what it has, ``None`` if it is not there."""

    name: str
    wanted: Mapping[str, tuple[str, ...]]

    def read(self, ctx: MinionContext) -> Mapping[str, tuple[str, ...]] | None:
        if self.name not in ctx.follow(firewalld.get_services):
            return None
        return {
            "ports": tuple(ctx.follow(firewalld.get_service_ports, self.name)),
            "protocols": tuple(ctx.follow(firewalld.get_service_protocols, self.name)),
        }

    def plan(self, now: Mapping[str, tuple[str, ...]] | None) -> list[Step]:
        changes: dict[str, Any] = {
            what: {"old": list((now or {}).get(what, ())), "new": list(wanted)}
            for what, wanted in self.wanted.items()
            if set((now or {}).get(what, ())) != set(wanted)
        }
        if not changes and now is not None:
            return []
        changes = changes or {self.name: {"old": "", "new": self.name}}
        return [Step(would=self.name, changes=changes, run=partial(self._set_service, now=now))]

    def _set_service(self, ctx: MinionContext, now: Mapping[str, tuple[str, ...]] | None) -> None:
        if now is None:
            ctx.follow(firewalld.new_service, self.name)
        for what, option in (("ports", "port"), ("protocols", "protocol")):
            has = (now or {}).get(what, ())
            for value in self.wanted[what]:
                if value not in has:
                    zones.of_service(ctx, self.name, f"--add-{option}={value}")
            for value in has:
                if value not in self.wanted[what]:
                    zones.of_service(ctx, self.name, f"--remove-{option}={value}")
        ctx.follow(firewalld.reload_rules)

    def comment_unchanged(self, now: Mapping[str, tuple[str, ...]] | None) -> str:
        return f"'{self.name}' is already in the desired state."

    def would(self, now: Mapping[str, tuple[str, ...]] | None, steps: Sequence[Step]) -> str:
        return f"Configuration for '{self.name}' will change."

    def comment_changed(
        self,
        before: Mapping[str, tuple[str, ...]] | None,
        after: Mapping[str, tuple[str, ...]] | None,
        steps: Sequence[Step],
    ) -> str:
        return f"'{self.name}' was configured."
