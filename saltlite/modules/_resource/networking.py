"""Names of hosts, who is trusted and let in, where mail goes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.modules import aliases, hosts, ssh, user
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)
from saltlite.providers.hosts import table
from saltlite.providers.ssh import keys


def _read_hosts(ctx: MinionContext) -> dict[str, list[str]]:
    """By name its addresses, in the order of the table."""
    found: dict[str, list[str]] = {}
    for address, names in table.addresses(ctx.follow(hosts.list_hosts)):
        for name in names:
            addresses = found.setdefault(name, [])
            if address not in addresses:
                addresses.append(address)
    return found


def _list_hosts(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_hosts(ctx), pattern)


def _declare_hosts(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {name: {"ip": ips, "clean": True} for name, ips in _read_hosts(ctx).items()}
    yield from declare_each("host.present", ask, there)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginKey:
    """What ``ssh.auth_keys`` tells of a key."""

    enc: str
    comment: str
    options: list[str]


def _list_logins(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(ssh.auth_keys), pattern)


def _declare_logins(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        found: Mapping[str, Any] = ctx.follow(ssh.auth_keys, name)
        for number, key in enumerate(found, 1):
            there = read_fields(LoginKey, found[key])
            said: dict[str, Any] = {"user": name, "enc": there.enc}
            if there.comment:
                said["comment"] = there.comment
            if there.options:
                said["options"] = list(there.options)
            yield StateDeclaration(
                of=name,
                fun="ssh_auth.present",
                name=key,
                arguments=said,
                ident=f"ssh_auth {name} {number}",
            )


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A line of known hosts, ``user`` being ``""`` for the file that is everybody's."""

    user: str
    host: str
    port: str
    enc: str
    key: str


def _read_trusted(ctx: MinionContext) -> Iterator[TrustedKey]:
    """The lines that name a host; what is hashed names none that could be listed."""
    yield from _parse_trusted(ctx, "", ssh.GLOBAL_KNOWN)
    for name in ctx.follow(user.list_users):
        home = ctx.follow(user.info, name)["home"]
        if home:
            yield from _parse_trusted(ctx, name, os.path.join(home, ssh.KNOWN))


def _parse_trusted(ctx: MinionContext, owner: str, path: str) -> Iterator[TrustedKey]:
    text = ctx.host.read_text(path) or ""
    for names, enc, key in keys.parse_known(text):
        for name in names.split(","):
            if name and not keys.is_hash(name) and not set(name) & set("*?!"):
                host, _, port = name.removeprefix("[").partition("]:")
                yield TrustedKey(owner, host, port, enc, key)


def _list_trusted(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names((each.host for each in _read_trusted(ctx)), pattern)


def _declare_trusted(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for each in _read_trusted(ctx):
        if each.host not in ask.names:
            continue
        said: dict[str, Any] = {"user": each.user} if each.user else {}
        said |= {"enc": each.enc, "key": each.key, "hash_known_hosts": False}
        said |= {"port": int(each.port)} if each.port.isdecimal() else {}
        place = f"{each.host}:{each.port}" if each.port else each.host
        yield StateDeclaration(
            of=each.host,
            fun="ssh_known_hosts.present",
            name=each.host,
            arguments=said,
            ident=" ".join(filter(None, ["ssh_known_hosts", each.user, place, each.enc])),
        )


def _list_aliases(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(aliases.list_aliases), pattern)


def _declare_aliases(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    found = ctx.follow(aliases.list_aliases)
    there = {name: {"target": target} for name, target in found.items()}
    yield from declare_each("alias.present", ask, there)


TYPES = {
    "alias": ListedType(_list_aliases, _declare_aliases),
    "host": ListedType(_list_hosts, _declare_hosts),
    "ssh_auth": ListedType(_list_logins, _declare_logins),
    "ssh_known_hosts": ListedType(_list_trusted, _declare_trusted),
}
