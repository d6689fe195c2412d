"""Judge clocks: whether something keeps this machine's right, and what minions' differ by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, note
from saltlite.doctor.machine import Machine

KEEP: Final = "timedatectl set-ntp true, or install chrony"


def judge_own_clock(machine: Machine) -> Iterator[Finding]:
    """Look whether the kernel is told the time by anybody."""
    if machine.is_clock_kept() is False:
        yield note("nothing keeps this machine's clock right", "the clock", KEEP)
