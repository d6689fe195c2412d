"""The machine's names. Asking for them must not make a start wait for a dead name server."""

from __future__ import annotations

from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host

RESOLVE_TIMEOUT_S = 1.0
"""How long the resolver may take; a name in ``/etc/hosts`` needs milliseconds."""


def read(host: Host, nodename: str) -> dict[str, Any]:
    """The grains of this machine; ``nodename`` is what the kernel calls it."""
    found = _resolve(host, "ahosts", nodename)
    fqdn = (parse_canonical_name(found) if found else None) or nodename
    reachable = found is not None
    return {
        "nodename": nodename,
        "localhost": nodename,
        **name_grains(fqdn),
        "fqdn_ip4": parse_addresses(_resolve(host, "ahostsv4", fqdn) if reachable else None),
        "fqdn_ip6": parse_addresses(_resolve(host, "ahostsv6", fqdn) if reachable else None),
        "fqdns": [],
    }


def name_grains(fqdn: str) -> dict[str, Any]:
    """``fqdn``, and its two parts ``host`` and ``domain``."""
    name, _, domain = fqdn.partition(".")
    return {"fqdn": fqdn, "host": name, "domain": domain}


def _resolve(host: Host, database: str, name: str) -> str | None:
    """What the resolver knows of a name; ``None`` if nothing, or if it takes too long."""
    if name.startswith("-"):
        return None
    try:
        done = host.run(["getent", database, name], timeout_s=RESOLVE_TIMEOUT_S)
    except CommandError:
        return None
    return done.stdout if done.exit_code == 0 and not done.timed_out else None


def parse_canonical_name(text: str) -> str | None:
    """The name in the first line of ``getent ahosts``."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2:
            return words[2]
    return None


def parse_addresses(text: str | None) -> list[str]:
    """The addresses in ``getent ahostsv4`` or ``ahostsv6``, without IPv4 ones put into IPv6."""
    addresses = [line.split()[0] for line in (text or "").splitlines() if line.strip()]
    return list(dict.fromkeys(each for each in addresses if not each.startswith("::ffff:")))
