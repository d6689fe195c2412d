"""Custom code on its way from the master's file roots to a running minion, and to the master."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, eventually, running

CODE = {
    "_modules/release.py": (
        "from salt.exceptions import CommandExecutionError\n"
        "def where(): return [__opts__['id'], __grains__['rack']]\n"
        "def fail(): raise CommandExecutionError('no such release')\n"
    ),
    "_grains/rack.py": "def rack(): return {'rack': 'r7'}\n",
    "_runners/fleet.py": (
        "import salt.client\n"
        "def racks():\n    return salt.client.LocalClient().cmd('*', 'grains.get', ['rack'])\n"
    ),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    roots = tmp_path_factory.mktemp("roots")
    for name, text in CODE.items():
        (roots / name).parent.mkdir(exist_ok=True)
        (roots / name).write_text(text)
    with running(
        minions=1, master_options={"worker_threads": 2, "file_roots": {"base": [str(roots)]}}
    ) as cluster:
        cluster.code_roots = roots  # type: ignore[attr-defined]
        yield cluster


def test_from_the_master_to_a_running_minion(pair: Cluster) -> None:
    synced = pair.salt("m1", "saltutil.sync_all", "--out=json").json["m1"]
    assert {kind: names for kind, names in synced.items() if names} == {
        "modules": ["modules.release"], "grains": ["grains.rack"],
    }  # fmt: skip
    eventually(
        lambda: '"m1": true' in pair.salt("-G", "rack:r7", "test.ping", "--out=json").stdout,
        what="the minion is found by its custom grain",
    )
    assert pair.salt("m1", "release.where", "--out=json").json == {"m1": ["m1", "r7"]}
    assert pair.salt("m1", "release.fail", "--out=json").json == {"m1": "ERROR: no such release"}


def test_a_changed_file_is_the_next_jobs(pair: Cluster) -> None:
    roots: Path = pair.code_roots  # type: ignore[attr-defined]
    (roots / "_modules/release.py").write_text("def where(): return 'moved'\n")
    assert pair.salt("m1", "saltutil.sync_modules", "--out=json").json == {
        "m1": ["modules.release"]
    }
    assert pair.salt("m1", "release.where", "--out=json").json == {"m1": "moved"}
    (roots / "_modules/release.py").unlink()
    assert pair.salt("m1", "saltutil.sync_modules", "--out=json").json == {"m1": []}
    assert "is not available" in pair.salt("m1", "release.where").stdout


def test_the_masters_runners(pair: Cluster) -> None:
    assert pair.salt_run("saltutil.sync_runners", "--out=json").json == ["runners.fleet"]
    pair.salt("m1", "saltutil.sync_grains")
    eventually(
        lambda: pair.salt_run("fleet.racks", "--out=json").json == {"m1": "r7"},
        what="a custom runner asks the minions",
    )
