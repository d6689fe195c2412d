"""The two files of a syndic read as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltlite.minion.masters import masters_of
from saltlite.syndic.config import SyndicConfig, load_syndic


def load(root: Path, master: str = "", minion: str = "", **overrides: object) -> SyndicConfig:
    (root / "master").write_text(f"root_dir: {root}\n{master}")
    (root / "minion").write_text(f"root_dir: {root}\nid: syn\n{minion}")
    return load_syndic(root, overrides)


@pytest.mark.parametrize(
    ("master", "minion", "addresses"),
    [
        ("syndic_master: up\n", "", ["up:4506"]),
        ("syndic_master: [a, 'b:9']\n", "master_port: 7\n", ["a:7", "b:9"]),
        ("syndic_master: up\nsyndic_master_port: 8\n", "master_port: 7\n", ["up:8"]),
        ("", "master: here\n", ["masterofmasters:4506"]),
    ],
)
def test_where_the_masters_above_are(
    tmp_path: Path, master: str, minion: str, addresses: list[str]
) -> None:
    config = load(tmp_path, master, minion)
    assert [one.name for one in masters_of(config.minion.network)] == addresses


def test_the_minions_own_master_is_another_one(tmp_path: Path) -> None:
    """Its type, its port for jobs and its fingerprint say nothing of those above."""
    config = load(
        tmp_path,
        "syndic_master: up\n",
        "master_type: failover\npublish_port: 9\nmaster_finger: aa\nsyndic_finger: bb\n",
    )
    assert config.minion.network.master_type == "str"
    assert config.minion.auth.master_finger == "bb"
    assert "publish_port" not in config.minion.source


def test_who_it_runs_as(tmp_path: Path) -> None:
    assert load(tmp_path, "user: daemon\n").user == "daemon"
    assert load(tmp_path, "user: daemon\nsyndic_user: bin\n").user == "bin"
    assert load(tmp_path, syndic_pidfile="/x").pidfile == f"{tmp_path}/x"
