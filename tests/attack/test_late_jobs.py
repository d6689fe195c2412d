"""Jobs that reach a minion after their time. Source: docs/wire.md#publications."""

from __future__ import annotations

import time

import pytest

from cluster import OURS, SALT_3006, SALT_3007, SALT_3008, Cluster, eventually, is_installed
from saltlite.core.messages import Job
from saltlite.minion.late_jobs import LateJobs

JOB = {"jid": "20240102030405000678", "fun": "test.ping", "arg": [], "tgt": "*"}


@pytest.mark.parametrize(
    ("ahead_s", "late"), [(None, False), (60, False), (-2, True), (-(10**6), True)]
)
def test_a_job_has_a_time_after_which_it_is_not_begun(ahead_s: int | None, late: bool) -> None:
    not_after = {} if ahead_s is None else {"not_after": int(time.time()) + ahead_s}
    assert LateJobs().refuse(Job.from_wire({**JOB, **not_after})) is late


def test_a_job_of_the_time_without_a_key_is_not_run_when_the_key_is_back() -> None:
    """It would run unseen: the master did not ask this minion, and refuses what it returns."""
    with Cluster(minions=2, auto_accept=False) as one:
        one.start_master()
        for minion_id, minion in one.minions.items():
            minion.start()
            accept(one, minion_id)
            one.wait_for_ping(minion_id)
        assert one.salt_key("-d", "m1", "-y").exit_code == 0
        eventually(lambda: "publication key was changed" in one.master.log(), what="another key")
        ran = one.salt("*", "cmd.run", "touch $MINION_HOME/late", "--out=json")
        assert set(ran.json) == {"m2"}
        accept(one, "m1")
        one.wait_for_ping("m1")
        assert (one.root / "m2" / "late").exists()
        assert not (one.root / "m1" / "late").exists()


def accept(one: Cluster, minion_id: str) -> None:
    eventually(lambda: minion_id in one.salt_key("-l", "un").stdout, what="a key that waits")
    assert one.salt_key("-a", minion_id, "-y").exit_code == 0


@pytest.mark.parametrize("kind", [OURS, SALT_3006, SALT_3007, SALT_3008])
def test_every_minion_takes_jobs_with_a_time(kind: str) -> None:
    if not is_installed(kind):
        pytest.skip(f"Salt {kind} is not installed")
    with Cluster(minions={"m1": kind}) as one:
        one.start()
        assert one.salt("m1", "test.arg_clean", "a", "k=v", "--out=json").json == {
            "m1": {"args": ["a"], "kwargs": {"k": "v"}}
        }
        fields = one.salt("m1", "test.arg", "--out=json").json["m1"]["kwargs"]
        assert ("__pub_not_after" in fields) is (kind != OURS)
