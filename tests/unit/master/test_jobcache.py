"""The job cache in SQLite: its file, its bounds, and what a damaged file costs.

What it has in common with the one in PostgreSQL is in ``tests/unit/cluster/test_postgres_jobs.py``.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from datetime import datetime, timezone
from pathlib import Path

import pytest

from saltlite.core.job_query import JobQuery
from saltlite.errors import StoreError
from saltlite.master import jobcache
from saltlite.master.jobcache import (
    FILE_NAME,
    SqliteJobStore,
    Stored,
    jid_before,
)
from saltlite.master.shared import GroupFlush
from saltlite.transport.codec import pack_bin

LOAD = {
    "cmd": "publish",
    "tgt": "*",
    "tgt_type": "glob",
    "fun": "test.ping",
    "arg": [],
    "user": "root",
    "key": "s3cr3t",
}


def jid(number: int) -> str:
    return f"20260102030405{number:06}"


@pytest.fixture
def store(tmp_path: Path) -> SqliteJobStore:
    return SqliteJobStore(tmp_path)


def test_a_job_comes_back_without_the_users_key(store: SqliteJobStore, tmp_path: Path) -> None:
    assert store.new_job(jid(1), LOAD, ["a", "b"])
    job = store.job(jid(1))
    assert job is not None
    assert job.minions == ["a", "b"]
    assert job.load == {name: value for name, value in LOAD.items() if name != "key"}
    assert b"s3cr3t" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


@pytest.fixture
def full(store: SqliteJobStore) -> SqliteJobStore:
    for number in range(10):
        load = {
            **LOAD,
            "fun": "test.ping" if number % 2 else ["test.ping", "cmd.run"],
            "tgt": "web*" if number < 5 else ["a", "b"],
            "user": "alice" if number == 3 else "root",
            "kwargs": {"metadata": {"n": number % 3}},
        }
        store.new_job(jid(number), load, ["a"])
        store.add_return(jid(number), "a", {"return": number})
    return store


def test_old_jobs_go_with_all_that_belongs_to_them(
    full: SqliteJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saltlite.master.jobcache.CLEAN_CHUNK", 3)
    assert full.clean(jid(7)) == 7
    assert [job.jid for job in full.jobs()] == [jid(7), jid(8), jid(9)]
    assert full.returns(jid(6)) == {}
    assert [job.jid for job in full.jobs(JobQuery(metadata={"n": "0"}))] == [jid(9)]
    assert full.clean_to(1) == 2
    assert full.last_jids()[0] == jid(9)
    assert full.clean_to(1) == 0


def test_the_jid_of_an_age() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    assert jid_before(now, 86400) == "20260101030405000006"


def test_the_files_are_private(store: SqliteJobStore, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store.new_job(jid(1), LOAD, ["a"])
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize(
    "content", [b"junk" * 2000, b"\0" * 8192, b"SQLite format 3\0" + b"\1" * 99]
)
def test_a_corrupt_file_is_put_aside_and_said_once(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    store = SqliteJobStore(tmp_path)
    with caplog.at_level(logging.ERROR):
        store.new_job(jid(1), LOAD, ["a"])
    assert store.minions(jid(1)) == ["a"]
    aside = list(tmp_path.glob(FILE_NAME + ".corrupt-*"))
    assert [p.read_bytes() for p in aside] == [content]
    assert len(caplog.records) == 1


def test_a_file_of_another_layout_is_put_aside(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE_NAME)
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert SqliteJobStore(tmp_path).new_job(jid(1), LOAD, ["a"])


def test_an_empty_file_is_a_new_cache(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    assert SqliteJobStore(tmp_path).new_job(jid(1), LOAD, ["a"])
    assert not list(tmp_path.glob("*.corrupt-*"))


def test_a_removed_cache_is_begun_again(store: SqliteJobStore, tmp_path: Path) -> None:
    store.new_job(jid(1), LOAD, ["a"])
    shutil.rmtree(tmp_path)
    assert store.new_job(jid(2), LOAD, ["a"])
    assert store.job(jid(1)) is None


def test_no_room_is_an_error_and_later_works_again(
    store: SqliteJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.new_job(jid(1), LOAD, ["a"])
    real = os.fdatasync

    def full_disk(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full_disk)
    with pytest.raises(StoreError, match="No space left"):
        store.add_return(jid(1), "a", {"return": 1})
    monkeypatch.setattr(os, "fdatasync", real)
    assert store.add_return(jid(1), "a", {"return": 1}) in (Stored.NEW, Stored.REPEAT)


def test_a_directory_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(StoreError):
        SqliteJobStore(tmp_path).new_job(jid(1), LOAD, ["a"])


@pytest.mark.parametrize(("sync", "flushes"), [("always", 2), ("group", 2), ("never", 0)])
def test_when_the_disk_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str, flushes: int
) -> None:
    done = []
    monkeypatch.setattr(os, "fdatasync", done.append)
    store = SqliteJobStore(tmp_path, sync=sync, flush=GroupFlush())
    store.new_job(jid(1), LOAD, ["a"])
    store.add_return(jid(1), "a", {"return": 1})
    assert len(done) == flushes


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    store = SqliteJobStore(tmp_path, read_only=True)
    assert list(store.jobs()) == []
    assert list(tmp_path.iterdir()) == []


def test_many_processes_write_and_every_return_is_there(tmp_path: Path) -> None:
    flush = GroupFlush()
    SqliteJobStore(tmp_path).new_job(jid(0), LOAD, [])
    pids = []
    for process in range(4):
        pid = os.fork()
        if pid:
            pids.append(pid)
            continue
        try:
            store = SqliteJobStore(tmp_path, flush=flush)
            for number in range(50):
                store.add_return(jid(0), f"m{process}-{number}", {"return": number})
            os._exit(0)
        finally:
            os._exit(1)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    assert len(SqliteJobStore(tmp_path).returns(jid(0))) == 200


def test_processes_that_find_the_file_corrupt_agree_on_one_new_one(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"junk" * 2000)
    pids = []
    for process in range(4):
        pid = os.fork()
        if pid:
            pids.append(pid)
            continue
        try:
            logging.disable()
            SqliteJobStore(tmp_path).new_job(jid(process), LOAD, ["a"])
            os._exit(0)
        finally:
            os._exit(1)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    assert len(list(SqliteJobStore(tmp_path).jobs())) == 4
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1


# --- what nobody asked for -------------------------------------------------------------------


def unasked(store: SqliteJobStore, number: int, text: str = "x", most_bytes: int = 0) -> int:
    """One return of ``web1`` that nobody asked for; how many older ones went."""
    assert store.new_job(jid(number), {"cmd": "_return", "fun": "a.b", "tgt": "web1"}, ["web1"])
    forgotten = store.make_room(jid(number), "web1", {"return": text}, most_bytes)
    store.add_return(jid(number), "web1", {"return": text})
    return forgotten


def test_of_what_a_minion_returns_unasked_so_many_are_kept(
    store: SqliteJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobcache, "UNASKED_LIMIT", 3)
    assert [unasked(store, number) for number in range(5)] == [0, 0, 0, 1, 1]
    assert store.make_room(jid(9), "web2", {"return": "x"}, 0) == 0
    assert store.count() == 3


def test_cleaned_jobs_count_no_more(store: SqliteJobStore) -> None:
    for number in range(3):
        unasked(store, number, "x" * 1000, 3500)
    assert store.clean(jid(3)) == 3
    assert [unasked(store, number, "x" * 1000, 3500) for number in range(3, 6)] == [0, 0, 0]


def test_a_store_of_an_older_release_learns_to_count(tmp_path: Path) -> None:
    older = SqliteJobStore(tmp_path)
    older.new_job(jid(1), {"fun": "a.b"}, ["web1"])
    older._run_read(lambda db: db.execute("DROP TABLE unasked").fetchall())
    older.close()
    assert unasked(SqliteJobStore(tmp_path), 2) == 0


# --- lists of minions ----------------------------------------------------------------------

MANY = [f"web-{number:05}.example.com" for number in range(1000)]


def rows(tmp_path: Path, statement: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(tmp_path / FILE_NAME)
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


def test_equal_lists_of_minions_are_stored_once(store: SqliteJobStore, tmp_path: Path) -> None:
    for number in range(50):
        store.new_job(jid(number), LOAD, MANY)
    store.new_job(jid(50), LOAD, MANY[:500])
    store.new_job(jid(51), LOAD, ["a"])
    assert rows(tmp_path, "SELECT count(*) FROM minion_lists") == [(2,)]
    assert store.minions(jid(3)) == MANY
    assert store.minions(jid(50)) == MANY[:500]
    assert [job.minions for job in store.jobs()] == [MANY] * 50 + [MANY[:500], ["a"]]
    assert store.count_bytes() < 500_000


def test_a_list_goes_with_its_last_job(store: SqliteJobStore, tmp_path: Path) -> None:
    store.new_job(jid(1), LOAD, MANY)
    store.new_job(jid(2), LOAD, MANY)
    store.clean(jid(2))
    assert store.minions(jid(2)) == MANY
    store.new_job(jid(3), LOAD, ["a"])
    store.clean(jid(3))
    assert rows(tmp_path, "SELECT count(*) FROM minion_lists") == [(0,)]
    store.new_job(jid(4), LOAD, MANY[1:])  # its number is a new one: others may know the old one
    assert store.minions(jid(4)) == MANY[1:]
    assert rows(tmp_path, "SELECT minions FROM jobs WHERE jid LIKE '%4'") == [(2,)]


LAYOUT_1 = """
CREATE TABLE jobs (jid TEXT PRIMARY KEY, fun TEXT NOT NULL, tgt TEXT NOT NULL,
    tgt_type TEXT NOT NULL, user TEXT NOT NULL, load BLOB NOT NULL, minions BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE metadata (name TEXT NOT NULL, value TEXT NOT NULL, jid TEXT NOT NULL,
    PRIMARY KEY (name, value, jid)) WITHOUT ROWID;
CREATE TABLE returns (jid TEXT NOT NULL, id TEXT NOT NULL, digest INTEGER NOT NULL,
    ret BLOB NOT NULL, PRIMARY KEY (jid, id)) WITHOUT ROWID;
PRAGMA user_version = 1;
"""


def test_a_file_of_the_first_layout_goes_on(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE_NAME)
    db.executescript(LAYOUT_1)
    db.execute(
        "INSERT INTO jobs VALUES (?, 'test.ping', '*', 'glob', 'root', ?, ?)",
        (jid(1), pack_bin({"fun": "test.ping"}), pack_bin(MANY)),
    )
    for one in (jid(0), jid(1)):  # the first is an orphan
        db.execute("INSERT INTO returns VALUES (?, 'a', 1, ?)", (one, pack_bin({"return": 1})))
    db.commit()
    db.close()
    pids = []
    for number in range(2, 5):  # several processes find it so at once
        pid = os.fork()
        if not pid:
            os._exit(not SqliteJobStore(tmp_path).new_job(jid(number), LOAD, MANY))
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 3
    store = SqliteJobStore(tmp_path)
    assert store.minions(jid(1)) == MANY
    assert store.returns(jid(1)) == {"a": {"return": 1}}
    assert store.returns(jid(0)) == {}
    assert [job.minions for job in store.jobs()] == [MANY] * 4
    assert not list(tmp_path.glob("*.corrupt-*"))


# --- bounds and races ----------------------------------------------------------------------


def test_the_oldest_jobs_go_when_they_take_too_much(store: SqliteJobStore) -> None:
    for number in range(40):
        store.new_job(jid(number), LOAD, ["a"])
        store.add_return(jid(number), "a", {"return": os.urandom(100_000)})
    assert store.count_bytes() > 4_000_000
    assert 20 <= store.clean_to_bytes(2_000_000) <= 25
    assert store.count_bytes() <= 2_000_000
    assert store.job(jid(39)) is not None
    assert store.job(jid(0)) is None
    assert store.clean_to_bytes(2_000_000) == 0
    store.clean_to_bytes(1)
    assert [job.jid for job in store.jobs()] == [jid(39)]  # the last one stays


def test_a_return_of_a_job_that_was_cleaned_meanwhile_leaves_no_row(
    store: SqliteJobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.new_job(jid(1), LOAD, ["a"])
    store.new_job(jid(2), LOAD, ["a"])
    other = SqliteJobStore(tmp_path)
    real = store._lock_for_writing

    def clean_first() -> object:
        monkeypatch.setattr(store, "_lock_for_writing", real)
        other.clean(jid(2))  # the worker has looked for the job; now the cleaner comes
        return real()

    monkeypatch.setattr(store, "_lock_for_writing", clean_first)
    rows_ = [(jid(1), "a", {"return": 1}), (jid(2), "a", {"return": 2})]
    assert store.add_returns(rows_) == [Stored.FORGOTTEN, Stored.NEW]
    assert rows(tmp_path, "SELECT jid FROM returns") == [(jid(2),)]


class CleanedMeanwhile(set[str]):
    """Names that a caller has; while the second one is looked for, the cleaner comes."""

    def __init__(self, store: SqliteJobStore, before_jid: str) -> None:
        self._store, self._before_jid, self._looks = store, before_jid, 0

    def __contains__(self, minion_id: object) -> bool:
        self._looks += 1
        if self._looks == 2:
            self._store.clean(self._before_jid)
        return super().__contains__(minion_id)


def test_returns_of_a_job_that_is_cleaned_while_they_are_read(
    store: SqliteJobStore, tmp_path: Path
) -> None:
    store.new_job(jid(1), LOAD, ["a", "b"])
    store.add_returns([(jid(1), one, {"return": one}) for one in ("a", "b")])
    had = CleanedMeanwhile(SqliteJobStore(tmp_path), jid(2))
    found, _size_bytes = store.returns_except(jid(1), had, 1_000_000)
    assert found == {"a": {"return": "a"}}


def test_a_corrupt_file_keeps_its_log(tmp_path: Path) -> None:
    store, other = SqliteJobStore(tmp_path), SqliteJobStore(tmp_path)
    store.new_job(jid(1), LOAD, ["a"])
    other.new_job(jid(2), LOAD, ["a"])
    log_ = (tmp_path / f"{FILE_NAME}-wal").read_bytes()
    assert log_
    fd = os.open(tmp_path / FILE_NAME, os.O_WRONLY)
    os.pwrite(fd, b"junk" * 1024, 0)
    os.close(fd)
    store._put_aside(ValueError("found so"))
    aside = sorted(path.name for path in tmp_path.glob("*.corrupt-*"))
    assert [name.rpartition("-")[2] for name in aside[1:]] == ["shm", "wal"]
    assert (tmp_path / aside[2]).read_bytes() == log_
    store.new_job(jid(3), LOAD, ["a"])
    mine = os.stat(tmp_path / f"{FILE_NAME}-wal").st_ino
    assert other.job(jid(3)) is not None  # it lets go of the old file, and of that alone
    assert os.stat(tmp_path / f"{FILE_NAME}-wal").st_ino == mine
    assert (tmp_path / aside[2]).read_bytes() == log_
