"""The process that matches what may take long: it is ended, and nobody waits for it."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite import regex_process
from saltlite.core import patterns
from saltlite.errors import PatternTooSlow
from saltlite.regex_process import TOGETHER_S, RegexProcess

LONG = "a" * 60 + "!"


@pytest.fixture
def process() -> Iterator[RegexProcess]:
    one = RegexProcess()
    yield one
    one.close()


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_it_answers_as_re_does(process: RegexProcess) -> None:
    assert process.ask("match", "(a)(b)?", 32, "ac") == ["a", None]
    assert process.ask("fullmatch", "(a)(b)?", 32, "ac") is None
    assert process.ask("search", "é\ud800", re.I, "xÉ\ud800") == []
    assert process.ask("sub", "(a+)", 32, "baab", r"<\1>") == "b<aa>b"
    with pytest.raises(re.error, match="invalid group reference"):
        process.ask("sub", "a", 32, "a", r"\3")


def test_what_takes_too_long_is_ended_and_remembered(process: RegexProcess) -> None:
    began_s = time.monotonic()
    with pytest.raises(PatternTooSlow, match=r"takes more than 0\.1 s"):
        process.ask("match", "(a+)+$", 32, LONG, limit_s=0.1)
    assert time.monotonic() - began_s < 10
    assert process.ask("match", "(b+)+$", 32, "bb") == ["bb"]  # by another child
    pid = process._pid
    for _ in range(100):
        with pytest.raises(PatternTooSlow):
            process.ask("match", "(a+)+$", 32, "a", limit_s=0.1)
    assert process._pid == pid


def test_it_is_forgiven_after_a_while(
    process: RegexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    process._note_time(("(a+)+$", 32), TOGETHER_S)
    with pytest.raises(PatternTooSlow):
        process.ask("match", "(a+)+$", 32, "a")
    monkeypatch.setattr(regex_process, "REMEMBERED_S", 0.0)
    assert process.ask("match", "(a+)+$", 32, "a") == ["a"]


def test_much_that_is_quick_by_itself_has_an_end_too(process: RegexProcess) -> None:
    process._note_time(("(a+)+$", 32), TOGETHER_S / 2)
    assert process.ask("match", "(a+)+$", 32, "a") == ["a"]
    process._note_time(("(a+)+$", 32), TOGETHER_S / 2)
    with pytest.raises(PatternTooSlow):
        process.ask("match", "(a+)+$", 32, "a")


def test_what_it_took_is_remembered_of_so_many(process: RegexProcess) -> None:
    for number in range(regex_process.REMEMBERED + 10):
        process._note_time((str(number), 0), 1.0)
    assert len(process._taken) == regex_process.REMEMBERED


def test_a_child_that_has_ended_is_replaced(process: RegexProcess) -> None:
    process.ask("match", "a", 32, "a")
    first = process._pid
    os.kill(first, signal.SIGTERM)
    assert process.ask("match", "a", 32, "a") == []
    assert process._pid != first
    assert str(first) not in children()


def test_closing_leaves_nothing(process: RegexProcess) -> None:
    before = children()
    descriptors = len(os.listdir("/proc/self/fd"))
    process.ask("match", "a", 32, "a")
    assert len(children() - before) == 1
    process.close()
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_python_that_is_gone_is_a_refusal(
    process: RegexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regex_process.sys, "executable", "/nowhere/python")
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(PatternTooSlow, match="cannot be matched: No such file"):
        process.ask("match", "a", 32, "a")
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_threads_stand_in_line(process: RegexProcess) -> None:
    found: list[object] = []
    threads = [
        threading.Thread(
            target=lambda n=n: found.append((n, process.ask("match", str(n), 32, str(n))))
        )
        for n in range(20)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == [(n, []) for n in range(20)]


def test_a_fork_has_a_child_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_outside", regex_process.ask)
    assert patterns.compile_pattern("(a+)+b").match("aab")
    parents = regex_process._process._pid
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        fits = patterns.compile_pattern("(a+)+b").match("aab")
        own = regex_process._process._pid
        regex_process._process.close()
        os.write(writer, f"{fits} {own}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    fits, own = os.read(reader, 100).decode().split()
    os.close(reader)
    os.close(writer)
    assert fits == "True"
    assert int(own) != parents
    assert patterns.compile_pattern("(a+)+b").match("aab")
    assert regex_process._process._pid == parents
    regex_process._process.close()
