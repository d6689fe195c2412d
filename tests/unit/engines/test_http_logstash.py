"""The engine ``http_logstash`` before a real server: what is posted, kept, given up and dropped."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cluster import eventually
from saltlite.engines import http_logstash
from saltlite.engines.http_logstash import EventBatch, Poster, is_wanted, start
from saltlite.errors import UsageError
from saltlite.transport.bus import Event
from saltlite.web.client import WebBounds


@dataclass
class Server:
    """What was posted, and how it is answered: each status of ``answers`` once, then 200."""

    url: str = ""
    posts: list[tuple[str, Any]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    seen = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.posts.append((str(self.headers["Content-Type"]), json.loads(body)))
            self.send_response(seen.answers.pop(0) if seen.answers else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        seen.url = f"http://127.0.0.1:{listening.server_port}/in"
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield seen
        listening.shutdown()
        thread.join()


class Ended(Exception):
    """There are no more events."""


class Bus:
    """Gives some events, then ends the engine once all were posted."""

    def __init__(self, events: list[Event], posted: Any) -> None:
        self._events = events
        self._posted = posted

    def get(self, timeout_s: float) -> Event | None:
        if self._events:
            return self._events.pop(0)
        eventually(self._posted, within_s=10.0, what="all was posted")
        raise Ended


class Config:
    """What bounds are read from."""

    class files:
        http_request_timeout = http_connect_timeout = http_max_body = 0


def run(server: Server, events: list[Event], expected: int, **kwargs: Any) -> list[Any]:
    class Context:
        config = Config

        def listen(self, prefix: str) -> Bus:
            assert prefix == ""
            return Bus(events, lambda: len(server.posts) >= expected)

    with pytest.raises(Ended):
        start(Context(), server.url, **kwargs)  # type: ignore[arg-type]
    return [body for _, body in server.posts]


def test_the_data_of_events_are_posted_in_order(server: Server) -> None:
    events = [Event("a/1", {"n": 1, "b": b"\xff", "t": "é"}), Event("a/2", {"n": 2})]
    assert run(server, events, 2) == [{"n": 1, "b": "\ufffd", "t": "é"}, {"n": 2}]
    assert server.posts[0][0] == "application/json"


def test_only_what_is_wanted_is_posted(server: Server) -> None:
    events = [Event("no/1", {"n": 1}), Event("yes/2", {"n": 2, "fun": "x.y"}), Event("yes", {})]
    events.append(Event("yes/3", {"n": 3, "fun": "test.ping"}))
    assert run(server, events, 1, tags=["yes/*"], funs=["test.ping"]) == [
        {"n": 3, "fun": "test.ping"}
    ]


@pytest.mark.parametrize(
    ("tag", "data", "tags", "funs", "wanted"),
    [
        ("a", {}, [], [], True),
        ("a/b", {}, ["x", "a/*"], [], True),
        ("a/b", {}, ["x"], [], False),
        ("a", {"fun": "f"}, [], ["f"], True),
        ("a", {"fun": "g"}, [], ["f"], False),
        ("a", {}, [], ["f"], True),  # as Salt 3006.30
    ],
)
def test_which_events(
    tag: str, data: dict[str, Any], tags: list[str], funs: list[str], wanted: bool
) -> None:
    assert is_wanted(tag, data, tags, funs) is wanted


@pytest.mark.parametrize(("status", "tries"), [(500, 2), (503, 2), (429, 2), (408, 2), (400, 1)])
def test_what_may_work_later_is_tried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int, tries: int
) -> None:
    monkeypatch.setattr(http_logstash, "RETRY_FIRST_S", 0.01)
    server.answers.append(status)
    bodies = run(server, [Event("a", {"n": 1}), Event("b", {"n": 2})], tries + 1)
    assert bodies == [{"n": 1}] * tries + [{"n": 2}]


def test_an_event_waits_for_a_server_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    poster = Poster("http://u:secret@127.0.0.1:1/", WebBounds(connect_timeout_s=1.0))
    assert poster.post(b"{}") is False
    assert "secret" not in caplog.text
    assert "http_logstash: " in caplog.text


def test_what_is_too_much_is_dropped_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    waiting = EventBatch(most=2)
    for number in range(5):
        waiting.put(b"%d" % number)
    assert [waiting.get(), waiting.get()] == [b"0", b"1"]
    assert [record.getMessage() for record in caplog.records] == [
        "http_logstash: 1 events dropped, too many wait already"
    ]


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", 7])
def test_an_address_that_is_none_is_refused(url: Any) -> None:
    with pytest.raises(UsageError, match="allowed: an address of http or https"):
        start(None, url)  # type: ignore[arg-type]
