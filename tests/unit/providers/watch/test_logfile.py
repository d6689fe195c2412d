"""New lines of a log file, whatever is done to it meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.providers.watch import logfile
from saltlite.providers.watch.logfile import LogFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "log"
    found.write_text("old\n")
    return found


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def rotate(path: Path) -> None:
    path.rename(path.with_suffix(".1"))


def test_what_is_there_at_first_is_old(path: Path) -> None:
    log = LogFile(str(path))
    assert log.lines() == []
    append(path, "a\nb\n")
    assert log.lines() == ["a", "b"]
    assert log.lines() == []


def test_a_line_is_told_when_it_is_whole(path: Path) -> None:
    log = LogFile(str(path))
    append(path, "a\nhal")
    assert log.lines() == ["a"]
    append(path, "f\r\n")
    assert log.lines() == ["half"]


Step = Callable[[Path], Any]

CASES: list[tuple[str, list[Step], list[str]]] = [
    (
        "renamed, and made anew",
        [lambda p: append(p, "a\n"), rotate, lambda p: p.write_text("b\n")],
        ["a", "b"],
    ),
    (
        "renamed, still written to, then made anew",
        [rotate, lambda p: append(p.with_suffix(".1"), "a\n"), lambda p: p.write_text("b\n")],
        ["a", "b"],
    ),
    (
        "renamed with half a line",
        [lambda p: append(p, "a"), rotate, lambda p: p.write_text("b\n")],
        ["a", "b"],
    ),
    ("cut", [lambda p: p.write_text("b\n")], ["b"]),
    ("cut to nothing", [lambda p: p.write_text("")], []),
    ("removed", [lambda p: p.unlink()], []),
    (
        "replaced by one that is longer",
        [rotate, lambda p: p.write_text("b\n" * 50)],
        ["b"] * 50,
    ),
]


@pytest.mark.parametrize(
    ("steps", "lines"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_what_is_done_to_the_file(path: Path, steps: list[Step], lines: list[str]) -> None:
    log = LogFile(str(path))
    for step in steps:
        step(path)
    assert log.lines() == lines


@pytest.mark.parametrize(
    ("steps", "lines"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_and_with_a_look_after_each_step(path: Path, steps: list[Step], lines: list[str]) -> None:
    log = LogFile(str(path))
    found = []
    for step in steps:
        step(path)
        found += log.lines()
    assert found == lines


def test_it_goes_on_after_it_was_cut(path: Path) -> None:
    log = LogFile(str(path))
    append(path, "longer than what comes\n")
    log.lines()
    path.write_text("b\n")
    assert log.lines() == ["b"]
    append(path, "c\n")
    assert log.lines() == ["c"]


def test_one_that_comes_later_is_all_new(tmp_path: Path) -> None:
    path = tmp_path / "later"
    log = LogFile(str(path))
    assert log.lines() == []
    path.write_text("a\n")
    assert log.lines() == ["a"]


def test_a_removed_one_is_followed_by_the_next(path: Path) -> None:
    log = LogFile(str(path))
    path.unlink()
    assert log.lines() == []
    path.write_text("a\n")
    assert log.lines() == ["a"]


def test_a_line_without_an_end_does_not_fill_the_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "LINE_LIMIT_BYTES", 10)
    log = LogFile(str(path))
    append(path, "x" * 20)
    assert log.lines() == ["x" * 20]
    assert log.lines() == []


def test_much_at_once_comes_in_portions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "READ_LIMIT_BYTES", 8)
    log = LogFile(str(path))
    append(path, "aaa\nbbb\nccc\n")
    found = [log.lines(), log.lines(), log.lines()]
    assert found == [["aaa", "bbb"], ["ccc"], []]


def test_nothing_is_left_of_a_rotated_file_that_is_longer_than_a_portion(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "READ_LIMIT_BYTES", 8)
    log = LogFile(str(path))
    append(path, "aaa\nbbb\nccc\n")
    rotate(path)
    path.write_text("ddd\n")
    found = [line for _ in range(4) for line in log.lines()]
    assert found == ["aaa", "bbb", "ccc", "ddd"]


def test_bytes_that_are_no_text(path: Path) -> None:
    log = LogFile(str(path))
    path.write_bytes(b"old\n\xff\xfe\n")
    assert log.lines() == ["\ufffd\ufffd"]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert LogFile(str(path)).lines() == []
