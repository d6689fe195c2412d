"""What jobs changed on a minion, read from their returns. For ``jobs.changes``; pure.

A state run tells its changes step by step. Functions such as ``pkg.install`` return maps of ``old``
and ``new``. Of others nothing can be known but that they ran; those that only look are left out.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from saltlite.core.lazyregex import regex
from saltlite.runner_context import PublishedJob

STATE_CHUNK: Final = "_|-"
"""Part of every key of a state run's return."""

ONLY_LOOK: Final = (
    "*.get", "*.items", "*.item", "*.ls", "*.list", "*.list_*", "*.show*", "*.find*", "*.version*",
    "*.status", "*.info", "*.doc", "*.argspec", "*.fetch", "test.*", "sys.*", "match.*", "status.*",
    "config.*", "disk.*", "network.ip_addrs", "network.interfaces", "network.ping", "ps.*",
    "saltutil.*", "mine.*", "publish.*", "pkg.upgrade_available", "pkg.latest_version",
    "pkg.available_version", "service.available", "service.enabled", "service.disabled",
    "service.missing", "service.get_*", "file.*_exists", "file.stats", "file.read",
    "file.contains*",
    "file.get_*", "file.grep", "file.search", "cp.get_*", "cp.hash_file", "cp.is_cached",
    "pillar.*", "grains.ls", "key.*", "data.get*", "hashutil.*", "event.*", "slsutil.*",
)  # fmt: skip
"""Functions that change nothing that a machine's owner would ask about."""

_SPAN = regex(r"(\d+)\s*(s|sec|m|min|h|hour|d|day|w|week)\w*(?:\s+ago)?")
_SECONDS: Final = {
    "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400,
    "w": 604800, "week": 604800,
}  # fmt: skip


def changes_of(job: PublishedJob, ret: Mapping[str, object]) -> dict[str, Any] | None:
    """What one return tells of changes, ``None`` for nothing.

    ``{"Changes": {step or name: changes}}``, or ``{"Changes": "not told"}`` of a function that may
    have changed something and does not say. A job with ``test=True`` changes nothing.
    """
    value = ret.get("return")
    found = _as_changes(value)
    if found:
        return None if _is_dry(value) else {"Changes": found}
    if _is_state_run(value) or _only_looks(job.load.get("fun")):
        return None
    return {"Changes": "not told"}


def _as_changes(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    if _is_state_run(value):
        return {
            _describe_step(name, chunk): chunk["changes"]
            for name, chunk in value.items()
            if isinstance(chunk, Mapping)
            and chunk.get("changes")
            and chunk.get("result") is not None
        }
    return {
        str(name): item
        for name, item in value.items()
        if isinstance(item, Mapping) and "old" in item and "new" in item
    }


def _is_state_run(value: object) -> bool:
    return isinstance(value, Mapping) and any(STATE_CHUNK in str(name) for name in value)


def _is_dry(value: Any) -> bool:
    chunks = value.values() if _is_state_run(value) else ()
    results = [one.get("result") for one in chunks if isinstance(one, Mapping)]
    return bool(results) and all(one is None for one in results)


def _describe_step(name: str, chunk: Mapping[str, object]) -> str:
    """``pkg.installed vim`` for ``pkg_|-editor_|-vim_|-installed``."""
    parts = str(name).split(STATE_CHUNK)
    if len(parts) != 4:
        return str(name)
    return f"{parts[0]}.{parts[3]} {chunk.get('name', parts[2])}"


def _only_looks(fun: Any) -> bool:
    names = [fun] if isinstance(fun, str) else [str(one) for one in fun or ()]
    return all(any(fnmatch.fnmatchcase(name, one) for one in ONLY_LOOK) for name in names)


def moment_before(text: str, now: datetime) -> datetime | None:
    """The moment that words mean: ``yesterday``, ``today``, ``3 days ago``, ``2h``.

    ``yesterday`` is its first second, UTC. ``None`` for other words.
    """
    words = text.strip().lower()
    midnight = now.astimezone(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    if words in ("today", "yesterday"):
        return midnight - timedelta(days=words == "yesterday")
    span = _SPAN.fullmatch(words)
    if span is None:
        return None
    return now - timedelta(seconds=int(span[1]) * _SECONDS[span[2]])
