"""Sessions: the 40 digits that a browser shows stand for the token that the master gave.

Pure; time and randomness are arguments. Nothing is on disk: sessions end with the process.
Source: docs/api.md, "Sessions".
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.lazyregex import regex

SESSION_COOKIE: Final = "session_id"
SESSIONS_OF_USER_MOST: Final = 50
SESSIONS_MOST: Final = 10_000

_SESSION_ID = regex(r"[0-9a-f]{40}")
_COOKIE = regex(rf"(?:^|;)\s*{SESSION_COOKIE}=\"?([0-9a-f]{{40}})\"?\s*(?:;|$)")


@dataclass(frozen=True, slots=True)
class LoginToken:
    """A token as the master told of it: ``told`` is all that it said, for who logged in."""

    told: Mapping[str, Any] = field(repr=False)
    token: Any = field(default="", repr=False)
    name: Any = ""
    eauth: Any = ""
    start: Any = None
    expire: Any = 0
    groups: Any = None
    auth_list: Any = None


def read_token(told: Mapping[str, Any]) -> LoginToken:
    """Make a value of what the master told of a token."""
    return read_fields(LoginToken, {**told, "told": told})


@dataclass(slots=True, eq=False)
class Session:
    """Someone who is logged in. ``watchers`` are called when the session ends."""

    id: str
    token: str
    user: str
    eauth: str
    start: float
    expire: float
    rights: list[Any] = field(default_factory=list)
    watchers: list[Callable[[], None]] = field(default_factory=list)


class Sessions:
    """All sessions; the oldest give way where there are too many."""

    def __init__(self, *, new_id: Callable[[], str] = lambda: secrets.token_hex(20)) -> None:
        self._new_id = new_id
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def open(
        self, *, token: str, user: str, eauth: str, start: float, expire: float, rights: list[Any]
    ) -> Session:
        """Make a session for a token."""
        session = Session(self._new_id(), token, user, eauth, start, expire, rights)
        self._sessions[session.id] = session
        own = [one for one in self._sessions.values() if (one.user, one.eauth) == (user, eauth)]
        for old in own[: max(0, len(own) - SESSIONS_OF_USER_MOST)]:
            self.end(old)
        while len(self._sessions) > SESSIONS_MOST:
            self.end(next(iter(self._sessions.values())))
        return session

    def find(self, session_id: str, now: float) -> Session | None:
        """The session with an id, unless it has expired."""
        session = self._sessions.get(session_id)
        if session is not None and now >= session.expire:
            self.end(session)
            return None
        return session

    def end(self, session: Session) -> None:
        """Forget a session; whoever watches it is told."""
        if self._sessions.pop(session.id, None) is None:
            return
        for tell in list(session.watchers):
            tell()
        session.watchers.clear()

    def end_expired(self, now: float) -> None:
        """Forget what has expired."""
        for session in self:
            if now >= session.expire:
                self.end(session)


def shown_session(header: str, cookie: str) -> tuple[str, bool]:
    """The session id that a request shows, and whether the cookie alone shows it.

    A header that is not empty wins, whatever is in it. The id is ``""`` where none is shown.
    """
    if header:
        return (header if is_session_id(header) else ""), False
    found = _COOKIE.search(cookie)
    return (found.group(1), True) if found else ("", False)


def is_session_id(text: str) -> bool:
    """Whether a text has the form of a session id."""
    return _SESSION_ID.fullmatch(text) is not None


def make_cookie(session_id: str, *, expires: str, max_age_s: int, secure: bool) -> str:
    """The ``Set-Cookie`` of a session; ``expires`` is an HTTP date."""
    cookie = (
        f"{SESSION_COOKIE}={session_id}; expires={expires}; Max-Age={max_age_s}; Path=/; "
        "HttpOnly; SameSite=Strict"
    )
    return f"{cookie}; Secure" if secure else cookie
