"""Files for browsers: the app, its directory, the icon. Nothing outside of them, by no road.

Source: docs/api.md, "The app".
"""

from __future__ import annotations

import email.utils
import mimetypes
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from saltlite.api.messages import Answer, HttpError, Request
from saltlite.core.lazyregex import regex

FILE_BYTES_MOST: Final = 64 * 1024 * 1024
_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html;charset=utf-8",
    ".txt": "text/plain;charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".ico": "image/x-icon",
}
_RANGE = regex(r"bytes=(\d{0,18})-(\d{0,18})")


def serve_below(directory: str, parts: Sequence[str], request: Request) -> Answer:
    """A file below a directory.

    Raises:
        HttpError: 404, or 403 for a path that would leave the directory.
    """
    for part in parts:
        if part in (".", "..") or "\0" in part or "/" in part or "\\" in part:
            raise HttpError(403, "Request forbidden -- authorization will not help")
    root = os.path.realpath(directory)
    path = os.path.realpath(os.path.join(root, *parts))
    if path != root and not path.startswith(root.rstrip("/") + "/"):
        raise HttpError(403, "Request forbidden -- authorization will not help")
    return serve_file(path, request)


def serve_file(path: str, request: Request, *, media_type: str = "") -> Answer:
    """One file, or the part of it that is asked for.

    Raises:
        HttpError: 404, there is none; 416, it has no such part.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        raise _missing(request) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MOST:
            raise _missing(request)
        headers = [
            ("Content-Type", media_type or type_of(path)),
            ("Last-Modified", email.utils.formatdate(status.st_mtime, usegmt=True)),
            ("Accept-Ranges", "bytes"),
        ]
        if _is_known(request, status.st_mtime):
            return Answer(status=304, headers=headers)
        wanted = _range_of(request, status.st_size)
        if wanted is None:
            return Answer(body=file.read(), headers=headers)
        first, last = wanted
        file.seek(first)
        headers.append(("Content-Range", f"bytes {first}-{last}/{status.st_size}"))
        return Answer(status=206, body=file.read(last - first + 1), headers=headers)


def type_of(path: str) -> str:
    """The media type by the end of the name."""
    suffix = Path(path).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _missing(request: Request) -> HttpError:
    return HttpError(404, f"The path '{request.path[:200]}' was not found.")


def _is_known(request: Request, mtime: float) -> bool:
    since = request.header("if-modified-since")
    if not since:
        return False
    try:
        return int(mtime) <= email.utils.parsedate_to_datetime(since).timestamp()
    except (ValueError, TypeError, OverflowError):
        return False


def _range_of(request: Request, size: int) -> tuple[int, int] | None:
    """First and last byte that are wanted; ``None`` for all of it, also for several ranges."""
    match = _RANGE.fullmatch(request.header("range").strip())
    if match is None or match.group(0) == "bytes=-":
        return None
    start, end = match.groups()
    if not start:
        first, last = max(0, size - int(end)), size - 1
    else:
        first, last = int(start), min(int(end) if end else size - 1, size - 1)
    if first >= size or first > last:
        headers = (("Content-Range", f"bytes */{size}"),)
        raise HttpError(416, "The file has no such part", headers=headers)
    return first, last
