"""How many connections an address may have, and what is published again for those who come."""

from __future__ import annotations

import pytest

from saltlite.master import connections
from saltlite.master.connections import Connections
from saltlite.master.repeats import MOST, WINDOW_S, Repeats


def test_one_address_never_gets_everything(caplog: pytest.LogCaptureFixture) -> None:
    """Of 16 places one address gets 12, another 3 of the 4 that are left; who goes makes room."""
    counted = Connections(16)
    assert [counted.admit(fd, "10.0.0.2") for fd in range(20)] == [True] * 12 + [False] * 8
    assert [counted.admit(fd, "10.0.0.1") for fd in range(20, 24)] == [True] * 3 + [False]
    assert (len(counted), counted.admitted) == (15, 15)
    for fd in range(12):
        counted.forget(fd)
    assert counted.admit(0, "10.0.0.2")
    assert len(counted) == 4
    # Nothing is kept of who has gone.
    for fd in (0, 20, 21, 22):
        counted.forget(fd)
    assert not counted._by_origin
    (line,) = [record.message for record in caplog.records]
    assert line == "Refused a connection from 10.0.0.2, which has 12 of 12; 16 are allowed"


def test_a_network_of_ipv6_is_one_origin() -> None:
    counted = Connections(16)
    assert sum(counted.admit(fd, f"2001:db8::{fd:x}") for fd in range(20)) == 12
    assert counted.admit(20, "2001:db8:0:1::1")


def test_memory_is_given_back_once_after_many_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[float] = []
    monkeypatch.setattr(connections.process, "release_memory", lambda: released.append(0.0))
    counted = Connections(100)
    counted.release_memory(0.0)
    counted._gone = connections.RELEASE_AFTER
    for now_s in (0.0, 5.0, 10.0, 11.0, 30.0):
        counted.release_memory(now_s)
    assert len(released) == 1


# --- what is published again ---------------------------------------------------------------------


def test_jobs_are_published_again_for_those_who_came_since() -> None:
    repeats = Repeats(100.0)
    repeats.keep({"jid": "1"}, None)
    assert repeats.due(100.1) == []
    repeats.note_arrival(100.15)
    assert [kept.job["jid"] for kept in repeats.due(100.3)] == ["1"]
    assert repeats.due(150.0) == []  # nobody has come since
    repeats.note_arrival(151.0)
    repeats.keep({"jid": "2"}, None)
    assert [kept.job["jid"] for kept in repeats.due(160.0)] == ["1", "2"]
    assert repeats.is_over(100.1 + WINDOW_S)


def test_repeating_is_bounded() -> None:
    repeats = Repeats(0.0)
    for number in range(MOST + 5):
        repeats.keep({"jid": str(number)}, None)
    rounds = 0
    for tick in range(int(WINDOW_S * 100)):
        repeats.note_arrival(tick / 100)
        again = repeats.due(tick / 100)
        rounds += bool(again)
        assert len(again) <= MOST
    assert rounds <= 14
