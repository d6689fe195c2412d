"""What a job of a master above becomes for the master below."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import zmq.asyncio

from saltlite.config.master import MasterConfig
from saltlite.core.messages import Job, PublishLoad
from saltlite.syndic import down
from saltlite.syndic.down import JobsDown, make_load

JID = "20260102030405000006"
JOB = {
    "fun": "test.ping", "arg": [1], "tgt": "web*", "jid": JID, "ret": "x", "tgt_type": "glob",
    "user": "anna", "to": 7, "auth_list": ["test.*"],
}  # fmt: skip


def job(**more: Any) -> Job:
    return Job.from_wire({**JOB, **more})


def test_the_same_job_id_target_and_rights() -> None:
    load = PublishLoad.from_wire(make_load(job(), "up", 5, "key"))
    assert (load.jid, load.tgt, load.tgt_type, load.fun) == (JID, "web*", "glob", "test.ping")
    assert (load.arg, load.ret, load.key, load.to) == ([1], "x", "key", 6)
    assert load.kwargs == {"auth_list": ["test.*"], "from_master": "up", "user": "anna"}


def test_what_else_a_job_has_goes_along() -> None:
    more = {"metadata": {"a": 1}, "delimiter": "|", "master_id": "m", "module_executors": ["sudo"]}
    kwargs = make_load(job(**more), "up", 5, "key")["kwargs"]
    assert kwargs.items() >= more.items()


@pytest.mark.parametrize(("to", "becomes"), [(7, 6), (0, 0), (None, 4)])
def test_each_level_takes_a_second_off(to: int | None, becomes: int) -> None:
    fields = {name: value for name, value in JOB.items() if name != "to" or to is not None}
    load = make_load(
        Job.from_wire({**fields, **({"to": to} if to is not None else {})}), "up", 5, ""
    )
    assert load["to"] == becomes


def test_each_job_once_and_none_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(down, "KNOWN_MOST", 2)

    async def course() -> None:
        context = zmq.asyncio.Context()
        jobs = JobsDown(MasterConfig(extra={"master_id": "me"}), context)
        jobs.take(job(), "left")
        jobs.take(job(), "right")
        assert jobs._queue.qsize() == 1
        assert jobs.origin(JID) == "left"
        jobs.take(job(jid="20260102030405000007", master_id="me"), "left")
        assert jobs._queue.qsize() == 1
        for number in (8, 9):
            jobs.take(job(jid=f"2026010203040500000{number}", master_id="other"), "left")
        assert (jobs._queue.qsize(), jobs.origin(JID)) == (3, None)
        context.destroy(linger=0)

    asyncio.run(course())


def test_a_job_that_waited_too_long_is_lost_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async def course() -> None:
        context = zmq.asyncio.Context()
        jobs = JobsDown(MasterConfig(), context)
        came_s = time.monotonic() - down.PATIENCE_S - 1
        # Nobody is asked: there is nothing to ask with.
        await jobs._publish(None, job(), "up", came_s)  # type: ignore[arg-type]
        context.destroy(linger=0)

    asyncio.run(course())
    assert f"job {JID} is lost: the master here does not answer" in caplog.text
