"""Clocks: the master's, and with ``ask`` those of minions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.core.numbers import is_digits
from saltlite.doctor.clocks import judge_own_clock
from saltlite.doctor.finding import Finding, error, list_names, note, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "clock"
ABOUT: Final = "whether something keeps the clock right; with `ask=TARGET` minions' clocks too"
LIMIT_S: Final = 60.0

APART_S: Final = 5.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Ask the kernel, and those minions that may be asked."""
    yield from judge_own_clock(facts.machine)
    if facts.ask and facts.find_master() is not None:
        yield from _ask_minions(facts)


def _ask_minions(facts: MasterFacts) -> Iterator[Finding]:
    """Publish one job; a clock that is right shows a time between its going out and its return."""
    sent_s = facts.machine.now_s()
    silent = set(facts.ctx.expected(facts.ask, "glob"))
    for each in facts.ctx.local.cmd_cli(facts.ask, "status.time", ["%s"]):
        came_s = facts.machine.now_s()
        for minion, returned in each.items():
            told = str(returned.get("ret", "")) if isinstance(returned, dict) else ""
            if is_digits(told):
                silent.discard(minion)
                yield from judge_clock(facts, minion, apart_s(int(told), sent_s, came_s))
    if silent:
        yield note(
            f"{len(silent)} minions did not answer",
            list_names(sorted(silent)),
            f"salt-run manage.list_not_state; salt-call doctor on {min(silent)}",
        )


def apart_s(told_s: int, sent_s: float, came_s: float) -> float:
    """How far a clock is from any moment between two; it tells whole seconds, cut off."""
    if told_s + 1 < sent_s:
        return told_s + 1 - sent_s
    return max(0.0, told_s - came_s)


def judge_clock(facts: MasterFacts, minion: str, difference_s: float) -> Iterator[Finding]:
    """What is to be said of a minion's clock, so many seconds ahead."""
    if abs(difference_s) < APART_S:
        return
    way = "ahead of" if difference_s > 0 else "behind"
    what = f"its clock is {abs(difference_s):.0f} s {way} the master's"
    mend = f"salt {minion} cmd.run 'timedatectl set-ntp true', or chrony on both"
    ttl_s = facts.config.keys.request_server_ttl
    if ttl_s and abs(difference_s) > ttl_s:
        refused = f"its requests are refused (request_server_ttl is {ttl_s:g} s)"
        yield error(f"{what}: {refused}", minion, mend)
    else:
        yield warning(what, minion, mend)
