"""What is derived from the cluster's key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from saltlite.cluster.identity import (
    ClusterIdentity,
    DerivedSessions,
    load_cluster_key,
    make_cluster_key,
)
from saltlite.config.load import load_master
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import ConfigError, CryptoError
from saltlite.master.keystore import AcceptedKey

KEY = PrivateKey.generate(2048)
OTHER = PrivateKey.generate(2048)


def test_only_the_same_key_and_name_open_what_is_sealed() -> None:
    text = new_key_string()
    sealed = ClusterIdentity(KEY, "c1").seal(text)
    assert text.encode() not in sealed
    assert ClusterIdentity(KEY, "c1").open(sealed) == text
    for stranger in (ClusterIdentity(KEY, "c2"), ClusterIdentity(OTHER, "c1")):
        with pytest.raises(CryptoError):
            stranger.open(sealed)


@dataclass
class Epoch:
    number: int = 0

    def epoch(self) -> int:
        return self.number

    def end_epoch(self) -> None:
        self.number += 1


@dataclass
class Keys:
    pem: str | None

    def load_accepted(self, minion_id: str) -> AcceptedKey | None:
        return None if self.pem is None else AcceptedKey(self.pem, (0, 0, 0), Path(minion_id))


def test_each_node_computes_the_same_session() -> None:
    nodes = [DerivedSessions(ClusterIdentity(KEY, "c"), Keys("k1"), Epoch()) for _ in range(2)]
    one, two = (node.get("web1") for node in nodes)
    assert one is not None
    assert two is not None
    assert one.key == two.key
    assert two.crypticle.decrypt(one.crypticle.encrypt(b"x")) == b"x"


def test_another_key_id_or_epoch_is_another_session() -> None:
    keys, epoch = Keys("k1"), Epoch()
    sessions = DerivedSessions(ClusterIdentity(KEY, "c"), keys, epoch)
    found = [sessions.get("web1"), sessions.get("web2")]
    keys.pem = "k2"
    found.append(sessions.get("web1"))
    sessions.clear()
    found.append(sessions.get("web1"))
    assert len({one.key for one in found if one is not None}) == 4
    keys.pem = "k1\r\n"  # the same key in another file's form
    epoch.number = 0
    again = sessions.get("web1")
    assert again is not None
    assert again.key == found[0].key  # type: ignore[union-attr]


def test_without_an_accepted_key_there_is_no_session() -> None:
    keys = Keys("k1")
    sessions = DerivedSessions(ClusterIdentity(KEY, "c"), keys, Epoch())
    assert sessions.get("web1") is not None
    keys.pem = None
    assert sessions.get("web1") is None
    assert sessions.delete("web1")
    assert not sessions.delete("web1")


def test_the_key_comes_from_the_administrator(tmp_path: Path) -> None:
    (tmp_path / "master").write_text(
        f"root_dir: {tmp_path}\ncluster_id: c\ncluster_pki_dir: /pki/cluster\ncluster_key_pass: x\n"
    )
    config = load_master(tmp_path, environ={})
    with pytest.raises(ConfigError, match=r"cluster\.join"):
        load_cluster_key(config)
    key = make_cluster_key(config)
    assert load_cluster_key(config).pem == key.pem == make_cluster_key(config).pem
    path = tmp_path / "pki/cluster/cluster.pem"
    assert b"ENCRYPTED" in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o400
