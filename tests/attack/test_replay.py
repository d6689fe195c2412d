"""The same request again, and requests of another time.

Source: docs/security.md#impersonation, #replay-and-clocks.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterator

import pytest

from attacks import Stranger, Victim, clear, unharmed
from cluster import Cluster, eventually
from loads import ENCRYPTED
from rogue import BAD_LOAD, Rogue, Sealed
from saltlite.master.commands import COMMANDS
from saltlite.master.commands import Repeats as R

WITH_EFFECT = sorted(
    cmd for (enc, cmd), one in COMMANDS.items()
    if enc == "aes" and one.repeats is not R.READ and cmd in ENCRYPTED
)  # fmt: skip
READING = sorted(
    cmd for (enc, cmd), one in COMMANDS.items() if enc == "aes" and one.repeats is R.READ
)
READS_REPEATED = 5
OWN_FILES = r"/cache/(grains|pillar|mine)/(d\.p)?$"
OWN_EVENTS = r"minion/refresh/d|myco/x|salt/job/\d{20}/ret/d"


@pytest.fixture(scope="module")
def rogue(cluster: Cluster, stranger: Stranger) -> Rogue:
    one = Rogue(cluster, stranger, "d").accept()
    one.authenticate()
    return one


def test_what_changes_something_is_never_taken_twice_by_the_table() -> None:
    """The commands of docs/security.md#replay-and-clocks are all among those with an effect."""
    effects = {"_return", "_syndic_return", "_minion_event", "_mine", "_mine_delete",
               "_mine_flush", "_file_recv", "minion_pub", "minion_publish", "minion_runner",
               "revoke_auth"}  # fmt: skip
    assert effects <= {cmd for (enc, cmd), one in COMMANDS.items() if one.repeats is not R.READ}


@pytest.mark.parametrize("cmd", WITH_EFFECT)
def test_a_recorded_request_is_refused(victim: Victim, rogue: Rogue, cmd: str) -> None:
    """CVE-2022-22936, CVE-2024-38823: at once, a little later, from another address."""
    made = rogue.make({"cmd": cmd, **ENCRYPTED[cmd]})
    with unharmed(victim, written=OWN_FILES, events=OWN_EVENTS) as watched:
        first = rogue.send_many([made])[0]
        again = rogue.send_many([made] * 5)
        elsewhere = Stranger(victim.cluster.ret_port)
        from_elsewhere = elsewhere.send_many([made.frame] * 3)
        elsewhere.close()
    assert isinstance(first, Sealed)
    assert [*again, *from_elsewhere] == [BAD_LOAD] * 8
    assert len(watched.heard_tags) <= 1


def test_many_copies_at_once_are_one(victim: Victim, rogue: Rogue) -> None:
    """The memory is one for all workers."""
    made = rogue.make({"cmd": "_minion_event", "tag": "myco/x", "data": {}})
    with unharmed(victim, events="myco/x") as watched:
        replies = rogue.send_many([made] * 60)
    assert replies.count(Sealed(None)) == 1
    assert replies.count(BAD_LOAD) == 59
    assert watched.heard_tags == ["myco/x"]


def test_a_nonce_is_worth_one_request(victim: Victim, rogue: Rogue) -> None:
    """Also around another load, and after a request that only read."""
    nonce = "n" * 32
    with unharmed(victim):
        assert rogue.send({"cmd": "_file_envs"}, nonce=nonce) == Sealed(["base"])
        event = {"cmd": "_minion_event", "tag": "myco/x", "data": {}}
        assert rogue.send(event, nonce=nonce) == BAD_LOAD
        assert rogue.send({"cmd": "no_such_command"}, nonce="m" * 32) == Sealed({})
        assert rogue.send(event, nonce="m" * 32) == BAD_LOAD


def test_nonces_are_each_minions_own(rogue: Rogue, bystander: Rogue) -> None:
    nonce = "o" * 32
    assert rogue.send({"cmd": "_file_envs"}, nonce=nonce) == Sealed(["base"])
    assert bystander.send({"cmd": "_file_envs"}, nonce=nonce) == Sealed(["base"])


@pytest.mark.parametrize("cmd", READING)
def test_a_reading_request_may_come_again_a_few_times(
    victim: Victim, rogue: Rogue, cmd: str
) -> None:
    """Real minions send the same ``_pillar`` again after a timeout."""
    made = rogue.make({"cmd": cmd, **ENCRYPTED[cmd]})
    with unharmed(victim, written=OWN_FILES, events=OWN_EVENTS):
        replies = [rogue.send_many([made])[0] for _ in range(READS_REPEATED + 4)]
    assert BAD_LOAD not in replies[: READS_REPEATED + 1]
    assert replies[READS_REPEATED + 1 :] == [BAD_LOAD] * 3


