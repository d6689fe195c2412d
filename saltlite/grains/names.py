"""The machine's names. Asking for them must not make a start wait for a dead name server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.errors import CommandError
from saltlite.grains import network
from saltlite.host import Host

RESOLVE_TIMEOUT_S = 1.0
"""How long the resolver may take; a name in ``/etc/hosts`` needs milliseconds."""

REVERSE_TIMEOUT_S = 5.0
"""How long it may take for the names of all addresses together (``enable_fqdns_grains``)."""

NOT_FOUND: Final = 2
"""How getent ends when it knows no such name."""

RESOLVED: Final = ("fqdn", "host", "domain", "fqdn_ip4", "fqdn_ip6", "fqdns")
"""The grains that the resolver is asked for."""


def resolving(host: Host, nodename: str, *, reverse: bool = False) -> Callable[[], dict[str, Any]]:
    """Begin to ask the resolver; what is given back waits for its answer.

    ``nodename`` is what the kernel calls this machine. ``reverse``: ask for the names of all its
    addresses too.
    """
    found: dict[str, Any] = {}
    threads = [threading.Thread(target=lambda: found.update(read(host, nodename)), daemon=True)]
    if reverse:
        threads.append(threading.Thread(target=lambda: found.update(_all_names(host)), daemon=True))
    for thread in threads:
        thread.start()

    def answer() -> dict[str, Any]:
        for thread in threads:
            thread.join()
        return {**name_grains(nodename), "fqdn_ip4": [], "fqdn_ip6": [], "fqdns": [], **found}

    return answer


def read(host: Host, nodename: str) -> dict[str, Any]:
    """The grains that follow from the machine's own name."""
    found = _resolve_name(host, "ahosts", nodename)
    fqdn = (parse_canonical_name(found) if found else None) or nodename
    # What was told is not asked again; of a kind of which nothing was told there may be some.
    told = parse_addresses(found) if fqdn == nodename else []
    kinds: dict[str, list[str]] = {
        "ahostsv4": [each for each in told if ":" not in each],
        "ahostsv6": [each for each in told if ":" in each],
    }
    for database, addresses in kinds.items():
        if found is not None and not addresses:
            kinds[database] = parse_addresses(_resolve_name(host, database, fqdn))
    return {
        **name_grains(fqdn),
        "fqdn_ip4": kinds["ahostsv4"],
        "fqdn_ip6": kinds["ahostsv6"],
    }


def without_unused(resolved: dict[str, Any], found: Mapping[str, object]) -> dict[str, Any]:
    """``resolved`` without addresses of a kind of which the machine has none of its own."""
    kinds = [kind for kind in (4, 6) if not found.get(f"ipv{kind}")]
    return {**resolved, **{f"fqdn_ip{kind}": [] for kind in kinds}}


def _all_names(host: Host) -> dict[str, Any]:
    """The names of all addresses of this machine; those that do not come in time are left out."""
    addresses = network.addresses(host)
    found: list[str] = []

    def ask(address: str) -> None:
        text = _resolve_name(host, "hosts", address, REVERSE_TIMEOUT_S)
        found.extend(parse_host_names(text or ""))

    threads = [threading.Thread(target=ask, args=(one,), daemon=True) for one in addresses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"fqdns": sorted(set(found))}


def parse_host_names(text: str) -> list[str]:
    """The full names in ``getent hosts``: the first one of each line."""
    return [words[1] for line in text.splitlines() if len(words := line.split()) > 1]


def name_grains(fqdn: str) -> dict[str, Any]:
    """``fqdn``, and its two parts ``host`` and ``domain``."""
    name, _, domain = fqdn.partition(".")
    return {"fqdn": fqdn, "host": name, "domain": domain}


def _resolve_name(
    host: Host, database: str, name: str, timeout_s: float = RESOLVE_TIMEOUT_S
) -> str | None:
    """What the resolver knows of a name; ``None`` if nothing, or if it takes too long.

    ``-A``: also addresses of a kind that no interface has; a getent that does not know the option
    is asked without it.
    """
    if name.startswith("-"):
        return None
    for options in [["-A"], []] if database.startswith("ahosts") else [[]]:
        try:
            done = host.run(["getent", *options, database, name], timeout_s=timeout_s)
        except CommandError:
            return None
        if done.timed_out or done.exit_code == NOT_FOUND:
            return None
        if done.exit_code == 0:
            return done.stdout
    return None


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
