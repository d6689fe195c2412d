"""Returns of a Salt master, whose store is not read; and who asked for a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite.errors import StoreError
from saltlite.master.forwardqueue import ForwardQueue, Waiting
from saltlite.master.jobcache import SqliteJobStore
from saltlite.syndic import sources
from saltlite.syndic.sources import BusSource, LowerReturns, Source, StoreState, origin_of

JID = "20260102030405000006"


def read(source: Source, one: Waiting) -> Any:
    ((same, fields),) = source.read_returns([one], 1000)
    assert same is one
    return fields


def hear(source: BusSource, minion: str, value: object) -> None:
    load = {"jid": JID, "id": minion, "return": value, "retcode": 0}
    source.hear(f"salt/job/{JID}/ret/{minion}", load)


def test_a_return_is_kept_until_it_is_above() -> None:
    source = BusSource()
    hear(source, "a", 1)
    (one,) = source.read_new()
    assert source.read_new() == []
    assert (one.jid, one.id) == (JID, "a")
    assert read(source, one)["return"] == 1
    source.drop([one])
    assert read(source, one) is None


def test_a_job_is_known_by_its_event() -> None:
    source = BusSource()
    data = {"fun": "test.ping", "tgt": "*", "tgt_type": "glob", "arg": [], "user": "anna", "x": 1}
    source.hear(f"salt/job/{JID}/new", data)
    assert source.read_job(JID) == {name: one for name, one in data.items() if name != "x"}
    assert source.read_job("20260102030405000007") == {}


@pytest.mark.parametrize(
    ("tag", "data"),
    [("x", {"return": 1}), (f"salt/job/{JID}/ret/a", {}), (f"salt/job/{JID}/prog/a/1", {})],
)
def test_other_events_are_no_returns(tag: str, data: dict[str, Any]) -> None:
    source = BusSource()
    source.hear(tag, data)
    assert source.read_new() == []


def test_of_too_many_the_oldest_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sources, "BYTES_MOST", 1000)
    source = BusSource()
    for minion in ("a", "b"):
        hear(source, minion, "x" * 600)
    first, second = source.read_new()
    assert read(source, first) is None
    assert read(source, second) is not None
    assert f"A return of job {JID} is lost" in caplog.text


@pytest.mark.parametrize(
    ("load", "origin"),
    [({"kwargs": {"from_master": "up"}}, "up"), ({"kwargs": {}}, None), ({}, None),
     ({"kwargs": {"from_master": 5}}, None), ({"kwargs": "x"}, None)],
)  # fmt: skip
def test_who_asked_is_on_record(load: dict[str, Any], origin: str | None) -> None:
    assert origin_of(load) == origin


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteJobStore]:
    one = SqliteJobStore(tmp_path, sync="never")
    one.new_job(JID, {"fun": "test.ping"}, ["a", "b"])
    yield one
    one.close()


@pytest.fixture
def lower(tmp_path: Path, store: SqliteJobStore) -> Iterator[LowerReturns]:
    """Of a master whose store is there."""
    queue = ForwardQueue(tmp_path, sync="never")
    yield LowerReturns(lambda: queue)
    queue.close()


def say(lower: LowerReturns, minion: str, value: object) -> None:
    load = {"jid": JID, "id": minion, "return": value, "retcode": 0}
    lower.hear(f"salt/job/{JID}/ret/{minion}", load)


def test_our_master_has_it_on_record(lower: LowerReturns, store: SqliteJobStore) -> None:
    lower.open(is_salts=False)
    assert not lower.needs_bus
    lower.begin()
    store.add_returns([(JID, "a", {"return": 1})])
    say(lower, "a", 1)  # is on record
    (one,) = lower.read_new()
    assert read(lower, one) == {"return": 1}
    assert lower.read_job(JID) == {"fun": "test.ping"}
    lower.drop([one])
    assert lower.read_new() == []


def test_one_master_replaces_the_other(lower: LowerReturns, store: SqliteJobStore) -> None:
    lower.open(is_salts=False)
    lower.begin()
    store.add_returns([(JID, "a", {"return": 1})])
    lower.open(is_salts=True)
    assert lower.needs_bus
    say(lower, "b", 2)
    stored, heard = lower.read_new()
    assert read(lower, stored) == {"return": 1}
    assert read(lower, heard)["return"] == 2
    lower.drop([stored, heard])
    assert read(lower, heard) is None
    lower.open(is_salts=False)
    say(lower, "b", 3)
    assert lower.read_new() == []


def test_a_salt_master_gets_no_store_of_ours() -> None:
    def refuse() -> ForwardQueue:
        raise AssertionError("it was opened")

    lower = LowerReturns(refuse)
    lower.open(is_salts=True)
    lower.begin()
    say(lower, "a", 1)
    assert [one.id for one in lower.read_new()] == ["a"]


def test_a_master_that_keeps_nothing_is_heard() -> None:
    lower = LowerReturns(None)
    lower.open(is_salts=False)
    lower.begin()
    assert lower.needs_bus
    say(lower, "a", 1)
    (one,) = lower.read_new()
    lower.drop([one])
    assert read(lower, one) is None


def test_both_are_read_one_after_the_other(lower: LowerReturns, store: SqliteJobStore) -> None:
    lower.open(is_salts=False)
    lower.begin()
    store.add_returns([(JID, "a", {"return": 1})])
    lower.open(is_salts=True)
    for name in ("b", "c"):
        say(lower, name, name)
    waiting = lower.read_new()
    assert [one.id for one, _fields in lower.read_returns(waiting, 1000)] == ["a"]
    assert [one.id for one, _fields in lower.read_returns(waiting[1:], 1000)] == ["b", "c"]
    assert [one.id for one, _fields in lower.read_returns(waiting[1:], 1)] == ["b"]


def test_a_store_that_cannot_be_used_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    state = StoreState()
    for _ in range(3):
        state.note_failure(StoreError("no room"))
    assert caplog.text.count("no room") == 1
    state.note_success()
    state.note_failure(StoreError("no room"))
    assert caplog.text.count("no room") == 2
