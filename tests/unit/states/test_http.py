"""What a web server on this machine answers.

Results and comments of plain texts and statuses are those that Salt 3006.30 gave; the others, of
patterns, lists and waiting, are ours.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve


class Server(ThreadingHTTPServer):
    asked: list[str]


class Answers(BaseHTTPRequestHandler):
    """``/404`` is answered with that status; ``/late`` is well from the third time on."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        status = int(self.path[1:]) if self.path[1:].isdigit() else 200
        if self.path == "/late" and len(self.server.asked) < 3:
            status = 503
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"hello body 123")

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Answers)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(server: Server, path: str, *, test: bool = False, fun: str = "query", **given: Any) -> Any:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    url = f"http://127.0.0.1:{server.server_port}{path}"
    found = realise(resolve(f"http.{fun}", ctx).call(name=url, **given), ctx, test=test)
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("path", "given", "result", "comment"),
    [
        ("/", {"status": 200}, True, "Status 200 was found."),
        ("/", {"status": "200"}, True, "Status 200 was found."),
        ("/", {"status": 404}, False, "Status 404 was not found."),
        ("/404", {"status": 404}, True, "Status 404 was found."),
        ("/404", {"status": 200}, False, "Status 200 was not found."),
        ("/404", {"match": "hello"}, False, 'Match text "hello" was not found.'),
        ("/", {"match": "hello"}, True, 'Match text "hello" was found.'),
        ("/", {"match": "nothing"}, False, 'Match text "nothing" was not found.'),
        ("/", {"match": r"h.l+o \w+", "match_type": "pcre"}, True, "was found"),
        ("/", {"match": "x+", "match_type": "pcre"}, False, "was not found"),
        ("/", {"match": "hello", "status": 404}, False, "was found. Status 404 was not found."),
        ("/", {"status": "20.", "status_type": "pcre"}, True, "was found"),
        ("/", {"status": [201, "200"], "status_type": "list"}, True, "Status 200 was found."),
        ("/", {"status": [201], "status_type": "list"}, False, "was not found"),
        ("/", {}, False, "Either match text (match) or a status code (status) is required."),
        ("/", {"match": "(", "match_type": "pcre"}, False, "is no regular expression"),
        ("/", {"status": 1, "status_type": "x"}, False, "is none of string, pcre, list"),
    ],
)
def test_an_answer(
    server: Server, path: str, given: dict[str, Any], result: bool, comment: str
) -> None:
    found = run(server, path, **given)
    assert (found.result, found.changes) == (result, {})
    assert comment in found.comment


def test_nobody_is_asked_in_a_test_run(server: Server) -> None:
    found = run(server, "/", status=200, test=True)
    assert (found.result, found.changes, server.asked) == (None, {}, [])


def test_it_is_asked_until_it_answers_well(server: Server) -> None:
    waits = {"wait_for": 20, "request_interval": 0.01, "status": 200}
    found = run(server, "/late", fun="wait_for_successful_query", **waits)
    assert (found.result, len(server.asked)) == (True, 3)


def test_the_last_answer_counts_when_the_time_is_up(server: Server) -> None:
    waits = {"wait_for": 0.05, "request_interval": 0.01, "status": 200}
    found = run(server, "/404", fun="wait_for_successful_query", **waits)
    assert found.result is False
    assert server.asked
