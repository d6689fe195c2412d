"""Returns that wait on the minion's disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, note, warning
from saltlite.doctor.minion.facts import MinionFacts

NAME: Final = "returns"
ABOUT: Final = "returns that wait for a master or a returner, and jobs that run for long"
LIMIT_S: Final = 10.0

OLD_S: Final = 600.0
LONG_S: Final = 3600.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Look at the files that stand for them."""
    waiting = _list_older(facts, "outbox", OLD_S)
    if waiting:
        yield warning(
            f"{len(waiting)} returns wait for the master, the oldest {waiting[0] / 60:.0f} min",
            os.path.join(facts.config.paths.cachedir, "outbox"),
            "salt-call doctor only=ports,key; they go out by themselves once it answers",
        )
    undelivered = _list_older(facts, "undelivered", OLD_S)
    if undelivered:
        yield warning(
            f"{len(undelivered)} returns wait for a returner, the oldest "
            f"{undelivered[0] / 60:.0f} min",
            os.path.join(facts.config.paths.cachedir, "undelivered"),
            "the log names the returner and what its server says",
        )
    running = _list_older(facts, "proc", LONG_S)
    if running and facts.find_minion() is not None:
        yield note(
            f"{len(running)} jobs run for more than an hour, the oldest {running[0] / 3600:.0f} h",
            os.path.join(facts.config.paths.cachedir, "proc"),
            "salt-call saltutil.running; salt-call saltutil.kill_job JID",
        )


def _list_older(facts: MinionFacts, folder: str, than_s: float) -> list[float]:
    """The ages in seconds of what is older, the oldest first."""
    directory = os.path.join(facts.config.paths.cachedir, folder)
    now_s = facts.machine.now_s()
    ages = []
    for name in facts.machine.list_files(directory):
        stored_s = facts.machine.mtime_s(os.path.join(directory, name))
        if name.isdigit() and stored_s is not None and now_s - stored_s > than_s:
            ages.append(now_s - stored_s)
    return sorted(ages, reverse=True)
