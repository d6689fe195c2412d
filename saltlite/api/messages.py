"""What goes in and out over HTTP, as values: :class:`Request`, :class:`Answer`, :class:`HttpError`.

No socket is here: the server makes requests of bytes and bytes of answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import unquote

from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import SaltliteError

NO_PERMISSION: Final = "No permission -- see authorization schemes"
"""Salt's words to who has no session."""


class HttpError(SaltliteError):
    """A request is answered with ``status`` and one sentence, ``text``."""

    def __init__(self, status: int, text: str, *, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.status = status
        self.text = text
        self.headers = tuple(headers)
        super().__init__(text)


def too_many(text: str, retry_after_s: float = 1.0) -> HttpError:
    """The refusal of a limit that time will mend."""
    wait = str(max(1, round(retry_after_s)))
    return HttpError(429, text, headers=(("Retry-After", wait),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. ``headers`` have lower-case names; ``path`` is as it was sent.

    ``peer`` is the address of the client; ``scheme`` is ``http`` or ``https``.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer: str = ""
    scheme: str = "http"

    def header(self, name: str) -> str:
        """One header, ``""`` if it is not there."""
        return self.headers.get(name, "")

    @property
    def parts(self) -> list[str]:
        """The parts of the path, each decoded for itself; a slash at its end does not count."""
        return [unquote(part, errors="replace") for part in self.path.split("/") if part]

    @property
    def origin(self) -> str:
        """The origin that this request was sent to: scheme, host and port."""
        return f"{self.scheme}://{self.header('host')}"


class Stream(Protocol):
    """What an answer without an end yields."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces."""

    async def aclose(self) -> None:
        """Give back what it takes, also if nobody has asked for a piece."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """One answer. With a ``stream`` the ``body`` comes first, then what the stream yields."""

    status: int = 200
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)
    stream: Stream | None = None

    def header(self, name: str) -> str:
        """One header, ``""`` if it is not there."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


def reason_of(status: int) -> str:
    """The phrase that belongs to a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
