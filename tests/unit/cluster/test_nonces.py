"""A request that was served at one node is not served at another."""

from __future__ import annotations

import contextlib

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.nonces import ClusterNonces
from saltlite.errors import ServerAway
from saltlite.master.command import Repeats
from saltlite.master.replay import ReplayGuard, ReplayTable, table_bytes


def memory(engine: ClusterEngine, *, serves: bool = True) -> ClusterNonces:
    """That of a node that has just started."""
    table = ReplayTable(bytearray(table_bytes(2, 64)), segments=2, slots=64)
    local = ReplayGuard(table, contextlib.nullcontext, ttl_s=300)
    return ClusterNonces(local, engine, ttl_s=300, serves=serves)


def problem(node: ClusterNonces, number: int, repeats: Repeats = Repeats.ACT) -> str | None:
    nonce = f"{number:032x}"
    return node.problem("m1", nonce, 1000.0, repeats=repeats, wall_s=1000.0, steady_s=5.0)


def test_what_acts_is_served_once_in_the_cluster(engine: ClusterEngine) -> None:
    one, two = memory(engine), memory(engine)
    assert problem(one, 1) is None
    assert problem(two, 1) == "nonce was used before, at another node"
    assert problem(one, 1) == "nonce was used before"
    assert problem(memory(engine), 1) is not None  # the first node after a crash
    assert problem(two, 2) is None


def test_what_reads_or_goes_on_record_asks_nobody(engine: ClusterEngine) -> None:
    one = memory(engine)
    assert problem(one, 1, Repeats.READ) is None
    assert problem(one, 2, Repeats.RECORD) is None
    assert problem(one, 2, Repeats.RECORD) is not None
    assert engine.execute("SELECT count(*) FROM nonces") == [(0,)]


def test_while_postgresql_is_away(engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_engine: ClusterEngine, _work: object) -> object:
        raise ServerAway("cluster engine away: test")

    monkeypatch.setattr(ClusterEngine, "_run_work", fail)
    one = memory(engine)
    assert problem(one, 1) is None
    assert problem(one, 1) == "nonce was used before"
    assert problem(memory(engine, serves=False), 2) == "cluster engine away: test"
