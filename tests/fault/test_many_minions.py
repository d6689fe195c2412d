"""Thousands of minions below one master: nothing is lost, and each costs what one of few does.

``SALTLITE_FLEET=10000`` for so many, in several processes, with ``SALTLITE_FLEET_JOBS=10000`` and
``SALTLITE_FLEET_EVENTS=1000000`` for the soak. Source: docs/reliability.md#many-minions.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator

import pytest
from fleet import Fleet, cpu_s, fleet, usage

from cluster import Cluster
from saltlite.client.job_request import JobRequest
from saltlite.client.jobs import JobClient
from saltlite.config.load import load_master

pytestmark = pytest.mark.alone

MINIONS = int(os.environ.get("SALTLITE_FLEET", "300"))
JOBS = int(os.environ.get("SALTLITE_FLEET_JOBS", "200"))
EVENTS = int(os.environ.get("SALTLITE_FLEET_EVENTS", "3000"))
FEW = 100
IS_LARGE = MINIONS >= 5000
PATIENCE_S = 60 + MINIONS // 20
REAUTH_S = 10.0
BACK_S = 30.0
KIB = 50
MORE_MIB = 60.0
IN_FLIGHT = 50
ASKED = 10


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    options = {"worker_threads": 2, "auto_accept": False}
    with Cluster(minions=0, master_options=options) as one:
        one.start_master()
        yield one


def count_returns(cluster: Cluster, jid: str = "%") -> int:
    """Those of a job, or of all jobs."""
    path = cluster.cache_dir / "jobs.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        found = db.execute("SELECT count(*) FROM returns WHERE jid LIKE ?", (jid,))
        return int(found.fetchone()[0])


def slow() -> float:
    """How many times longer this machine takes, which others use, too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.slow
@pytest.mark.timeout(300 + MINIONS // 4)
def test_a_job_a_deploy_and_a_restart_lose_nobody(cluster: Cluster) -> None:
    options = (f"--return-kib={KIB}", f"--reauth-delay={REAUTH_S}", "--processes=2", "--patient")
    with fleet(cluster, MINIONS, *options) as many:
        answered, seconds = many.ping(PATIENCE_S)
        print(f"{MINIONS} minions: test.ping {seconds:.1f} s")
        assert len(answered) == MINIONS
        deploy(many)
        restart(many)
        answered, _ = many.ping(PATIENCE_S)
        assert len(answered) == MINIONS


def deploy(many: Fleet) -> None:
    """A state run on all, each with a return of so many KiB, which are all on record."""
    with JobClient(load_master(many.cluster.master_dir)) as client:
        reply = client.publish(JobRequest(tgt="*", fun="state.apply"))
    assert reply is not None and reply.jid is not None
    report = many.report("job", "state.apply")
    print(f"state.apply, {KIB} KiB each: {report['seconds']:.1f} s")
    assert (report["done"], report["lost"]) == (many.minions, 0)
    assert count_returns(many.cluster, reply.jid) == many.minions


def restart(many: Fleet) -> None:
    """All come back, and not all at once."""
    assert many.cluster.master.stop() == 0
    many.cluster.start_master()
    begun_s = time.monotonic()
    report = many.report("back")
    took_s = time.monotonic() - begun_s
    print(f"back after a restart: {took_s:.1f} s")
    assert (report["done"], report["lost"]) == (many.minions, 0)
    assert took_s > REAUTH_S / 2, "they all signed in at once"
    assert took_s < BACK_S * slow()


@pytest.mark.slow
@pytest.mark.timeout(300 + MINIONS // 4)
def test_each_of_many_costs_what_one_of_few_does(cluster: Cluster) -> None:
    """CPU of the master for each return of ``test.ping``; the job itself costs, too.

    Of each sign-in too, where many come: what they cost together once grew with their square.
    """
    spent, sign_in = {}, {}
    for minions in (FEW, MINIONS):
        begun_s = cpu_s(cluster.master.processes())
        with fleet(cluster, minions, f"--prefix=of{minions}x") as some:
            sign_in[minions] = (cpu_s(cluster.master.processes()) - begun_s) * 1e3 / minions
            some.ping(PATIENCE_S)
            rounds = max(2, 1000 // minions)
            master = cluster.master.processes()
            before_s = cpu_s(master)
            for _ in range(rounds):
                assert len(some.ping(PATIENCE_S)[0]) == minions
            spent[minions] = (cpu_s(master) - before_s) * 1e6 / (rounds * minions)
        for path in (cluster.pki_dir / "minions").iterdir():
            path.unlink()
    print({minions: f"{each_us:.0f} µs" for minions, each_us in spent.items()})
    print({minions: f"sign-in {each_ms:.2f} ms" for minions, each_ms in sign_in.items()})
    assert not IS_LARGE or sign_in[MINIONS] < max(2.0, sign_in[FEW]) * 1.5
    assert spent[MINIONS] < spent[FEW] * 1.2


@pytest.mark.slow
@pytest.mark.timeout(300 + JOBS + EVENTS // 100)
def test_memory_descriptors_and_files_stay_as_they_are(cluster: Cluster) -> None:
    """Many jobs to a few minions, many events from all; growth is that of a warm master."""
    with fleet(cluster, FEW, "--patient") as some:
        work(some, JOBS // 4, EVENTS // 4)
        before = usage(cluster.master.processes())
        sockets = sorted(cluster.sock_dir.iterdir())
        work(some, JOBS, EVENTS)
        after = usage(cluster.master.processes())
        assert sorted(cluster.sock_dir.iterdir()) == sockets
    print({title: (round(before[title][0]), round(after[title][0])) for title in after})
    assert after.keys() == before.keys()
    for title, (mib, descriptors) in after.items():
        assert mib < before[title][0] + MORE_MIB, title
        assert descriptors <= before[title][1] + 8, title


def work(some: Fleet, jobs: int, events: int) -> None:
    first = count_returns(some.cluster)
    with JobClient(load_master(some.cluster.master_dir)) as client:
        for begin in range(0, jobs, IN_FLIGHT):
            for _ in range(IN_FLIGHT):
                assert client.publish(JobRequest(tgt="swarm0000*", fun="test.ping"))
            # Each is read: the simulator stops where nobody takes its reports.
            for _ in range(IN_FLIGHT):
                assert some.report("job", "test.ping")["lost"] == 0
            assert count_returns(some.cluster) == first + (begin + IN_FLIGHT) * ASKED
    some.say(f"events {max(1, events // FEW)}")
    fired = some.report("events")
    assert fired["lost"] == 0
