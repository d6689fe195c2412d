"""Jobs that come after their time."""

from __future__ import annotations

import pytest

from saltlite.core.messages import Job
from saltlite.core.rare_lines import EVERY_S
from saltlite.minion.late_jobs import LateJobs

NOW_S = 1_000_000.0


def job(number: int, **fields: int) -> Job:
    wire = {"jid": f"2026010203040500{number:04}", "fun": "test.ping", "arg": [], "tgt": "*",
            "tgt_type": "glob", "ret": "", "user": "root"}  # fmt: skip
    return Job.from_wire({**wire, **fields})


def test_a_flood_of_late_jobs_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    steady = [0.0]
    late = LateJobs(lambda: NOW_S, lambda: steady[0])
    assert not late.refuse(job(1))
    assert not late.refuse(job(2, not_after=int(NOW_S) + 1))
    assert all(late.refuse(job(number, not_after=int(NOW_S) - 5)) for number in range(100))
    (line,) = caplog.messages
    assert "is not run: it came 5 s after its time" in line
    steady[0] = EVERY_S
    assert late.refuse(job(101, not_after=int(NOW_S) - 5))
    assert "(99 more not shown)" in caplog.messages[1]