def test_a_return_sent_again_by_its_author_is_answered_and_not_fired_twice(
    victim: Victim, rogue: Rogue, root_key: str
) -> None:
    from attacks import clear

    publish = {"cmd": "publish", "tgt": rogue.id, "fun": "test.ping", "arg": [], "ret": "",
               "tgt_type": "glob", "jid": "", "user": "root", "key": root_key}  # fmt: skip
    jid = victim.stranger.send(clear(publish))["load"]["jid"]
    load = {**ENCRYPTED["_return"], "cmd": "_return", "jid": jid}
    with unharmed(victim, events=OWN_EVENTS) as watched:
        assert [rogue.send(load) for _ in range(3)] == [Sealed(None)] * 3
    assert watched.heard_tags == [f"salt/job/{jid}/ret/d"]


@pytest.mark.parametrize(
    ("skew_s", "taken"), [(0, True), (250, True), (350, False), (-350, False), (10**9, False),
                          (-(10**9), False), (10**15, False)],
)  # fmt: skip
def test_the_window_is_open_to_both_sides_alike(
    victim: Victim, rogue: Rogue, skew_s: int, taken: bool
) -> None:
    with unharmed(victim):
        reply = rogue.send({"cmd": "_file_envs"}, ts=int(time.time()) + skew_s)
    assert reply == (Sealed(["base"]) if taken else BAD_LOAD)


def test_a_skewed_clock_is_named_in_the_log(victim: Victim, rogue: Rogue) -> None:
    """Asked for until it is: just now so much may have been refused that no more is said."""
    size = len(victim.cluster.master.log())

    def is_named() -> bool:
        rogue.send({"cmd": "_file_envs"}, ts=int(time.time()) - 600)
        return re.search(r"clock.* 60[01] s", victim.cluster.master.log()[size:]) is not None

    eventually(is_named, within_s=5, what="the size of the skew")


# --- across a restart -------------------------------------------------------------------------


@pytest.fixture(params=["stopped", "killed"])
def restarted(request: pytest.FixtureRequest) -> Iterator[tuple[Cluster, str]]:
    options = {"worker_threads": 1}
    with Cluster(minions=0, master_options=options, auto_accept=False) as one:
        one.start_master()
        yield one, request.param


def test_no_memory_is_lost_with_the_master(restarted: tuple[Cluster, str]) -> None:
    """What was taken by the last one is not taken by the next.

    After an orderly end it remembers, and what was never sent is still good; after any other end it
    makes everybody authenticate again, since it cannot know.
    """
    cluster, how = restarted
    stranger = Stranger(cluster.ret_port)
    rogue = Rogue(cluster, stranger, "a").accept()
    rogue.authenticate()
    event = {"cmd": "_minion_event", "tag": "myco/x", "data": {}}
    sent, kept = rogue.make(event), rogue.make(event, ts=int(time.time()) - 5)
    assert rogue.send_many([sent]) == [Sealed(None)]
    if how == "killed":
        cluster.master.kill()
        cluster.master.stop()
    else:
        assert cluster.master.stop() == 0
    cluster.start_master()
    replies = rogue.send_many([sent, kept])
    assert replies == [BAD_LOAD, BAD_LOAD if how == "killed" else Sealed(None)]
    rogue.authenticate()
    assert rogue.send({"cmd": "_file_envs"}) == Sealed(["base"])
    stranger.close()


ALMOST_ALL = 1_042_000
"""Entries of somebody else, of the 1,048,576 that there can be."""


@pytest.mark.timeout(240)
def test_who_fills_the_memory_is_refused_and_nobody_else() -> None:
    """The memory is nearly full with what an orderly restart has kept."""
    options = {"worker_threads": 2}
    with Cluster(minions=0, master_options=options, auto_accept=False) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        filler, other = (Rogue(cluster, stranger, name).accept() for name in "ab")
        for one in (filler, other):
            one.authenticate()
        assert filler.send({"cmd": "_file_envs"}) == Sealed(["base"])
        assert cluster.master.stop() == 0
        entry = struct.Struct("<16sd")
        with (cluster.cache_dir / ".nonces").open("ab") as file:
            for _ in range(ALMOST_ALL // 1000):
                file.write(b"".join(entry.pack(os.urandom(15) + b"\1", 600) for _ in range(1000)))
        cluster.start_master()
        ping = clear({"cmd": "ping"})
        eventually(lambda: stranger.send(ping) == {"cmd": "ping"}, what="the master answers")
        refused = False
        for _ in range(30):
            made = [filler.make({"cmd": "_file_envs"}) for _ in range(100)]
            refused = refused or BAD_LOAD in filler.send_many(made)
        assert refused
        assert filler.send({"cmd": "_file_envs"}) == BAD_LOAD
        assert other.send({"cmd": "_file_envs"}) == Sealed(["base"])
        assert "minion a, _file_envs: more requests than one minion's share" in cluster.master.log()
        stranger.close()
