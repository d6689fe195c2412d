"""A job as ``jobs.*`` shows it. Source: docs/cli.md#salt-run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.jid import jid_time
from saltlite.runner_context import PublishedJob


def job_entry(job: PublishedJob) -> dict[str, Any]:
    """What ``jobs.list_jobs`` shows of a job, in Salt's order."""
    load = job.load
    entry = {
        "Function": load.get("fun", "unknown-function"),
        "Arguments": load.get("arg", []),
        "Target": load.get("tgt", "unknown-target"),
        "Target-type": load.get("tgt_type", "list"),
        "User": load.get("user", "root"),
    }
    metadata = metadata_of(job)
    if metadata:
        entry["Metadata"] = metadata
    entry["StartTime"] = format_start(job.jid)
    return entry


def format_start(jid: str) -> str:
    """``2026, Jan 02 03:04:05.000006``; nothing for what is no jid."""
    try:
        return f"{jid_time(jid):%Y, %b %d %H:%M:%S.%f}"
    except ValueError:
        return ""


def metadata_of(job: PublishedJob) -> Mapping[str, Any]:
    """What was given with ``--metadata``."""
    kwargs = job.load.get("kwargs")
    metadata = kwargs.get("metadata") if isinstance(kwargs, Mapping) else None
    metadata = job.load.get("metadata") if metadata is None else metadata
    return metadata if isinstance(metadata, Mapping) else {}
