"""``wtmp`` and ``btmp``: logins, on files made for them."""

from __future__ import annotations

import struct
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from saltlite.beacons import btmp, wtmp
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.host import Host
from saltlite.providers.watch import watched_users


def context(host: Host) -> BeaconContext:
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(minion, "name", time.monotonic)


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
