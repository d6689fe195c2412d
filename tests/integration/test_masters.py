"""More than one master, and masters that are not who they should be.

Source: docs/wire.md#what-the-minion-does-next.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from cluster import Cluster, eventually

OTHER_DIGITS = str.maketrans("0123456789abcdef", "123456789abcdef0")


@pytest.fixture
def two() -> Iterator[tuple[Cluster, Cluster]]:
    """Two masters with one key, as redundant masters must have; no minion yet."""
    options = {"worker_threads": 2}
    with (
        Cluster(minions=0, master_options=options) as one,
        Cluster(minions=0, master_options=options) as other,
    ):
        one.start_master()
        other.pki_dir.mkdir(mode=0o700, parents=True)
        for name in ("master.pem", "master.pub"):
            shutil.copy2(one.pki_dir / name, other.pki_dir / name)
        other.start_master()
        yield one, other


def shared_minion(one: Cluster, other: Cluster, **options: Any) -> None:
    """A minion of ``one`` that knows both masters."""
    addresses = [f"127.0.0.1:{cluster.ret_port}" for cluster in (one, other)]
    path = one.minion_dir("m1") / "minion"
    one.add_minion("m1", master=addresses, retry_dns=0, **options)
    start_for_both(one, other, path)


def start_for_both(one: Cluster, other: Cluster, path: Path) -> None:
    one.reconfigure(path)
    # Each master names its own publish port; one from the file would be used for both.
    lines = [line for line in path.read_text().splitlines() if not line.startswith("publish_port")]
    path.write_text("\n".join(lines) + "\n")
    other.minions["m1"] = one.minions["m1"]
    one.minions["m1"].start()


def pings(cluster: Cluster) -> bool:
    return '"m1": true' in cluster.salt("m1", "test.ping", "--out=json", "-t", "2").stdout


def test_every_master_of_a_list_is_served_at_once(two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    shared_minion(one, other)
    eventually(lambda: pings(one), what="the first master is served")
    eventually(lambda: pings(other), what="the second master is served")
    one.master.stop()
    assert pings(other)
    one.start_master()
    eventually(lambda: pings(one), what="the first master is served again")


def test_failover_moves_to_the_next_master(two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    shared_minion(one, other, master_type="failover", master_alive_interval=1)
    eventually(lambda: pings(one), what="the first master is served")
    assert not (other.pki_dir / "minions" / "m1").exists()
    one.master.stop()
    eventually(lambda: (other.pki_dir / "minions" / "m1").exists(), what="it went to the second")
    eventually(lambda: pings(other), what="the second master is served")


def test_a_minion_goes_back_to_its_first_master(two: tuple[Cluster, Cluster]) -> None:
    """Salt's issue 50606: no way back after a failover."""
    one, other = two
    options = {"master_type": "failover", "master_alive_interval": 1, "master_failback": True}
    shared_minion(one, other, **options)
    eventually(lambda: pings(one), what="the first master is served")
    one.master.stop()
    eventually(lambda: pings(other), what="the second master is served")
    one.start_master()
    eventually(lambda: pings(one), what="the first master is served again")


def test_a_return_that_the_next_master_refuses_waits_for_its_own(
    two: tuple[Cluster, Cluster],
) -> None:
    one, other = two
    options = {"master_type": "failover", "master_alive_interval": 1, "master_failback": True}
    shared_minion(one, other, **options)
    eventually(lambda: pings(one), what="the first master is served")
    begun, go_on = one.root / "begun", one.root / "go-on"
    waits = f"touch {begun}; while [ ! -e {go_on} ]; do sleep 0.1; done; echo done"
    jid = one.salt("m1", "cmd.run", waits, "--async").stdout.split()[-1]
    eventually(begun.exists, what="the job runs")
    one.master.stop()
    eventually(lambda: pings(other), what="the second master is served")
    go_on.touch()
    kept = f"the return of job {jid} is kept for master 127.0.0.1:{one.ret_port}"
    eventually(lambda: kept in one.minions["m1"].log(), what="the second master refuses it")
    assert pings(other)
    one.start_master()
    eventually(
        lambda: one.salt_run("jobs.lookup_jid", jid, "--out=json").json == {"m1": "done"},
        what="the first master has it",
    )
    eventually(lambda: not list((one.root / "m1" / "cache" / "outbox").iterdir()))
    assert one.minions["m1"].log().count(kept) == 1


