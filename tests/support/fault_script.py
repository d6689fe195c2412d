"""What a run of the fault lab does, all of it drawn from the seed before anything is started.

A fault is tied to the number of a job, not to a moment: the same seed does the same to the same
victims at the same jobs, however slow the machine is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

WORKERS = 2
MASTER_CHILDREN = (
    *(f"MWorker-{number}" for number in range(WORKERS)),
    *("ReqServer", "EventPublisher", "Publisher", "RunServer", "Maintenance"),
)
MINIONS = ("m1", "m2")
MINION_PARTS = ("minion", "loop", "job")
NET = ("stall", "cut", "delay", "reset", "trickle", "half-open")
ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE", "dies")
CALLS = ("write", "flush", "rename", "open")
STEPS_S = (3600, -3600, -10 * 365 * 86400)

JOBS = {
    "ping": 4, "command": 5, "sleep": 3, "large": 1, "state": 1, "event": 4, "refresh": 1,
    "fetch": 1, "cli": 2, "swarm": 2,
}  # fmt: skip
"""What the load is made of, and in which shares."""

KINDS = {
    "kill": 8, "term": 3, "pause": 4, "net": 4, "disk": 1, "inodes": 1, "write": 3, "clock": 1,
    "corrupt": 1, "key": 1, "hup": 1,
}  # fmt: skip
"""What may be done, and in which shares; ``hang`` takes more than a minute and is asked for."""

SLOW_KINDS = {"hang": 1}
PAIR_SHARE = 0.2
"""Of the faults, those that come with another one."""


@dataclass(frozen=True)
class Job:
    """One thing that is asked of the world; ``size`` is a length of time or a choice, by kind."""

    number: int
    what: str
    size: float


@dataclass(frozen=True)
class Fault:
    """One thing that is done to it, when job ``at_job`` is asked for, during ``for_jobs`` jobs."""

    at_job: int
    kind: str
    victim: str
    how: str = ""
    nth: int = 0
    for_jobs: int = 0

    @property
    def name(self) -> str:
        words = (self.kind, self.victim, self.how, f"n={self.nth}" if self.nth else "")
        return " ".join(word for word in words if word)


@dataclass(frozen=True)
class Script:
    """A run."""

    seed: int
    jobs: tuple[Job, ...]
    faults: tuple[Fault, ...]

    masters: tuple[str, ...] = ("master",)

    def to_plain(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "masters": self.masters,
            "jobs": [f"{one.what} {one.size:g}" for one in self.jobs],
            "faults": [asdict(one) for one in self.faults],
        }


def draw_script(seed: int, jobs: int, kinds: Sequence[str] = ()) -> Script:
    """The script of a seed. The last tenth of the jobs has no new fault: what is mended is seen.

    Raises:
        ValueError: no such kind.
    """
    known = {**KINDS, **SLOW_KINDS}
    unknown = sorted(set(kinds) - set(known))
    if unknown:
        raise ValueError(f"no such fault: {', '.join(unknown)}; there are {', '.join(known)}")
    shares = {kind: known[kind] for kind in kinds} or KINDS
    dice = random.Random(f"jobs {seed}")
    names, weights = list(JOBS), list(JOBS.values())
    drawn = tuple(
        Job(number, dice.choices(names, weights)[0], round(dice.random(), 3))
        for number in range(1, jobs + 1)
    )
    faults = _draw_faults(random.Random(f"faults {seed}"), jobs, shares)
    return Script(seed, drawn, tuple(_meet(one, drawn) for one in faults))


def _meet(fault: Fault, jobs: Sequence[Job]) -> Fault:
    """What is done to a command or to a job is done where there is one."""
    wanted = {"cli": ("cli",), "job": ("sleep",)}.get(fault.victim.split()[0])
    if wanted is None:
        return fault
    numbers = (one.number for one in jobs[fault.at_job :] if one.what in wanted)
    return replace(fault, at_job=next(numbers, fault.at_job))


def _draw_faults(dice: random.Random, jobs: int, shares: dict[str, int]) -> list[Fault]:
    found = []
    at_job = dice.randint(3, 8)
    while at_job < jobs * 0.9:
        kinds = dice.choices(list(shares), list(shares.values()), k=2)
        first = _draw_fault(dice, at_job, kinds[0])
        found.append(first)
        if dice.random() < PAIR_SHARE:
            found.append(_draw_fault(dice, at_job, kinds[1]))
        at_job += dice.randint(5, 25)
    return found


def _draw_fault(dice: random.Random, at_job: int, kind: str) -> Fault:
    minion = dice.choice(MINIONS)
    for_jobs = dice.randint(2, 12)
    part = f"{dice.choice(MINION_PARTS)} {minion}"
    child = dice.choice(MASTER_CHILDREN)
    side = dice.choice(("master", minion))
    victims = {
        "kill": dice.choice((child, child, "master", part, "cli")),
        "term": dice.choice((child, "master", f"minion {minion}", "cli")),
        "pause": dice.choice((child, child, f"loop {minion}", f"job {minion}", "cli")),
        "hang": child,
        "net": minion,
        "clock": side,
        "write": side,
        "corrupt": side,
        "disk": side,
        "inodes": side,
        "key": "spare",
        "hup": "master",
    }
    how = {
        "net": dice.choice(NET),
        "clock": f"{dice.choice(STEPS_S):+d}",
        "write": f"{dice.choice(CALLS)} {dice.choice(ERRORS)}",
        "corrupt": dice.choice(("empty", "half", "random", "other")),
    }
    nth = dice.randint(1, 12) if kind == "write" else 0
    return Fault(at_job, kind, victims[kind], how.get(kind, ""), nth, for_jobs)
