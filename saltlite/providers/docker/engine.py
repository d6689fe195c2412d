"""Requests to a Docker Engine on a Unix socket, bounded in size and time.

Source: Docker Engine API v1.43 (docs.docker.com/reference/api/engine/version/v1.43).
"""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError

SOCKET = "unix:///var/run/docker.sock"
TIMEOUT_S = 60.0
"""How long the engine may be silent."""

LIMIT_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 65536
_IMAGE = regex(r"[A-Za-z0-9][\w.:/@-]{0,511}", re.ASCII)


class EngineError(FunctionError):
    """The engine answered with an error; ``status`` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(f"Error {status}: {message}")


class _Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine at an address; only ``unix://`` is spoken."""

    address: str = SOCKET
    timeout_s: float = TIMEOUT_S

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON that a look at ``path`` gives; raises EngineError."""
        return self._ask_json("GET", path, query, None)

    def post(self, path: str, body: Mapping[str, object] | None = None, **query: Any) -> Any:
        """Return the JSON that an action gives, ``None`` for none; raises EngineError."""
        return self._ask_json("POST", path, query, body)

    def delete(self, path: str, **query: Any) -> Any:
        """Remove what is at ``path``; raises EngineError."""
        return self._ask_json("DELETE", path, query, None)

    def raw(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> bytes:
        """Return an answer as it is; raises EngineError."""
        status, data = self._send_request(method, path, query, body, headers or {})
        if status >= 400:
            raise EngineError(status, _error_message(data))
        return data

    def lines(
        self, path: str, headers: Mapping[str, str] | None = None, **query: Any
    ) -> list[dict[str, Any]]:
        """Return the progress that an action tells, one map for each line; raises EngineError."""
        data = self.raw("POST", path, None, headers, **query)
        lines = [_load_json(line) for line in data.splitlines() if line.strip()]
        return [line for line in lines if isinstance(line, dict)]

    def _ask_json(
        self, method: str, path: str, query: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> Any:
        data = self.raw(method, path, body, **query)
        return _load_json(data) if data.strip() else None

    def _send_request(
        self,
        method: str,
        path: str,
        query: Mapping[str, object],
        body: Mapping[str, object] | None,
        more: Mapping[str, str],
    ) -> tuple[int, bytes]:
        given = {name: _query_word(value) for name, value in query.items() if value is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        sent = None if body is None else json.dumps(body).encode()
        headers = {**more, **({} if sent is None else {"Content-Type": "application/json"})}
        connection = _Connection(socket_path(self.address), self.timeout_s)
        try:
            connection.request(method, target, sent, headers)
            response = connection.getresponse()
            return response.status, _read_body(response)
        except TimeoutError as error:
            raise FunctionError(
                f"the Docker engine was silent for {self.timeout_s:g} s: {method} {path}"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise FunctionError(f"no answer of a Docker engine at {self.address}: {error}") from (
                error
            )
        finally:
            connection.close()


def socket_path(address: str) -> str:
    """Return the path in ``unix:///path``; raises UsageError for other addresses."""
    scheme, _, path = address.partition("://")
    if scheme != "unix" or not path.startswith("/"):
        raise UsageError(f"docker.url: {address} is no address of the form unix:///path")
    return path


def segment(name: object) -> str:
    """Return a name as one part of a path of the API."""
    text = str(name)
    if not text or text in (".", ".."):
        raise UsageError(f"{text!r} is no name")
    return quote(text, safe="")


def image_path(name: object) -> str:
    """Return an image's name as the path of the API, which has its slashes; raises UsageError."""
    text = str(name)
    if not _IMAGE.fullmatch(text) or "//" in text or "/../" in f"/{text}/":
        raise UsageError(f"{text!r} is no name of an image")
    return text


def streams(data: bytes) -> tuple[str, str]:
    """Return output and complaints from frames of a container without a terminal."""
    parts: dict[int, list[bytes]] = {}
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        parts.setdefault(data[at], []).append(data[at + 8 : at + 8 + size])
        at += 8 + size
    found = {kind: b"".join(pieces).decode(errors="replace") for kind, pieces in parts.items()}
    return found.get(1, ""), found.get(2, "")


def in_order(data: bytes) -> str:
    """Return output and complaints as they came."""
    pieces: list[bytes] = []
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        pieces.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return b"".join(pieces).decode(errors="replace")


def failure_of(lines: Sequence[Mapping[str, object]]) -> str | None:
    """Return the error in what an action told, if there is one."""
    return next((str(line["error"]) for line in lines if line.get("error")), None)


def _read_body(response: http.client.HTTPResponse) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > LIMIT_BYTES:
            raise FunctionError(f"the Docker engine answers more than {LIMIT_BYTES} bytes")
    return b"".join(pieces)


def _load_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise FunctionError(f"the Docker engine answers no JSON: {data[:80]!r}") from error


def _error_message(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:500].decode(errors="replace").strip()


def _query_word(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return json.dumps(value) if isinstance(value, dict) else str(value)
