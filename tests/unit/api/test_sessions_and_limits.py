"""Sessions end when they must; limits count right. All in virtual time."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from saltlite.api import limits, sessions
from saltlite.api.limits import CommandSlots, LoginGuard, Rate
from saltlite.api.messages import HttpError
from saltlite.api.sessions import Sessions, make_cookie, shown_session

ID = "0123456789abcdef0123456789abcdef01234567"


def opened(book: Sessions, user: str = "anna", expire: float = 100.0) -> sessions.Session:
    return book.open(token="t", user=user, eauth="auto", start=0.0, expire=expire, rights=[])


def test_a_session_ends_with_its_token() -> None:
    book = Sessions()
    session = opened(book)
    told: list[str] = []
    session.watchers.append(lambda: told.append("end"))
    assert book.find(session.id, 99.9) is session
    assert book.find(session.id, 100.0) is None
    assert told == ["end"]
    assert len(book) == 0


def test_what_has_expired_is_forgotten_unasked() -> None:
    book = Sessions()
    opened(book, expire=10.0)
    kept = opened(book, expire=20.0)
    book.end_expired(15.0)
    assert list(book) == [kept]


def test_the_oldest_sessions_of_a_user_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_MOST", 60)
    book = Sessions(new_id=map(str, itertools.count()).__next__)
    mine = [opened(book) for _ in range(51)]
    assert [one.id for one in book] == [one.id for one in mine[1:]]
    for number in range(20):
        opened(book, f"user{number}")
    assert len(book) == 60


def test_the_header_wins_whatever_it_says() -> None:
    assert shown_session(ID, f"session_id={'f' * 40}") == (ID, False)
    assert shown_session("zzz", f"session_id={ID}") == ("", False)
    assert shown_session("", f"a=b; session_id={ID}; c=d") == (ID, True)
    assert shown_session("", f'session_id="{ID}"') == (ID, True)
    for cookie in (
        "",
        "session_id=",
        "session_id=../../x",
        f"xsession_id={ID}",
        f"session_id={ID}0",
    ):
        assert shown_session("", cookie) == ("", False)


def test_cookies_are_not_for_scripts() -> None:
    cookie = make_cookie(ID, expires="x", max_age_s=5, secure=False)
    assert cookie.endswith("Max-Age=5; Path=/; HttpOnly; SameSite=Strict")
    assert make_cookie(ID, expires="x", max_age_s=5, secure=True).endswith("; Secure")


def test_wrong_logins_cost_time_that_doubles() -> None:
    guard = LoginGuard()
    waits = []
    now = 0.0
    for _ in range(9):
        assert guard.wait_s("a", "anna", now) == 0
        guard.note_failure("a", "anna", now)
        waits.append(guard.wait_s("a", "anna", now))
        now += waits[-1]
    assert waits == [0, 0, 1, 2, 4, 8, 16, 30, 30]
    assert guard.wait_s("b", "anna", now - 1) == 0
    guard.note_success("a", "anna")
    assert guard.wait_s("a", "anna", now - 1) == 0


def test_trying_many_names_costs_as_well() -> None:
    guard = LoginGuard()
    for number in range(30):
        guard.note_failure("a", f"user{number}", 0.0)
    assert guard.wait_s("a", "fresh", 0.0) > 0
    assert guard.wait_s("b", "fresh", 0.0) == 0


def test_wrong_logins_are_forgotten_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMEMBERED_MOST", 100)
    guard = LoginGuard()
    for number in range(1000):
        guard.note_failure(f"10.0.0.{number}", "x", 0.0)
    assert len(guard._failures) == 100
    for _ in range(3):
        guard.note_failure("a", "anna", 0.0)
    guard.note_failure("a", "anna", 10_000.0)
    assert guard.wait_s("a", "anna", 10_000.0) == 0


def test_a_rate_is_by_the_second() -> None:
    rate = Rate(3)
    assert [rate.allows("a", 0.1 * n) for n in range(5)] == [True, True, True, False, False]
    assert rate.allows("b", 0.4)
    assert rate.allows("a", 1.05)


def test_commands_wait_for_their_turn_and_no_longer() -> None:
    async def work() -> tuple[int, list[int]]:
        slots = CommandSlots(2, wait_s=0.05)
        refused: list[int] = []
        order: list[int] = []

        async def run(number: int, hold_s: float) -> None:
            try:
                async with slots.turn(None):
                    order.append(number)
                    await asyncio.sleep(hold_s)
            except HttpError as error:
                refused.append(error.status)

        await asyncio.gather(run(1, 0.02), run(2, 0.3), run(3, 0.3), run(4, 0.1))
        assert order == [1, 2, 3]
        return slots.running, refused

    assert asyncio.run(work()) == (0, [429])


def test_a_caller_that_gives_up_keeps_no_place() -> None:
    async def work() -> int:
        slots = CommandSlots(1)
        async with slots.turn(None):
            waiting = asyncio.create_task(_hold(slots))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with slots.turn(None):
            return slots.running

    assert asyncio.run(work()) == 1


async def _hold(slots: CommandSlots) -> None:
    async with slots.turn(None):
        await asyncio.sleep(10)
