"""External authentication by a web server: whom it lets in, and which servers are believed."""

from __future__ import annotations

import datetime
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest
from authority import Authority

from saltlite.auth import rest
from saltlite.errors import FunctionError
from saltlite.providers.login import AuthContext
from saltlite.web.client import WebError


def settings(**values: Any) -> AuthContext:
    return AuthContext({}, values)


class Server(BaseHTTPRequestHandler):
    """Lets in anna; answers as its path says."""

    asked: ClassVar[list[tuple[str, dict[str, list[str]]]]] = []

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append((self.path, form))
        if self.path == "/slow":
            time.sleep(8)
        status, body = 200 if form == {"username": ["anna"], "password": ["p&w"]} else 401, b""
        if self.path == "/list":
            body = json.dumps(["test.ping", {"@runner": ["jobs.active"]}]).encode()
        if self.path == "/elsewhere":
            status = 307
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/list")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Server.asked.clear()
    one = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=one.serve_forever)
    thread.start()
    rest._ask.cache_clear()
    yield f"http://127.0.0.1:{one.server_port}"
    one.shutdown()
    thread.join()
    one.server_close()


def test_a_server_lets_in(server: str) -> None:
    known = settings(url=f"{server}/list")
    assert rest.auth(known, "anna", "p&w")
    assert rest.acl(known, "anna", "p&w") == ["test.ping", {"@runner": ["jobs.active"]}]
    assert len(Server.asked) == 1
    assert not rest.auth(known, "anna", "pw")
    assert rest.acl(settings(url=f"{server}/other"), "anna", "p&w") is None


def test_a_redirection_is_not_followed(server: str) -> None:
    assert not rest.auth(settings(url=f"{server}/elsewhere"), "anna", "p&w")
    assert [path for path, _form in Server.asked] == ["/elsewhere"]


def test_a_slow_server_lets_in_nobody(server: str) -> None:
    begun = time.monotonic()
    with pytest.raises(WebError):
        rest.auth(settings(url=f"{server}/slow"), "anna", "p&w")
    assert time.monotonic() - begun < 7


CERTIFICATES = [
    ("good", {}, True),
    ("other-host", {"host": "ldap.example.org"}, False),
    ("expired", {"age": datetime.timedelta(days=30)}, False),
]


@pytest.mark.parametrize(("label", "how", "right"), CERTIFICATES)
def test_a_certificate_is_verified(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    label: str,
    how: dict[str, Any],
    right: bool,
) -> None:
    """By the authorities of the system; a password goes to nobody else."""
    authority = Authority(tmp_path)
    secure = HTTPServer(("127.0.0.1", 0), Server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(label, **how))
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    thread = threading.Thread(target=secure.serve_forever)
    thread.start()
    known = settings(url=f"https://127.0.0.1:{secure.server_port}/list")
    try:
        with pytest.raises(WebError, match="CERTIFICATE_VERIFY_FAILED"):
            rest.auth(known, "anna", "p&w")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        if right:
            assert rest.auth(known, "anna", "p&w")
        else:
            with pytest.raises(WebError, match="CERTIFICATE_VERIFY_FAILED"):
                rest.auth(known, "anna", "p&w")
        assert len(Server.asked) == int(right)
    finally:
        secure.shutdown()
        thread.join()
        secure.server_close()


@pytest.mark.parametrize("url", [None, "", 5, "file:///etc/passwd", "ftp://x/y", "x"])
def test_an_address_that_is_none(url: Any) -> None:
    with pytest.raises(FunctionError, match="allowed: address with http"):
        rest.auth(settings(url=url), "anna", "pw")
