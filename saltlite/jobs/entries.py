"""A job as ``jobs.*`` shows it. Source: docs/cli.md#salt-run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.jid import jid_time
from saltlite.jobs.load import JobLoad, read_load
from saltlite.runner_context import PublishedJob


def job_entry(job: PublishedJob) -> dict[str, Any]:
    """What ``jobs.list_jobs`` shows of a job, in Salt's order."""
    load = read_load(job)
    entry = show_load(load)
    metadata = metadata_of(job)
    if metadata:
        entry["Metadata"] = metadata
    entry["StartTime"] = format_start(job.jid)
    return entry


def show_load(load: JobLoad) -> dict[str, Any]:
    """What is shown of a load, in Salt's order."""
    return {
        "Function": "unknown-function" if load.fun is None else load.fun,
        "Arguments": list(load.arg) if isinstance(load.arg, tuple) else load.arg,
        "Target": load.tgt,
        "Target-type": load.tgt_type,
        "User": load.user,
    }


def format_start(jid: str) -> str:
    """``2026, Jan 02 03:04:05.000006``; nothing for what is no jid."""
    try:
        return f"{jid_time(jid):%Y, %b %d %H:%M:%S.%f}"
    except ValueError:
        return ""


def metadata_of(job: PublishedJob) -> Mapping[str, Any]:
    """What was given with ``--metadata``."""
    load = read_load(job)
    inner = load.kwargs.get("metadata") if isinstance(load.kwargs, Mapping) else None
    metadata = load.metadata if inner is None else inner
    return metadata if isinstance(metadata, Mapping) else {}
