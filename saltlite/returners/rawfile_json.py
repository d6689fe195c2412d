"""``rawfile_json``: appends returns and events to a file, one JSON document per line.

Option ``rawfile_json.filename``, by default ``/var/log/salt/events``. Source: observed on Salt
3006.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.core.jsontext import pack_json
from saltlite.errors import StoreError
from saltlite.jobs.returner_context import ReturnerContext, options

log = logging.getLogger(__name__)

RECORD_BYTES: Final = 16 * 1024 * 1024
"""The longest line; who reads the file reads it by lines."""

DEFAULTS: Final = {"filename": "/var/log/salt/events"}


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Append one return; raises StoreError, also if it is too long."""
    _append_lines(_file_path(ctx, ret), _to_line(ret))


def event_return(ctx: ReturnerContext, events: Iterable[Mapping[str, object]]) -> None:
    """Append events; one that is too long is left out. Raises StoreError."""
    _append_lines(_file_path(ctx, None), b"".join(_event_lines(events)))


def _file_path(ctx: ReturnerContext, ret: Mapping[str, object] | None) -> Path:
    return Path(options(ctx, "rawfile_json", ret, DEFAULTS)["filename"])


def _event_lines(events: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    for event in events:
        try:
            yield _to_line(event)
        except StoreError as error:  # noqa: PERF203 - each event stands for itself
            log.error("The event %s is not kept: %s", event.get("tag"), error)


def _to_line(value: Mapping[str, object]) -> bytes:
    try:
        line = f"{pack_json(dict(value))}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"rawfile_json: a record is no JSON: {error}") from error
    if len(line) > RECORD_BYTES:
        raise StoreError(
            f"rawfile_json: a record of {len(line)} bytes; at most {RECORD_BYTES} are allowed"
        )
    return line


def _append_lines(path: Path, lines: bytes) -> None:
    disk.make_dir(path.parent, 0o755)
    disk.append_whole(path, lines, mode=0o640, follow=True)
