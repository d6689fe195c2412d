"""The line of logins: how long each waits, and how many may."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest

from saltlite.master import deferred_replies, loginline
from saltlite.master.loginline import Login, LoginLine


def login(name: str = "anna", **more: Any) -> Login:
    return Login(os.urandom(16), "file", name, "pw", {"cmd": "x"}, size_bytes=10, **more)


def fail(line: LoginLine, name: str, now_s: float, *, took_s: float = 0.1) -> Login:
    one = login(name)
    line.add(one, now_s)
    assert line.take(now_s) is one
    line.fail(one, now_s + took_s)
    return one


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_failure_is_answered_after_about_a_second(chance: float) -> None:
    line = LoginLine(lambda: chance)
    one = fail(line, "anna", 100.0)
    due_s = 100.75 + chance / 2
    assert line.due(due_s - 0.01) == []
    assert line.next_s(100.0, may_check=True) == pytest.approx(due_s - 100.0)
    assert line.due(due_s + 0.01) == [one]
    assert (one.password, one.load) == ("", {})


def test_all_failures_take_as_long_as_the_slowest() -> None:
    """The earliest answer is not before the end of the slowest check."""
    line = LoginLine(lambda: 0.0)
    fail(line, "slow", 100.0, took_s=3.0)
    assert len(line.due(103.01)) == 1
    fail(line, "quick", 200.0, took_s=0.01)
    assert line.due(202.99) == []
    assert len(line.due(203.01)) == 1
    for number in range(loginline.SLOWEST_OF):
        fail(line, f"u{number}", 300.0)
    line.due(400.0)
    fail(line, "quick", 500.0)
    assert len(line.due(500.8)) == 1


def test_a_users_next_check_waits_twice_as_long_each_time() -> None:
    line = LoginLine(lambda: 0.5)
    now_s, waits = 100.0, []
    for _ in range(9):
        fail(line, "anna", now_s, took_s=0.0)
        line.add(login(), now_s)
        line.add(login("ben"), now_s)
        assert line.take(now_s).username == ("ben" if len(waits) >= 2 else "anna")
        wait_s = line.next_s(now_s, may_check=True) if len(waits) >= 2 else 0.0
        line.due(now_s + 5.0)
        wait_s = line.next_s(now_s, may_check=True) if len(waits) >= 2 else 0.0
        waits.append(wait_s)
        now_s += 40.0
        while line.take(now_s):
            pass
    assert waits == pytest.approx([0, 0, 2, 4, 8, 16, 30, 30, 30])


def test_a_right_password_ends_that() -> None:
    line = LoginLine(lambda: 0.5)
    for _ in range(5):
        fail(line, "anna", 100.0)
        line._failures["anna"].last_s = 0.0
    line.succeed(login())
    line.add(login(), 100.0)
    assert line.take(100.0) is not None


def test_users_take_turns() -> None:
    line = LoginLine(lambda: 0.5)
    for name in ("anna", "anna", "anna", "ben", "cara"):
        line.add(login(name), 0.0)
    order = []
    while (one := line.take(0.0)) is not None:
        order.append(one.username)
    assert order == ["anna", "ben", "cara", "anna", "anna"]
    assert len(line) == 0


def test_who_guesses_keeps_nobody_with_a_token_waiting() -> None:
    line = LoginLine(lambda: 0.5)
    for _ in range(4):
        fail(line, "anna", 100.0, took_s=0.0)
        line._failures["anna"].last_s = 0.0
    line._failures["anna"].last_s = 100.0
    for _ in range(loginline.ATTACKED_MOST + 5):
        line.add(login(), 100.0)
    assert len(line) == loginline.ATTACKED_MOST
    with_token = login(token="t")
    line.add(with_token, 100.0)
    assert line.take_recheck(100.0) is with_token


def test_the_line_is_bounded() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.WAITING_MOST):
        one = login(f"u{number}")
        assert line.has_room_for(one)
        line.add(one, 0.0)
    assert not line.has_room_for(login("u"))
    other = LoginLine(lambda: 0.5)
    other.add(dataclasses.replace(login(), size_bytes=loginline.WAITING_MOST_BYTES), 0.0)
    assert not other.has_room_for(login("u"))
    busy = LoginLine(lambda: 0.5)
    for _ in range(loginline.OF_ONE_MOST):
        busy.add(login("anna"), 0.0)
    assert not busy.has_room_for(login("Anna"))
    assert busy.has_room_for(login("ben"))


def test_a_flood_of_logins_leaves_room_for_who_has_a_token() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.WAITING_MOST):
        line.add(login(f"u{number}"), 0.0)
    for number in range(loginline.RECHECKS_MOST):
        one = login("anna", token=f"t{number}")
        assert line.has_room_for(one)
        line.add(one, 0.0)
    assert not line.has_room_for(login("anna", token="t"))
    first = line.take_recheck(0.0)
    assert first is not None
    assert first.token == "t0", "it is behind a thousand strangers"
    first = line.take(0.0)
    assert first is not None
    assert first.token == ""
    assert line.next_s(0.0, may_check=False, may_recheck=False) == 60.0
    assert line.next_s(0.0, may_check=False, may_recheck=True) == 0.0


def test_refusals_that_wait_are_bounded_and_the_first_due_go_early() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.DELAYED_MOST + 3):
        line.add(login(""), number / 1000)
    assert [one.begun_s for one in line.due(0.0)] == [0.0, 0.001, 0.002]
    assert line.due(0.0) == []
    assert line.has_room_for(login("anna")), "who fails at once keeps others out"


def test_all_that_wait_are_fewer_than_the_replies_that_are_kept() -> None:
    waiting = loginline.WAITING_MOST + loginline.RECHECKS_MOST + loginline.DELAYED_MOST
    assert waiting < deferred_replies.MOST / 2


def test_spellings_of_a_name_share_one_throttle() -> None:
    line = LoginLine(lambda: 0.5)
    names = ("anna", "Anna", " ANNA", "anna ", "\N{FULLWIDTH LATIN SMALL LETTER A}nna")
    for number, name in enumerate(names):
        fail(line, name, 100.0 * number, took_s=0.0)
    line.add(login("aNNa"), 400.0)
    assert line.take(407.9) is None
    line.succeed(login("ANNA"))
    assert line.take(407.9) is not None


def test_a_login_shows_no_password() -> None:
    assert "'pw'" not in repr(login())
