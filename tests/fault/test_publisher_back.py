"""A Publisher that is killed just before a job: who comes back late gets it too, and once.

Source: docs/reliability.md#processes-die.
"""

from __future__ import annotations

import time

import psutil
import pytest
from faultlab import kill_titled

from cluster import eventually, running

pytestmark = pytest.mark.alone

LATE_S = 4.0


def test_who_comes_back_late_runs_the_job_once() -> None:
    late = {"recon_default": round(LATE_S * 1000), "recon_max": 0, "recon_randomize": False}
    with running(minions=2, minion_options=late) as cluster:
        prompt = cluster.add_minion("prompt", recon_default=100, recon_max=0)
        prompt.start()
        cluster.wait_for_ping("prompt")
        file = cluster.root / "ran"
        pid = kill_titled(cluster.master, "salt-master Publisher")
        eventually(lambda: not psutil.pid_exists(pid), what="the Publisher is gone")
        begun_s = time.monotonic()
        command = f"echo $PPID >> {file}"
        ran = cluster.salt("*", "cmd.run", command, "-t", "15", "--out=json", "--static")
        took_s = time.monotonic() - begun_s
        assert set(ran.json) == {"m1", "m2", "prompt"}
        assert all(value == "" for value in ran.json.values())
        assert took_s < 2 * LATE_S + 4
        time.sleep(3 * LATE_S)  # in which it is published again
        assert len(file.read_text().splitlines()) == 3
