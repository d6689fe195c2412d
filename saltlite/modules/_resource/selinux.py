"""SELinux: its mode, booleans and modules, and what this machine says of files and ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import selinux
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)
from saltlite.providers.selinux import policy

_MODE = "mode"


def _list_mode(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names([_MODE], pattern) if ctx.follow(selinux.selinux_fs_path) else []


def _declare_mode(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in _list_mode(ctx, "*"):
        if name in ask.names:
            mode = ctx.follow(selinux.getenforce)
            yield StateDeclaration(of=name, fun="selinux.mode", name=mode)


def _list_booleans(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(selinux.list_sebool), pattern)


def _declare_booleans(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """With ``persist`` where the next start will find the same."""
    there: dict[str, dict[str, Any]] = {}
    for name, row in ctx.follow(selinux.list_sebool).items():
        kept = {"persist": True} if row["Default"] == row["State"] else {}
        there[name] = {"value": row["State"], **kept}
    yield from declare_each("selinux.boolean", ask, there)


def _list_modules(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(selinux.list_semod), pattern)


def _declare_modules(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {
        name: {"module_state": "Enabled" if row["Enabled"] else "Disabled"}
        for name, row in ctx.follow(selinux.list_semod).items()
    }
    yield from declare_each("selinux.module", ask, there)


def _read_files(ctx: MinionContext) -> list[dict[str, str]]:
    """The rules that somebody added: those of the policy come with its package."""
    return policy.parse_files(policy.ask(ctx, "semanage", "fcontext", "-l", "-C"))


def _list_files(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names((rule["filespec"] for rule in _read_files(ctx)), pattern)


def _declare_files(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    letters = {words: letter for letter, words in policy.KINDS.items()}
    for rule in _read_files(ctx):
        if rule["filespec"] not in ask.names:
            continue
        letter = letters[rule["filetype"]]
        said = {"filetype": letter, "sel_type": rule["sel_type"], "sel_user": rule["sel_user"]}
        said |= {"sel_level": rule["sel_level"]} if rule["sel_level"] else {}
        yield StateDeclaration(
            of=rule["filespec"],
            fun="selinux.fcontext_policy_present",
            name=rule["filespec"],
            arguments=said,
            ident=f"selinux_fcontext {rule['filespec']} {letter}",
        )


def _read_ports(ctx: MinionContext) -> Mapping[str, str]:
    """By ``tcp/8080`` or ``udp/1-9`` the type that somebody gave it."""
    rows = policy.parse_ports(policy.ask(ctx, "semanage", "port", "-l", "-C"))
    return {
        f"{row['protocol']}/{port.strip()}": row["sel_type"]
        for row in rows
        for port in row["port"].split(",")
    }


def _list_ports(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_ports(ctx), pattern)


def _declare_ports(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {name: {"sel_type": sel_type} for name, sel_type in _read_ports(ctx).items()}
    yield from declare_each("selinux.port_policy_present", ask, there)


TYPES = {
    "selinux": ListedType(_list_mode, _declare_mode),
    "selinux_boolean": ListedType(_list_booleans, _declare_booleans),
    "selinux_fcontext": ListedType(_list_files, _declare_files),
    "selinux_module": ListedType(_list_modules, _declare_modules),
    "selinux_port": ListedType(_list_ports, _declare_ports),
}
