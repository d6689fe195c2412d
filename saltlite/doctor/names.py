"""Judge what the resolver says of names, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, warning
from saltlite.doctor.machine import Machine

SLOW_S: Final = 1.0


def judge_own_name(machine: Machine) -> Iterator[Finding]:
    """Look whether this machine's name is found at once: grains and an id of none wait for it."""
    name, took_s = machine.own_name()
    if took_s > SLOW_S:
        yield warning(
            f"to find this machine's full name took {took_s:.1f} s",
            name,
            f"a line in /etc/hosts: 127.0.1.1 {name} {name.partition('.')[0]}",
        )
