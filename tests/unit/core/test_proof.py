"""Proof that an event is of who holds the key."""

from __future__ import annotations

from saltlite.core.proof import is_proven, prove

KEY = "k" * 76


def test_a_proof_holds_for_its_event_and_a_minute() -> None:
    data = prove(KEY, "t", {"a": [1, "ä"]}, 100.0)
    assert KEY not in str(data)
    assert is_proven(KEY, "t", {**data, "_stamp": "now"}, 130.0)
    assert not is_proven(KEY, "t", data, 161.0)
    assert not is_proven(KEY, "t", data, 39.0)
    assert not is_proven(KEY, "other", data, 100.0)
    assert not is_proven("other", "t", data, 100.0)
    assert not is_proven(KEY, "t", {**data, "a": 2}, 100.0)
    assert not is_proven(KEY, "t", {**data, "proof_time": 101.0}, 101.0)


def test_what_is_no_proof() -> None:
    for data in ({}, {"proof": 1}, {"proof": "ä", "proof_time": 1.0}, {"proof_time": "x"}):
        assert not is_proven(KEY, "t", data, 1.0)
    nan = {**prove(KEY, "t", {}, 1.0), "proof_time": float("nan")}
    assert not is_proven(KEY, "t", nan, 1.0)
    assert not is_proven("", "t", prove("", "t", {}, 1.0), 1.0)
    assert not is_proven("", "t", {"key": ""}, 1.0)


def test_salts_own_form() -> None:
    assert is_proven(KEY, "t", {"key": KEY}, 1.0)
    assert not is_proven(KEY, "t", {"key": KEY[:-1]}, 1.0)


def test_data_whose_keys_have_no_order_prove_nothing() -> None:
    for data in ({b"\xff": 1}, {1: 1}, {(1, 2): 1}):
        assert not is_proven(KEY, "t", {**data, "proof": "x", "proof_time": 1.0}, 1.0)
