"""Tokens of logins on disk: for how long, how many, and what is swept."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from saltlite.errors import StoreError
from saltlite.master import logintokens
from saltlite.master.logintokens import LoginTokens, hash_token
from saltlite.transport.codec import pack_bin

RECORD = {"name": "anna", "eauth": "pam", "start": 10.0, "expire": 20.0}


def test_a_token_lives_until_its_second(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path / "tokens")
    token = tokens.make(RECORD)
    assert tokens.find(token, 19.9) == RECORD
    assert tokens.find(token, 20.0) is None
    assert tokens.find(token, 15.0) is None, "it came back"


def test_what_is_dead_or_damaged_is_swept(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    alive = tokens.make({**RECORD, "expire": 100.0})
    dead = tokens.make(RECORD)
    (tmp_path / ("a" * 64)).write_bytes(b"junk")
    (tmp_path / "no-token").write_text("is left alone")
    assert tokens.sweep(50.0) == 1
    assert {one.name for one in tmp_path.iterdir()} == {hash_token(alive), "no-token"}
    assert tokens.find(dead, 15.0) is None


def test_a_token_is_forgotten(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    token = tokens.make(RECORD)
    assert not tokens.forget(hash_token(token))
    assert not tokens.forget("../x")
    assert tokens.forget(token)
    assert not tokens.forget(token)
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_tokens_is_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    """Each login makes one that lives for hours. Who makes many loses his own, not others'."""
    monkeypatch.setattr(logintokens, "TOKENS_MOST", 20)
    monkeypatch.setattr(logintokens, "ROOM_MADE", 5)
    tokens = LoginTokens(tmp_path)
    others = [
        tokens.make({**RECORD, "name": name, "start": 0.0, "expire": 99.0}) for name in ("ben", "c")
    ]
    dead = tokens.make({**RECORD, "name": "d", "start": 0.0, "expire": 1.0})
    made = [tokens.make({**RECORD, "start": 10.0 + n, "expire": 99.0}) for n in range(40)]
    assert len(list(tmp_path.iterdir())) <= 20
    assert tokens.find(dead, 0.5) is None
    assert all(tokens.find(one, 60.0) for one in others)
    alive = [one for one in made if tokens.find(one, 60.0)]
    assert alive == made[-len(alive) :]
    assert len(alive) >= 13


def test_tokens_made_at_once_keep_the_bound(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(logintokens, "TOKENS_MOST", 20)
    monkeypatch.setattr(logintokens, "ROOM_MADE", 1)

    def make_many(number: int) -> None:
        for turn in range(20):
            LoginTokens(tmp_path).make({**RECORD, "name": f"u{number}", "start": float(turn)})
            assert len(list(tmp_path.iterdir())) <= 21  # a file being written has another name

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make_many, range(8)))
    assert len(list(tmp_path.iterdir())) <= 20


def test_a_login_holds_no_list_of_all_tokens(tmp_path: Path) -> None:
    """Of ten thousand, each with its status and path, a worker would never be rid again."""
    tokens = LoginTokens(tmp_path)
    for number in range(2000):
        (tmp_path / hash_token(str(number))).write_bytes(pack_bin({**RECORD, "expire": 99.0}))
    tracemalloc.start()
    try:
        tokens.make(RECORD)
        assert tokens.sweep(15.0) == 2001
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 256 * 1024


def test_a_token_that_cannot_be_read_stays(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    token = tokens.make(RECORD)
    path = tmp_path / hash_token(token)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    with pytest.raises(StoreError):
        tokens.find(token, 15.0)
    assert path.is_symlink()
