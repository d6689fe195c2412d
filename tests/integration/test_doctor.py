"""``doctor`` on daemons that run, on ones that do not, and what it leaves behind: nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, Ran


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster(minions=1) as cluster:
        yield cluster.start()


@pytest.fixture
def absent() -> Iterator[Cluster]:
    """A master and a minion that were never started."""
    with Cluster(minions=1) as cluster:
        yield cluster


def examine(cluster: Cluster, command: str, *words: str) -> Ran:
    if command == "salt-call":
        place = cluster.minion_dir("m1")
        return cluster.command("salt-call", *words, "--out=json", config_dir=place)
    return cluster.command(command, *words, "--out=json")


def list_all(top: Path) -> dict[str, tuple[int, ...]]:
    """Everything below a directory: mode, size, time of change of each."""
    found = {}
    for directory, _folders, names in os.walk(top):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            status = os.lstat(path)
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def errors_of(report: dict) -> list[tuple[str, str]]:
    return [(one["check"], one["what"]) for one in report["findings"] if one["severity"] == "error"]


def test_a_master_that_is_well(salted: Cluster) -> None:
    done = examine(salted, "salt-run", "doctor")
    report = done.json
    assert errors_of(report) == []
    assert {"ports", "files"} <= set(report["fine"])
    assert done.exit_code == report["retcode"]


def test_a_minion_that_is_well(salted: Cluster) -> None:
    done = examine(salted, "salt-call", "doctor")
    report = done.json["local"]
    assert errors_of(report) == []
    assert {"ports", "files"} <= set(report["fine"])
    assert done.exit_code == report["retcode"]


def test_through_the_master(salted: Cluster) -> None:
    report = salted.command("salt", "m1", "doctor.check", "only=ports,files", "--out=json").json
    assert report["m1"]["fine"] == ["ports", "files"]


def test_nothing_is_changed_where_nothing_runs(absent: Cluster) -> None:
    before = list_all(absent.root)
    master = examine(absent, "salt-run", "doctor")
    minion = examine(absent, "salt-call", "doctor")
    assert list_all(absent.root) == before
    assert (master.exit_code, minion.exit_code) == (2, 2)
    assert ("ports", "the master cannot be reached: Connection refused") in errors_of(
        minion.json["local"]
    )
    assert errors_of(master.json)[0][1].startswith("no master runs here: nothing listens on")


def test_nothing_is_changed_where_daemons_have_been() -> None:
    with Cluster(minions=1) as cluster:
        cluster.start()
        cluster.minions["m1"].stop()
        cluster.master.stop()
        before = list_all(cluster.root)
        master = examine(cluster, "salt-run", "doctor").json
        minion = examine(cluster, "salt-call", "doctor").json["local"]
        assert list_all(cluster.root) == before
    assert [check for check, _what in errors_of(master)] == ["ports"]
    assert [check for check, _what in errors_of(minion)] == ["ports"]


def test_workers_that_are_stopped(salted: Cluster) -> None:
    workers = salted.master.titled("MWorker")
    for one in workers:
        one.suspend()
    try:
        found = errors_of(examine(salted, "salt-run", "doctor", "only=workers").json)
    finally:
        for one in workers:
            one.resume()
    assert found.count(("workers", "a process of the master is stopped")) == len(workers) > 0
    assert ("workers", "no worker answered within 8 s") in found


def test_keys_and_clocks(salted: Cluster) -> None:
    salted.add_minion("m2")
    stranger = salted.minion_dir("m2")
    words = ("only=key", "--out=json")
    done = salted.command("salt-call", "doctor", *words, config_dir=stranger)
    (found,) = done.json["local"]["findings"]
    assert found["what"] == "this minion has no key yet: it makes one at its first start"
    report = salted.command("salt-run", "doctor", "only=clock", "ask=*", "--out=json").json
    assert [one for one in report["findings"] if one["where"] == "m1"] == []


def test_a_key_that_is_rejected(salted: Cluster) -> None:
    assert salted.command("salt-key", "-y", "-r", "m1", "--include-accepted").exit_code == 0
    try:
        done = examine(salted, "salt-call", "doctor", "only=key")
    finally:
        salted.command("salt-key", "-y", "-a", "m1", "--include-rejected")
    assert errors_of(done.json["local"]) == [
        ("key", "the key was rejected, or another machine has this id")
    ]
    assert done.exit_code == 2


def test_words_that_are_none(absent: Cluster) -> None:
    done = absent.command("salt-run", "doctor", "only=prots")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("doctor: there is no check 'prots'; there are ports, ")
    done = absent.command("salt-run", "doctor", "ony=ports")
    assert done.exit_code == 1
    assert done.stderr.startswith("salt-run doctor: check() got an unexpected keyword argument")
    assert examine(absent, "salt-call", "doctor", "only=prots").exit_code == 1
