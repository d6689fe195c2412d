"""What name servers know, asked with ``dig``."""

from __future__ import annotations

import ipaddress

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

INTERNAL = ("ask",)
"""Functions for other modules; nobody calls them by name."""


def check_ip(addr: object) -> bool:
    """Whether a text is an address of IPv4 or IPv6; a length of a prefix may follow.

    CLI Example:

        salt '*' dig.check_ip 127.0.0.1
    """
    return _is_address(addr, 4, 6)


def A(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str]:
    """The IPv4 addresses of a host; none if nobody answers.

    CLI Example:

        salt '*' dig.A www.example.org
    """
    return _query_addresses(ctx, host, "A", 4, nameserver)


def AAAA(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str]:
    """The IPv6 addresses of a host; none if nobody answers.

    CLI Example:

        salt '*' dig.AAAA www.example.org
    """
    return _query_addresses(ctx, host, "AAAA", 6, nameserver)


def CNAME(ctx: MinionContext, host: str, nameserver: str | None = None) -> str | list[str]:
    """The name that a name stands for, empty if it stands for none; ``[]`` if nobody answers.

    CLI Example:

        salt '*' dig.CNAME www.example.org
    """
    said = ask(ctx, ["-q", host, "-t", "CNAME"], nameserver)
    return [] if said is None else said


def TXT(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str]:
    """The texts of a host, in quotes; an empty one if it has none.

    CLI Example:

        salt '*' dig.TXT example.org
    """
    return _split_lines(ask(ctx, ["-q", host, "-t", "TXT"], nameserver))


def PTR(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str]:
    """The names of an address; an empty one if it has none.

    CLI Example:

        salt '*' dig.PTR 192.0.2.1
    """
    return _split_lines(ask(ctx, ["-x", host], nameserver))


a = A
aaaa = AAAA
cname = CNAME
ptr = PTR


def _query_addresses(
    ctx: MinionContext, host: str, record: str, version: int, nameserver: str | None
) -> list[str]:
    lines = _split_lines(ask(ctx, ["-q", host, "-t", record], nameserver))
    return [line for line in lines if _is_address(line, version)]


def _is_address(text: object, *versions: int) -> bool:
    try:
        return ipaddress.ip_interface(str(text)).version in versions
    except ValueError:
        return False


def _split_lines(said: str | None) -> list[str]:
    return [] if said is None else said.split("\n")


def ask(ctx: MinionContext, question: list[str], nameserver: str | None) -> str | None:
    """What ``dig`` says, in short; ``None`` if it fails. A name is never taken for an option."""
    if ctx.host.which("dig") is None:
        raise FunctionError("dig is not installed (on Debian in the package bind9-dnsutils)")
    argv = ["dig", "+short", *question, *([f"@{nameserver}"] if nameserver else [])]
    ran = command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True))
    return None if ran.retcode else ran.stdout
