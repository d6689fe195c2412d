"""kill -9 of each process in turn under load; the promises hold, checked from a history.

Source: docs/reliability.md#promises, #processes-die, #the-minion-goes-away.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import time
from collections.abc import Iterator

import psutil
import pytest
from faultlab import Lab, all_gone, kill_again_and_again, kill_titled, say, waiting_salt

from cluster import Cluster, eventually, running

pytestmark = pytest.mark.alone

RETURNS_WITHIN_S = 60.0
BACK_WITHIN_S = 1.0


@pytest.fixture(scope="module")
def world() -> Iterator[Cluster]:
    with running(
        minions=3, master_options={"worker_threads": 2, "gather_job_timeout": 2}
    ) as cluster:
        yield cluster


@pytest.fixture
def lab(world: Cluster) -> Iterator[Lab]:
    lab = Lab(world)
    yield lab
    lab.close()


def check_back(took_s: list[float]) -> None:
    """Each time but one, in which the machine itself may have stood still."""
    say("back_s", took_s)
    assert statistics.median_low(took_s) < BACK_WITHIN_S, f"back after {took_s}"


# --- the master's processes --------------------------------------------------------------


@pytest.mark.parametrize("victim", ["MWorker-0", "ReqServer", "EventPublisher", "Maintenance"])
def test_a_killed_process_of_the_master_costs_nothing(lab: Lab, victim: str) -> None:
    with lab.load():
        took_s = kill_again_and_again(
            lab.cluster.master, f"salt-master {victim}", every_s=0.7, times=3
        )
    check_back(took_s)
    lab.check(everyone_ran=True, within_s=RETURNS_WITHIN_S)


def test_a_killed_publisher_loses_no_return(lab: Lab) -> None:
    """A job published while minions are away may reach nobody; what ran is returned, once."""
    with lab.load():
        took_s = kill_again_and_again(
            lab.cluster.master, "salt-master Publisher", every_s=0.7, times=3
        )
    check_back(took_s)
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)


@pytest.mark.parametrize("victim", ["MWorker-1", "ReqServer", "EventPublisher", "Publisher"])
def test_the_first_command_after_a_kill_is_answered_soon(lab: Lab, victim: str) -> None:
    """The master answers at once, and so do minions, also one whose request was under way.

    A command that was handed to the worker as it died is told so at once, and is given again. What
    a worker puts in line for a Publisher that is just dying is lost, so the kill is waited for.
    """
    lab.restart_master()
    pid = kill_titled(lab.cluster.master, f"salt-master {victim}")
    if victim == "Publisher":
        eventually(lambda: not psutil.pid_exists(pid), what="the Publisher is gone")
    begun_s = time.monotonic()
    job = lab.publish() or lab.publish()
    assert job is not None, lab.history.refused
    say("answered_s", [job.answered_s - begun_s])
    assert job.answered_s - begun_s < BACK_WITHIN_S
    eventually(lambda: lab.returns(job.jid), within_s=5, what="a return")
    say("first_return_s", [time.monotonic() - begun_s])
    eventually(lambda: len(lab.returns(job.jid)) == 3, within_s=8, what="three returns")
    say("all_returns_s", [time.monotonic() - begun_s])


def test_a_waiting_command_survives_the_event_publishers_death(lab: Lab) -> None:
    """The return comes while nobody announces it; ``salt`` finds it in the job store."""
    master = lab.cluster.master
    waiting = waiting_salt(lab.cluster, "m1", "test.sleep", "1.5", "--out=json")
    eventually(lambda: lab.cluster.minions["m1"].titled("test.sleep"), what="the job runs")
    until_s = time.monotonic() + 2.0
    while time.monotonic() < until_s:  # dead or just born, all the time around the return
        kill_titled(master, "salt-master EventPublisher")
    out, _ = waiting.communicate(timeout=15)
    assert (waiting.returncode, '"m1": true' in out) == (0, True), out
    lab.restart_master()


def test_a_command_ends_though_nobody_answers(lab: Lab) -> None:
    """P-cli: the minion hangs as a whole, so it answers no ``find_job`` either."""
    minion = lab.cluster.minions["m3"]
    stopped = minion.processes()
    for process in stopped:
        process.suspend()
    try:
        begun_s = time.monotonic()
        ran = lab.cluster.salt("m3", "test.ping", "-t", "1")
        took_s = time.monotonic() - begun_s
    finally:
        for process in stopped:
            process.resume()
    assert "Minion did not return" in ran.stdout
    assert ran.exit_code == 1
    assert took_s < 1 + 2 + 5
    lab.cluster.wait_for_ping("m3")


@pytest.mark.parametrize("how", ["kill", "suspend"])
def test_a_command_that_is_killed_or_stopped_has_no_effect(lab: Lab, how: str) -> None:
    jobs = [waiting_salt(lab.cluster, "*", "test.sleep", "1") for _ in range(2)]
    eventually(lambda: lab.cluster.minions["m1"].titled("test.sleep"), what="the job runs")
    for job in jobs:
        getattr(psutil.Process(job.pid), how)()
    try:
        ran = lab.cluster.salt("*", "test.ping", "--out=json", "--static")
        assert ran.json == {"m1": True, "m2": True, "m3": True}
        lab.publish()
        lab.check(within_s=10)
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


def test_the_master_dies_whole_and_comes_back_at_once(lab: Lab) -> None:
    """Nothing of it is left within two seconds; what it left in files hinders no start."""
    master = lab.cluster.master
    gone_s, back_s = [], []
    with lab.load():
        for _ in range(3):
            lab.wait_for_more(2)
            family = master.processes()
            begun_s = time.monotonic()
            master.kill()
            assert not all_gone(family, within_s=2.0)
            gone_s.append(time.monotonic() - begun_s)
            begun_s = time.monotonic()
            lab.cluster.start_master()
            back_s.append(time.monotonic() - begun_s)
        lab.wait_for_more(1)
    say("gone_s", gone_s)
    say("listens_s", back_s)
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)
    lab.wait_for_all()


def test_a_second_master_in_the_same_place_ends_with_one_line(world: Cluster) -> None:
    ran = world.command("salt-master")
    assert ran.exit_code == 1
    assert len(ran.stderr.strip().splitlines()) == 1, ran.stderr
    assert str(world.master.pid) in ran.stderr
    world.wait_for_ping("m2")


# --- the minion's processes --------------------------------------------------------------


def test_a_killed_minion_loop_loses_no_return(lab: Lab) -> None:
    minion = lab.cluster.minions["m1"]
    with lab.load():
        took_s = kill_again_and_again(minion, "salt-minion Minion", every_s=1.5, times=3)
    check_back(took_s)
    lab.check(everyone_ran=False, within_s=RETURNS_WITHIN_S)


def test_a_minion_killed_in_the_middle_of_a_job_says_so_later(lab: Lab) -> None:
    world, minion = lab.cluster, lab.cluster.minions["m2"]
    jid = world.salt("m2", "test.sleep", "300", "--async").stdout.split()[-1]
    jobs = eventually(lambda: minion.titled(jid), what="the job runs")
    for process in [*minion.processes(), *jobs]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    eventually(lambda: not minion.alive())
    minion.start()
    kept = eventually(lambda: lab.returns(jid).get("m2"), within_s=10, what="a return")
    assert (kept["retcode"], kept["success"]) == (254, False)
    # Its process has the title a moment before it is noted as begun.
    assert re.search("stopped (while this job ran|before this job was started)", kept["return"])
    world.wait_for_ping("m2")


def test_a_killed_job_process_returns_at_once(lab: Lab) -> None:
    world = lab.cluster
    jid = world.salt("m3", "test.sleep", "300", "--async").stdout.split()[-1]
    job = eventually(lambda: world.minions["m3"].titled(jid), what="the job runs")[0]
    job.kill()
    kept = eventually(lambda: lab.returns(jid).get("m3"), within_s=2, what="a return")
    assert kept["retcode"] == 254
    assert "SIGKILL" in kept["return"]
    zombies = [p for p in world.minions["m3"].processes() if p.status() == psutil.STATUS_ZOMBIE]
    assert not zombies


def test_killing_the_minions_first_process_ends_the_loop_too(lab: Lab) -> None:
    minion = lab.cluster.minions["m1"]
    family = minion.processes()
    minion.kill()
    assert not all_gone(family, within_s=2.0)
    minion.start()
    lab.wait_for_all()
