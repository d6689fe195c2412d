"""Whether the masters can be reached from here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, unseen, warning
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.errors import ConfigError

NAME: Final = "ports"
ABOUT: Final = "whether the minion runs, and reaches its masters on both ports"
LIMIT_S: Final = 20.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Connect to both ports of each master; say so if nothing here wants to."""
    if facts.is_masterless or facts.view is None:
        yield unseen("there is no master to be reached")
        return
    if facts.find_minion() is None:
        yield warning("no salt-minion runs here", facts.lock_path, "systemctl start salt-minion")
    try:
        masters = facts.view.masters()
    except ConfigError as wrong:
        yield error(str(wrong), facts.config.paths.conf_file, "set master: to a name or an address")
        return
    for host, port in masters:
        found = facts.machine.resolve(host)
        if not found.addresses:
            continue  # the check of names says so
        yield from _try_ports(facts, host, found.addresses[0], port)


def _try_ports(facts: MinionFacts, host: str, address: str, port: int) -> Iterator[Finding]:
    publish_port = facts.config.network.publish_port
    problems = {one: facts.machine.connect(address, one) for one in (port, publish_port)}
    failed = {one: problem for one, problem in problems.items() if problem}
    if len(failed) == len(problems):
        numbers = " and ".join(str(one) for one in failed)
        yield error(
            f"the master cannot be reached: {'; '.join(dict.fromkeys(failed.values()))}",
            f"{host} ({address}), ports {numbers}",
            "on the master: salt-run doctor only=ports; if that is fine, a firewall is between",
        )
        return
    for one, problem in failed.items():
        yield error(
            f"the master answers on another port, but not on this one: {problem}",
            f"{host} ({address}), port {one}",
            f"let TCP port {one} through, on the master and on what lies between",
        )
