"""The master is told to stop, is started twice, has a worker that hangs, has no room on disk.

Source: docs/reliability.md#processes-die, #disk-and-power, #start-stop-configuration.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from faultlab import Lab, all_gone, kill_titled, replaced, say

from cluster import Cluster, eventually, running

pytestmark = pytest.mark.alone

WATCHFUL = """
import sys
from saltlite.master.supervisor import Supervisor
Supervisor.__init__.__kwdefaults__["silent_for_s"] = 7.0
from saltlite.cli.salt_master import main
sys.exit(main())
"""
"""A master that takes a child for dead after 7 s without life, not 60: a test must not wait."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with running(minions=2, master_options={"worker_threads": 2}) as cluster:
        lab = Lab(cluster)
        yield lab
        lab.close()


@pytest.mark.slow
def test_stopped_ten_times_under_load(lab: Lab) -> None:
    """Exit code 0, in good time, no process left; no return lost and no job run twice."""
    master = lab.cluster.master
    took_s = []
    with lab.load(every_s=0.05):
        for number in range(10):
            lab.wait_for_more(1 + number % 4)
            family = master.processes()
            assert master.process is not None
            begun_s = time.monotonic()
            master.process.terminate()
            assert master.process.wait(15) == 0
            took_s.append(time.monotonic() - begun_s)
            assert not all_gone(family, within_s=5)
            lab.cluster.start_master()
    say("stopped_s", took_s)
    lab.check(everyone_ran=False, within_s=60)


def test_a_second_sigterm_ends_the_courtesy(lab: Lab) -> None:
    """Also when a child does not react: it is stopped, so it cannot end in order."""
    master = lab.cluster.master
    family = master.processes()
    master.titled("MWorker-0")[0].suspend()
    assert master.process is not None
    master.process.terminate()
    eventually(lambda: not master.titled("ReqServer"), within_s=10, what="the first one is heeded")
    begun_s = time.monotonic()
    master.process.terminate()
    master.process.wait(10)
    assert time.monotonic() - begun_s < 8.0, "the courtesy alone would take 10 s"
    assert not all_gone(family, within_s=5)


@pytest.mark.slow
def test_a_hung_worker_is_found_and_replaced_and_others_are_served() -> None:
    with Cluster(minions=2, master_options={"worker_threads": 3}) as cluster:
        options = cluster.master.command[1:]
        cluster.master.command = [sys.executable, "-c", WATCHFUL, *options]
        cluster.start()
        lab = Lab(cluster)
        pid = cluster.master.titled("MWorker-0")[0].pid
        cluster.master.titled("MWorker-0")[0].suspend()
        begun_s = time.monotonic()
        for _ in range(10):
            lab.publish(timeout_s=3.0)
        assert len(lab.history.refused) <= 1, "one request at most is in the hands of the hung one"
        eventually(replaced(cluster.master, "MWorker-0", pid), within_s=20, what="a new worker")
        say("replaced_s", [time.monotonic() - begun_s])
        lab.check(within_s=30)
        lab.close()


def test_a_killed_worker_in_the_middle_of_a_stop_does_not_hold_it_up(lab: Lab) -> None:
    master = lab.cluster.master
    assert master.process is not None
    lab.publish(sleep_s=0.2)
    master.process.terminate()
    # it may have ended in order already
    with contextlib.suppress(AssertionError, psutil.NoSuchProcess):
        kill_titled(master, "MWorker-1")
    assert master.process.wait(15) == 0


# --- disk full ---------------------------------------------------------------------------


@pytest.fixture
def small_disk() -> Iterator[Cluster]:
    """A master whose cache directory has room for 8 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    with Cluster(minions=2, master_options={"worker_threads": 2}) as cluster:
        cluster.cache_dir.mkdir(parents=True, mode=0o700)
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(cluster.cache_dir)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        try:
            yield cluster.start()
        finally:
            cluster.master.stop()
            subprocess.run(["umount", "-l", str(cluster.cache_dir)], check=True)


def fill(path: Path) -> None:
    """Write until nothing more goes in."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


@pytest.mark.root
def test_a_full_disk_refuses_jobs_loses_no_return_and_mends_itself(small_disk: Cluster) -> None:
    cluster, lab = small_disk, Lab(small_disk)
    for _ in range(3):
        lab.publish(sleep_s=2.0)
    cut_off = list(lab.history.published)
    filler = cluster.cache_dir / "filler"
    fill(filler)
    eventually(lambda: lab.publish(timeout_s=5) is None, within_s=20, what="a job is refused")
    said = lab.history.refused[-1].said
    assert "not published" in said, said
    ran = cluster.salt("*", "test.ping")
    assert ran.exit_code == 1
    assert len(ran.stdout.strip().splitlines()) == 1, ran.stdout
    assert "full" in ran.stdout
    assert ran.stderr == ""
    for minion in cluster.minions.values():  # jobs end while nothing can be recorded
        eventually(
            lambda one=minion: "is not stored by" in one.log(),
            within_s=15,
            what="a return is sent back",
        )
    assert not any(lab.returns(job.jid) for job in cut_off)
    filler.unlink()
    begun_s = time.monotonic()
    eventually(lambda: lab.publish(timeout_s=5) is not None, within_s=5, what="a job is taken")
    say("mended_s", [time.monotonic() - begun_s])
    lab.check(everyone_ran=False, within_s=15)
    lab.close()
