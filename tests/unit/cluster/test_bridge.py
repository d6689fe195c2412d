"""What the bridge says of an engine that comes and goes; the rest is in tests/behaviour."""

from __future__ import annotations

import contextlib
import logging
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite.cluster.bridge import ClusterBridge, Duty
from saltlite.cluster.feeds import PlacedEvent
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.publications import Publication
from saltlite.errors import RecordRefused, ServerAway, StoreError
from saltlite.master.jobcache import JobRecord, ReturnRow, Stored
from saltlite.transport.addresses import MasterSockets


class Engine:
    """Lets everybody in, each time on a new connection."""

    opened = 0

    def take_notices(self) -> set[str]:
        self.opened += 1
        return set()

    def execute(self, _statement: str) -> None:
        pass


class Heart:
    """Writes its row unless the disk is full."""

    is_full = False

    def beat(self) -> bool:
        if self.is_full:
            raise ServerAway("cluster engine away: No space left on device")
        return True


@pytest.fixture
def heart() -> Heart:
    return Heart()


@pytest.fixture
def bridge(tmp_path: Path, heart: Heart) -> ClusterBridge:
    def open_no_parts(_context: object) -> Any:
        raise AssertionError("the process is not run")

    found = ClusterBridge(MasterSockets(tmp_path), [], open_no_parts, max_event_bytes=2**20)
    ring = types.SimpleNamespace(refresh=lambda _now_s: None)
    found._parts = types.SimpleNamespace(engine=Engine(), heart=heart, ring=ring)  # type: ignore[assignment]
    return found


