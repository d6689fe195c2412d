"""Pillar from the master's files to its minions, to each its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, eventually, running

TOP = """
base:
  '*':
    - common
  'm1':
    - one
  'role:db':
    - match: grain
    - two
"""
FILES = {
    "top.sls": TOP,
    "common.sls": "who: {{ grains.id }}\nnested: {a: {b: [1, ä]}}\n",
    "one.sls": "secret: only for one\n",
    "two.sls": "role: {{ salt['grains.get']('role') }}\n",
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pillar")
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def cluster(roots: Path) -> Iterator[Cluster]:
    options = {"pillar_roots": {"base": [str(roots)]}, "worker_threads": 2}
    with running(
        minions=2, master_options=options, minion_options={"grains": {"role": "db"}}
    ) as up:
        yield up


def test_each_has_its_own(cluster: Cluster) -> None:
    ran = cluster.salt("*", "pillar.items", "--out=json", "--static")
    common = {"nested": {"a": {"b": [1, "ä"]}}, "role": "db"}
    assert ran.json == {
        "m1": {"who": "m1", "secret": "only for one", **common},
        "m2": {"who": "m2", **common},
    }


def test_targets_look_at_it(cluster: Cluster) -> None:
    ran = cluster.salt("-I", "secret:only*", "test.ping", "--out=json", "--static")
    assert ran.json == {"m1": True}
    ran = cluster.salt("-C", "J@role:d. and not I@secret:*", "test.ping", "--out=json", "--static")
    assert ran.json == {"m2": True}


def test_what_is_in_memory_changes_with_a_refresh(cluster: Cluster, roots: Path) -> None:
    (roots / "one.sls").write_text("secret: another\n")
    compiled = cluster.salt("m1", "pillar.items", "--out=json", "--static").json
    assert compiled["m1"]["secret"] == "another"
    kept = cluster.salt("m1", "pillar.get", "secret", "--out=json", "--static").json
    assert kept == {"m1": "only for one"}
    cluster.salt("m1", "saltutil.refresh_pillar", "wait=True")
    eventually(
        lambda: (
            cluster.salt("m1", "pillar.get", "secret", "--out=json", "--static").json
            == {"m1": "another"}
        ),
        within_s=15,
        what="the new pillar in memory",
    )


def test_a_broken_file_is_an_error_and_no_detail(cluster: Cluster, roots: Path) -> None:
    (roots / "two.sls").write_text("pass: hunter2\nx: {{ nosuch.thing }}\n")
    try:
        pillar = cluster.salt("m2", "pillar.items", "--out=json", "--static").json["m2"]
    finally:
        (roots / "two.sls").write_text(FILES["two.sls"])
    assert pillar["who"] == "m2"
    assert pillar["_errors"] == ["Rendering SLS 'two' failed. Please see master log for details."]
    assert "hunter2" not in cluster.logs()


def test_pillar_of_the_command_line_lies_on_top(cluster: Cluster) -> None:
    ran = cluster.salt("m2", "pillar.items", "pillar={nested: {a: {c: 1}}}", "--out=json")
    assert ran.json["m2"]["nested"] == {"a": {"b": [1, "ä"], "c": 1}}


def test_salt_call_asks_for_it_too(cluster: Cluster) -> None:
    ran = cluster.salt_call("m2", "pillar.get", "who", "--out=json")
    assert ran.json == {"local": "m2"}


def test_files_that_go_away(cluster: Cluster, roots: Path) -> None:
    shutil.move(roots / "common.sls", roots / "elsewhere")
    try:
        pillar = cluster.salt("m2", "pillar.items", "--out=json", "--static").json["m2"]
    finally:
        shutil.move(roots / "elsewhere", roots / "common.sls")
    assert pillar["_errors"] == [
        "Specified SLS 'common' in environment 'base' is not available on the salt master"
    ]
