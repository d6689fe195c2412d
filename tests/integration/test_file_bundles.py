"""A minion has many small files of its master in few requests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, running

COUNT = 40
SIZE_BYTES = 50_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for number in range(COUNT):
        place = root / "app" / f"d{number % 3}" / f"ü {number}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(bytes([number]) * SIZE_BYTES)
    return root


@pytest.fixture(scope="module")
def cluster(tree: Path) -> Iterator[Cluster]:
    """A master that serves a single file byte by byte: that would take for ever."""
    options = {
        "file_roots": {"base": [str(tree)]}, "file_buffer_size": 1, "worker_threads": 2,
    }  # fmt: skip
    with running(minions=1, master_options=options) as up:
        yield up


def test_a_directory_comes_in_bundles(cluster: Cluster, tree: Path, tmp_path: Path) -> None:
    cached = cluster.salt("m1", "cp.cache_dir", "salt://app", "--out=json", "--static").json["m1"]
    assert len(cached) == COUNT
    for place in map(Path, cached):
        below = str(place).partition("/files/base/")[2]
        assert place.read_bytes() == (tree / below).read_bytes()
    got = cluster.salt(
        "m1", "cp.get_dir", "salt://app", str(tmp_path), "--out=json", "--static"
    ).json["m1"]
    assert len(got) == COUNT
    assert all(Path(place).stat().st_size == SIZE_BYTES for place in got)


def test_names_in_a_list_come_in_bundles(cluster: Cluster) -> None:
    names = [f"salt://app/d{number % 3}/ü {number}" for number in range(COUNT)]
    places = cluster.salt(
        "m1", "cp.cache_files", json.dumps([*names, "salt://nosuch"]), "--out=json", "--static"
    ).json["m1"]
    assert places[-1] is False
    assert all(Path(place).stat().st_size == SIZE_BYTES for place in places[:-1])


def test_salt_call_has_a_large_file_on_two_connections(tmp_path: Path) -> None:
    content = os.urandom(10 * 64 * 1024 + 17)
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "large").write_bytes(content)
    options = {"file_roots": {"base": [f"{tmp_path}/srv"]}, "file_buffer_size": 64 * 1024}
    with running(minions=1, master_options=options) as up:
        place = tmp_path / "got"
        done = up.salt_call("m1", "cp.get_file", "salt://large", str(place), "--out=json")
        assert done.json == {"local": str(place)}
        assert place.read_bytes() == content
