"""C5: what is refused is forgotten. Ten thousand repeats leave neither memory nor descriptors."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from attacks import Victim, clear, wire
from cluster import eventually
from rogue import Rogue

pytestmark = pytest.mark.slow

REPEATS = 10_000
WARM_UP = 2_000
ROUNDS = 3
"""A leak grows in each; what is loaded or mapped for the first time is in one only."""
MEBIBYTE = 2**20


def attacks_on(rogue: Rogue) -> dict[str, Callable[[], bytes]]:
    other = rogue.pem.replace("A", "B")
    return {
        "junk": lambda: uuid.uuid4().bytes,
        "map keys that are lists": lambda: b"\x81\x91\x01\x01",
        "commands that are none": lambda: wire(clear({"cmd": uuid.uuid4().hex})),
        "ids that are none": lambda: wire(
            clear({"cmd": "_auth", "id": f"../{uuid.uuid4()}", "nonce": uuid.uuid4().hex})
        ),
        "keys that are none": lambda: wire(clear({
            "cmd": "_auth", "id": uuid.uuid4().hex, "nonce": uuid.uuid4().hex, "pub": other,
        })),
        "minions nobody knows": lambda: rogue.make({}, outer={"id": uuid.uuid4().hex}).frame,
        "wrong users": lambda: wire(clear({
            "cmd": "publish", "fun": "test.ping", "tgt": "*", "user": uuid.uuid4().hex, "key": "x",
        })),
        "tokens that are none": lambda: rogue.make({"cmd": "_mine"}, tok=uuid.uuid4().bytes).frame,
        "jobs that are none": lambda: rogue.make(
            {"cmd": "_return", "jid": f"{uuid.uuid4().int % 10**20:020d}", "return": 1}
        ).frame,
    }  # fmt: skip


KINDS = ["junk", "map keys that are lists", "commands that are none", "ids that are none",
         "keys that are none", "minions nobody knows", "wrong users", "tokens that are none",
         "jobs that are none"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_refusals_leave_nothing_behind(victim: Victim, rogue: Rogue, kind: str) -> None:
    make = attacks_on(rogue)[kind]
    victim.stranger.exchange([make() for _ in range(WARM_UP)], within_s=20)
    victim.honest()
    descriptors = victim.descriptors()
    grown = [growth(victim, make)]
    while grown[-1] >= 5 * MEBIBYTE and len(grown) < ROUNDS:
        grown.append(growth(victim, make))
    assert grown[-1] < 5 * MEBIBYTE, grown
    eventually(lambda: victim.descriptors() <= descriptors + 2, within_s=10, what="descriptors")


def growth(victim: Victim, make: Callable[[], bytes]) -> int:
    """By how many bytes all processes of the master have grown when the repeats are over."""
    before = victim.resident_bytes()
    victim.stranger.exchange([make() for _ in range(REPEATS)], within_s=20)
    victim.honest()
    return victim.resident_bytes() - before
