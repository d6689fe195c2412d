"""``resource.list`` of what a running minion has, through ``salt`` and ``salt-call``, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster import Cluster, running


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("srv")


@pytest.fixture(scope="module")
def cluster(roots: Path) -> Iterator[Cluster]:
    options = {"file_roots": {"base": [str(roots)]}}
    with running(minions={"web1": "saltlite"}, master_options=options) as started:
        yield started


def apply_listed(cluster: Cluster, roots: Path, name: str, *args: str) -> str:
    """The SLS; applied it changes nothing."""
    shown = cluster.salt("web1", *args)
    assert shown.exit_code == 0, shown.stdout
    (roots / f"{name}.sls").write_text(shown.stdout)
    found = cluster.salt("web1", "state.apply", name, "--out=json").json["web1"]
    assert len(found) == len(yaml.safe_load(shown.stdout))
    assert [(one["result"], one["changes"]) for one in found.values()] == [(True, {})] * len(found)
    return shown.stdout


def test_a_schedule(cluster: Cluster, roots: Path) -> None:
    for name, when in {"a": "seconds=3600", "b": "hours=2"}.items():
        cluster.salt("web1", "schedule.add", name, "function=test.ping", when)
    cluster.salt("web1", "schedule.disable_job", "b")
    text = apply_listed(cluster, roots, "sched", "resource.list", "schedule")
    assert set(yaml.safe_load(text)) >= {"schedule a", "schedule b"}


def test_beacons(cluster: Cluster, roots: Path) -> None:
    cluster.salt(
        "web1",
        "beacons.add",
        "load",
        "[{averages: {1m: [0.0, 99.0], 5m: [0.0, 99.0], 15m: [0.0, 99.0]}}, {interval: 3600}]",
    )
    text = apply_listed(cluster, roots, "beac", "resource.list", "beacon", "lo*")
    assert set(yaml.safe_load(text)) == {"beacon load"}


def test_files(cluster: Cluster, roots: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x: {{ y }}\n")
    (tmp_path / "a").chmod(0o640)
    text = apply_listed(cluster, roots, "files", "resource.list", "file", str(tmp_path))
    assert "y }}" not in text
    args = ("resource.list", "file", str(tmp_path), "secrets=True")
    assert "y }}" in apply_listed(cluster, roots, "more", *args)


def test_salt_call_prints_the_file(cluster: Cluster, tmp_path: Path) -> None:
    ran = cluster.salt_call("web1", "--local", "resource.show", "file", str(tmp_path))
    assert ran.stdout.startswith(f"#!yaml\n# resource.show file {tmp_path} on web1\n")
    assert set(yaml.safe_load(ran.stdout)) == {f"file {tmp_path}"}
    bad = cluster.salt_call("web1", "--local", "resource.show", "fil", str(tmp_path))
    assert bad.exit_code != 0
    assert "type: 'fil' is none; did you mean file?" in bad.stdout + bad.stderr
