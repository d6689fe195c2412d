"""``wtmp``, ``btmp``, ``network_settings``, ``journald``: on files and programs made for them."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import struct
import termios
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from saltlite.beacons import btmp, journald, network_settings, wtmp
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Completed, Host
from saltlite.providers.watch import watched_users
from saltlite.providers.watch.journal import Journal, simple_fields

DEADLINE_S = 10.0


def context(host: Host) -> BeaconContext:
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(minion, "name", time.monotonic)


# --- logins ----------------------------------------------------------------------------------


def record(kind: int, user: str, line: str = "pts/0", address: bytes = b"") -> bytes:
    return struct.pack(
        "hi32s4s32s256shhiii16s20x",
        kind, 42, line.encode(), b"ts/0", user.encode(), b"h.example", 3, 4, 5, 1700000000, 6,
        address.ljust(16, b"\0"),
    )  # fmt: skip


EVENT = {
    "type": 7, "PID": 42, "line": "pts/0", "inittab": "ts/0", "user": "ann",
    "hostname": "h.example", "exit_status": 4, "session": 5, "time": 1700000000, "addr": "",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "wtmp"
    path.write_bytes(record(7, "old"))
    monkeypatch.setattr(wtmp, "PATH", str(path))
    monkeypatch.setattr(btmp, "PATH", str(path))
    return path


def append(path: Path, *records: bytes) -> None:
    with path.open("ab") as opened:
        opened.write(b"".join(records))


def test_wtmp_tells_logins_and_whose_logout_it_is(file: Path) -> None:
    ctx = context(Host())
    assert wtmp.beacon(ctx, {}) == []
    append(file, record(7, "ann"), record(8, ""), record(2, "reboot", "~"))
    assert wtmp.beacon(ctx, {}) == [
        {**EVENT, "action": "login"},
        {**EVENT, "type": 8, "action": "logout"},
        {**EVENT, "type": 2, "user": "reboot", "line": "~"},
    ]
    assert wtmp.beacon(ctx, {}) == []


def test_btmp_tells_failed_logins_with_their_addresses(file: Path) -> None:
    ctx = context(Host())
    btmp.beacon(ctx, {})
    six = bytes.fromhex("20010db8000000000000000000000001")
    append(file, record(6, "eve", address=b"\x7f\0\0\1"), record(6, "eve", address=six))
    assert [event["addr"] for event in btmp.beacon(ctx, {})] == ["127.0.0.1", "2001:db8::1"]


def test_half_a_record_waits_for_the_rest_and_a_rotated_file_is_followed(file: Path) -> None:
    ctx, whole = context(Host()), record(7, "ann")
    wtmp.beacon(ctx, {})
    append(file, whole[:100])
    assert wtmp.beacon(ctx, {}) == []
    append(file, whole[100:])
    assert [event["user"] for event in wtmp.beacon(ctx, {})] == ["ann"]
    file.rename(file.with_suffix(".1"))
    assert wtmp.beacon(ctx, {}) == []
    file.write_bytes(record(7, "bob"))
    assert [event["user"] for event in wtmp.beacon(ctx, {})] == ["bob"]


@pytest.mark.parametrize(
    ("config", "users"),
    [
        ({}, ["root", "ann"]),
        ({"users": {"ann": None}}, ["ann"]),
        ({"users": {"ann": {"time_range": {"start": "2am", "end": "3am"}}}}, []),
        ({"users": {"ann": {"time_range": {"start": "11pm", "end": "2pm"}}}}, ["ann"]),
        ({"defaults": {"time_range": {"start": "8:00", "end": "4pm"}}}, ["root", "ann"]),
        ({"users": {"ann": {}}, "defaults": {"time_range": {"start": "1am", "end": "2am"}}}, []),
        ({"groups": {"root": None}}, ["root"]),
        ({"groups": {"nosuchgroup": None}}, []),
    ],
)
def test_whose_logins_are_told_at_noon(config: Any, users: list[str]) -> None:
    assert wtmp.validate(config)[0]
    noon = datetime(2030, 1, 2, 12).astimezone()
    found = [user for user in ("root", "ann") if watched_users.is_watched(user, config, noon)]
    assert found == users


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"users": ["ann"]}, "User configuration for wtmp beacon must be a dictionary."),
        ({"groups": 5}, "Group configuration for wtmp beacon must be a dictionary."),
        ({"users": {"ann": {"time_range": 5}}}, "must be a map with start and end"),
        ({"users": {"ann": {"time_range": {"start": "x", "end": "1am"}}}}, "no time of day"),
    ],
)
def test_wrong_configurations_of_logins(config: Any, words: str) -> None:
    valid, text = wtmp.validate(config)
    assert not valid
    assert words in text
    assert btmp.validate(config)[0] is False


# --- network ---------------------------------------------------------------------------------


class Network(Host):
    """Interfaces with attributes that a test sets."""

    def __init__(self) -> None:
        self.files = {"eth0": {"mtu": "1500", "flags": "0x1003", "operstate": "up"}, "lo": {}}
        self.addresses: list[dict[str, Any]] = [
            {"family": "inet", "local": "10.0.0.1", "prefixlen": 24}
        ]

    def names(self, path: str) -> list[str]:
        return sorted(self.files)

    def read_bytes(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes | None:
        _, interface, name = path.rsplit("/", 2)
        text = self.files[interface].get(name)
        return None if text is None else f"{text}\n".encode()

    def run(self, command: Any, **options: Any) -> Completed:
        text = json.dumps([{"addr_info": self.addresses}])
        return Completed(pid=1, exit_code=0, stdout=text, stderr="", timed_out=False)


def look(ctx: BeaconContext, **config: Any) -> list[dict[str, Any]]:
    assert network_settings.validate(config)[0], network_settings.validate(config)
    return network_settings.beacon(ctx, config)


def test_network_settings_tell_changed_attributes() -> None:
    """The form observed on Salt 3006.30."""
    network = Network()
    ctx, wanted = context(network), {"mtu": None, "promiscuity": {"onvalue": 1}, "ipaddr": None}
    assert look(ctx, interfaces={"eth*": wanted}) == []
    network.files["eth0"] |= {"mtu": "1400", "flags": "0x1103", "operstate": "down"}
    network.addresses += [{"family": "inet6", "local": "fe80::1", "prefixlen": 64}]
    change = {"mtu": 1400, "promiscuity": 1, "ipaddr": [["10.0.0.1", 24], ["fe80::1", 64]]}
    assert look(ctx, interfaces={"eth*": wanted}) == [
        {"tag": "eth0", "interface": "eth0", "change": change}
    ]
    network.files["eth0"]["flags"] = "0x1003"
    assert look(ctx, interfaces={"eth*": wanted}) == [], "not the value that is asked about"


def test_network_settings_coalesce() -> None:
    network = Network()
    ctx = context(network)
    config: dict[str, Any] = {"interfaces": {"*": {"operstate": None}}, "coalesce": True}
    assert look(ctx, **config) == []
    network.files["eth0"]["operstate"] = "down"
    assert look(ctx, **config) == [{"tag": "result", "changes": {"eth0": {"operstate": "DOWN"}}}]
    del network.files["eth0"]
    assert look(ctx, **config) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "requires interfaces"),
        ({"interfaces": {"lo": {"nonsense": None}}}, "nonsense of lo is none of"),
        ({"interfaces": {"lo": ["mtu"]}}, "must be a map"),
        ({"interfaces": {"lo": {}}, "coalesce": 1}, "True or False"),
    ],
)
def test_wrong_network_settings(config: Any, words: str) -> None:
    valid, text = network_settings.validate(config)
    assert not valid
    assert words in text


def test_the_real_loopback_can_be_read() -> None:
    ctx = context(Host())
    if "lo" not in Host().names("/sys/class/net"):
        pytest.skip("there is no /sys/class/net/lo")
    look(ctx, interfaces={"lo": {"mtu": None, "flags": None, "operstate": None, "index": None}})
    assert ctx.kept["interfaces"]["lo"]["mtu"] > 0


# --- the journal -----------------------------------------------------------------------------

FOLLOWING = """#!/bin/sh
echo "$@" >> {root}/arguments
exec tail -n 0 -F {root}/journal 2>/dev/null
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
    time.sleep(0.5)  # tail has to open the file
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