def test_an_engine_that_lets_us_in_and_takes_no_row_is_away(
    bridge: ClusterBridge, heart: Heart, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    duties = [Duty(bridge._show_life, 0.0)]
    heart.is_full = True
    for _ in range(20):
        bridge._do_due(duties)
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    heart.is_full = False
    for _ in range(20):
        bridge._do_due(duties)
    assert [one.levelname for one in caplog.records] == ["ERROR", "INFO"]
    assert "is back after" in caplog.text


def test_an_engine_that_takes_one_row_and_not_the_next_is_told_once(
    bridge: ClusterBridge, heart: Heart, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    duties = [Duty(bridge._show_life, 0.0)]
    for number in range(40):
        heart.is_full = number % 2 == 0
        bridge._do_due(duties)
    assert [one.levelname for one in caplog.records] == ["ERROR", "INFO"]


def test_a_duty_that_fails_keeps_no_other_waiting_and_is_told_once(
    bridge: ClusterBridge, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    def fail() -> None:
        raise StoreError("the disk is full")

    duties = [Duty(fail, 0.0), Duty(lambda: done.append(1), 0.0)]
    for _ in range(40):
        bridge._do_due(duties)
    assert len(done) == 40
    assert [one.getMessage() for one in caplog.records] == ["ClusterBridge: the disk is full"]


class SharedJobs:
    """PostgreSQL's job cache, to which a worker adds while the bridge is at it."""

    def __init__(self, spool: JobSpool) -> None:
        self.spool = spool
        self.jobs: list[str] = []
        self.returns: list[str] = []

    def new_job(self, jid: str, _load: object, _minions: object) -> bool:
        self.jobs.append(jid)
        return True

    def add_rows(self, rows: list[ReturnRow]) -> list[Stored]:
        if not self.returns:  # a worker that holds the engine for away
            keep_alone(self.spool, "20261128212205918001")
        self.returns += [row[0] for row in rows]
        return [Stored.NEW if row[0] in self.jobs else Stored.FORGOTTEN for row in rows]


def keep_alone(spool: JobSpool, jid: str) -> None:
    """A job that is published without the engine, and its return."""
    assert spool.publish_here(jid, {"fun": "test.ping", "tgt": "m1"}, ["m1"])
    assert spool.take_returns([(jid, "m1", {"return": True})]) == [Stored.NEW]


def test_a_job_that_is_published_alone_while_the_spool_is_emptied_goes_up_before_its_return(
    bridge: ClusterBridge, spool: JobSpool, caplog: pytest.LogCaptureFixture
) -> None:
    keep_alone(spool, "20261128212159781301")
    shared = SharedJobs(spool)
    bridge._parts = types.SimpleNamespace(  # type: ignore[assignment]
        spool=spool, jobs=shared, keeps_reports=False
    )
    with caplog.at_level(logging.INFO):
        bridge._empty_spool()
    assert shared.jobs == shared.returns == ["20261128212159781301", "20261128212205918001"]
    assert [one.getMessage() for one in caplog.records] == [
        "Brought up 2 jobs and 2 returns that were kept here"
    ]


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[JobSpool]:
    with contextlib.closing(JobSpool(tmp_path, most_bytes=2**20)) as one:
        yield one


def test_a_job_that_cannot_be_sent_keeps_its_returns_for_the_next_time(
    bridge: ClusterBridge, spool: JobSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_alone(spool, "20261128212159781301")
    shared = SharedJobs(spool)
    shared.returns.append("of before")  # so that nothing is published meanwhile
    bridge._parts = types.SimpleNamespace(  # type: ignore[assignment]
        spool=spool, jobs=shared, keeps_reports=False
    )

    def fail(_jids: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched, pytest.raises(StoreError):
        patched.setattr(spool, "drop_unsent", fail)
        bridge._empty_spool()
    bridge._empty_spool()
    assert shared.returns == ["of before", "20261128212159781301"]
    assert spool.count_waiting() == 0


def test_returns_that_are_never_taken_keep_no_others_waiting(
    bridge: ClusterBridge,
    spool: JobSpool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("saltlite.cluster.bridge.SPOOL_BATCH", 1)
    shared = SharedJobs(spool)
    shared.returns.append("of before")
    take = shared.add_rows

    def refuse_first(rows: list[ReturnRow]) -> list[Stored]:
        if rows[0][0] == "20261128212159781301":
            raise RecordRefused("an id is too long")
        return take(rows)

    monkeypatch.setattr(shared, "add_rows", refuse_first)
    bridge._parts = types.SimpleNamespace(  # type: ignore[assignment]
        spool=spool, jobs=shared, keeps_reports=False
    )
    keep_alone(spool, "20261128212159781301")
    keep_alone(spool, "20261128212205918001")
    bridge._empty_spool()
    bridge._empty_spool()
    assert shared.returns == ["of before", "20261128212205918001"]
    assert [one.getMessage() for one in caplog.records] == [
        "Returns that were kept here are not taken: an id is too long"
    ]
    assert spool.count_waiting() == 1


def test_large_returns_go_up_in_portions(
    bridge: ClusterBridge, spool: JobSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them in one statement may be more than PostgreSQL's client sends at all."""
    monkeypatch.setattr("saltlite.cluster.bridge.PORTION_BYTES", 1000)
    jids = [f"2026112821220591800{number}" for number in range(5)]
    for jid, size in zip(jids, (300, 300, 5000, 10, 10), strict=True):
        assert spool.publish_here(jid, {"fun": "test.echo", "tgt": "m1"}, ["m1"])
        assert spool.take_returns([(jid, "m1", {"return": "x" * size})]) == [Stored.NEW]
    spool.clean(jids[1])  # a job that is forgotten
    sent: list[list[str]] = []

    def add_rows(rows: list[ReturnRow]) -> list[Stored]:
        sent.append([row[0] for row in rows])
        return [Stored.NEW] * len(rows)

    bridge._parts = types.SimpleNamespace(  # type: ignore[assignment]
        spool=spool, keeps_reports=False,
        jobs=types.SimpleNamespace(add_rows=add_rows, new_job=lambda *_job: True),
    )  # fmt: skip
    bridge._empty_spool()
    assert sent == [jids[1:2], jids[2:3], jids[3:]]
    assert spool.count_waiting() == 0


def test_a_look_at_the_spool_between_two_writes_forgets_no_job(
    spool: JobSpool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bridge drops marks whose job is gone; one whose job is yet to come must not be there."""
    worker = JobSpool(tmp_path, most_bytes=2**20)
    write = worker._run_write

    def look_after(*args: Any, **options: Any) -> Any:
        done = write(*args, **options)
        list(spool.read_unsent(10))
        return done

    monkeypatch.setattr(worker, "_run_write", look_after)
    assert worker.publish_here("20261128212205918001", {"fun": "test.ping"}, ["m1"])
    assert [one.jid for one in spool.read_unsent(10)] == ["20261128212205918001"]
    worker.close()


class FullSpool:
    """On a disk without room."""

    def new_job(self, _jid: str, _load: object, _minions: object) -> bool:
        raise StoreError("the disk is full")


def test_a_full_disk_keeps_no_job_from_being_published(
    bridge: ClusterBridge, caplog: pytest.LogCaptureFixture
) -> None:
    published: list[bytes] = []
    feed = types.SimpleNamespace(place=0)
    new = [Publication(1, serial, str(serial), {}, b"%d" % serial, []) for serial in range(1, 31)]
    feed.read = lambda: [one for one in new if one.serial > feed.place]
    bridge._parts = types.SimpleNamespace(  # type: ignore[assignment]
        engine=Engine(), feed=feed, number=1, keeps_copies=True, spool=FullSpool(),
        ring=types.SimpleNamespace(note_serial=lambda _serial: None),
        jobs=types.SimpleNamespace(job=lambda jid: JobRecord(jid, {}, [])),
        publisher=types.SimpleNamespace(
            publish_frame=lambda frame, _job, _topics: published.append(frame)
        ),
    )  # fmt: skip
    bridge._do_due([Duty(bridge._publish_new, 0.0)])
    assert published == [one.frame for one in new]
    assert [one.getMessage() for one in caplog.records] == [
        "This node keeps no copy of job 1: the disk is full"
    ]


class PickyEvents:
    """Takes no event that is spoilt, nor what is sent with it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def give_places(self, frames: list[bytes]) -> list[PlacedEvent]:
        return list(map(PlacedEvent, range(len(frames)), frames))

    def send(self, events: list[PlacedEvent]) -> None:
        frames = [one.frame for one in events]
        if b"spoilt" in frames:
            raise RecordRefused("too large")
        self.sent += frames

    def read(self) -> list[bytes]:
        return []


def test_events_that_are_never_taken_keep_no_others_waiting(
    bridge: ClusterBridge, caplog: pytest.LogCaptureFixture
) -> None:
    events, told = PickyEvents(), []
    bridge._parts.events = events  # type: ignore[assignment]
    bridge._bus = types.SimpleNamespace(push=told.append)  # type: ignore[assignment]
    for frame in (b"spoilt", b"good"):
        bridge._outgoing.add(frame)
        bridge._exchange_events()
    assert events.sent == [b"good"]
    assert [frame.startswith(b"salt/bus/dropped") for frame in told] == [True]
    assert caplog.messages == [
        "Events are not taken: too large",
        "1 events of this node are not heard by the others",
    ]


def test_large_events_leave_in_portions(
    bridge: ClusterBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saltlite.cluster.bridge.PORTION_BYTES", 100)
    monkeypatch.setattr("saltlite.cluster.bridge.EVENTS_BATCH", 2)
    batches: list[list[int]] = []
    events = PickyEvents()
    give_places = events.give_places

    def note(frames: list[bytes]) -> list[PlacedEvent]:
        batches.append([len(frame) for frame in frames])
        return give_places(frames)

    monkeypatch.setattr(events, "give_places", note)
    bridge._parts.events = events  # type: ignore[assignment]
    for size in (40, 60, 1, 500, 1):
        bridge._outgoing.add(b"x" * size)
    bridge._exchange_events()
    assert batches == [[40, 60], [1], [500], [1]]
    assert list(map(len, events.sent)) == [40, 60, 1, 500, 1]
