"""``firewall-cmd``: how it is called, and what it prints. Source: firewall-cmd(1)."""

from __future__ import annotations

from typing import Final

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

PROGRAM: Final = "firewall-cmd"

OPTIONS: Final = {
    "icmp_types": "icmp-block",
    "ports": "port",
    "forward_ports": "forward-port",
    "services": "service",
    "interfaces": "interface",
    "sources": "source",
    "rich_rules": "rich-rule",
}
"""What a zone has lists of, and the word for one of them in the options."""

ONE_A_LINE: Final = frozenset({"forward_ports", "rich_rules"})


@dataclass(frozen=True, slots=True)
class Target:
    """Which zone, ``None`` the default one, and whether what is kept or what holds now."""

    zone: str | None
    permanent: bool = True


def ask(ctx: MinionContext, *options: str, permanent: bool = False) -> str:
    """Run the program; what it printed.

    Raises:
        FunctionError: it is not there, or fails.
    """
    argv = [PROGRAM, *options, *(["--permanent"] if permanent else [])]
    done = command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True))
    if done.retcode != 0:
        raise FunctionError(f"firewall-cmd failed: {done.stderr}")
    return done.stdout


def list_items(ctx: MinionContext, what: str, target: Target) -> list[str]:
    """What a zone has of one kind."""
    said = ask(ctx, *_zone_words(target), f"--list-{OPTIONS[what]}s", permanent=target.permanent)
    return said.splitlines() if what in ONE_A_LINE else said.split()


def change(ctx: MinionContext, verb: str, what: str, value: str, target: Target) -> str:
    """``add`` or ``remove`` one of a kind."""
    option = f"--{verb}-{OPTIONS[what]}={value}"
    return ask(ctx, *_zone_words(target), option, permanent=target.permanent)


def of_service(ctx: MinionContext, service: str, option: str) -> str:
    """Ask for, or change, what is kept of a service."""
    return ask(ctx, "--permanent", f"--service={service}", option)


def _zone_words(target: Target) -> list[str]:
    return [f"--zone={target.zone}"] if target.zone else []


def forward(source: object, dest: object, protocol: str, address: str) -> str:
    """A forwarded port as the program takes it."""
    return f"port={source}:proto={protocol}:toport={dest}:toaddr={address}"


def parse_forward(line: str) -> dict[str, str]:
    """A forwarded port by the names that Salt has for its parts."""
    parts = dict(part.partition("=")[::2] for part in line.strip().split(":", 3))
    return {
        "Source port": parts.get("port", ""),
        "Destination port": parts.get("toport", ""),
        "Protocol": parts.get("proto", ""),
        "Destination address": parts.get("toaddr", ""),
    }


def parse_zones(text: str) -> dict[str, dict[str, list[str]]]:
    """``--list-all`` and ``--list-all-zones``: zones, and the lines of each of their parts."""
    found: dict[str, dict[str, list[str]]] = {}
    part: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if not line[0].isspace():
            zone: dict[str, list[str]] = {}
            found[line.strip()] = zone
        elif line.startswith("\t"):
            part.append(line.strip())
        else:
            name, _, value = line.strip().partition(":")
            part = zone[name] = [value.strip()]
    return found
