"""Expressions that take years: they cost a second, and no worker.

Source: docs/security.md#who-may-do-what.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from attacks import NO_REPLY, Stranger, Victim, clear, unharmed
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.master.acl import key_path, process_user

TRAP = "a" * 64 + "!"
QUESTIONS = [
    ("trap:(a+)+$", "grain_pcre"),
    ("trap:(a|aa)+$", "grain_pcre"),
    ("P@trap:(a*)*$", "compound"),
    ("P@trap:(.*a){25}$", "compound"),
    ("P@trap:(a?a?)*c", "compound"),
    ("trap:(a+a+)+c", "grain_pcre"),
]


def set_trap(rogue: Rogue) -> None:
    """Grains on which the questions never end."""
    rogue.send({"cmd": "_pillar", "grains": {"trap": TRAP}, "saltenv": "base", "pillarenv": None})


def test_a_mine_is_not_searched_for_ever(victim: Victim, rogue: Rogue) -> None:
    set_trap(rogue)
    made = [
        rogue.make({"cmd": "_mine_get", "fun": "x", "tgt": tgt, "tgt_type": kind})
        for tgt, kind in QUESTIONS
    ]
    replies: list[Any] = []
    asking = threading.Thread(target=lambda: replies.extend(rogue.send_many(made, within_s=60.0)))
    with unharmed(victim, written="cache/", cpu_s=60.0):
        asking.start()
        until_s = time.monotonic() + 3
        while time.monotonic() < until_s:
            began_s = time.monotonic()
            victim.honest()
            assert time.monotonic() - began_s < 2, "an honest caller has to wait"
            time.sleep(0.2)
        asking.join()
    assert len(replies) == len(QUESTIONS)
    for reply in replies:
        assert isinstance(reply, Sealed), reply
        assert "The mine was not searched: " in str(reply.value), reply
        assert "takes more than 1 s" in str(reply.value) or "too much time" in str(reply.value)


def test_an_entry_with_such_a_target_is_not_stored(victim: Victim, rogue: Rogue) -> None:
    entry = {"__saltmine_acl__": 1, "__data__": 1, "allow_tgt": "(a+)+$", "allow_tgt_type": "pcre"}
    with unharmed(victim):
        assert rogue.send({"cmd": "_mine", "data": {"x": entry}}) == Sealed(False)


def test_nothing_is_published_to_an_endless_target(
    cluster: Cluster, victim: Victim, rogue: Rogue, stranger: Stranger
) -> None:
    set_trap(rogue)
    user = process_user()
    key = key_path(cluster.root / "master" / "cache", user).read_text().strip()
    load = {
        "cmd": "publish", "user": user, "key": key, "fun": "test.ping", "arg": [],
        "tgt": "trap:(a+|a)+$", "tgt_type": "grain_pcre", "ret": "", "jid": "", "kwargs": {},
    }  # fmt: skip
    with unharmed(victim, written="cache/", cpu_s=60.0):
        reply = stranger.send(clear(load), within_s=30.0)
    assert reply is not NO_REPLY
    assert "takes more than 1 s" in str(reply["load"]["error"]), reply


def asks_outside(victim: Victim) -> bool:
    """Whether a worker has a process for expressions, and so is at one."""
    pids = victim.worker_pids()
    return any(Path(f"/proc/{pid}/task/{pid}/children").read_text().strip() for pid in pids)


def test_one_minion_does_not_keep_others_from_their_pillar(
    victim: Victim, rogue: Rogue, bystander: Rogue
) -> None:
    """Each expression ends in time, but there is no end of expressions; all stand in one line."""
    set_trap(rogue)
    load = {"cmd": "_mine_get", "fun": "x", "tgt_type": "grain_pcre"}
    made = [rogue.make({**load, "tgt": f"trap:(a+)+{number}$"}) for number in range(90)]
    asked = bystander.make({"cmd": "_pillar", "grains": {}, "ver": "2"})
    replies: list[Any] = []
    asking = threading.Thread(target=lambda: replies.extend(rogue.send_many(made, within_s=90.0)))
    with unharmed(victim, written="cache/", cpu_s=60.0, events="minion/refresh/b"):
        asking.start()
        eventually(lambda: asks_outside(victim), what="an expression that takes long")
        (answer,) = bystander.send_many([asked], within_s=45.0)
        asking.join()
    assert answer is not NO_REPLY, "an honest minion waits for its pillar"
    told = [str(one.value) for one in replies]
    assert all("takes more than 1 s" in one or "too much time" in one for one in told), told
    assert any("too much time" in one for one in told)
