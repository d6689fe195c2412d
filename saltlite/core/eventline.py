"""An event as ``state.event`` prints it: its tag, a tab, and its data as JSON. Source: cli.md 8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def event_line(tag: str, data: Mapping[str, Any], *, pretty: bool) -> str:
    """One line, or several with ``pretty``; without the last line feed."""
    text = json.dumps(
        data,
        sort_keys=pretty,
        indent=4 if pretty else None,
        ensure_ascii=False,
        default=_as_text,
    )
    return f"{tag}\t{text}"


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
