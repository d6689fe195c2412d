"""A server that drips, byte by byte, is given up when the time of the whole request is over."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from saltlite.config.load import load_minion
from saltlite.web import client as web
from saltlite.web.client import WebBounds, WebError, WebRequest, ask, download

Script = Callable[[socket.socket], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


class Server:
    """Answers each connection with a script, until the test is over."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/x"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._script(connection)
                self._over.wait(30)
            except OSError:
                return

    def close(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)


def drip(first: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    return script


def redirect(connection: socket.socket) -> None:
    time.sleep(0.2)
    port = connection.getsockname()[1]
    there = f"http://127.0.0.1:{port}/{os.urandom(4).hex()}"
    head = f"HTTP/1.1 302 There\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n"
    connection.sendall(head.encode())


def send_all(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"y" * 1000)


def say_nothing(_connection: socket.socket) -> None:
    """Take the request, and that is all."""


SCRIPTS = {
    "body": drip(HEAD),
    "body without a length": drip(b"HTTP/1.1 200 OK\r\n\r\n"),
    "headers": drip(b"HTTP/1.1 200 OK\r\nX-Long: "),
    "status": drip(b""),
    "nothing": say_nothing,
    "redirections": redirect,
}


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    servers: list[Server] = []

    def start(script: Script) -> Server:
        servers.append(Server(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_request_has_an_end(name: str, serve: Callable[[Script], Server]) -> None:
    server = serve(SCRIPTS[name])
    before = set(os.listdir("/proc/self/fd"))
    started = time.monotonic()
    with pytest.raises(WebError):
        ask(WebRequest(url=server.url, timeout_s=0.6))
    assert 0.4 < time.monotonic() - started < 10
    server.close()
    assert set(os.listdir("/proc/self/fd")) <= before


def test_a_download_has_an_end_and_leaves_nothing(
    serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server = serve(SCRIPTS["body"])
    with pytest.raises(WebError, match="Error: timed out reading http://"):
        download(server.url, tmp_path / "copy", bounds=WebBounds(timeout_s=0.6))
    assert list(tmp_path.iterdir()) == []


def test_a_download_has_a_size(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server = serve(send_all)
    with pytest.raises(WebError, match="more than 999 bytes"):
        download(server.url, tmp_path / "copy", bounds=WebBounds(limit_bytes=999))
    assert list(tmp_path.iterdir()) == []
    assert download(server.url, tmp_path / "copy", bounds=WebBounds(limit_bytes=1000))
    assert (tmp_path / "copy").read_bytes() == b"y" * 1000
    with pytest.raises(WebError, match="more than 999 bytes"):
        ask(WebRequest(url=server.url, limit_bytes=999))


def test_the_configuration_says_how_long_and_how_much(tmp_path: Path) -> None:
    given = {"http_request_timeout": 7, "http_connect_timeout": 3, "http_max_body": 99}
    config = load_minion(tmp_path, {"root_dir": str(tmp_path), "id": "w", **given}, environ={})
    assert WebBounds.of(config) == WebBounds(7, 3, 99)
    default = load_minion(tmp_path, {"root_dir": str(tmp_path), "id": "w"}, environ={})
    assert WebBounds.of(default) == WebBounds()
    assert web.TIMEOUT_S == 3600
