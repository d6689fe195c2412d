"""Sessions end when they must. All in virtual time."""

from __future__ import annotations

import itertools

import pytest

from saltlite.api import sessions
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
