"""What the firewall lets through: zones of firewalld, chains and rules of iptables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import firewalld, iptables
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    pick_names,
)
from saltlite.providers.firewall.rules import PROGRAMS, rule_options


def _list_zones(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(firewalld.get_zones), pattern)


def _declare_zones(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there, default = ctx.follow(firewalld.get_zones), ctx.follow(firewalld.default_zone)
    for name in ask.names:
        if name not in there:
            continue
        lists = {
            "block_icmp": ctx.follow(firewalld.list_icmp_block, name),
            "interfaces": ctx.follow(firewalld.get_interfaces, name),
            "ports": ctx.follow(firewalld.list_ports, name),
            "rich_rules": ctx.follow(firewalld.get_rich_rules, name),
            "services": ctx.follow(firewalld.list_services, name),
            "sources": ctx.follow(firewalld.get_sources, name),
        }
        said: dict[str, Any] = {"default": True} if name == default else {}
        said["masquerade"] = ctx.follow(firewalld.get_masquerade, name)
        for word, values in lists.items():
            said |= {word: list(values)} if values else {}
            said[f"prune_{word}"] = True
        yield StateDeclaration(of=name, fun="firewalld.present", name=name, arguments=said)
        if ctx.follow(firewalld.list_port_fwd, name):
            yield LeftOut(name, "the ports that it forwards")


def _read_chains(ctx: MinionContext) -> dict[str, Mapping[str, Any]]:
    """By ``FAMILY/TABLE/CHAIN`` its policy and rules."""
    found: dict[str, Mapping[str, Any]] = {}
    for family, program in PROGRAMS.items():
        if ctx.host.which(program) is None:
            continue
        for table, chains in ctx.follow(iptables.get_rules, family).items():
            found |= {f"{family}/{table}/{chain}": chains[chain] for chain in chains}
    return found


def _list_chains(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_chains(ctx), pattern)


def _declare_chains(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """All chains before any rule: a rule may jump to each of them."""
    there = _read_chains(ctx)
    named = [name for name in ask.names if name in there]
    for name in named:
        family, table, chain = name.split("/", 2)
        place = {"table": table, "family": family}
        policy = there[name]["policy"]
        if policy == "-":  # of a chain that somebody made
            yield StateDeclaration(
                of=name, fun="iptables.chain_present", name=chain, arguments=place
            )
        else:
            said = {**place, "chain": chain, "policy": policy}
            yield StateDeclaration(of=name, fun="iptables.set_policy", name=name, arguments=said)
    for name in named:
        yield from _declare_rules(name, there[name]["rules"])


def _declare_rules(of: str, rules: Sequence[Mapping[str, list[str]]]) -> Iterator[Found]:
    family, table, chain = of.split("/", 2)
    for number, rule in enumerate(rules, 1):
        options = rule_options(rule)
        if options is None:
            yield LeftOut(of, f"rule {number}, which has an option twice")
            continue
        yield StateDeclaration(
            of=of,
            fun="iptables.append",
            name=f"{of} {number}",
            arguments={"table": table, "family": family, "chain": chain, **options},
            ident=f"iptables {of} {number}",
        )


TYPES = {
    "firewalld": ListedType(_list_zones, _declare_zones),
    "iptables": ListedType(_list_chains, _declare_chains),
}
