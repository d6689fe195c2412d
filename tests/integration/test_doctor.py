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


def test_words_that_are_none(absent: Cluster) -> None:
    done = absent.command("salt-run", "doctor", "only=prots")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("doctor: there is no check 'prots'; there are ports, disk,")
    done = absent.command("salt-run", "doctor", "ony=ports")
    assert done.exit_code == 1
    assert done.stderr.startswith("salt-run doctor: check() got an unexpected keyword argument")
    assert examine(absent, "salt-call", "doctor", "only=prots").exit_code == 1
