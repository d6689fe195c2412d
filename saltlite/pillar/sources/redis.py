"""``redis``: what a Redis server has under the minion's id.

``redis.host``, ``redis.port``, ``redis.db``, ``redis.password`` and ``redis.unix_socket_path`` in
the configuration say where it is. The functions are ``key_value`` (text, hash, list, set or sorted
set) and ``key_json`` (text that is JSON), with ``pillar_key``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping
from typing import IO, Any

from saltlite.context import MinionContext
from saltlite.pillar.external import ExternalFailed

KEY = "redis_pillar"
TIMEOUT_S = 10.0
LIMIT_BYTES = 64 * 1024 * 1024
FUNCTIONS = ("key_value", "key_json")

READ = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", "0", "-1"),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", "0", "-1"),
}
"""A kind of key, and the command that reads it; the key comes after the first word."""


def ext_pillar(
    ctx: MinionContext,
    _pillar: Mapping[str, object],
    function: str,
    *,
    pillar_key: str | None = None,
) -> Mapping[str, Any]:
    """Ask the server; raises ExternalFailed."""
    if function not in FUNCTIONS:
        return {}
    try:
        with _connect(ctx.config.extra) as server:
            if function == "key_json":
                return _read_json(server, ctx.config.identity.id, pillar_key)
            return _read_value(server, ctx.config.identity.id, pillar_key or KEY)
    except (OSError, ValueError) as error:
        raise ExternalFailed(str(error)) from error


def _read_value(server: RedisServer, key: str, pillar_key: str) -> Mapping[str, Any]:
    read = READ.get(server.ask("TYPE", key))
    if read is None:
        return {}
    found = server.ask(read[0], key, *read[1:])
    if read[0] == "HGETALL":
        found = dict(zip(found[::2], found[1::2], strict=True))
    return {pillar_key: found} if found else {}


def _read_json(server: RedisServer, key: str, pillar_key: str | None) -> Mapping[str, Any]:
    text = server.ask("GET", key)
    data = json.loads(text) if text else None
    if not data:
        return {}
    if isinstance(data, Mapping) and not pillar_key:
        return data
    return {pillar_key or KEY: data}


class RedisServer:
    """A connection to a Redis server, in RESP 2, the protocol that all of them speak."""

    def __init__(self, connection: socket.socket, replies: IO[bytes]) -> None:
        self._connection = connection
        self._replies = replies

    def ask(self, *words: str) -> Any:
        """The reply to a command: text, a number, a list of them, or ``None``.

        Raises:
            OSError: the connection ends.
            ValueError: the server says that it is an error, or talks something else.
        """
        packed = [word.encode() for word in words]
        parts = (b"$%d\r\n%s\r\n" % (len(word), word) for word in packed)
        self._connection.sendall(b"*%d\r\n" % len(packed) + b"".join(parts))
        return self._read_reply()

    def _read_reply(self) -> Any:
        line = self._replies.readline(1 << 16)
        kind, text = line[:1], line[1:].rstrip(b"\r\n").decode("utf-8", "replace")
        if kind == b"+":
            return text
        if kind == b":":
            return int(text)
        if kind == b"$":
            return self._read_text(int(text))
        if kind == b"*":
            return [self._read_reply() for _ in range(int(text))]
        if kind == b"-":
            raise ValueError(text.removeprefix("ERR "))
        raise ValueError("the server's answer is none of Redis")

    def _read_text(self, size: int) -> str | None:
        if size < 0:
            return None
        if size > LIMIT_BYTES:
            raise ValueError(f"a value of {size} bytes")
        read = self._replies.read(size + 2)
        if len(read) < size + 2:
            raise ConnectionError("the connection ended early")
        return read[:-2].decode()


@contextlib.contextmanager
def _connect(options: Mapping[str, object]) -> Iterator[RedisServer]:
    with _open_socket(options) as connection, connection.makefile("rb") as replies:
        server = RedisServer(connection, replies)
        if options.get("redis.password"):
            server.ask("AUTH", str(options["redis.password"]))
        if str(options.get("redis.db") or 0) != "0":
            server.ask("SELECT", str(options["redis.db"]))
        yield server


def _open_socket(options: Mapping[str, Any]) -> socket.socket:
    path = options.get("redis.unix_socket_path")
    if not path:
        host, port = options.get("redis.host") or "salt", options.get("redis.port") or 6379
        return socket.create_connection((str(host), int(port)), TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection
