"""C4: a thousand refusals are few lines, and none says more than it should."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from attacks import Victim, clear, unharmed
from cluster import eventually
from rogue import Rogue
from saltlite.crypto.cipher import new_key_string

REPEATS = 1_000
SECRET = "s3cr3t-" + uuid.uuid4().hex


def request(kind: str, rogue: Rogue) -> Callable[[], Any]:
    """Makes one request that is refused."""
    publish = {"cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [SECRET], "user": "root"}
    made: dict[str, Callable[[], Any]] = {
        "junk": lambda: b"\xc1",
        "unknown command": lambda: clear({"cmd": f"no_such\n{SECRET}", "key": SECRET}),
        "publish": lambda: clear({**publish, "key": SECRET}),
        "login": lambda: clear({"cmd": "mk_token", "eauth": "pam", "password": SECRET}),
        "bad id": lambda: clear({"cmd": "_auth", "id": f"../{SECRET}\r\n", "pub": SECRET,
                                 "nonce": 32 * "x"}),
        "bad session": lambda: rogue.make({"cmd": "_mine"}, session=new_key_string()).frame,
        "bad token": lambda: rogue.make({"cmd": "_mine", "data": SECRET}, tok=SECRET).frame,
        "forged event": lambda: rogue.make(
            {"cmd": "_minion_event", "tag": "salt/key\u202e", "data": {"x": SECRET}}).frame,
        "forged return": lambda: rogue.make(
            {"cmd": "_return", "jid": 20 * "1", "return": SECRET}).frame,
    }  # fmt: skip
    return made[kind]


KINDS = ["junk", "unknown command", "publish", "login", "bad id", "bad session", "bad token",
         "forged event", "forged return"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_equal_refusals(victim: Victim, rogue: Rogue, kind: str) -> None:
    """At most ten lines a second; ``unharmed`` looks at what is in them."""
    make = request(kind, rogue)
    with unharmed(victim):
        victim.stranger.send_many([make() for _ in range(REPEATS)], within_s=10)
    log = victim.cluster.master.log()
    assert rogue.tok.hex() not in log
    if kind != "unknown command" and kind != "bad id":
        assert SECRET not in log


def test_what_was_left_out_is_counted(victim: Victim) -> None:
    """The next line says how many were not shown."""
    size = len(victim.cluster.master.log())
    victim.stranger.send_many([b"\xc1"] * 500, within_s=10)

    def is_said() -> bool:
        time.sleep(0.2)
        victim.stranger.send(b"\xc1")
        return "more not shown" in victim.cluster.master.log()[size:]

    eventually(is_said, within_s=10, what="the number of refusals left out")


def test_a_name_that_would_forge_a_line_is_escaped(victim: Victim) -> None:
    size = len(victim.cluster.master.log())

    def is_said() -> bool:
        time.sleep(0.2)
        victim.stranger.send(clear({"cmd": "x\n2026-01-01 00:00:00 [INFO] forged\x1b[2J"}))
        return "forged" in victim.cluster.master.log()[size:]

    eventually(is_said, within_s=10, what="the refusal")
    lines = [one for one in victim.cluster.master.log()[size:].splitlines() if "forged" in one]
    assert all("Refused" in one and one.isprintable() for one in lines), lines
