"""Lines of a file commented out and in again."""

from __future__ import annotations

import os
from typing import Any

from saltlite.errors import UsageError
from saltlite.modules._file import comments, place, texts
from saltlite.modules._file.given import home


def comment_file(
    path: str, regex: str, char: str, out: bool, backup: Any, encoding: str = "utf-8"
) -> Any:
    """As ``comment_line``, for a file of any encoding."""
    path = os.path.realpath(home(path))
    if not os.path.isfile(path):
        raise UsageError(f"File not found: {path}")
    if encoding == "utf-8":
        place.require_text(path)
    with open(path, encoding=encoding, newline="") as file:
        lines = texts.split_lines(file.read())
    change = comments.commented if out else comments.uncommented
    found = change(lines, regex, char)
    if not found.old:
        return False
    place.keep_copy(path, backup)
    place.put(path, "".join(found.lines).encode(encoding))
    return found.difference()
