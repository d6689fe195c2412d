"""The memory of nonces: what is remembered, for how long, and what happens when it is full."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from saltlite.master import noncefile
from saltlite.master.command import Repeats
from saltlite.master.replay import READ_REPEATS, NoRoom, ReplayGuard, ReplayTable, table_bytes

SLOTS = 16


def small_table(segments: int = 2) -> ReplayTable:
    return ReplayTable(bytearray(table_bytes(segments, SLOTS)), segments=segments, slots=SLOTS)


def nonce(number: int) -> str:
    return f"{number:032x}"


def test_a_pair_is_new_once_and_then_counted() -> None:
    table = small_table()
    seen = [table.count_earlier("a", nonce(1), now_s=10, until_s=20) for _ in range(4)]
    assert seen == [0, 1, 2, 3]


def test_the_same_nonce_of_another_minion_is_another_pair() -> None:
    table = small_table()
    assert table.count_earlier("a", nonce(1), now_s=10, until_s=20) == 0
    assert table.count_earlier("b", nonce(1), now_s=10, until_s=20) == 0


def test_a_full_table_refuses_and_keeps_what_it_knows() -> None:
    table = small_table()
    for number in range(SLOTS):  # two segments, each counts as full at half its slots
        assert table.count_earlier(f"m{number}", nonce(number), now_s=10, until_s=20) == 0
    assert table.count_earlier("a", nonce(99), now_s=10, until_s=20) is NoRoom.TABLE
    assert table.count_earlier("m3", nonce(3), now_s=10, until_s=20) == 1


def fill(table: ReplayTable, minion_id: str, most: int, *, now_s: float = 10) -> int:
    """How many new pairs of one minion are taken, until one is not."""
    for number in range(most):
        answer = table.count_earlier(minion_id, nonce(number), now_s=now_s, until_s=now_s + 10)
        if answer is not NoRoom.SHARE:
            assert answer == 0
            continue
        return number
    return most


def test_who_fills_the_table_is_refused_and_the_others_are_not() -> None:
    table = ReplayTable(bytearray(table_bytes(4, 512)), segments=4, slots=512)
    assert fill(table, "rogue", 5000) == 512  # half of the table
    assert table.count_earlier("rogue", nonce(3), now_s=10, until_s=20) == 1
    accomplices = [fill(table, f"rogue{number}", 5000) for number in range(8)]
    assert max(accomplices) <= 512 // 4
    for number in range(20):
        assert table.count_earlier(f"honest{number}", nonce(1), now_s=10, until_s=20) == 0
    assert fill(table, "rogue", 5000, now_s=31) == 512  # all of that is out of date


def test_out_of_date_segments_are_used_again() -> None:
    table = small_table()
    for number in range(SLOTS):
        table.count_earlier("a", nonce(number), now_s=10, until_s=20)
    assert table.count_earlier("a", nonce(99), now_s=21, until_s=30) == 0
    assert table.count_earlier("a", nonce(99), now_s=22, until_s=30) == 1
    assert table.count_earlier("a", nonce(0), now_s=22, until_s=30) == 0


def test_an_entry_matters_as_long_as_the_latest_in_its_segment() -> None:
    table = small_table()
    table.count_earlier("a", nonce(1), now_s=10, until_s=20)
    table.count_earlier("a", nonce(2), now_s=10, until_s=40)
    assert table.count_earlier("a", nonce(1), now_s=30, until_s=40) == 1


def test_many_pairs_in_many_segments_are_all_found_again() -> None:
    table = small_table(segments=8)
    for number in range(60):
        assert table.count_earlier(f"m{number}", nonce(number), now_s=1, until_s=9) == 0
    for number in range(60):
        assert table.count_earlier(f"m{number}", nonce(number), now_s=2, until_s=9) == 1


def guard(table: ReplayTable, **options: float) -> ReplayGuard:
    given = {"ttl_s": 300.0, **options}
    return ReplayGuard(table, contextlib.nullcontext, **given)


@pytest.mark.parametrize(
    ("repeats", "answered"),
    [(Repeats.ACT, 1), (Repeats.RECORD, 1), (Repeats.READ, 1 + READ_REPEATS)],
)
def test_how_often_the_same_request_is_answered(repeats: Repeats, answered: int) -> None:
    watch = guard(small_table())
    problems = [
        watch.problem("a", nonce(1), 1000.0, repeats=repeats, wall_s=1000.0, steady_s=5.0)
        for _ in range(10)
    ]
    assert problems == [None] * answered + ["nonce was used before"] * (10 - answered)


def test_a_request_is_remembered_until_its_time_is_out_of_the_window() -> None:
    table = small_table()
    watch = guard(table)
    # Sent by a clock that is 200 s ahead: it stays inside the window for 500 s.
    assert (
        watch.problem("a", nonce(1), 1200.0, repeats=Repeats.ACT, wall_s=1000.0, steady_s=0.0)
        is None
    )
    problem = watch.problem(
        "a", nonce(1), 1200.0, repeats=Repeats.ACT, wall_s=1499.0, steady_s=499.0
    )
    assert problem == "nonce was used before"


def test_a_clock_set_forward_and_back_forgets_nothing() -> None:
    watch = guard(small_table())
    assert (
        watch.problem("a", nonce(1), 1000.0, repeats=Repeats.ACT, wall_s=1000.0, steady_s=0.0)
        is None
    )
    for number in range(2, 5):
        watch.problem(
            "a", nonce(number), 9000.0, repeats=Repeats.ACT, wall_s=9000.0, steady_s=float(number)
        )
    problem = watch.problem(
        "a", nonce(1), 1000.0, repeats=Repeats.ACT, wall_s=1010.0, steady_s=10.0
    )
    assert problem == "nonce was used before"


def test_without_a_window_the_memory_still_works() -> None:
    watch = guard(small_table(), ttl_s=0.0)
    assert (
        watch.problem("a", nonce(1), 5.0, repeats=Repeats.ACT, wall_s=99999.0, steady_s=1.0) is None
    )
    assert watch.problem("a", nonce(1), 5.0, repeats=Repeats.ACT, wall_s=99999.0, steady_s=2.0)


def test_a_full_memory_refuses() -> None:
    watch = guard(small_table(segments=1))
    problems = [
        watch.problem(f"m{n}", nonce(n), 1000.0, repeats=Repeats.ACT, wall_s=1000.0, steady_s=5.0)
        for n in range(SLOTS)
    ]
    assert problems[-1] == "memory of nonces is full"


def test_the_memory_survives_an_orderly_restart_once(tmp_path: Path) -> None:
    before = small_table()
    before.count_earlier("a", nonce(1), now_s=100, until_s=400)
    noncefile.save(tmp_path, before, 100)
    after = small_table()
    assert noncefile.load(tmp_path, after, 7000)  # another boot: the monotonic clock starts anew
    assert after.count_earlier("a", nonce(1), now_s=7001, until_s=7300) == 1
    assert after.count_earlier("a", nonce(2), now_s=7001, until_s=7300) == 0
    assert not noncefile.load(tmp_path, small_table(), 7000)


@pytest.mark.parametrize("content", [b"", b"x", b"nonces1\n", b"\0" * 64, b"nonces9\n" + b"\0" * 8])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / noncefile.FILE_NAME).write_bytes(content)
    assert not noncefile.load(tmp_path, small_table(), 1)
    assert not (tmp_path / noncefile.FILE_NAME).exists()
