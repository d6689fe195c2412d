"""What two do at once, and what grows: of a running master, and of commands on one minion.

Source: docs/reliability.md#promises, docs/security.md#limits.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from attacks import Stranger, clear
from cluster import OURS, Cluster, bin_dir, eventually
from rogue import Rogue, Sealed

pytestmark = pytest.mark.alone

MIB = 1024 * 1024
SWARM = Path(__file__).parents[2] / "scripts" / "minion_swarm"
OPTIONS = {"worker_threads": 3, "pillar_cache": True, "keep_jobs_seconds": 1.5,
           "maintenance_interval": 1.0}  # fmt: skip


class World:
    """A master, and somebody who speaks to it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.stranger = Stranger(cluster.ret_port)
        eventually(lambda: self.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"})

    def minion(self, minion_id: str) -> Rogue:
        one = Rogue(self.cluster, self.stranger, minion_id).accept()
        one.authenticate()
        return one

    def publish(self, tgt: str | list[str], count: int = 1) -> list[str]:
        key = (self.cluster.cache_dir / ".root_key").read_text()
        kind = "glob" if isinstance(tgt, str) else "list"
        load = {"cmd": "publish", "tgt": tgt, "fun": "test.ping", "arg": [], "tgt_type": kind,
                "ret": "", "jid": "", "user": "root", "key": key}  # fmt: skip
        replies = self.stranger.send_many([clear(load)] * count, within_s=60)
        return [one["load"]["jid"] for one in replies]


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    options = {**OPTIONS, **getattr(request, "param", {})}
    with Cluster(minions=0, master_options=options, auto_accept=False) as cluster:
        (cluster.root / "master" / "pillar").mkdir(parents=True)
        cluster.start_master()
        one = World(cluster)
        yield one
        one.stranger.close()


def ret(jid: str, value: Any) -> dict[str, Any]:
    return {"cmd": "_return", "jid": jid, "fun": "test.ping", "fun_args": [], "return": value,
            "retcode": 0, "success": True}  # fmt: skip


def rows(cluster: Cluster, query: str) -> list[Any]:
    path = cluster.cache_dir / "jobs.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute(query).fetchall()


# --- races -----------------------------------------------------------------------------------


def test_mine_data_that_come_and_go_at_once(world: World) -> None:
    """Three workers at the mine of one minion: no entry is lost, none comes back."""
    minion = world.minion("a")
    old = [f"old{n}" for n in range(40)]
    new = [f"new{n}" for n in range(40)]
    assert minion.send({"cmd": "_mine", "data": dict.fromkeys(old, 1)}) == Sealed(True)
    made = []
    for gone, come in zip(old, new, strict=True):
        made.append(minion.make({"cmd": "_mine", "data": {come: 2}}))
        made.append(minion.make({"cmd": "_mine_delete", "fun": gone}))
    assert minion.send_many(made, within_s=60) == [Sealed(True)] * len(made)
    found = minion.send({"cmd": "_mine_get", "fun": old + new, "tgt": "a", "tgt_type": "glob"})
    assert found == Sealed({name: {"a": 2} for name in new})


def test_an_old_pillar_does_not_replace_a_refreshed_one(world: World) -> None:
    """What began before the refresh ends after it, and is not what is kept."""
    root = world.cluster.root
    (root / "value").write_text("old")
    (root / "slow").write_text(
        f"value=$(cat {root}/value); echo $value\n"
        f"if [ $value = old ]; then touch {root}/begun; exec >&-; sleep 4; fi\n"
    )
    pillar = root / "master" / "pillar"
    (pillar / "top.sls").write_text("base:\n  a: [slow]\n")
    (pillar / "slow.sls").write_text(f"value: {{{{ salt['cmd.run']('sh {root}/slow') }}}}\n")
    minion = world.minion("a")
    ask = {"cmd": "_pillar", "grains": {"os": "x"}, "ver": "2"}
    first = threading.Thread(target=lambda: minion.send_many([minion.make(ask)], within_s=60))
    first.start()
    eventually((root / "begun").exists, what="the slow pillar")
    (root / "value").write_text("new")
    minion.send_many([minion.make({**ask, "clean_cache": True})], within_s=60)
    assert first.is_alive()
    first.join()
    (root / "value").write_text("newer")  # and so it is seen whether the kept one is given
    minion.send_many([minion.make(ask)], within_s=60)
    shown = world.cluster.salt_run("cache.pillar", "a", "--out=json").json
    assert shown == {"a": {"value": "new"}}


def test_returns_that_come_while_their_jobs_are_forgotten(world: World) -> None:
    minion = world.minion("a")
    for _ in range(8):
        jids = world.publish("a", 40)
        for jid in jids:
            minion.send_many([minion.make(ret(jid, "x" * 1000))])
            time.sleep(0.01)
    eventually(lambda: not rows(world.cluster, "SELECT jid FROM jobs"), within_s=30, what="no job")
    orphans = (
        "SELECT count(*) FROM returns WHERE jid NOT IN (SELECT jid FROM jobs) "
        "AND (id, jid) NOT IN (SELECT id, jid FROM unasked)"
    )
    assert rows(world.cluster, orphans) == [(0,)]
    assert "Traceback" not in world.cluster.master.log()


def test_files_that_vanish_while_they_are_swept(world: World) -> None:
    """Left by killed processes an hour ago, looked at, and gone."""
    cluster = world.cluster
    folders = [cluster.cache_dir / name for name in ("", "sessions", "grains", "tokens")]
    folders += [cluster.pki_dir / name for name in ("minions", "minions_pre", "minions_denied")]
    for folder in folders:
        folder.mkdir(exist_ok=True, mode=0o700)
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            made = [one / f".n{n}.tmp" for n in range(50) for one in folders]
            for path in made:
                path.touch(mode=0o600)
                os.utime(path, (1, 1))
            for path in made:
                path.unlink(missing_ok=True)

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        for _ in range(4):
            cluster.master.stop()
            cluster.start_master()
            eventually(lambda: world.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"})
            time.sleep(1)  # for the sweeps, which nothing tells of
    finally:
        done.set()
        churning.join()
    assert "Traceback" not in cluster.master.log()
    assert "ERROR" not in cluster.master.log()


@pytest.mark.parametrize("world", [{"keep_jobs_seconds": 3600}], indirect=True)
def test_a_corrupt_job_store_takes_its_log_along(world: World) -> None:
    """Else what is in the old write-ahead log would become part of the new store."""
    cluster = world.cluster
    minion = world.minion("a")
    for jid in world.publish("a", 20):
        minion.send(ret(jid, "x" * 5000))
    path = cluster.cache_dir / "jobs.sqlite"
    for one in cluster.master.processes():
        with suppress(psutil.NoSuchProcess):  # killing the first ends others
            one.kill()
    cluster.master.kill()
    assert path.with_name("jobs.sqlite-wal").stat().st_size > 0
    path.write_bytes(b"\x00" * 100 + os.urandom(path.stat().st_size))
    cluster.start_master()
    eventually(lambda: world.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"})
    minion.authenticate()
    (jid,) = world.publish("a")
    assert minion.send(ret(jid, "after")) == Sealed(None)
    assert len(list(cluster.cache_dir.glob("jobs.sqlite.corrupt-*-wal"))) == 1
    listed = cluster.salt_run("jobs.list_jobs", "--out=json").json
    assert list(listed) == [jid]
    assert rows(cluster, "PRAGMA integrity_check") == [("ok",)]


def test_many_pause_one_run_at_once(tmp_path: Path) -> None:
    with Cluster(minions=1) as cluster:
        jid, names = "20260101000000000000", [f"state{n}" for n in range(8)]
        salt_call = [str(bin_dir(OURS) / "salt-call"), "-c", str(cluster.minion_dir("m1"))]
        started = [
            subprocess.Popen(
                [*salt_call, "--local", "state.pause", jid, name, "duration=60"],
                stdout=subprocess.DEVNULL, env=cluster._environment(),
            )
            for name in names
        ]  # fmt: skip
        assert [one.wait(60) for one in started] == [0] * len(names)
        said = json.loads((cluster.root / "m1/cache/state_pause" / jid).read_text())
        assert sorted(said) == names


# --- bounds ----------------------------------------------------------------------------------


def resident(cluster: Cluster, title: str) -> int:
    return sum(one.memory_info().rss for one in cluster.master.titled(title))


@pytest.mark.parametrize("world", [{"keep_jobs_seconds": 3600}], indirect=True)
def test_equal_lists_of_minions_are_kept_once(world: World) -> None:
    """In the memory of workers and in the job store; they were 10 KiB of each job, per worker."""
    cluster = world.cluster
    make_accepted(cluster, 2000)
    world.publish("*", 15)
    memory = resident(cluster, "MWorker")
    size = (cluster.cache_dir / "jobs.sqlite").stat().st_size
    world.publish("*", 300)
    store = sum(one.stat().st_size for one in cluster.cache_dir.glob("jobs.sqlite"))
    assert store - size < 2 * MIB  # 300 lists are 13 MiB
    assert resident(cluster, "MWorker") - memory < 40 * MIB  # 300 lists in 3 workers: 100 MiB
    assert rows(cluster, "SELECT count(*) FROM minion_lists") == [(1,)]


def make_accepted(cluster: Cluster, count: int) -> list[str]:
    accepted = cluster.pki_dir / "minions"
    accepted.mkdir(exist_ok=True, mode=0o700)
    names = [f"a-minion-of-many-{number:04}" for number in range(count)]
    for name in names:
        (accepted / name).write_text("no key, but accepted\n")
    return names


@pytest.mark.parametrize("world", [{"keep_jobs_seconds": 3600, "worker_threads": 1}], indirect=True)
def test_lists_of_minions_that_differ_have_a_size(world: World) -> None:
    """A worker keeps those of the latest jobs that its share of memory holds."""
    cluster = world.cluster
    names = make_accepted(cluster, 4000)
    world.publish(names, 2)
    memory = resident(cluster, "MWorker")
    for number in range(400):
        world.publish([name for name in names if name != names[number]])
    assert resident(cluster, "MWorker") - memory < 35 * MIB  # all are 64 MiB


BOUNDED = {"keep_jobs_seconds": 3600, "job_cache_max_bytes": 4 * MIB}


@pytest.mark.parametrize("world", [BOUNDED], indirect=True)
def test_the_job_cache_has_a_size(world: World) -> None:
    """The oldest jobs go; looked at each minute, and first at the start."""
    cluster = world.cluster
    minion = world.minion("a")
    jids = []
    for _ in range(16):
        (jid,) = world.publish("a")
        assert minion.send(ret(jid, os.urandom(MIB // 2).hex()[:MIB])) == Sealed(None)
        jids.append(jid)
    cluster.master.stop()
    cluster.start_master()

    def used() -> int:  # what is free is used again
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (rows(cluster, f"PRAGMA {name}")[0][0] for name in names)
        return int((pages - free) * size)

    eventually(lambda: used() <= 4 * MIB, within_s=20, what="less in the store")
    left = [jid for (jid,) in rows(cluster, "SELECT jid FROM jobs ORDER BY jid")]
    assert left == jids[-len(left) :] != []


def test_connections_take_little_memory(world: World) -> None:
    """Of 1,500, each with libzmq's 27 KiB, it would be 40 MiB."""
    cluster = world.cluster
    before = resident(cluster, "ReqServer")
    swarm = subprocess.Popen(
        [sys.executable, str(SWARM), f"--port={cluster.ret_port}", "--minions=1500",
         f"--keys={cluster.root / 'keys'}", "--distinct-keys=1", f"--pki-dir={cluster.pki_dir}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert swarm.stdout is not None and swarm.stdin is not None
    try:
        assert json.loads(swarm.stdout.readline())["done"] == 1500
        peak = resident(cluster, "ReqServer")
    finally:
        swarm.stdin.close()
        swarm.wait(30)
    assert peak - before < 8 * MIB
    assert psutil.pid_exists(cluster.master.pid)
