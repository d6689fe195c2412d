"""What waits on disk for a server: order, bounds, damage, and a server that comes and goes."""

import json
import multiprocessing
import os
import resource
import sqlite3
from contextlib import closing

import pytest

from saltlite.databases.drain import BATCH, Pauses, drain
from saltlite.databases.records import (
    EventRecord,
    LoadRecord,
    ReturnRecord,
    pack_record,
    unpack_record,
)
from saltlite.databases.spool import Spool
from saltlite.errors import RecordRefused, ServerAway, StoreError
from saltlite.jobs.waiting import waiting_spools


class Store:
    """A server whose behaviour a test decides."""

    def __init__(self, refuses=(), away_after=None):
        self.kept = []
        self.batches = []
        self.refuses = refuses
        self.away_after = away_after

    def write(self, records):
        if self.away_after is not None and len(self.batches) >= self.away_after:
            raise ServerAway("gone")
        if any(one.jid in self.refuses for one in records):
            raise RecordRefused("no")
        self.batches.append(len(records))
        self.kept += [one.jid for one in records]


@pytest.fixture
def spool(tmp_path):
    with closing(Spool(tmp_path, "pgjsonb")) as one:
        yield one


def loads(count, start=0):
    return [LoadRecord(f"{number:020}", {}) for number in range(start, start + count)]


@pytest.mark.parametrize(
    "record",
    [
        LoadRecord("1", {"fun": "test.ping", "arg": [1, None, {"a": ["b"]}]}),
        ReturnRecord({"id": "m", "return": {"ä": "\0"}, "success": True}),
        EventRecord("salt/x", {"_stamp": "t"}, "m_master"),
    ],
)
def test_records_outlive_the_process(record):
    assert unpack_record(pack_record(record)) == record


def test_what_json_does_not_know_becomes_text():
    record = ReturnRecord({"return": [b"\xff\x00", {1, 2}, (3,), 1.5]})
    assert unpack_record(pack_record(record)).ret["return"] == ["\ufffd\0", [1, 2], [3], 1.5]


def test_a_key_of_every_kind_becomes_text():
    record = EventRecord("t", {b"\xff": {(1, 2): [{b"a": 1}]}, "b": {2: 3, None: 4, True: 5}}, "m")
    assert unpack_record(pack_record(record)).data == {
        "\ufffd": {"(1, 2)": [{"a": 1}]}, "b": {"2": 3, "null": 4, "true": 5},
    }  # fmt: skip


def test_a_record_that_is_no_json_costs_the_others_nothing(spool, caplog):
    endless = {}
    endless["itself"] = endless
    spool.put([LoadRecord("1", {}), LoadRecord("2", endless), LoadRecord("3", {})])
    assert [unpack_record(one.line).jid for one in spool.peek(10)] == ["1", "3"]
    assert "A record is lost: a record of load is no JSON" in caplog.text
    with pytest.raises(StoreError, match="a record of load is no JSON"):
        spool.put([LoadRecord("2", endless)])


@pytest.mark.parametrize("line", ["", "[]", "{}", "[1", '["load"]', '["load", 1, 2, 3]'])
def test_a_damaged_line_is_an_error_of_its_own(line):
    with pytest.raises(StoreError):
        unpack_record(line)


def test_records_leave_in_order_and_in_batches(spool):
    for first in range(0, 1200, 400):
        spool.put(loads(400, first))
    store = Store()
    drain(spool, store)
    assert store.kept == [f"{number:020}" for number in range(1200)]
    assert store.batches == [BATCH, BATCH, 200]
    assert spool.count() == 0


def test_a_server_that_goes_away_gets_the_rest_later(spool):
    spool.put(loads(1200))
    with pytest.raises(ServerAway):
        drain(spool, Store(away_after=1))
    assert spool.count() == 700
    store = Store()
    drain(spool, store)
    assert store.kept[0] == f"{500:020}"
    assert len(store.kept) == 700


def test_a_record_that_the_server_refuses_costs_the_others_nothing(spool, caplog):
    spool.put(loads(3))
    store = Store(refuses={f"{1:020}"})
    drain(spool, store)
    assert store.kept == [f"{0:020}", f"{2:020}"]
    assert "A record is lost: no" in caplog.text
    assert spool.count() == 0


def test_a_damaged_record_costs_the_others_nothing(spool, caplog):
    spool.put(loads(1))
    with closing(sqlite3.connect(spool.path)) as db, db:
        db.execute("INSERT INTO records (line) VALUES ('nonsense')")
    spool.put(loads(1, 5))
    store = Store()
    drain(spool, store)
    assert store.kept == [f"{0:020}", f"{5:020}"]
    assert "damaged" in caplog.text


def test_the_oldest_go_when_too_many_wait(tmp_path, caplog):
    with closing(Spool(tmp_path, "x", limit=10)) as spool:
        for number in range(25):
            spool.put(loads(1, number))
        assert spool.count() == 10
        kept = [json.loads(one.line)[1] for one in spool.peek(100)]
    assert kept == [f"{number:020}" for number in range(15, 25)]
    assert caplog.text.count("were dropped") == 1  # once a minute


