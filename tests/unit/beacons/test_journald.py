"""``journald`` on programs made for it."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.beacons import journald
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers.watch.journal import Journal, simple_fields

DEADLINE_S = 10.0


def context(host: Host) -> BeaconContext:
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(minion, "name", time.monotonic)


FOLLOWING = """#!/bin/sh
echo "$@" >> {root}/arguments
exec tail -n +1 -F {root}/journal 2>/dev/null
"""
FAILING = "#!/bin/sh\nexit 4\n"


class WithJournal(Host):
    """A machine whose ``journalctl`` is a program of the test."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.awaited: set[int] = set()

    def which(self, name: str) -> str | None:
        return str(self.program) if self.program.exists() else None

    def awaits(self, pid: int) -> None:
        self.awaited.add(pid)

    def awaits_no_more(self, pid: int) -> None:
        self.awaited.discard(pid)


@pytest.fixture
def machine(tmp_path: Path) -> WithJournal:
    program = tmp_path / "journalctl"
    program.write_text(FOLLOWING.format(root=tmp_path))
    program.chmod(0o755)
    (tmp_path / "journal").write_text("")
    return WithJournal(program)


def write(machine: WithJournal, **fields: Any) -> None:
    with machine.program.with_name("journal").open("a") as journal:
        journal.write(json.dumps(fields) + "\n")


def until_told(ctx: BeaconContext, config: Mapping[str, Any], count: int = 1) -> list[Any]:
    found: list[Any] = []
    until_s = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < until_s:
        found += journald.beacon(ctx, config)
        time.sleep(0.05)
    return found


def arguments_with(machine: WithJournal, word: str) -> str:
    """What the program was called with, once ``word`` is in it."""
    path = machine.program.with_name("arguments")
    until_s = time.monotonic() + DEADLINE_S
    text = ""
    while word not in text and time.monotonic() < until_s:
        time.sleep(0.02)
        text = path.read_text() if path.exists() else ""
    return text


SSHD = {"services": {"sshd": {"SYSLOG_IDENTIFIER": "sshd", "PRIORITY": 6}}}


def begin(machine: WithJournal) -> BeaconContext:
    ctx = context(machine)
    assert journald.beacon(ctx, SSHD) == []
    assert "--follow" in arguments_with(machine, "--follow")
    return ctx


def test_journald_tells_entries_whose_fields_are_all_equal(machine: WithJournal) -> None:
    ctx = begin(machine)
    entry: dict[str, Any] = {
        "SYSLOG_IDENTIFIER": "sshd", "PRIORITY": "6", "MESSAGE": "hello", "__CURSOR": "c1",
    }  # fmt: skip
    write(machine, **{**entry, "PRIORITY": "5"})
    write(machine, **entry, _PID="42", __REALTIME_TIMESTAMP="1700000000", DATA=[1, 2])
    assert until_told(ctx, SSHD) == [
        {"tag": "sshd", **entry, "PRIORITY": 6, "_PID": 42, "DATA": "\x01\x02"}
    ]
    journald.close(ctx, SSHD)
    assert machine.awaited == set()


def test_a_journalctl_that_ends_is_said_and_the_next_one_goes_on_from_its_place(
    machine: WithJournal,
) -> None:
    ctx = begin(machine)
    write(machine, SYSLOG_IDENTIFIER="sshd", PRIORITY="6", __CURSOR="c7")
    assert len(until_told(ctx, SSHD)) == 1
    for pid in machine.awaited:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(FunctionError, match="journalctl has ended with exit code -9"):
        until_told(ctx, SSHD)
    journald.beacon(ctx, SSHD)
    assert "--after-cursor=c7" in arguments_with(machine, "--after-cursor=c7")
    journald.close(ctx, SSHD)


def test_all_that_waits_is_read_at_one_look(
    machine: WithJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little a pipe gives at a time."""
    entries, path = "".join(f'{{"N": {number}}}\n' for number in range(2000)), machine.program
    path.with_name("many").write_text(entries)
    path.write_text(f"#!/bin/sh\ncat {path.with_name('many')}\nexec sleep 60\n")
    read, journal = os.read, Journal(machine)
    assert journal._child is not None
    assert journal._child.stdout is not None
    until_s, waiting = time.monotonic() + DEADLINE_S, array.array("i", [0])
    while waiting[0] < len(entries) and time.monotonic() < until_s:
        fcntl.ioctl(journal._child.stdout, termios.FIONREAD, waiting)
        time.sleep(0.02)
    monkeypatch.setattr(os, "read", lambda fd, most: read(fd, min(most, 4096)))
    assert [entry["N"] for entry in journal.entries()] == list(range(2000))
    journal.close()


def test_one_that_cannot_work_says_so(machine: WithJournal) -> None:
    machine.program.write_text(FAILING)
    with pytest.raises(FunctionError, match="exit code 4"):
        until_told(context(machine), SSHD)
    machine.program.unlink()
    with pytest.raises(FunctionError, match="is not there"):
        journald.beacon(context(machine), SSHD)


def test_fields_that_are_simple() -> None:
    entry = {"A": "1", "_UID": "0", "MESSAGE": [72, 255], "_BOOT_ID": "x", "N": None, "ERRNO": "²"}
    assert simple_fields({**entry, "_PID": ["1", "2"], "TAG": ["a", "b"]}) == {
        "A": "1", "_UID": 0, "MESSAGE": "H\ufffd", "ERRNO": "²", "_PID": [1, 2], "TAG": ["a", "b"],
    }  # fmt: skip


def test_wrong_journals() -> None:
    assert "requires services" in journald.validate({})[1]
    assert "must be a map of fields" in journald.validate({"services": {"a": []}})[1]
