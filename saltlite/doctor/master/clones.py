"""Machines that were copied: two minions with what only one machine can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.doctor.finding import Finding, list_names, note, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "clones"
ABOUT: Final = "minions with the same `machine_id` or hardware address, and minions named localhost"
LIMIT_S: Final = 30.0

NEW_ID: Final = (
    "on the copy: rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; reboot"
)
Addresses = frozenset[str] | None

NO_ADDRESSES: Final = ("", "00:00:00:00:00:00", ":::::")


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Compare the grains that are cached of accepted minions."""
    machines: dict[str, dict[str, Addresses]] = {}
    cards: dict[str, list[str]] = {}
    for minion, grains in facts.read_grains():
        if isinstance(machine := grains.get("machine_id"), str) and machine:
            machines.setdefault(machine, {})[minion] = _list_addresses(grains)
        for address in set(_list_cards(grains)):
            cards.setdefault(address, []).append(minion)
        if minion == "localhost":
            yield warning(
                "a minion has the id localhost: so has any other machine without a name",
                minion,
                "set id: in its configuration, or its host name, and accept the new key",
            )
    for group in machines.values():
        if len(group) > 1:
            yield _judge_machine(group)
    for address, minions in cards.items():
        if len(minions) > 1 and not _share_machine(minions, machines.values()):
            yield note(f"{len(minions)} minions have the card {address}", list_names(minions))


def _judge_machine(minions: Mapping[str, Addresses]) -> Finding:
    """Several minions with one machine id: a copy, unless they have one machine's addresses too."""
    told = set(minions.values())
    if len(told) == 1 and None not in told:
        return note(f"{len(minions)} minions run on one machine", list_names([*minions]))
    return warning(
        f"{len(minions)} minions have the same machine_id: one is a copy of the other",
        list_names([*minions]),
        NEW_ID,
    )


def _list_addresses(grains: Mapping[str, Any]) -> Addresses:
    """The addresses that only one machine of a network has; ``None`` where they are not told."""
    found = grains.get("ipv4")
    if not isinstance(found, (list, tuple)):
        return None
    return frozenset(str(one) for one in found if not str(one).startswith("127."))


def _share_machine(minions: list[str], groups: Any) -> bool:
    """Whether they are told as copies of one machine already."""
    return any(set(minions) <= set(group) for group in groups)


def _list_cards(grains: Mapping[str, Any]) -> Iterator[str]:
    cards = grains.get("hwaddr_interfaces")
    for name, address in cards.items() if isinstance(cards, Mapping) else ():
        # Of bridges and containers many machines have the same.
        if isinstance(address, str) and address not in NO_ADDRESSES and _is_own(str(name)):
            yield address


def _is_own(interface: str) -> bool:
    return interface.startswith(("eth", "en", "wl", "ib"))
