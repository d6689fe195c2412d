"""Returns that returners are to have: who has them in hand, and how often they are tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from saltlite.minion import undelivered
from saltlite.minion.undelivered import TRIES_MOST, Delivery, Undelivered

JID = "20260101000000000000"
RET = {"jid": JID, "id": "m1", "fun": "test.ping", "return": True}


@pytest.fixture
def waiting(tmp_path: Path) -> Undelivered:
    return Undelivered(tmp_path / "undelivered")


def let_processes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process that has something in hand has gone from now on."""
    begun = iter(range(1000, 2000))
    monkeypatch.setattr(undelivered, "start_ticks", lambda _pid: next(begun))


def test_what_a_process_has_in_hand_is_its_own(waiting: Undelivered) -> None:
    assert waiting.list_left() == []
    assert waiting.take(JID, Delivery(["slow"], RET))
    assert waiting.list_left() == []
    assert waiting.take_again(JID) is None
    waiting.remove(JID)
    assert waiting.take_again(JID) is None


def test_what_is_left_is_taken_a_few_times(
    waiting: Undelivered, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert waiting.take(JID, Delivery(["slow", "fast"], RET))
    let_processes_end(monkeypatch)
    for _ in range(TRIES_MOST - 1):
        assert waiting.list_left() == [JID]
        found = waiting.take_again(JID)
        assert found is not None
        assert (found.names, found.ret) == (["slow", "fast"], RET)
    assert waiting.take_again(JID) is None
    assert waiting.list_left() == []
    assert f"Job {JID}: slow, fast did not take its return" in caplog.text


def test_each_returner_is_let_go_when_it_has_it(
    waiting: Undelivered, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waiting.take(JID, Delivery(["slow", "fast"], RET))
    waiting.note_had(JID, "slow")
    waiting.note_had(JID, "slow")
    let_processes_end(monkeypatch)
    found = waiting.take_again(JID)
    assert found is not None
    assert (found.names, found.tries) == (["fast"], 1)
    waiting.note_had(JID, "fast")
    assert waiting.list_left() == []
    waiting.note_had(JID, "fast")


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01\x02\x03", b"\x81\xa1x\x01"])
def test_what_is_none_is_removed_and_named(
    waiting: Undelivered, tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "undelivered"
    folder.mkdir()
    (folder / JID).write_bytes(data)
    (folder / "other.tmp").write_bytes(b"")
    assert waiting.list_left() == []
    assert not (folder / JID).exists()
    assert JID in caplog.text


def test_a_full_disk_costs_the_note_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not Undelivered(tmp_path / "file" / "below").take(JID, Delivery(["slow"], RET))
    assert os.listdir(tmp_path) == ["file"]
