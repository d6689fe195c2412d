"""What ``state.event`` prints: of the events that are wanted, tag, a tab, and data as JSON.

Source: docs/cli.md#salt-run.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.core.jsontext import dump_json
from saltlite.core.terminal import sanitize

WAIT_S = 3600.0


def watch(
    listen: Callable[[str], Any],
    write: Callable[[str], object] | None,
    tagmatch: str,
    count: int,
    *,
    pretty: bool,
) -> None:
    """Write the events whose tags match a glob, ``count`` of them; -1: until something ends it.

    ``listen`` hears those whose tags begin so (``get(timeout_s)``, ``close()``); ``write`` is given
    each without its last line feed, ``None`` only counts them.
    """
    # A subscription takes a beginning only: what stands before the first wildcard.
    listener = listen(re.split(r"[*?\[]", tagmatch, maxsplit=1)[0])
    left = count
    try:
        while left != 0:
            found = listener.get(WAIT_S)
            if found is None or not fnmatch.fnmatchcase(found.tag, tagmatch):
                continue
            if write is not None:
                write(event_line(found.tag, found.data, pretty=pretty))
            left -= 1
    finally:
        listener.close()


def event_line(tag: str, data: Mapping[str, object], *, pretty: bool) -> str:
    """One line, or several with ``pretty``; without the last line feed."""
    text = dump_json(data, sort_keys=pretty, indent=4 if pretty else None)
    return f"{sanitize(tag)}\t{text}"
