"""``salt.utils.jid``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from saltlite.core.jid import new_jid
from saltlite.core.numbers import is_digits


def gen_jid(opts: object = None) -> str:
    """A new job id."""
    return new_jid(datetime.now(timezone.utc), None)


def is_jid(jid: object) -> bool:
    """Whether it is a job id: 20 digits, perhaps ``_`` and more."""
    if not isinstance(jid, str) or (len(jid) != 20 and jid[20:21] != "_"):
        return False
    return is_digits(jid[:20])


def jid_to_time(jid: object) -> str:
    """The moment of a job id as text, ``""`` if it is none."""
    digits = str(jid)
    if len(digits) != 20 and not is_jid(digits):
        return ""
    y, mo, d, h, mi, s, us = (
        digits[start:end]
        for start, end in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 20))
    )
    month = datetime(int(y), int(mo), int(d), tzinfo=timezone.utc).strftime("%b")
    return f"{y}, {month} {d} {h}:{mi}:{s}.{us}"


def format_jid_instance(jid: str, job: dict[str, Any]) -> dict[str, Any]:
    """A job as ``jobs.list_job`` shows it."""
    return {
        "Function": job.get("fun", "unknown-function"),
        "Arguments": list(job.get("arg", [])),
        "Target": job.get("tgt", "unknown-target"),
        "Target-type": job.get("tgt_type", "list"),
        "User": job.get("user", "root"),
        "StartTime": jid_to_time(jid),
    }
