"""Lines of a file commented out and in again."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import UsageError
from saltlite.providers import textfile
from saltlite.providers.file import comments, place, texts
from saltlite.providers.file.given import home


def comment_file(
    ctx: MinionContext,
    path: str,
    regex: str,
    char: str,
    out: bool,
    backup: object,
    encoding: str = "utf-8",
) -> Any:
    """As ``comment_line``, for a file of any encoding."""
    given = home(path)
    path = os.path.realpath(given)
    if not os.path.isfile(path):
        raise UsageError(f"File not found: {path}")
    with textfile.hold(ctx, path):
        content = place.load(given)
        if encoding == "utf-8":
            place.require_text(path, content.data)
        lines = texts.split_lines(content.data.decode(encoding))
        change = comments.comment_lines if out else comments.uncomment_lines
        found = change(lines, regex, char)
        if not found.old:
            return False
        place.keep_copy(path, backup)
        data = "".join(found.lines).encode(encoding)
        place.put_data(given, data, keep_names=False, was=content.status)
    return found.difference()
