"""The loop's end of a job's pipe; apart from ``pipe.py``: nobody else is to load asyncio."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

from saltlite.minion.pipe import LENGTH, as_map, read_length

BUFFER_BYTES: Final = 64 * 1024


async def open_stream(sock: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Read and write our end of a socket pair without blocking."""
    return await asyncio.open_unix_connection(sock=sock, limit=BUFFER_BYTES)


async def read_map(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next map, ``None`` at the end, also if it comes in the middle of one.

    Raises:
        WireError: it is no map, or too long.
    """
    try:
        length = read_length(await reader.readexactly(LENGTH.size))
        return as_map(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
