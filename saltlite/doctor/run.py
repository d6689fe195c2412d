"""Run checks, each in a process of its own: one that hangs or fails costs its own answer only.

A check waits for disks, names and other machines, and the libraries below it for ever; a process
can be killed whatever it waits for. Its findings come as JSON through a pipe, and end with it.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol, TypeVar

from saltlite.core.dataclasses import dataclass, field
from saltlite.doctor.finding import (
    CheckResult,
    Finding,
    error,
    make_report,
    pack_findings,
    unpack_findings,
)
from saltlite.errors import FunctionError
from saltlite.process import die_with_parent, prepare_to_die_with_parent

AT_ONCE: Final = 6
"""So many checks run at a time; most of them wait."""

ANSWER_LIMIT_BYTES: Final = 1024 * 1024
PIECE_BYTES: Final = 65536

F_contra = TypeVar("F_contra", contravariant=True)
F = TypeVar("F")


class Check(Protocol[F_contra]):
    """One check: a module of ``doctor.master`` or ``doctor.minion``, which has these names."""

    @property
    def NAME(self) -> str:
        """What ``only`` and ``skip`` call it."""

    @property
    def ABOUT(self) -> str:
        """What it looks at, in half a sentence."""

    @property
    def LIMIT_S(self) -> float:
        """How long it may take."""

    def look(self, facts: F_contra, /) -> Iterable[Finding]:
        """What is wrong; nothing where all is well."""


def examine(
    checks: Sequence[Check[F]], facts: F, *, only: object = "", skip: object = ""
) -> dict[str, Any]:
    """Run the checks that are wanted, and report.

    ``only`` and ``skip`` are names, a list of them or a text with commas.

    Raises:
        FunctionError: no check has such a name.
    """
    names = [check.NAME for check in checks]
    wanted = _read_names(only, names) or names
    unwanted = _read_names(skip, names)
    chosen = [one for one in checks if one.NAME in wanted and one.NAME not in unwanted]
    left_out = [name for name in names if name not in {one.NAME for one in chosen}]
    return make_report(run_checks(chosen, facts), left_out)


def _read_names(given: object, known: Sequence[str]) -> list[str]:
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, (list, tuple)):
        raise FunctionError("doctor: only and skip take names of checks, with commas between them")
    names = [str(one).strip() for one in words]
    names = [one for one in names if one]
    for name in names:
        if name not in known:
            raise FunctionError(f"doctor: there is no check {name!r}; there are {', '.join(known)}")
    return names


@dataclass(slots=True)
class _Running:
    """A check that has not answered yet."""

    number: int
    pid: int
    fd: int
    began_s: float
    until_s: float
    limit_s: float
    answer: bytearray = field(default_factory=bytearray)


def run_checks(checks: Sequence[Check[F]], facts: F) -> list[CheckResult]:
    """What each check found, in their order. Ends when the slowest has had its time."""
    prepare_to_die_with_parent()
    results: dict[int, CheckResult] = {}
    waiting = list(enumerate(checks))
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                number, check = waiting.pop(0)
                running.append(_start_check(number, check, facts))
            for one in _wait_for_any(running):
                running.remove(one)
                results[one.number] = _finish_check(one, checks[one.number].NAME)
    finally:
        for one in running:
            _end_process(one)
    return [results[number] for number in range(len(checks))]


def _start_check(number: int, check: Check[F], facts: F) -> _Running:
    ours, theirs = os.pipe()
    # What is still buffered would be written twice, by us and by the child.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _run_child(theirs, check, facts, parent)
    os.close(theirs)
    now_s = time.monotonic()
    return _Running(number, pid, ours, now_s, now_s + check.LIMIT_S, check.LIMIT_S)


def _run_child(fd: int, check: Check[F], facts: F, parent: int) -> NoReturn:
    """Look, and write what was found; never returns into the code of the parent."""
    try:
        die_with_parent(parent, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        logging.disable(logging.CRITICAL)  # what matters is a finding
        try:
            packed = pack_findings(check.look(facts))
        except Exception as wrong:  # noqa: BLE001 - a check that fails is a finding
            packed = pack_findings([_explain_failure(wrong)])
        data = json.dumps(packed).encode()
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os._exit(0)


def _explain_failure(wrong: Exception) -> Finding:
    what = f"the check itself failed: {type(wrong).__name__}: {wrong}"
    return error(what, _find_place(wrong), "this is a fault of saltlite: please report it")


def _find_place(wrong: Exception) -> str:
    """``file:line`` where an exception was raised."""
    frames = wrong.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    if frames is None:
        return ""
    return f"{frames.tb_frame.f_code.co_filename}:{frames.tb_lineno}"


def _wait_for_any(running: Sequence[_Running]) -> list[_Running]:
    """Those that have ended, or whose time is over; waits until there is one."""
    with selectors.DefaultSelector() as selector:
        for one in running:
            selector.register(one.fd, selectors.EVENT_READ, one)
        while True:
            now_s = time.monotonic()
            late = [one for one in running if one.until_s <= now_s]
            if late:
                return late
            ended = []
            for key, _events in selector.select(min(one.until_s for one in running) - now_s):
                piece = os.read(key.fd, PIECE_BYTES)
                key.data.answer += piece
                if not piece or len(key.data.answer) > ANSWER_LIMIT_BYTES:
                    ended.append(key.data)
            if ended:
                return ended


def _finish_check(one: _Running, name: str) -> CheckResult:
    took_s = time.monotonic() - one.began_s
    is_late = one.until_s <= time.monotonic()
    _end_process(one)
    try:
        findings = unpack_findings(json.loads(one.answer))
    except ValueError:
        what = "the check ended without an answer"
        if is_late:
            what = f"the check had no answer within {one.limit_s:g} s: what it looks at hangs"
        findings = [error(what, name, f"run it alone with doctor only={name}, or leave it out")]
    return CheckResult(name, findings, took_s)


def _end_process(one: _Running) -> None:
    os.close(one.fd)
    with suppress(ProcessLookupError):
        os.kill(one.pid, signal.SIGKILL)
    # One that waits for a dead disk does not even end; the kernel sees to it, and to its parent.
    deadline_s = time.monotonic() + 1.0
    while time.monotonic() < deadline_s:
        with suppress(ChildProcessError):
            if os.waitpid(one.pid, os.WNOHANG) == (0, 0):
                time.sleep(0.002)
                continue
        return
