"""The master is away for a while; results made meanwhile arrive. Source: reliability.md 3."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultlab import Lab

from cluster import Cluster, bin_dir, eventually, running

SWARM = Path(__file__).parents[2] / "scripts" / "minion_swarm"


def test_results_made_while_the_master_is_away_arrive() -> None:
    with running(minions=2, master_options={"worker_threads": 2}) as cluster:
        lab = Lab(cluster)
        for number in range(5):
            lab.publish(number, sleep_s=2)
        cluster.master.stop()
        for minion_id in cluster.minions:
            eventually(lambda one=minion_id: len(lab.started(one)) == 5, what="all jobs ran")
        cluster.minions["m2"].stop()  # the results survive the minion's own restart too
        cluster.minions["m2"].start()
        cluster.start_master()
        lab.check(within_s=60)


def test_a_waiting_command_survives_a_restart_of_the_master() -> None:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        waiting = subprocess.Popen(
            [
                str(bin_dir("saltlite") / "salt"),
                *("-c", str(cluster.master_dir), "m1", "test.sleep", "6", "--out=json"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        eventually(lambda: cluster.minions["m1"].titled("test.sleep"), what="the job runs")
        cluster.master.stop()
        cluster.start_master()
        out, _ = waiting.communicate(timeout=60)
        assert '"m1": true' in out, out
        assert waiting.returncode == 0


@pytest.fixture
def master_with_200() -> Iterator[Cluster]:
    """A master and two hundred simulated minions, all subscribed."""
    with Cluster(minions=0, master_options={"worker_threads": 3}) as cluster:
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
        ran = cluster.salt("*", "test.ping", "--out=json", "--static", "-t", "5")
        return list((ran.json or {}).values()).count(True) == 200

    eventually(all_answer, within_s=60, what="200 answers")
    for _ in range(2):
        cluster.salt("*", "test.ping", "--async")  # returns are on their way as the master stops
        cluster.master.stop()
        cluster.start_master()
        eventually(all_answer, within_s=60, what="200 answers after a restart")
