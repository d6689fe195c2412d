"""Whether the master's workers answer, and what keeps one from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from saltlite.doctor.finding import Finding, error, note, unseen, warning
from saltlite.doctor.machine import ProcessFacts
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "workers"
ABOUT: Final = "how long a request takes, and processes of the master that stand still"
LIMIT_S: Final = 15.0

ANSWER_S: Final = 8.0
SLOW_S: Final = 1.0
SETTLED_S: Final = 600.0
"""A master that has run so long starts no worker because it has just begun."""

YOUNG_S: Final = 60.0
WORKER: Final = "MWorker"


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Ask the master for a sign of life, and look at its processes; nothing if none runs."""
    pid = facts.find_master()
    if pid is None:
        yield unseen("no master runs here")
        return
    own = facts.machine.processes_below(pid)
    yield from judge_processes(own, facts.config.process.worker_threads)
    took_s = facts.ask_worker(facts.config.network.ret_port, ANSWER_S)
    where = f"port {facts.config.network.ret_port}"
    log_file = facts.config.log.log_file
    if took_s is None:
        yield error(
            f"no worker answered within {ANSWER_S:g} s",
            where,
            f"tail {log_file}; systemctl restart salt-master; more worker_threads if all are busy",
        )
    elif took_s > SLOW_S:
        yield warning(
            f"a worker answered after {took_s:.1f} s",
            where,
            "more worker_threads or a smaller pillar; salt-run doctor only=pillar names what is "
            "slow",
        )


def judge_processes(own: Sequence[ProcessFacts], wanted: int) -> Iterator[Finding]:
    """What the process list says of the master's processes."""
    for one in own:
        where = f"process {one.pid} ({one.title})"
        if one.state in "Tt":
            yield error("a process of the master is stopped", where, f"kill -CONT {one.pid}")
        elif one.state == "D":
            yield warning(
                "a process of the master waits for a disk or a network file system",
                where,
                f"cat /proc/{one.pid}/stack; salt-run doctor only=disk",
            )
    # Without setproctitle nobody can tell which process is which.
    workers = [one for one in own if WORKER in one.title]
    if not workers:
        return
    oldest_s = max(one.age_s for one in own)
    if len(workers) < wanted and oldest_s > YOUNG_S:
        yield warning(
            f"{len(workers)} workers run, worker_threads is {wanted}: the others die",
            "worker_threads",
            "journalctl -u salt-master; dmesg shows what was killed for want of memory",
        )
    young = [one for one in workers if one.age_s < YOUNG_S]
    if young and oldest_s > SETTLED_S:
        yield note(f"{len(young)} workers were started again in the last minute", "worker_threads")
