"""The fault lab itself: a broken promise does not pass.

Source: docs/reliability.md#promises.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from faultlab import Lab, Published

from cluster import running


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with running(minions=1, master_options={"worker_threads": 1}) as cluster:
        lab = Lab(cluster)
        yield lab
        lab.close()


@pytest.fixture
def job(lab: Lab) -> Iterator[Published]:
    """One job that went well; each test spoils what is known of it."""
    lab.history.published.clear()
    job = lab.publish()
    assert job is not None
    lab.check(within_s=10)
    yield job
    lab.history.published.clear()


def test_a_job_started_twice_is_seen(lab: Lab, job: Published) -> None:
    with lab.ran_path("m1").open("a") as file:
        file.write(f"{job.number}\n")
    with pytest.raises(AssertionError, match="P-once"):
        lab.check(within_s=0.1)
    lab.ran_path("m1").unlink()


def test_a_lost_return_is_seen(lab: Lab, job: Published) -> None:
    with sqlite3.connect(lab.cluster.cache_dir / "jobs.sqlite") as db:
        assert db.execute("DELETE FROM returns WHERE jid = ?", (job.jid,)).rowcount == 1
    with pytest.raises(AssertionError, match="P-ret"):
        lab.check(within_s=0.1)


def test_a_jid_without_a_job_is_seen(lab: Lab, job: Published) -> None:
    with sqlite3.connect(lab.cluster.cache_dir / "jobs.sqlite") as db:
        assert db.execute("DELETE FROM jobs WHERE jid = ?", (job.jid,)).rowcount == 1
    with pytest.raises(AssertionError, match="P-job"):
        lab.check(within_s=0.1)


def test_a_job_that_was_missed_is_seen(lab: Lab, job: Published) -> None:
    lab.ran_path("m1").unlink()
    with pytest.raises(AssertionError, match="did not run"):
        lab.check(within_s=0.1)
    lab.check(everyone_ran=False, within_s=0.1)
