"""The minion is told to stop, is started twice, hears a job twice.

Source: docs/reliability.md#the-minion-goes-away.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest
import zmq
from faultlab import Lab, all_gone

from cluster import Cluster, Daemon, eventually, running
from saltlite.errors import MasterRefused
from saltlite.master.publishqueue import PublishQueue
from saltlite.transport.addresses import MasterSockets

pytestmark = pytest.mark.alone

STARTS = 20
OTHER_JID = "20200101000000000000"


@pytest.fixture(scope="module")
def world() -> Iterator[Cluster]:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        yield cluster


@pytest.fixture
def lab(world: Cluster) -> Iterator[Lab]:
    lab = Lab(world)
    yield lab
    lab.close()


def test_of_twenty_starts_at_once_one_lives() -> None:
    with Cluster(minions=1) as cluster:
        command = cluster.minions["m1"].command
        started = [
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=cluster.minions["m1"].env,
            )
            for _ in range(STARTS)
        ]
        try:
            eventually(lambda: sum(one.poll() is not None for one in started) == STARTS - 1)
            alive = [one for one in started if one.poll() is None]
            assert len(alive) == 1
            for one in started:
                if one is not alive[0]:
                    out, _ = one.communicate(timeout=10)
                    assert one.returncode == 1
                    assert len(out.strip().splitlines()) == 1, out
                    assert "in use by another minion" in out
            pid_file = cluster.root / "m1" / "minion.pid"
            assert pid_file.read_text().strip() == str(alive[0].pid)
        finally:
            for one in started:
                with contextlib.suppress(ProcessLookupError):
                    one.terminate()
            codes = [one.wait(10) for one in started]
        assert sorted(codes) == [0] + [1] * (STARTS - 1)


# --- SIGTERM -----------------------------------------------------------------------------


def stopped_in_order(minion: Daemon, *, within_s: float = 5.0) -> int:
    """Tell it to stop; its exit code; none of its family is left."""
    family = minion.processes()
    assert minion.process is not None
    minion.process.terminate()
    code = minion.process.wait(within_s)
    assert not all_gone(family, within_s=1.0)
    return code


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"master": "nowhere.invalid"},
        {"random_startup_delay": 3600},
        {"master_type": "disable"},
    ],
    ids=["nobody answers", "no such name", "start delay", "no master wanted"],
)
def test_sigterm_before_the_first_connection(options: dict[str, object]) -> None:
    with Cluster(minions=0) as cluster:
        minion = cluster.add_minion("m1", **{"auth_timeout": 1, **options})
        minion.start()
        eventually(lambda: minion.titled("salt-minion Minion"), what="the loop is there")
        pki = cluster.root / "m1" / "pki" / "minion.pem"
        eventually(pki.exists, what="the loop has begun")
        assert stopped_in_order(minion) == 0


def test_sigterm_while_the_key_is_pending() -> None:
    with Cluster(minions=1, auto_accept=False) as cluster:
        cluster.start_master()
        minion = cluster.minions["m1"]
        minion.start()
        cluster.wait_for_pending("m1")
        assert stopped_in_order(minion) == 0


@pytest.mark.parametrize("after_ms", [5, 50, 100, 200, 300, 400])
def test_sigterm_while_it_starts(world: Cluster, after_ms: int) -> None:
    """Before it can catch the signal the signal ends it; nothing is left either way."""
    minion = world.minions["m1"]
    minion.stop()
    minion.start()
    threading.Event().wait(after_ms / 1000)  # the moment is what is tested
    assert stopped_in_order(minion) in (0, -signal.SIGTERM)
    minion.start()
    Lab(world).wait_for_all()


def test_sigterm_in_a_job_lets_it_end_and_its_return_arrives(lab: Lab) -> None:
    """P-ret and P-once across the stop: the job goes on, the next start sends its return."""
    minion = lab.cluster.minions["m1"]
    lab.publish(sleep_s=1.5)
    eventually(lambda: lab.started("m1"), what="the job runs")
    assert minion.process is not None
    minion.process.terminate()
    assert minion.process.wait(5) == 0
    minion.start()
    lab.check(within_s=20)


# --- the same job again ------------------------------------------------------------------


def test_a_job_that_is_published_again_is_not_run_again(lab: Lab) -> None:
    """P-once: a hundred times, and after a restart of the minion."""
    job = lab.publish()
    assert job is not None
    lab.check(within_s=10)
    load = lab.store_load(job.jid)
    again = {name: load[name] for name in ("fun", "arg", "tgt", "tgt_type", "jid", "ret", "user")}
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    minion = lab.cluster.minions["m1"]
    try:
        queue = PublishQueue(context, MasterSockets(lab.cluster.sock_dir))
        for _ in range(2):
            for _ in range(100):
                queue.publish(again, [b"broadcast"])
            lab.publish()  # comes after them, so they have been heard when it has run
            lab.check(within_s=10)
            assert minion.stop() == 0
            minion.start()
            lab.wait_for_all()
        assert lab.started("m1")[job.number] == 1
        queue.publish({**again, "jid": OTHER_JID}, [b"broadcast"])
        eventually(
            lambda: lab.started("m1")[job.number] == 2, within_s=10, what="it was the jid alone"
        )
    finally:
        context.destroy(linger=0)


def test_a_taken_jid_is_refused_by_the_master(lab: Lab) -> None:
    job = lab.publish()
    assert job is not None
    with pytest.raises(MasterRefused, match="exists already"):
        lab.publish_as(job.jid)
    assert lab.store_load(job.jid)["fun"] == "cmd.run"