def test_a_job_that_asks_a_master_that_is_left_asks_the_next_one(
    two: tuple[Cluster, Cluster],
) -> None:
    """It asks the first one when that is dead, and not yet left."""
    one, other = two
    for master in two:
        (master.root / "master" / "srv").mkdir(parents=True, exist_ok=True)
        (master.root / "master" / "srv" / "told.txt").write_text("by a master")
    options = {"master_type": "failover", "master_alive_interval": 1}
    shared_minion(one, other, **options)
    eventually(lambda: pings(one), what="the first master is served")
    begun, go_on, got = (one.root / name for name in ("begun", "go-on", "got"))
    waits = f"touch {begun}; while [ ! -e {go_on} ]; do sleep 0.1; done"
    one.salt("m1", "cmd.run,cp.get_file", waits, ",", "salt://told.txt", str(got), "--async")
    eventually(begun.exists, what="the job runs")
    one.master.kill()
    go_on.touch()
    eventually(lambda: pings(other), what="the second master is served")
    eventually(got.exists, what="the file is fetched")
    eventually(lambda: not one.minions["m1"].titled("salt-minion job"), what="the job ends")


def test_a_job_that_asks_masters_that_are_all_away_is_told_so(
    two: tuple[Cluster, Cluster],
) -> None:
    one, other = two
    options = {"request_channel_timeout": 2, "request_channel_tries": 2, "auth_timeout": 1}
    shared_minion(one, other, master_type="failover", master_alive_interval=1, **options)
    eventually(lambda: pings(one), what="the first master is served")
    begun, go_on = one.root / "begun", one.root / "go-on"
    waits = f"touch {begun}; while [ ! -e {go_on} ]; do sleep 0.1; done"
    words = "cmd.run,cp.get_file_str", waits, ",", "salt://told.txt"
    jid = one.salt("m1", *words, "--async").stdout.split()[-1]
    eventually(begun.exists, what="the job runs")
    for master in two:
        master.master.kill()
    go_on.touch()
    eventually(lambda: not one.minions["m1"].titled("salt-minion job"), what="the job ends")
    one.start_master()
    returned = eventually(
        lambda: one.salt_run("jobs.lookup_jid", jid, "--out=json").json, what="its return is there"
    )
    assert "no reply from" in str(returned), returned


