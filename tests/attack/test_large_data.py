"""A minion that sends much of itself: grains, mine data, returns that nobody asked for."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from attacks import Stranger, Victim, unharmed
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.core.job_query import JobQuery
from saltlite.master.jobcache import SqliteJobStore


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


GRAINS: list[dict[str, Any]] = [
    {"blob": "x" * 60 * 2**20},
    {f"g{number}": number for number in range(99_000)},
    {"deep": nested(60)},
    {"list": [1] * 900_000},
]


@pytest.mark.parametrize("grains", GRAINS, ids=["60 MiB", "99,000 keys", "60 deep", "900,000"])
def test_large_grains_are_refused_and_not_kept(
    victim: Victim, rogue: Rogue, grains: dict[str, Any]
) -> None:
    requests = [
        rogue.make({"cmd": "_pillar", "grains": grains, "ver": "2"}),
        rogue.make({"cmd": "_master_tops", "opts": {"id": "a", "grains": grains}}),
        rogue.make({"cmd": "_master_tops", "opts": {"id": "a", **grains}}),
    ]
    with unharmed(victim):
        begun_s = time.monotonic()
        replies = [rogue.send_many([one], within_s=30)[0] for one in requests]
        spent_s = time.monotonic() - begun_s
    assert "pillar" not in repr(replies[0])
    assert all(isinstance(one, Sealed) for one in replies[1:])
    assert spent_s < 30


def test_a_mine_has_an_end(victim: Victim, rogue: Rogue) -> None:
    large = {"big": "x" * 11 * 2**20}
    many = {f"f{number}": 1 for number in range(1001)}
    with unharmed(victim, written=r"/cache/\.minions\.lock$"):
        replies = rogue.send_many([rogue.make({"cmd": "_mine", "data": one}) for one in
                                   (large, many)], within_s=30)  # fmt: skip
    assert replies == [Sealed(False)] * 2


def test_what_nobody_asked_for_is_short(victim: Victim, rogue: Rogue) -> None:
    """The job that such a return gets is the minion's word alone."""
    load = {"cmd": "_return", "jid": "req", "return": 1, "retcode": 0, "success": True}
    wrong = ["x" * 2**20, "x" * 129, ["test.ping"] * 101]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make({**load, "fun": fun}) for fun in wrong])
    assert replies == [Sealed(False)] * len(wrong)
    large = {"fun": "test.ping", "fun_args": ["x" * 2**20], "user": "u" * 2**20}
    with unharmed(victim, events=rf"salt/job/\d{{20}}/ret/{rogue.id}|\d{{20}}"):
        eventually(  # what comes too soon is refused
            lambda: rogue.send({**load, **large}) == Sealed(None), what="a return is taken"
        )
    job = next(SqliteJobStore(victim.cluster.cache_dir).jobs(JobQuery(newest_first=True, limit=1)))
    assert job.load["arg"] == []
    assert job.load["user"] == "u" * 128


def test_what_nobody_asked_for_is_not_much() -> None:
    """All that one minion has returned unasked has a size; the newest is kept, and others' too."""
    most = 4 * 2**20
    options = {"worker_threads": 2, "unasked_returns_max_bytes": most}
    with Cluster(minions=0, master_options=options, auto_accept=False) as one:
        one.start_master()
        stranger = Stranger(one.ret_port)
        minions = [Rogue(one, stranger, name).accept() for name in ("a", "b")]
        for minion in minions:
            minion.authenticate()
        load = {"cmd": "_return", "jid": "req", "fun": "test.ping", "fun_args": [], "retcode": 0,
                "success": True}  # fmt: skip
        assert minions[1].send({**load, "return": "of b"}) == Sealed(None)
        for number in range(15):
            value = f"{number} " + os.urandom(2**19).hex()
            eventually(  # what comes too soon is refused
                lambda value=value: minions[0].send({**load, "return": value}) == Sealed(None),
                what="a return is taken",
            )
        stranger.close()
        store = SqliteJobStore(one.cache_dir, read_only=True)
        kept = [store.returns(job.jid) for job in store.jobs(JobQuery())]
        store.close()
    of_a = sorted(int(found["a"]["return"].split()[0]) for found in kept if "a" in found)
    assert of_a == list(range(15))[-len(of_a) :]
    assert 1 <= len(of_a) <= most // 2**20
    assert sum("b" in found for found in kept) == 1


def test_not_everything_at_once_is_asked_of_the_mine(victim: Victim, rogue: Rogue) -> None:
    asked = {"cmd": "_mine_get", "tgt": "*", "fun": [f"f{one}" for one in range(101)]}
    with unharmed(victim):
        assert rogue.send(asked) == Sealed({})


def test_the_minion_says_which_grain_is_large() -> None:
    grains = {"blob": "x" * 2 * 2**20}
    with Cluster(minions=0, master_options={"pillar_roots": {}}) as one:
        one.start_master()
        one.add_minion("m1", grains=grains).start()
        line = eventually(
            lambda: [row for row in one.minions["m1"].log().splitlines() if "blob" in row],
            what="a line about the grain",
        )[0]
        assert "ERROR" in line
        assert "grains: more than 1,048,576 bytes are not allowed" in line
        assert "'blob'" in line
        one.wait_for_ping("m1")
        ran = one.salt_call("m1", "test.ping")
        assert "'blob'" in ran.stderr + ran.stdout
