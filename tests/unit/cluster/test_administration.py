"""``salt-run cluster.join``, ``status`` and ``leave``, behind the runner."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from saltlite.cluster.administration import ClusterAdministration
from saltlite.cluster.membership import join_cluster, open_spool
from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.errors import ConfigError, FunctionError


def configure(tmp_path: Path, name: str, empty: dict[str, str], more: str = "") -> MasterConfig:
    root = tmp_path / name
    root.mkdir()
    dsn = " ".join(f"{key}={value}" for key, value in empty.items())
    (root / "master").write_text(
        f"root_dir: {root}\nid: {name}\ncluster_id: c\ncluster_dsn: '{dsn}'\n{more}"
    )
    return load_master(root, environ={})


def test_two_nodes_join_and_one_leaves(tmp_path: Path, empty: dict[str, str]) -> None:
    one, two = (configure(tmp_path, name, empty, "cluster_lease: 3\n") for name in ("n1", "n2"))
    owner = one.cluster.cluster_dsn
    first, second = ClusterAdministration(one), ClusterAdministration(two)
    with pytest.raises(FunctionError, match=r"On the first node: .* make_key=True"):
        first.join(owner_dsn="", role="", make_key=False)
    with pytest.raises(ConfigError, match="owner_dsn"):
        first.join(owner_dsn="", role="", make_key=True)
    found = first.join(owner_dsn=owner, role="", make_key=False)
    assert (found["node"], found["cluster"], found["nodes"]) == ("n1", "c", [])
    assert "warning" not in found

    # The administrator copies the key.
    for name in ("cluster.pem", "cluster.pub"):
        target = tmp_path / "n2/etc/salt/pki/master" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((tmp_path / "n1/etc/salt/pki/master" / name).read_bytes())
        target.chmod(0o400)
    joined = [join_cluster(config, "127.0.0.1") for config in (one, two)]
    assert second.join(owner_dsn="", role="", make_key=False)["nodes"] == ["n1", "n2"]
    status = second.status()
    assert sorted(status["nodes"]) == ["n1", "n2"]
    assert status["nodes"]["n1"]["alive"]
    assert status["waiting"] == 0
    with pytest.raises(FunctionError, match="the master of n2 runs"):
        first.leave("n2")

    spool = open_spool(two)
    spool.publish_here("20260102030405000001", {"fun": "test.ping"}, ["m1"])
    spool.add_return("20260102030405000001", "m1", {"return": 1})
    spool.close()
    assert second.status()["waiting"] == 1
    health = second.examine()
    assert (health.waiting, health.away, health.silent, health.standbys) == (1, "", {}, 0)
    assert sorted(health.versions) == ["n1", "n2"]
    assert abs(health.apart_s) < 5
    engine = joined[0].ring._engine
    engine.execute("UPDATE nodes SET beat = beat - interval '1 minute'")
    with pytest.raises(FunctionError, match="1 returns wait"):
        second.leave("")
    assert first.leave("n2")
    assert not first.leave("n2")
    assert sorted(first.status()["nodes"]) == ["n1"]
    for member in joined:
        member.close()
    engine.close()


def test_clocks_that_differ_are_named(
    tmp_path: Path, empty: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "n1", empty)
    now_s = time.time() + 60
    monkeypatch.setattr("saltlite.cluster.administration.time.time", lambda: now_s)
    found = ClusterAdministration(config).join(
        owner_dsn=config.cluster.cluster_dsn, role="", make_key=True
    )
    assert "s apart" in found["warning"]


def test_a_server_that_is_away_is_told(tmp_path: Path, empty: dict[str, str]) -> None:
    config = configure(tmp_path, "n1", {**empty, "port": "1", "host": "127.0.0.1"})
    assert ClusterAdministration(config).examine().away


def test_a_master_without_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\n")
    with pytest.raises(FunctionError, match="cluster_id is not set"):
        ClusterAdministration(load_master(tmp_path, environ={}))
