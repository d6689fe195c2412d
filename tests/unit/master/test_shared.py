"""What processes share: seen by all, and locks that a death frees."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import datetime, timezone

from saltlite import process
from saltlite.master.shared import (
    Beat,
    Counter,
    GroupFlush,
    HeartBeats,
    JidSource,
    PublicationKey,
    PublicationKeys,
    SharedArea,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked process; its wait status."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def test_a_lock_is_freed_when_its_holder_is_killed() -> None:
    area = SharedArea("test", 4096)

    def die_holding_it() -> None:
        with area.lock():
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die_holding_it) == signal.SIGKILL
    with area.lock():
        area.buffer[:2] = b"ok"
    assert area.buffer[:2] == b"ok"


def test_serials_grow_by_one_over_processes_and_start_again_with_a_new_key() -> None:
    keys = PublicationKeys()
    keys.rotate("first", 1.0)
    assert keys.next_serial()[1] == 1
    assert in_child(lambda: keys.next_serial()) == 0
    key, serial = keys.next_serial()
    assert (key.key, key.generation, serial) == ("first", 1, 3)
    keys.rotate("second-key", 5.0)
    key, serial = keys.next_serial()
    assert (key.key, key.generation, serial) == ("second-key", 2, 1)
    assert keys.current().key == "second-key"
    assert keys.current().generation == 2
    assert keys.age_s(8.0) == 3.0


def test_a_rotation_is_seen_by_the_next_look_of_every_process() -> None:
    """Also by one that has looked before: what it knows is that of a generation."""
    keys = PublicationKeys()
    keys.rotate("first", 1.0)
    for number in range(2, 6):
        before = keys.current()
        assert before.generation == number - 1

        def rotate(number: int = number) -> None:
            keys.current()
            keys.rotate(f"key {number}", 1.0)
            assert keys.current().key == f"key {number}"

        assert in_child(rotate) == 0
        assert keys.current() == PublicationKey(number, f"key {number}")
    keys.close()


def test_the_publication_key_does_not_print() -> None:
    keys = PublicationKeys()
    keys.rotate("secret-text", 1.0)
    assert "secret-text" not in repr(keys.current())


def test_no_jid_is_given_twice_or_backwards() -> None:
    source = JidSource()
    source.seed("20260102030405000010")
    given = [source.next(NOW) for _ in range(3)]
    assert in_child(lambda: source.next(NOW)) == 0
    given.append(source.next(NOW))
    assert given == [f"202601020304050000{n}" for n in (11, 12, 13, 15)]


def test_sources_with_shares_give_different_jids_from_the_same_one_on() -> None:
    sources = [JidSource(share) for share in (1, 2, 3)]
    for one in sources:
        one.seed("20260102040405000010")
    given = [one.next(NOW) for one in sources for _ in range(3)]
    assert len(set(given)) == 9
    assert given[:3] == [f"202601020404050{n}01" for n in ("001", "002", "003")]


def test_a_fresh_source_uses_the_clock() -> None:
    source = JidSource()
    source.seed(None)
    assert source.next(NOW) == "20260102030405000006"


def test_one_flush_serves_all_tickets_taken_before_it() -> None:
    group = GroupFlush()
    flushes = []
    tickets = [group.take() for _ in range(5)]
    for ticket in reversed(tickets):
        group.wait(ticket, lambda: flushes.append(1))
    assert len(flushes) == 1
    group.wait(group.take(), lambda: flushes.append(1))
    assert len(flushes) == 2


def test_a_failed_flush_serves_nobody() -> None:
    group = GroupFlush()
    ticket = group.take()

    def fail() -> None:
        raise OSError("no space")

    try:
        group.wait(ticket, fail)
    except OSError:
        pass
    else:
        raise AssertionError("the error was lost")
    flushes: list[int] = []
    group.wait(ticket, lambda: flushes.append(1))
    assert flushes == [1]


def test_counters_and_heartbeats_are_seen_by_the_parent() -> None:
    counter = Counter("test")
    beats = HeartBeats(3)

    def child() -> None:
        counter.set(42)
        beats.write(2, Beat(1.5, 1.0, 60.0, 7))

    assert in_child(child) == 0
    assert counter.get() == 42
    assert beats.read(2) == Beat(1.5, 1.0, 60.0, 7)
    assert beats.read(1) == Beat(0.0, 0.0, 0.0, 0)


def test_who_looks_while_a_child_writes_sees_one_whole_beat() -> None:
    """A place half written reads as zeros, and a healthy child was replaced for that."""
    beats, counter = HeartBeats(1), Counter("test")
    beats.write(0, Beat(1.0, 1.0, 1.0, 1))
    counter.set(1)
    pid = os.fork()
    if not pid:
        process.die_with_parent(os.getppid(), signal.SIGKILL)
        number = 1
        while True:
            number = number % 9 + 1
            beats.write(0, Beat(float(number), float(number), float(number), number))
            counter.set(number)
    try:
        for _ in range(200_000):
            beat = beats.read(0)
            assert 1 <= beat.requests <= 9
            assert beat.beat_s == beat.busy_since_s == beat.limit_s == beat.requests
            assert 1 <= counter.get() <= 9
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_child_that_dies_while_it_writes_leaves_its_last_beat() -> None:
    beats = HeartBeats(1)
    beats.write(0, Beat(1.0, 2.0, 3.0, 4))

    class Half:
        beat_s, busy_since_s, limit_s, requests = 9.0, 9.0, 0.0, 9

        def __getattribute__(self, name: str) -> float:
            if name == "limit_s":
                os.kill(os.getpid(), signal.SIGKILL)
            return object.__getattribute__(self, name)

    assert in_child(lambda: beats.write(0, Half())) == signal.SIGKILL  # type: ignore[arg-type]
    assert beats.read(0) == Beat(1.0, 2.0, 3.0, 4)
