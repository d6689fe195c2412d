"""Grains of minions as the master has them: old ones, and none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, list_names, note, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "grains"
ABOUT: Final = "cached grains that are old though the minion is connected, and minions without any"
LIMIT_S: Final = 30.0

OLD_DAYS: Final = 30.0
DAY_S: Final = 86400.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at when each accepted minion has sent its grains."""
    connected = facts.ctx.connected()
    now_s = facts.machine.now_s()
    old, ahead, without = [], [], []
    for minion in facts.ctx.accepted():
        stored_s = facts.ctx.cache.mtime_s("grains", minion)
        if stored_s is None:
            without.append(minion)
        elif stored_s > now_s + DAY_S:
            ahead.append(minion)
        elif minion in connected and now_s - stored_s > OLD_DAYS * DAY_S:
            old.append(minion)
    if old:
        yield warning(
            f"the grains of {len(old)} connected minions are older than {OLD_DAYS:g} days: "
            "targets by grains go by them",
            list_names(old),
            f"salt -L {','.join(old[:5])} saltutil.refresh_grains",
        )
    if ahead:
        yield warning(
            f"the grains of {len(ahead)} minions are from the future: a clock was set back",
            list_names(ahead),
            f"salt -L {','.join(ahead[:5])} saltutil.refresh_grains",
        )
    if without:
        yield note(
            f"{len(without)} minions are accepted and have never sent their grains",
            list_names(without),
            f"salt-call doctor on them; salt-key -d {without[0]} if it is gone for good",
        )
