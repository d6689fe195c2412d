"""The master is away for a while; results made meanwhile arrive.

Source: docs/reliability.md#the-master-goes-away.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultlab import Lab, say, waiting_salt

from cluster import Cluster, eventually, running

pytestmark = pytest.mark.alone

SWARM = Path(__file__).parents[2] / "scripts" / "minion_swarm"


def test_results_made_while_the_master_is_away_arrive() -> None:
    with running(minions=2, master_options={"worker_threads": 2}) as cluster:
        lab = Lab(cluster)
        for _ in range(5):
            lab.publish(sleep_s=1.5)
        for minion_id in cluster.minions:
            eventually(lambda one=minion_id: len(lab.started(one)) == 5, what="all jobs run")
        assert cluster.master.stop() == 0
        for minion in cluster.minions.values():
            eventually(lambda one=minion: not one.titled(" job "), what="all jobs are over")
        assert not any(lab.returns(job.jid) for job in lab.history.published)
        cluster.minions["m2"].stop()  # the results survive the minion's own restart too
        cluster.minions["m2"].start()
        cluster.start_master()
        lab.check(within_s=30)
        lab.close()


def test_a_waiting_command_survives_a_restart_of_the_master() -> None:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        waiting = waiting_salt(cluster, "m1", "test.sleep", "3", "--out=json")
        eventually(lambda: cluster.minions["m1"].titled("test.sleep"), what="the job runs")
        cluster.master.stop()
        cluster.start_master()
        out, _ = waiting.communicate(timeout=30)
        assert '"m1": true' in out, out
        assert waiting.returncode == 0


@pytest.fixture
def master_with_200() -> Iterator[Cluster]:
    """A master and two hundred simulated minions, all subscribed."""
    with Cluster(
        minions=0, master_options={"worker_threads": 3, "gather_job_timeout": 1}
    ) as cluster:
        cluster.start_master()
        swarm = subprocess.Popen(
            [
                *(sys.executable, str(SWARM), "--minions", "200", "--port", str(cluster.ret_port)),
                *("--pki-dir", str(cluster.pki_dir), "--keys", str(cluster.root / "keys")),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert swarm.stdout is not None
            assert json.loads(swarm.stdout.readline())["phase"] == "ready"
            yield cluster
        finally:
            swarm.terminate()
            swarm.communicate(timeout=30)


@pytest.mark.slow
def test_two_hundred_minions_come_back_after_each_restart(master_with_200: Cluster) -> None:
    """All have authenticated again and answer within a minute; none is lost."""
    cluster = master_with_200

    def all_answer() -> bool:
        ran = cluster.salt("*", "test.ping", "--out=json", "--static", "-t", "2")
        return list((ran.json or {}).values()).count(True) == 200

    eventually(all_answer, within_s=60, what="200 answers")
    back_s = []
    for _ in range(2):
        cluster.salt("*", "test.ping", "--async")  # returns are on their way as the master stops
        assert cluster.master.stop() == 0
        begun_s = time.monotonic()
        cluster.start_master()
        eventually(all_answer, within_s=60, what="200 answers after a restart")
        back_s.append(time.monotonic() - begun_s)
    say("all_answer_s", back_s)
