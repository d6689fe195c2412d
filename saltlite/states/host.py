"""Names of addresses, in the table of host names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import hosts
from saltlite.providers.hosts import table
from saltlite.providers.hosts.table import Table


def present(name: str, ip: object, comment: object = "", clean: bool = False) -> HostName:
    """Give one or several addresses a name; ``clean`` takes it from all others.

    ``comment`` stands beside these addresses.
    """
    return HostName(
        name=str(name), addresses=_as_texts(ip), comment=str(comment or ""), clean=clean
    )


def absent(name: str, ip: object) -> NoHostName:
    """Take a name from one or several addresses."""
    return NoHostName(name=str(name), addresses=_as_texts(ip))


def only(name: str, hostnames: object) -> OnlyNames:
    """Make these, one or several, the only names of the address ``name``."""
    return OnlyNames(address=str(name), names=" ".join(_as_texts(hostnames)))


def _as_texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else (str(value),)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostName(Resource[Table]):
    """A name that addresses have."""

    name: str
    addresses: tuple[str, ...]
    comment: str
    clean: bool

    def read(self, ctx: MinionContext) -> Table:
        return ctx.follow(hosts.list_hosts)

    def plan(self, now: Table) -> list[Step]:
        names = dict(table.addresses(now))
        steps = [
            self._plan_addition(ip) for ip in self.addresses if self.name not in names.get(ip, ())
        ]
        if self.clean:
            steps += [
                self._plan_removal(ip)
                for ip, those in names.items()
                if self.name in those and ip not in self.addresses
            ]
        return steps + [self._plan_comment(ip) for ip in self._without_comment(now)]

    def _without_comment(self, now: Table) -> list[str]:
        if not self.comment:
            return []
        there = {ip: now.get(ip, {}).get("comment") for ip in self.addresses}
        return [ip for ip, comment in there.items() if comment != self.comment]

    def _plan_addition(self, ip: str) -> Step:
        return Step(
            would=f"Host {self.name} ({ip}) would be added",
            did=f"Added host {self.name} ({ip})",
            changes={"added": {ip: [self.name]}},
            run=partial(hosts.add_host, ip=ip, alias=self.name),
        )

    def _plan_removal(self, ip: str) -> Step:
        return Step(
            would=f"Host {self.name} ({ip}) would be removed",
            did=f"Removed host {self.name} ({ip})",
            changes={"removed": {ip: [self.name]}},
            run=partial(hosts.rm_host, ip=ip, alias=self.name),
        )

    def _plan_comment(self, ip: str) -> Step:
        return Step(
            would=f"Comment for {ip} ({self.comment}) would be added",
            did=f"Set comment for host {ip} ({self.comment})",
            changes={"comment_added": {ip: [self.comment]}},
            run=partial(hosts.set_comment, ip=ip, comment=self.comment),
        )

    def comment_unchanged(self, now: Table) -> str:
        return "\n".join(self._say_present(ip) for ip in self.addresses)

    def comment_changed(self, before: Table, after: Table, steps: Sequence[Step]) -> str:
        return "\n".join([*self._as_before(before), *(step.did for step in steps)])

    def would(self, now: Table, steps: Sequence[Step]) -> str:
        return "\n".join([*self._as_before(now), *(step.would for step in steps)])

    def _as_before(self, now: Table) -> list[str]:
        names, changed = dict(table.addresses(now)), self._without_comment(now)
        return [
            self._say_present(ip)
            for ip in self.addresses
            if self.name in names.get(ip, ()) and ip not in changed
        ]

    def _say_present(self, ip: str) -> str:
        return f"Host {self.name} ({ip}) already present"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHostName(Resource[Table]):
    """A name that addresses do not have."""

    name: str
    addresses: tuple[str, ...]

    def read(self, ctx: MinionContext) -> Table:
        return ctx.follow(hosts.list_hosts)

    def plan(self, now: Table) -> list[Step]:
        return [
            Step(
                would=f"Host {self.name} ({ip}) needs to be removed",
                did=f"Removed host {self.name} ({ip})",
                changes={"host": self.name},
                run=partial(hosts.rm_host, ip=ip, alias=self.name),
            )
            for ip in self._with_name(now)
        ]

    def _with_name(self, now: Table) -> list[str]:
        names = dict(table.addresses(now))
        return [ip for ip in self.addresses if self.name in names.get(ip, ())]

    def comment_unchanged(self, now: Table) -> str:
        return "\n".join(self._find_lines(now))

    def comment_changed(self, before: Table, after: Table, steps: Sequence[Step]) -> str:
        return "\n".join([*(step.did for step in steps), *self._find_lines(before)])

    def would(self, now: Table, steps: Sequence[Step]) -> str:
        return "\n".join([*(step.would for step in steps), *self._find_lines(now)])

    def _find_lines(self, now: Table) -> list[str]:
        there = self._with_name(now)
        return [
            f"Host {self.name} ({ip}) already absent" for ip in self.addresses if ip not in there
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyNames(Resource[str]):
    """An address that has these names and no other; they are told with blanks between."""

    address: str
    names: str

    def read(self, ctx: MinionContext) -> str:
        return " ".join(ctx.follow(hosts.get_alias, self.address))

    def plan(self, now: str) -> list[Step] | Verdict:
        if now == self.names:
            return []
        what = f'{self.address} from "{now}" to "{self.names}"'
        step = Step(
            would=f"Would change {what}",
            did=f"successfully changed {what}",
            changes={self.address: {"old": now, "new": self.names}},
            run=partial(hosts.set_host, ip=self.address, alias=self.names),
        )
        return [step]

    def comment_unchanged(self, now: str) -> str:
        return f'IP address {self.address} already set to "{self.names}"'
