"""The units under a systemd that runs: README's "On real machines", without its installation."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT
from systemd_machine import SystemdMachine, booted

from cluster import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BIN = Path(sys.executable).parent
SOON_S = 9.0
"""A few looks of two seconds each; with Salt's own waits it may be 10 and 11."""

UNITS = ("salt-master", "salt-minion")
SET_UP = f"""
printf 'log_level_logfile: info\\ngather_job_timeout: 1\\n' > /etc/salt/master
printf 'master: 127.0.0.1\\nid: m1\\n' > /etc/salt/minion
{ROOT}/scripts/systemd/install --bin-dir {BIN} master minion
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SystemdMachine]:
    with booted(tmp_path_factory.mktemp("machine")) as one:
        done = one.run("sh", "-ec", SET_UP)
        assert done.returncode == 0, done.stdout
        done = one.run("systemctl", "enable", "--now", *UNITS)
        assert done.returncode == 0, done.stdout + status(one)
        yield one


def status(machine: SystemdMachine) -> str:
    return machine.run("systemctl", "status", "--no-pager", *UNITS).stdout


def salt(machine: SystemdMachine, *words: str) -> str:
    return machine.run(str(BIN / "salt"), "m1", *words, "--out=txt").stdout.strip()


def answers(machine: SystemdMachine) -> bool:
    return salt(machine, "test.ping", "-t", "1") == "m1: True"


def main_pid(machine: SystemdMachine, unit: str) -> str:
    return machine.run("systemctl", "show", "-p", "MainPID", "--value", unit).stdout.strip()


def test_they_are_up_and_the_first_key_is_of_use_at_once(machine: SystemdMachine) -> None:
    for unit in UNITS:
        assert machine.run("systemctl", "is-active", unit).stdout == "active\n", status(machine)
    key = str(BIN / "salt-key")
    eventually(lambda: "m1" in machine.run(key, "-l", "un", "--out=txt").stdout, what="a key waits")
    accepted = machine.run(key, "-y", "-a", "m1")
    assert accepted.returncode == 0, accepted.stdout
    begun_s = time.monotonic()
    eventually(lambda: answers(machine), what="the minion answers")
    assert time.monotonic() - begun_s < SOON_S  # it asks every second while its key is new


def test_a_reload_opens_the_log_anew(machine: SystemdMachine) -> None:
    log = "/var/log/salt/master"
    assert machine.run("mv", log, f"{log}.1").returncode == 0
    done = machine.run("systemctl", "reload", "salt-master")
    assert done.returncode == 0, done.stdout + status(machine)
    eventually(lambda: answers(machine) and machine.run("test", "-e", log).returncode == 0)


def test_minions_are_back_soon_after_a_restart_of_the_master(machine: SystemdMachine) -> None:
    assert machine.run("systemctl", "restart", "salt-master").returncode == 0, status(machine)
    begun_s = time.monotonic()
    eventually(lambda: answers(machine), what="the minion is back")
    assert time.monotonic() - begun_s < SOON_S  # and is not as slow as libzmq


def test_a_job_outlives_a_restart_of_its_minion(machine: SystemdMachine) -> None:
    go = "/run/go"
    wait = f"while [ ! -e {go} ]; do sleep 0.05; done; echo woke"
    jid = salt(machine, "cmd.run", wait, "--async").split()[-1]
    find = ("saltutil.running", "-t", "2")
    eventually(lambda: jid in salt(machine, *find), what="it runs")
    assert machine.run("systemctl", "restart", "salt-minion").returncode == 0, status(machine)
    assert machine.run("touch", go).returncode == 0
    look = (str(BIN / "salt-run"), "jobs.lookup_jid", jid, "--out=txt")
    eventually(lambda: "woke" in machine.run(*look).stdout, what="its result is on record")


def test_one_that_is_killed_is_started_again(machine: SystemdMachine) -> None:
    for unit in UNITS:
        pid = main_pid(machine, unit)
        assert machine.run("kill", "-9", pid).returncode == 0
        eventually(lambda unit=unit, pid=pid: main_pid(machine, unit) not in (pid, "0"))  # type: ignore[misc]
    eventually(lambda: answers(machine), what="the minion answers again")


def test_stopped_they_leave_nothing(machine: SystemdMachine) -> None:
    done = machine.run("systemctl", "stop", *UNITS)
    assert done.returncode == 0, done.stdout
    for unit in UNITS:
        assert machine.run("systemctl", "is-active", unit).stdout == "inactive\n", status(machine)
    assert "salt-" not in machine.run("ps", "-eo", "args").stdout
