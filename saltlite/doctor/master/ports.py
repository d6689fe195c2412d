"""Whether a master runs here, and listens where minions look for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "ports"
ABOUT: Final = "whether the master runs, and listens on `publish_port` and `ret_port`"
LIMIT_S: Final = 10.0

_TITLE_LIMIT: Final = 80
_SALT_MASTER: Final = "salt-master"

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
            yield _tell_taken(facts, f"{interface}:{port} ({option})", port)
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


def _tell_taken(facts: MasterFacts, where: str, port: int) -> Finding:
    holder = facts.machine.listener(port)
    if holder is None:
        return error(
            f"no master runs here, but another program listens on port {port}",
            where,
            f"ss -ltnp 'sport = :{port}' names it; stop it, then: {START}",
        )
    named = f"process {holder.pid} ({holder.title[:_TITLE_LIMIT]})"
    if _SALT_MASTER in holder.title:
        return warning(
            f"the master that listens on port {port} is not saltlite's: {named}",
            where,
            f"nothing, if that is meant; else stop it, then: {START}",
        )
    return error(
        f"no master runs here, but {named} listens on port {port}",
        where,
        f"stop it, then: {START}",
    )