def test_distributed_takes_the_master_that_the_id_chooses(two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    shared_minion(one, other, master_type="distributed", master_alive_interval=1)
    first, second = (one, other) if crc32(b"m1") % 2 == 0 else (other, one)
    eventually(lambda: pings(first), what="the chosen master is served")
    assert not (second.pki_dir / "minions" / "m1").exists()
    first.master.stop()
    eventually(lambda: pings(second), what="the other master is served")


def test_a_master_that_is_away_does_not_end_the_minion(two: tuple[Cluster, Cluster]) -> None:
    """Salt's issue 45871; the minion even starts while one is away."""
    one, other = two
    one.master.stop()
    shared_minion(one, other)
    eventually(lambda: pings(other), what="the second master is served")
    other.master.stop()
    one.start_master()
    eventually(lambda: pings(one), what="the first master is served")
    assert one.minions["m1"].alive()


def test_each_master_has_one_return_of_its_own_job(two: tuple[Cluster, Cluster]) -> None:
    """Salt's issue 28785: with two masters returns were printed several times."""
    one, other = two
    shared_minion(one, other)
    for cluster in two:
        eventually(lambda cluster=cluster: pings(cluster), what="served")  # type: ignore[misc]
        for _ in range(3):
            assert cluster.salt("*", "test.ping").stdout == "m1:\n    True\n"


@pytest.fixture
def alone() -> Iterator[Cluster]:
    with Cluster(minions=1, master_options={"worker_threads": 2}) as cluster:
        yield cluster


def test_another_master_key_is_refused_until_the_right_one_is_back(alone: Cluster) -> None:
    alone.start()
    alone.master.stop()
    kept = alone.root / "kept"
    shutil.copytree(alone.pki_dir, kept)
    for name in ("master.pem", "master.pub"):
        (alone.pki_dir / name).unlink()
    alone.start_master()
    minion = alone.minions["m1"]

    eventually(lambda: "not the one this minion knows" in minion.log(), what="it is refused")
    pinned = alone.root / "m1" / "pki" / "minion_master.pub"
    refused = [one for one in minion.log().splitlines() if "not the one this minion knows" in one]
    assert "set up anew, or somebody answers in its place" in refused[0]
    assert f"remove {pinned}, and the minion trusts the next key" in refused[0]
    assert not pings(alone)
    assert minion.alive()
    alone.master.stop()
    for name in ("master.pem", "master.pub"):
        (alone.pki_dir / name).unlink()
        shutil.copy2(kept / name, alone.pki_dir / name)
    alone.start_master()
    eventually(lambda: pings(alone), within_s=90, what="it is served again, without a restart")


def test_a_taken_id_is_explained_on_both_sides(alone: Cluster) -> None:
    """What is behind it, and what to do. With the remedy the minion is served."""
    alone.start()
    minion = alone.minions["m1"]
    minion.stop()
    pki = alone.root / "m1" / "pki"
    for name in ("minion.pem", "minion.pub"):
        (pki / name).unlink()
    alone.reconfigure(alone.minion_dir("m1") / "minion", rejected_retry=True)
    minion.start()
    said = "another key is known there for the id m1 (a second machine with this id"
    eventually(lambda: said in minion.log(), what="the minion says why")
    assert "salt-key -d m1 on the master, then accept the new key" in minion.log()
    logged = [one for one in alone.master.log().splitlines() if "another key is known for" in one]
    assert "_auth: m1: " in logged[0]
    assert "salt-key -d the id" in logged[0]
    assert alone.salt_key("-d", "m1", "-y").exit_code == 0
    eventually(lambda: pings(alone), what="the minion is served with its new key")


def test_master_finger_is_checked(alone: Cluster) -> None:
    alone.start_master()
    shown = alone.salt_key("-F", "master").stdout
    finger = re.search(r"master\.pub:  ([0-9a-f:]{95})", shown)
    assert finger, shown
    path = alone.minion_dir("m1") / "minion"
    minion = alone.minions["m1"]
    alone.reconfigure(path, master_finger=finger[1].translate(OTHER_DIGITS))
    minion.start()
    assert minion.process is not None
    assert minion.process.wait(30) == 42
    shutil.rmtree(alone.root / "m1" / "pki")
    alone.reconfigure(path, master_finger=finger[1])
    for state in ("minions", "minions_denied"):
        (alone.pki_dir / state / "m1").unlink(missing_ok=True)
    minion.start()
    alone.wait_for_ping("m1")


def test_a_signed_master_key_is_required_where_the_minion_says_so(alone: Cluster) -> None:
    alone.reconfigure(alone.master_dir / "master", master_sign_pubkey=True)
    alone.start_master()
    pki = alone.root / "m1" / "pki"
    pki.mkdir(parents=True, mode=0o700)
    shutil.copy2(alone.pki_dir / "master_sign.pub", pki / "master_sign.pub")
    alone.reconfigure(alone.minion_dir("m1") / "minion", verify_master_pubkey_sign=True)
    alone.minions["m1"].start()
    alone.wait_for_ping("m1")


WHERE = """
def masters():
    with open({path!r}) as named:
        return named.read().split()
"""


def test_a_function_names_the_masters(two: tuple[Cluster, Cluster]) -> None:
    """``master_type: func``, for the minion and for ``salt-call``; asked at each start."""
    one, other = two
    modules = one.root / "own_modules"
    modules.mkdir()
    named = one.root / "masters"
    (modules / "where.py").write_text(WHERE.format(path=str(named)))
    named.write_text(f"127.0.0.1:{one.ret_port}")
    function = {"master": "where.masters", "master_type": "func", "module_dirs": [str(modules)]}
    one.add_minion("m1", **function)
    start_for_both(one, other, one.minion_dir("m1") / "minion")
    eventually(lambda: pings(one), what="the master that the function names is served")
    assert not pings(other)
    one.minions["m1"].stop()
    named.write_text(f"127.0.0.1:{other.ret_port}")
    one.minions["m1"].start()
    eventually(lambda: pings(other), what="the master that it names now is served")
    assert one.salt_call("m1", "test.ping", "--out=json").json == {"local": True}


def test_a_name_without_an_address_ends_the_minion_when_it_is_to() -> None:
    with Cluster(minions=0) as lonely:
        lonely.add_minion("m1", master="master.invalid", retry_dns=0)
        daemon = lonely.minions["m1"]
        daemon.start()
        assert daemon.process is not None
        assert daemon.process.wait(timeout=60) == 68
        assert "its name does not resolve" in daemon.log_path.read_text()
