"""kill -9 of each process in turn under load; the promises hold, checked from a history.

Source: reliability.md 1, 2, 4.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import psutil
import pytest
from faultlab import Lab, kill_again_and_again, kill_titled, replaced

from cluster import Cluster, eventually, running

pytestmark = pytest.mark.slow
RETURNS_WITHIN_S = 90.0


@pytest.fixture(scope="module")
def world() -> Iterator[Cluster]:
    with running(
        minions=3, master_options={"worker_threads": 2, "gather_job_timeout": 2}
    ) as cluster:
        yield cluster


@pytest.fixture
def lab(world: Cluster) -> Lab:
    lab = Lab(world)
    for minion_id in world.minions:
        lab.ran_path(minion_id).unlink(missing_ok=True)
    return lab


@pytest.mark.parametrize("victim", ["MWorker-0", "ReqServer", "EventPublisher", "Maintenance"])
def test_a_killed_process_of_the_master_costs_nothing(lab: Lab, victim: str) -> None:
    with lab.load():
        took_s = kill_again_and_again(lab.cluster.master, victim, every_s=1.5, times=3)
    assert max(took_s) < 1.5, f"back after {took_s}"
    lab.check(everyone_ran=True, within_s=RETURNS_WITHIN_S)


def test_a_killed_publisher_loses_no_return(lab: Lab) -> None:
    """A job published while minions are away may reach nobody; what ran is returned, once."""
    with lab.load():
        took_s = kill_again_and_again(lab.cluster.master, " Publisher", every_s=2.0, times=3)
    assert max(took_s) < 1.5, f"back after {took_s}"
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)


def test_a_killed_minion_loop_loses_no_return(lab: Lab) -> None:
    minion = lab.cluster.minions["m1"]
    with lab.load():
        kill_again_and_again(minion, "salt-minion Minion", every_s=2.0, times=2)
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)


def test_the_master_dies_whole_and_comes_back(lab: Lab) -> None:
    master = lab.cluster.master
    for number in range(3):
        lab.publish(number, sleep_s=1.5)
    family = master.processes()
    master.kill()
    _, alive = psutil.wait_procs(family, timeout=2)
    assert not alive, f"left behind: {alive}"
    lab.cluster.start_master()
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)
    assert all(lab.started(one) for one in lab.cluster.minions), "the jobs ran meanwhile"


def test_a_minion_killed_in_the_middle_of_a_job_says_so_later(world: Cluster) -> None:
    jid = world.salt("m2", "test.sleep", "300", "--async").stdout.split()[-1]
    minion = world.minions["m2"]
    jobs = eventually(lambda: minion.titled(jid), what="the job runs")
    for process in [*minion.processes(), *jobs]:
        with_signal(process, signal.SIGKILL)
    eventually(lambda: not minion.alive())
    minion.start()
    shown = eventually(
        lambda: world.salt_run("jobs.list_job", jid, "--out=json").json["Result"], within_s=30
    )
    assert shown["m2"]["retcode"] == 254
    world.wait_for_ping("m2")


def test_a_killed_job_process_returns_at_once(world: Cluster) -> None:
    jid = world.salt("m3", "test.sleep", "300", "--async").stdout.split()[-1]
    job = eventually(lambda: world.minions["m3"].titled(jid), what="the job runs")[0]
    job.kill()
    shown = eventually(
        lambda: world.salt_run("jobs.list_job", jid, "--out=json").json["Result"], within_s=10
    )
    assert shown["m3"]["retcode"] == 254
    assert "SIGKILL" in shown["m3"]["return"]


def test_killing_the_minions_first_process_ends_the_loop_too(world: Cluster) -> None:
    minion = world.minions["m1"]
    family = minion.processes()
    minion.kill()
    _, alive = psutil.wait_procs(family, timeout=3)
    assert not alive
    minion.start()
    world.wait_for_ping("m1")


def test_a_second_master_in_the_same_place_ends_with_one_line(world: Cluster) -> None:
    ran = world.command("salt-master")
    assert ran.exit_code == 1
    assert len(ran.stderr.strip().splitlines()) == 1, ran.stderr
    assert str(world.master.pid) in ran.stderr
    world.wait_for_ping("m2")


def test_a_hung_worker_does_not_hold_up_others(world: Cluster) -> None:
    pid = world.master.titled("MWorker-0")[0].pid
    psutil.Process(pid).suspend()
    try:
        for _ in range(4):
            ran = world.salt("m2", "test.ping", "--out=json", "--static")
            assert ran.json == {"m2": True}
    finally:
        kill_titled(world.master, "MWorker-0")
        eventually(replaced(world.master, "MWorker-0", pid), within_s=10)


def with_signal(process: psutil.Process, number: int) -> None:
    """Signal a process that may be gone already."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
