"""What the fault lab does to a cluster: rows of its table of failures, each drawn from a seed.

As for one master (``fault_script``) a fault is tied to the number of a job. A row is one kind of
failure, or all of them in turn; some need a world of their own: a standby, other options.
Source: docs/reliability.md#the-fault-lab-over-three-nodes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fault_script import Fault, Job, Script

NODES: Final = ("n1", "n2", "n3")
MINIONS: Final = ("m1", "m2", "m3")
WORKERS: Final = 2
LEASE_S: Final = 5

CHILDREN: Final = (
    *(f"MWorker-{number}" for number in range(WORKERS)),
    *("ReqServer", "EventPublisher", "Publisher", "Maintenance", "ClusterBridge"),
)

JOBS: Final = {
    "ping": 4, "command": 7, "sleep": 3, "large": 1, "state": 1, "event": 5, "refresh": 1,
    "fetch": 1, "cli": 2, "swarm": 1,
}  # fmt: skip
"""What the load is made of. A ping of thousands takes two cores a second or two."""

STEPS_S: Final = (3600, -3600)
QUICK: Final = (2, 8)
LONGER_THAN_LEASE: Final = (28, 44)
"""So many jobs, at four a second."""


@dataclass(frozen=True)
class Row:
    """A failure of docs/cluster.md, and how it is made."""

    kinds: Mapping[str, int]
    """What is done, and in which shares."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the masters."""

    jobs: Mapping[str, int] = field(default_factory=dict)
    """Shares that are others than those of ``JOBS``."""

    has_standby: bool = False
    lasts_jobs: tuple[int, int] = LONGER_THAN_LEASE
    pause_jobs: tuple[int, int] = (30, 50)
    """Between a fault's end and the next one."""


ROWS: Final = {
    "kill-node": Row({"kill-node": 1}),
    "pause-node": Row({"pause-node": 1}),
    "cut-engine": Row({"cut-engine": 1}),
    "cut-minions": Row({"cut-minions": 1}),
    "engine-away": Row({"engine-away": 1}),
    "engine-refuse": Row({"engine-away": 1}, {"cluster_degraded": "refuse"}),
    "promote": Row({"promote": 1}, has_standby=True),
    "engine-full": Row({"engine-full": 1}),
    "engine-slow": Row({"engine-hangs": 1, "engine-locked": 1}),
    "restart-all": Row({"restart-all": 1}, lasts_jobs=(2, 2)),
    "spool-full": Row({"engine-away": 1}, {"cluster_spool_max": 1 << 20}, {"large": 8}),
    "power-cut": Row({"power-cut": 1}, lasts_jobs=(8, 16)),
    "clock": Row({"clock": 1}),
    "bridge": Row({"kill-bridge": 1}, lasts_jobs=QUICK, pause_jobs=(8, 20)),
    "children": Row({"kill-child": 3, "pause-child": 2}, lasts_jobs=QUICK, pause_jobs=(5, 20)),
    "node-disk": Row({"node-disk": 1}, lasts_jobs=(8, 24)),
    # Thousands sign in again each time, which takes both cores for twenty seconds.
    "key": Row({"key": 1}, lasts_jobs=QUICK, pause_jobs=(80, 120)),
    "mixed": Row(
        {
            "kill-node": 2, "pause-node": 1, "cut-engine": 2, "cut-minions": 2, "engine-away": 2,
            "engine-hangs": 1, "engine-locked": 1, "engine-full": 1, "restart-all": 1,
            "power-cut": 1, "clock": 1, "kill-bridge": 2, "kill-child": 3, "pause-child": 2,
            "node-disk": 1, "key": 1,
        },
        pause_jobs=(16, 40),
    ),
}  # fmt: skip

SHORT_KINDS: Final = ("kill-bridge", "kill-child", "pause-child", "key")


def draw_cluster_script(row: str, seed: int, jobs: int) -> Script:
    """The script of a seed; whatever is mended has the last tenth of the jobs to be seen.

    Raises:
        ValueError: no such row.
    """
    if row not in ROWS:
        raise ValueError(f"no such row: {row}; there are {', '.join(ROWS)}")
    dice = random.Random(f"jobs {row} {seed}")
    shares = {**JOBS, **ROWS[row].jobs}
    names, weights = list(shares), list(shares.values())
    drawn = tuple(
        Job(number, dice.choices(names, weights)[0], round(dice.random(), 3))
        for number in range(1, jobs + 1)
    )
    faults = _draw_faults(random.Random(f"faults {row} {seed}"), ROWS[row], jobs)
    return Script(seed, drawn, tuple(faults), NODES)


def _draw_faults(dice: random.Random, row: Row, jobs: int) -> list[Fault]:
    found: list[Fault] = []
    at_job = dice.randint(4, 10)
    while at_job < jobs * 0.9:
        kind = dice.choices(list(row.kinds), list(row.kinds.values()))[0]
        lasts = QUICK if kind in SHORT_KINDS else row.lasts_jobs
        fault = _draw_fault(dice, at_job, kind, dice.randint(*lasts))
        found.append(fault)
        at_job += fault.for_jobs + dice.randint(*row.pause_jobs)
    return found


def _draw_fault(dice: random.Random, at_job: int, kind: str, for_jobs: int) -> Fault:
    node = dice.choice(NODES)
    child = f"{node}:{dice.choice(CHILDREN)}"
    victims = {
        "engine-away": "engine",
        "engine-full": "engine",
        "engine-hangs": "engine",
        "engine-locked": "engine",
        "promote": "engine",
        "restart-all": "all",
        "power-cut": "all",
        "kill-bridge": f"{node}:ClusterBridge",
        "kill-child": child,
        "pause-child": child,
    }
    how = {"clock": f"{dice.choice(STEPS_S):+d}"}
    return Fault(at_job, kind, victims.get(kind, node), how.get(kind, ""), 0, for_jobs)
