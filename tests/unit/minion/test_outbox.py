"""Returns on their way: nothing lost, nothing sent in a hurry, nothing half on disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from saltlite.errors import StoreError
from saltlite.minion.outbox import MEMORY_LIMIT_BYTES, Outbox, Parcel, Spool

JID = "20240102030405000678"
OTHER = "20240102030405000679"
NO_PROCESS = 2**22 + 1
"""More than any process id. Source: proc(5), ``pid_max``."""
LOAD = {"cmd": "_return", "jid": JID, "return": {"b": b"\xff", "t": "ü"}}


def packed(load: dict[str, Any] = LOAD) -> bytes:
    return Parcel(load, "m:4506", 1.5).pack()


def box(
    *masters: str, chance: float = 1.0, limit: int = 100, one_at_a_time: bool = False
) -> Outbox:
    return Outbox(masters or ("m",), lambda: chance, limit, one_at_a_time)


# --- the directory ---------------------------------------------------------------------------


def test_a_return_survives_the_process(tmp_path: Path) -> None:
    Spool(tmp_path / "outbox").put(JID, packed())
    again = Spool(tmp_path / "outbox")
    assert again.names() == [JID]
    assert JID in again
    assert again.get(JID) == Parcel(LOAD, "m:4506", 1.5)
    again.remove(JID)
    assert again.names() == []
    assert again.get(JID) is None


def test_files_are_private(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "outbox")
    spool.put(JID, packed())
    assert (tmp_path / "outbox").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "outbox" / JID).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("junk", [b"", b"\x81", b"\xff" * 50, b"\x01", b"\x81\xa1a\x01"])
def test_a_corrupt_file_is_put_aside_and_said(
    tmp_path: Path, junk: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    spool = Spool(tmp_path)
    (tmp_path / JID).write_bytes(junk)
    assert spool.get(JID) is None
    assert spool.names() == []
    assert JID in caplog.text


def test_strangers_in_the_directory_are_left_alone_and_halves_are_swept(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("x")
    (tmp_path / f".{JID}.{NO_PROCESS}.tmp").write_text("half")
    assert Spool(tmp_path).names() == []
    assert os.listdir(tmp_path) == ["README"]


def test_a_half_is_left_to_a_job_that_is_writing_it(tmp_path: Path) -> None:
    half = tmp_path / f".{JID}.{os.getpid()}.tmp"
    half.write_text("half")
    assert Spool(tmp_path).names() == []
    assert half.exists()


def failing(number: int, real: Callable[..., Any], error: int) -> Callable[..., Any]:
    calls = iter(range(1, 1000))

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == number:
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    return call


@pytest.mark.parametrize("function", ["open", "write", "rename", "fstat"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE])
def test_when_the_disk_fails_the_return_is_kept_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    function: str,
    error: int,
) -> None:
    spool = Spool(tmp_path / "outbox")
    (tmp_path / "outbox").mkdir()
    monkeypatch.setattr(os, function, failing(1, getattr(os, function), error))
    with pytest.raises(StoreError):
        spool.put(JID, packed())
    monkeypatch.setattr(os, function, failing(1, getattr(os, function), error))
    assert spool.put_anywhere(JID, packed())
    monkeypatch.undo()
    assert os.listdir(tmp_path / "outbox") == []
    assert spool.get(JID) == Parcel(LOAD, "m:4506", 1.5)
    assert caplog.text.count("in memory only") == 1
    spool.flush(JID)
    assert Spool(tmp_path / "outbox").names() == [JID], "back on disk when there is room"


def test_memory_has_an_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(tmp_path)
    assert spool.keep_in_memory(JID, b"x" * MEMORY_LIMIT_BYTES, "disk full")
    assert not spool.keep_in_memory(OTHER, b"x", "disk full")
    assert f"return of job {OTHER} is lost" in caplog.text


def test_held_answers_never_touch_the_disk(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "outbox")
    spool.hold(JID, packed())
    assert spool.get(JID) is not None
    assert not (tmp_path / "outbox").exists()


# --- when to send -----------------------------------------------------------------------------


def test_at_once_then_later_and_later() -> None:
    outbox = box()
    outbox.add(JID, "m", 0)
    assert outbox.due("m", 0) == JID
    waits = []
    now_s = 0.0
    for _ in range(9):
        outbox.put_off(JID, now_s)
        assert outbox.due("m", now_s) is None
        due_s = outbox.next_due_s("m")
        assert due_s is not None
        waits.append(due_s - now_s)
        now_s = due_s
        assert outbox.due("m", now_s) == JID
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_jitter_takes_up_to_half() -> None:
    outbox = box(chance=0.0)
    outbox.add(JID, "m", 0)
    outbox.put_off(JID, 0)
    assert outbox.next_due_s("m") == 2.5


def test_oldest_first_and_each_to_its_own_master() -> None:
    outbox = box("a", "b")
    outbox.add("1", "b", 0)
    outbox.add("2", "a", 0)
    outbox.add("3", "a", 0)
    outbox.add("4", "gone", 0)
    assert outbox.due("a", 0) == "2"
    assert outbox.due("b", 0) == "1"
    for name in ("2", "3"):
        outbox.done(name)
    assert outbox.due("a", 0) == "4", "returns for a master no longer configured go to the first"


def test_when_the_master_is_back_everything_is_due() -> None:
    outbox = box()
    for name in ("1", "2"):
        outbox.add(name, "m", 0)
        outbox.put_off(name, 0)
    outbox.master_is_back(1)
    assert outbox.due("m", 1) == "1"


def test_a_full_box_drops_the_oldest() -> None:
    outbox = box(limit=2)
    assert outbox.add("1", "m", 0) is None
    assert outbox.add("2", "m", 0) is None
    assert outbox.add("3", "m", 0) == "1"
    assert len(outbox) == 2
    assert outbox.add("3", "m", 0) is None, "again is not once more"


def test_after_a_day_it_is_given_up() -> None:
    outbox = box()
    outbox.add("1", "m", 0)
    outbox.add("2", "m", 10)
    assert outbox.take_expired(24 * 3600) == []
    assert outbox.take_expired(24 * 3600 + 5) == ["1"]


# --- one master at a time ---------------------------------------------------------------------


def test_with_several_masters_nobody_gets_another_ones_return() -> None:
    outbox = box("a", "b")
    outbox.add(JID, "a", 0)
    outbox.begin_link("b")
    assert outbox.due("b", 0) is None
    assert outbox.next_due_s("b") is None
    assert outbox.next_due_s("a") == 0


def test_the_master_of_now_gets_what_the_one_before_has_not_taken() -> None:
    outbox = box("a", "b", one_at_a_time=True)
    outbox.begin_link("a")
    outbox.add(JID, "a", 0)
    outbox.put_off(JID, 0)
    outbox.begin_link("b")
    assert outbox.due("b", 0) is None, "it waits"
    outbox.master_is_back(1)
    assert outbox.due("b", 1) == JID
    outbox.done(JID)
    assert len(outbox) == 0


def test_what_it_refuses_stays_for_the_first_and_is_not_offered_again() -> None:
    outbox = box("a", "b", "c", one_at_a_time=True)
    outbox.add(JID, "a", 0)
    outbox.begin_link("b")
    assert outbox.due("b", 0) == JID
    assert outbox.refuse(JID, "b") == "a"
    outbox.master_is_back(1)
    assert outbox.due("b", 1) is None
    assert outbox.next_due_s("b") is None, "nobody wakes up for it"
    for another in ("c", "b"):
        outbox.begin_link(another)
        assert outbox.due(another, 1) == JID, "once to each link"
        assert outbox.refuse(JID, another) == "a"
    outbox.begin_link("a")
    assert outbox.due("a", 1) == JID
    assert outbox.refuse(JID, "a") is None, "that of its own master counts"
    assert len(outbox) == 0


def test_a_sender_of_a_link_that_is_over_gets_nothing_of_others() -> None:
    outbox = box("a", "b", "c", one_at_a_time=True)
    outbox.add(JID, "a", 0)
    outbox.begin_link("b")
    outbox.begin_link("c")
    assert outbox.due("b", 0) is None


def test_of_a_master_no_longer_configured_the_first_one_decides() -> None:
    outbox = box("a", "b", one_at_a_time=True)
    outbox.add(JID, "gone", 0)
    outbox.begin_link("b")
    assert outbox.due("b", 0) == JID
    assert outbox.refuse(JID, "b") == "a"
    assert outbox.refuse(JID, "a") is None


def test_what_is_refused_and_gone_meanwhile_is_kept_for_nobody() -> None:
    assert box("a", "b").refuse(JID, "b") is None


MASTERS = ("a", "b", "c")


class AnyOutbox(RuleBasedStateMachine):
    """Masters take, refuse, have no room, do not answer; the minion goes from one to the next."""

    @initialize(one_at_a_time=st.booleans(), chance=st.floats(0, 1))
    def begin(self, one_at_a_time: bool, chance: float) -> None:
        self.one_at_a_time = one_at_a_time
        self.outbox = box(*MASTERS, chance=chance, one_at_a_time=one_at_a_time)
        self.now_s = 0.0
        self.number = 0
        self.waiting: dict[str, str] = {}
        self.linked = "a"
        self.refused: set[str] = set()
        self.outbox.begin_link("a")

    @rule(master=st.sampled_from([*MASTERS, "gone"]))
    def add(self, master: str) -> None:
        self.number += 1
        name = f"{self.number:020}"
        self.waiting[name] = master if master in MASTERS else "a"
        assert self.outbox.add(name, master, self.now_s) is None

    @rule(master=st.sampled_from(MASTERS))
    def move(self, master: str) -> None:
        self.linked = master
        self.refused.clear()
        self.outbox.begin_link(master)

    @rule(seconds=st.sampled_from([0.0, 1.0, 300.0]))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def come_back(self) -> None:
        self.outbox.master_is_back(self.now_s)

    @precondition(lambda self: self.waiting)
    @rule(answer=st.sampled_from(["takes", "refuses", "nothing"]))
    def send(self, answer: str) -> None:
        name = self.outbox.due(self.linked, self.now_s)
        due_s = self.outbox.next_due_s(self.linked)
        if name is None:
            assert due_s is None or due_s > self.now_s
            return
        assert due_s is not None
        assert due_s <= self.now_s
        owner = self.waiting[name]
        assert name not in self.refused
        assert self.one_at_a_time or owner == self.linked
        if answer == "nothing":
            self.outbox.put_off(name, self.now_s)
        elif answer == "takes":
            self.outbox.done(name)
            del self.waiting[name]
        elif self.outbox.refuse(name, self.linked) is None:
            assert owner == self.linked
            del self.waiting[name]
        else:
            self.refused.add(name)

    def teardown(self) -> None:
        """Each that was not taken is still there, and its own master gets it."""
        if not hasattr(self, "outbox"):
            return
        self.outbox.master_is_back(self.now_s)
        for master in MASTERS:
            self.outbox.begin_link(master)
            while (name := self.outbox.due(master, self.now_s)) is not None:
                if self.waiting[name] != master:
                    assert self.outbox.refuse(name, master) == self.waiting[name]
                    continue
                self.outbox.done(name)
                del self.waiting[name]
        assert not self.waiting
        assert len(self.outbox) == 0


TestAnyOutbox = AnyOutbox.TestCase
TestAnyOutbox.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
