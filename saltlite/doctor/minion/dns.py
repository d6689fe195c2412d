"""Names that the minion looks up: its masters', and its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, warning
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.doctor.names import SLOW_S, judge_own_name
from saltlite.errors import ConfigError

NAME: Final = "dns"
ABOUT: Final = "whether the masters' names resolve, and how long that and the own name take"
LIMIT_S: Final = 30.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Look up each master, and the own name."""
    yield from judge_own_name(facts.machine)
    if facts.is_masterless or facts.view is None:
        return
    try:
        masters = facts.view.masters()
    except ConfigError:
        return  # the check of ports says so
    source = str(facts.config.source.get("master", facts.config.paths.conf_file))
    for host, _port in masters:
        found = facts.machine.resolve(host)
        if not found.addresses:
            yield error(
                f"the name {host} does not resolve: {found.problem}",
                source,
                f"set master: in {facts.config.paths.conf_file}, or a line in /etc/hosts: "
                f"ADDRESS {host}",
            )
        elif found.took_s > SLOW_S:
            yield warning(
                f"to look up {host} took {found.took_s:.1f} s",
                source,
                "mend /etc/resolv.conf, or write the master's address",
            )
