"""``rawfile_json``: appends returns and events to a file, one JSON document per line.

Option ``rawfile_json.filename``, by default ``/var/log/salt/events``. Source: observed on Salt
3006.30.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.jobs.returner_context import ReturnerContext, options

DEFAULTS: Final = {"filename": "/var/log/salt/events"}


def returner(ctx: ReturnerContext, ret: Mapping[str, Any]) -> None:
    """Append one return; raises StoreError."""
    _append(options(ctx, "rawfile_json", ret, DEFAULTS)["filename"], [ret])


def event_return(ctx: ReturnerContext, events: Iterable[Mapping[str, Any]]) -> None:
    """Append events; raises StoreError."""
    _append(options(ctx, "rawfile_json", None, DEFAULTS)["filename"], events)


def _append(filename: str, values: Iterable[Mapping[str, Any]]) -> None:
    """All lines in one write, so that those of several processes do not mix."""
    path = Path(filename)
    text = "".join(f"{json.dumps(dict(one), default=_as_text)}\n" for one in values)
    disk.make_dir(path.parent, 0o755)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
