"""Whether a master runs here, and listens where minions look for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "ports"
ABOUT: Final = "whether the master runs, and listens on `publish_port` and `ret_port`"
LIMIT_S: Final = 10.0

START: Final = "systemctl start salt-master"


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Tell a master that is down from one that does not listen, and from a port that is taken."""
    interface = facts.config.network.interface
    silent: list[tuple[str, int]] = []
    taken: list[tuple[str, int]] = []
    for option, port in facts.ports.items():
        (taken if facts.machine.listens(port) else silent).append((option, port))
    pid = facts.find_master()
    if pid is None:
        for option, port in taken:
            yield error(
                f"no master runs here, but another program listens on port {port}",
                f"{interface}:{port} ({option})",
                f"ss -ltnp 'sport = :{port}' names it; stop it, then: {START}",
            )
        if not taken:
            numbers = " and ".join(str(port) for _option, port in silent)
            yield error(
                f"no master runs here: nothing listens on {numbers}", facts.lock_path, START
            )
        return
    for option, port in silent:
        yield error(
            f"the master runs as process {pid}, but does not listen on port {port}",
            f"{interface}:{port} ({option})",
            "systemctl restart salt-master; the reason is in its log: "
            f"tail {facts.config.log.log_file}",
        )