def test_processes_complain_together(tmp_path, caplog):
    for number in range(5):
        with closing(Spool(tmp_path, "x", limit=1)) as spool:
            spool.put(loads(2, number))
    assert caplog.text.count("were dropped") == 1
    with closing(Spool(tmp_path, "x", limit=1)) as spool:
        with spool._transaction("IMMEDIATE") as db:
            db.execute("UPDATE drops SET said_s = said_s - 61")
        spool.put(loads(1))
    assert "the 9 oldest records that waited" in caplog.text  # none is left out


@pytest.mark.parametrize("size_bytes", [100, 5000])
def test_a_damaged_file_is_put_aside(tmp_path, caplog, size_bytes):
    path = tmp_path / "returners" / "x.sqlite"
    with closing(Spool(tmp_path, "x")) as spool:
        spool.put(loads(50))
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100) if size_bytes > 100 else b"x" * 100)
    with closing(Spool(tmp_path, "x")) as spool:
        spool.put(loads(1))
        assert spool.count() == 1
    assert "is damaged" in caplog.text
    assert len(list(tmp_path.glob("returners/x.sqlite.corrupt-*"))) == 1


def test_a_file_that_was_put_aside_is_followed(tmp_path):
    with closing(Spool(tmp_path, "x")) as one, closing(Spool(tmp_path, "x")) as other:
        one.put(loads(1))
        other.path.unlink()
        assert one.count() == 0
        other.put(loads(2))
        assert one.count() == 2


def begin_together(tmp_path, barrier, number):
    barrier.wait()
    with closing(Spool(tmp_path, "x")) as spool:
        spool.put(loads(10, number * 10))


def test_processes_begin_a_file_together(tmp_path):
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(5)
    processes = [
        fork.Process(target=begin_together, args=(tmp_path, barrier, number)) for number in range(5)
    ]
    for one in processes:
        one.start()
    for one in processes:
        one.join(60)
    assert [one.exitcode for one in processes] == [0] * 5
    with closing(Spool(tmp_path, "x")) as spool:
        assert spool.count() == 50


def test_a_process_that_was_forked_off_opens_the_file_anew(spool):
    spool.put(loads(1))
    child = multiprocessing.get_context("fork").Process(target=spool.put, args=(loads(1, 1),))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    spool.put(loads(1, 2))
    assert [unpack_record(one.line).jid for one in spool.peek(9)] == [
        one.jid for one in loads(3)
    ]  # fmt: skip


def test_nothing_is_flushed_to_put_into_a_file_that_is_there(spool, monkeypatch):
    spool.put(loads(1))
    spool.close()
    monkeypatch.setattr(os, "fsync", lambda fd: pytest.fail("flushed"))
    spool.put(loads(1, 1))
    spool.mark(waits=True)
    assert spool.count() == 2


def test_bytes_are_bounded_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr("saltlite.databases.spool.BYTES_LIMIT", 10_000)
    with closing(Spool(tmp_path, "x")) as spool:
        for _ in range(20):
            spool.put([ReturnRecord({"return": "x" * 1000})])
        assert 1 <= spool.count() <= 9
        spool.put([ReturnRecord({"return": "x" * 100_000})])
        assert spool.count() == 1  # one too large a record is no reason to keep none


def test_only_one_takes_out(spool):
    spool.put(loads(1))
    with spool.taking() as mine, spool.taking() as also_mine:
        assert (mine, also_mine) == (True, False)
        drain(spool, Store())
        assert spool.count() == 1


def test_nothing_is_made_by_looking(tmp_path):
    assert Spool(tmp_path, "x").count() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_sign_says_that_records_wait(spool, tmp_path):
    spool.put(loads(1))
    assert waiting_spools(tmp_path) == []
    spool.mark(waits=True)
    assert waiting_spools(tmp_path) == ["pgjsonb"]
    spool.mark(waits=False)
    spool.mark(waits=False)
    assert waiting_spools(tmp_path) == []


def test_pauses_grow_to_half_a_minute():
    pauses = Pauses(lambda: 0.5)
    assert [round(pauses.next_s(), 1) for _ in range(11)] == [
        0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0,
    ]  # fmt: skip
    pauses.reset()
    assert pauses.next_s() == pytest.approx(0.1)


def fill_the_disk(tmp_path, into):
    """A file that may not grow: the same to SQLite as a disk that is full."""
    with closing(Spool(tmp_path, "x")) as spool:
        spool.put(loads(10))
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))
        refused = False
        for _ in range(20):
            try:
                spool.put([ReturnRecord({"return": "x" * 10_000})])
            except StoreError:
                refused = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        spool.put(loads(1, 10))
        kept = [unpack_record(one.line) for one in spool.peek(100)]
        jids = [one.jid for one in kept if isinstance(one, LoadRecord)]
    into.send((refused, jids))


def test_a_full_disk_is_an_error_that_ends(tmp_path):
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=fill_the_disk, args=(tmp_path, theirs))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert ours.recv() == (True, [f"{number:020}" for number in range(11)])
