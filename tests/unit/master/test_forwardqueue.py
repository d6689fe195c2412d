"""The returns that the master above does not have yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite.master.forwardqueue import ForwardQueue
from saltlite.master.jobcache import SqliteJobStore, Stored

JIDS = [f"2026010203040500000{number}" for number in range(4)]
LOAD = {"fun": "test.ping", "tgt": "*"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteJobStore]:
    """The master's own view, as its workers have it."""
    one = SqliteJobStore(tmp_path, sync="never")
    for jid in JIDS:
        one.new_job(jid, LOAD, ["a", "b"])
    yield one
    one.close()


@pytest.fixture
def queue(store: SqliteJobStore, tmp_path: Path) -> Iterator[ForwardQueue]:
    one = ForwardQueue(tmp_path, sync="never")
    assert one.read_new(10) == []
    yield one
    one.close()


def names(found: object) -> list[tuple[str, str]]:
    return [(one.jid, one.id) for one in found]  # type: ignore[attr-defined]


def test_each_new_return_is_read_once(store: SqliteJobStore, queue: ForwardQueue) -> None:
    store.add_returns([(JIDS[0], "a", {"return": 1}), (JIDS[1], "b", {"return": 2})])
    first = queue.read_new(1)
    assert names(first) == [(JIDS[0], "a")]
    assert names(queue.read_new(10)) == [(JIDS[1], "b")]
    assert queue.read_new(10) == []
    assert queue.read_returns(first, 100) == [(first[0], {"return": 1})]


def test_so_many_bytes_are_read_at_once(store: SqliteJobStore, queue: ForwardQueue) -> None:
    store.add_returns([(JIDS[0], name, {"return": "x" * 1000}) for name in ("a", "b")])
    waiting = queue.read_new(10)
    assert names(one for one, _fields in queue.read_returns(waiting, 3000)) == names(waiting)
    assert names(one for one, _fields in queue.read_returns(waiting, 10)) == names(waiting[:1])


def test_returns_are_noted_from_its_begin_on(tmp_path: Path) -> None:
    store = SqliteJobStore(tmp_path, sync="never")
    store.new_job(JIDS[0], LOAD, ["a", "b"])
    store.add_returns([(JIDS[0], "a", {"return": 1})])
    queue = ForwardQueue(tmp_path, sync="never")
    queue.begin()
    store.add_returns([(JIDS[0], "b", {"return": 2})])
    assert names(queue.read_new(10)) == [(JIDS[0], "b")]
    for one in (queue, store):
        one.close()


def test_a_repeat_is_no_new_return(store: SqliteJobStore, queue: ForwardQueue) -> None:
    assert store.add_return(JIDS[0], "a", {"return": 1}) is Stored.NEW
    assert store.add_return(JIDS[0], "a", {"return": 1}) is Stored.REPEAT
    assert len(queue.read_new(10)) == 1


def test_what_is_not_dropped_is_read_by_the_next_process(
    store: SqliteJobStore, queue: ForwardQueue, tmp_path: Path
) -> None:
    store.add_returns([(JIDS[0], "a", {"return": 1}), (JIDS[0], "b", {"return": 2})])
    queue.drop(queue.read_new(1))
    queue.close()
    # Meanwhile nobody reads, and nothing is missed.
    store.add_return(JIDS[1], "a", {"return": 3})
    again = ForwardQueue(tmp_path, sync="never")
    assert names(again.read_new(10)) == [(JIDS[0], "b"), (JIDS[1], "a")]
    again.close()


def test_what_was_there_before_the_first_syndic_stays(
    store: SqliteJobStore, tmp_path: Path
) -> None:
    store.add_return(JIDS[0], "a", {"return": 1})
    queue = ForwardQueue(tmp_path, sync="never")
    assert queue.read_new(10) == []
    queue.close()


def test_a_job_takes_its_rows_along(store: SqliteJobStore, queue: ForwardQueue) -> None:
    store.add_returns([(jid, "a", {"return": 1}) for jid in JIDS])
    (first, *_rest) = queue.read_new(10)
    store.clean(JIDS[2])
    assert queue.read_returns([first], 100) == [(first, None)]
    again = ForwardQueue(store.path.parent, sync="never")
    assert names(again.read_new(10)) == [(JIDS[2], "a"), (JIDS[3], "a")]
    again.close()


def test_a_file_that_was_put_aside_is_begun_anew(
    store: SqliteJobStore, queue: ForwardQueue
) -> None:
    store.add_return(JIDS[0], "a", {"return": 1})
    queue.read_new(10)
    store.close()
    for path in store.path.parent.glob("jobs.sqlite*"):
        path.unlink()
    store.new_job(JIDS[0], LOAD, ["a"])
    assert queue.read_new(10) == []
    store.add_return(JIDS[0], "a", {"return": 1})
    assert names(queue.read_new(10)) == [(JIDS[0], "a")]


def test_without_a_syndic_there_is_neither_table_nor_trigger(store: SqliteJobStore) -> None:
    found = store._fetch_rows("SELECT name FROM sqlite_master WHERE name LIKE 'forward%'", ())
    assert found == []
