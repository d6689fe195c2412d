"""The statistics of haproxy, from its socket.

Source: haproxy's management guide, "Statistics" (its columns) and "Unix Socket commands".
"""

from __future__ import annotations

import csv
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Final

from saltlite.errors import FunctionError
from saltlite.host import Host

SOCKETS: Final = ("/var/run/haproxy.sock", "/run/haproxy/admin.sock")
"""Where it is looked for: Salt's place, and Debian's."""

DEADLINE_S: Final = 5.0
LIMIT_BYTES: Final = 16 * 1024 * 1024
PROXY, SERVER, SESSIONS = "pxname", "svname", "scur"


def find_socket(host: Host) -> str:
    """Return the path of haproxy's socket; raises FunctionError if there is none."""
    for path in SOCKETS:
        if host.exists(path):
            return path
    raise FunctionError(f"haproxy has no socket: neither of {', '.join(SOCKETS)} is there")


def read_statistics(path: str) -> str:
    """Return what haproxy says to ``show stat``.

    Raises:
        FunctionError: nobody answers there, not within 5 s, or with more than 16 MiB.
    """
    answer = bytearray()
    end_s = time.monotonic() + DEADLINE_S
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.settimeout(DEADLINE_S)
            one.connect(path)
            one.sendall(b"show stat\n")
            while part := one.recv(1 << 16):
                answer += part
                if len(answer) > LIMIT_BYTES or time.monotonic() > end_s:
                    raise FunctionError(f"haproxy: {path}: too much or too slow an answer")
    except OSError as error:
        raise FunctionError(f"haproxy: {path}: {error}") from error
    return answer.decode("utf-8", "replace")


def parse_sessions(text: str) -> dict[tuple[str, str], str]:
    """Return (backend, server) → current sessions, as haproxy writes them. Pure."""
    lines = text.lstrip("# \n").splitlines()
    return {
        (row[PROXY], row[SERVER]): row[SESSIONS]
        for row in _parse_rows(lines)
        if row.get(SESSIONS) and PROXY in row and SERVER in row
    }


def _parse_rows(lines: list[str]) -> Iterator[Mapping[str, str]]:
    yield from csv.DictReader(lines)
