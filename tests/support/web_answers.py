"""A web server in this process, for the cases of ``http.query``: on port 8099 of this namespace.

``/text`` says hello, ``/json`` is JSON, ``/404`` and ``/500`` are refused, ``/redirect`` leads to
``/text``, ``/third`` is ready at each third request, ``/echo`` tells the request. Nothing but the
standard library is imported: the recorder runs this with the Python of a real Salt.
"""

from __future__ import annotations

import json
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread

PORT = 8099
ANSWERS = {
    "/text": (200, "hello world"),
    "/json": (200, '{"a": "hello"}'),
    "/404": (404, "it is gone"),
    "/500": (500, "it is broken"),
    "/redirect": (302, ""),
}
TURNS = count(1)


class Answering(BaseHTTPRequestHandler):
    """Answers as the table says; nothing is logged."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = self.path.partition("?")[0]
        status, text = ANSWERS.get(path, (200, ""))
        if path == "/third":
            text = "now" if next(TURNS) % 3 == 0 else "later"
        if path == "/echo":
            headers = {name.lower(): value for name, value in self.headers.items()}
            told = {"method": self.command, "path": self.path, "body": body, "headers": headers}
            text = json.dumps(told)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{PORT}/text")
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve() -> None:
    """Answer from now on, until this process ends."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Answering)
    Thread(target=server.serve_forever, daemon=True).start()
