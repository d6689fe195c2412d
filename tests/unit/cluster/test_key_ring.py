"""The publication key of a cluster: one for all nodes, changed once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.identity import ClusterIdentity
from saltlite.cluster.key_ring import KEYS_KEPT, ClusterKeyRing
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, ServerAway

KEY = PrivateKey.generate(2048)
AWAY = {"host": "/nonexistent"}


@pytest.fixture
def rings(database: dict[str, str]) -> Iterator[list[ClusterKeyRing]]:
    """Those of two nodes, after the first has begun and then the second."""
    with ExitStack() as stack:
        found = []
        for _ in range(2):
            engine = ClusterEngine(database, timeout_s=10)
            ring = ClusterKeyRing(engine, ClusterIdentity(KEY, "c"), timeout_s=10)
            stack.callback(engine.close)
            stack.callback(ring.close)
            ring.begin(new_key_string, time.monotonic())
            found.append(ring)
        yield found


def test_the_first_node_makes_the_key_and_the_others_take_it(rings: list[ClusterKeyRing]) -> None:
    one, two = rings
    assert one.current().generation == two.current().generation == 1
    assert one.current().key == two.current().key
    assert -5 < two.age_s(time.monotonic()) < 30


def test_two_nodes_that_change_it_at_once_change_it_once(rings: list[ClusterKeyRing]) -> None:
    one, two = rings
    assert one.rotate(new_key_string(), time.monotonic()) == 2
    assert two.rotate(new_key_string(), time.monotonic()) == 2
    assert one.current().key == two.current().key
    assert two.rotate(new_key_string(), time.monotonic()) == 3
    assert one.current().generation == 2
    one.refresh(time.monotonic())
    assert one.current().key == two.current().key
    assert one.key_of(3) == one.current().key
    assert one.key_of(2) not in (None, one.current().key)
    assert one.key_of(7) is None


def test_old_keys_go(rings: list[ClusterKeyRing]) -> None:
    for _ in range(KEYS_KEPT + 1):
        rings[0].rotate(new_key_string(), time.monotonic())
    known = [n for n in range(1, KEYS_KEPT + 3) if rings[0].key_of(n)]
    assert known == [*range(3, KEYS_KEPT + 3)]


def test_sessions_end_on_all_nodes(rings: list[ClusterKeyRing]) -> None:
    one, two = rings
    before = two.epoch()
    one.end_epoch()
    two.refresh(time.monotonic())
    assert one.epoch() == two.epoch() == before + 1


def test_another_clusters_key_is_not_taken(
    rings: list[ClusterKeyRing], database: dict[str, str]
) -> None:
    engine = ClusterEngine(database, timeout_s=10)
    stranger = ClusterKeyRing(engine, ClusterIdentity(KEY, "other"), timeout_s=10)
    with pytest.raises(CryptoError):
        stranger.begin(new_key_string, time.monotonic())
    stranger.close()
    engine.close()


def test_serials_of_a_node_alone_go_on(rings: list[ClusterKeyRing]) -> None:
    one, _two = rings
    one.note_serial(17)
    assert one.next_serial()[1] == 18
    one.go_alone()
    serial = one.next_serial()[1]
    assert abs(serial / 1e6 - time.time()) < 5
    one.note_serial(serial + 10**12)  # from a clock that is ahead
    one.go_alone()
    assert one.next_serial()[1] == serial + 10**12 + 1


def test_a_change_that_has_to_wait_is_not_forgotten(
    rings: list[ClusterKeyRing], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _two = rings
    asked = [True]

    def take() -> bool:
        return asked.pop() if asked else False

    real = ClusterEngine._run_work

    def fail(_engine: ClusterEngine, _work: object) -> object:
        raise ServerAway("away")

    monkeypatch.setattr(ClusterEngine, "_run_work", fail)
    assert not one.rotate_if(take, new_key_string, time.monotonic())
    monkeypatch.setattr(ClusterEngine, "_run_work", real)
    assert one.rotate_if(take, new_key_string, time.monotonic())
    assert one.current().generation == 2
    assert not one.rotate_if(take, new_key_string, time.monotonic())
