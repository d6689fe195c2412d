"""What is too old or too much in a directory."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared
from saltlite.states._file import cleaning, retention
from saltlite.states._file.checks import failure


def pruned(
    ctx: MinionContext,
    name: str,
    recurse: bool = False,
    ignore_errors: bool = False,
    older_than: object = None,
) -> Declared:
    """No directory at a path, unless there is something in it."""
    days = None if older_than is None else _parse_number(older_than, "older_than")
    name = os.path.expanduser(name)
    return cleaning.Pruned(name=name, recurse=recurse, leave=ignore_errors, older_than=days)


def _parse_number(value: Any, argument: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FunctionError(f"{argument}: {value!r} is no number") from None


def tidied(
    ctx: MinionContext,
    name: str,
    age: object = 0,
    matches: object = None,
    rmdirs: bool = False,
    size: object = 0,
    exclude: object = None,
    full_path_match: bool = False,
    followlinks: bool = False,
    time_comparison: str = "atime",
    age_size_logical_operator: str = "OR",
    age_size_only: object = None,
    rmlinks: bool = True,
    **kwargs: Any,
) -> Declared:
    """A directory without what is too old (in days) or too large."""
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"Specified file {name} is not an absolute path")
    only = str(age_size_only or "").lower()
    limits = cleaning.Limits(
        age=_parse_number(age, "age"), size=cleaning.in_bytes(size),
        only=only if only in ("age", "size") else "",
        both=str(age_size_logical_operator).upper() == "AND", clock=str(time_comparison).lower(),
    )  # fmt: skip
    return cleaning.Tidied(
        name=name, limits=limits, matches=cleaning.patterns(matches or ".*", "matches"),
        exclude=cleaning.patterns(exclude or [], "exclude"), whole_path=full_path_match,
        folders=rmdirs, links=rmlinks, follow=followlinks,
    )  # fmt: skip


def retention_schedule(
    ctx: MinionContext,
    name: str,
    retain: object,
    strptime_format: object = None,
    timezone: object = None,
) -> Declared:
    """A directory with no more copies than the rules in ``retain`` keep."""
    name = os.path.expanduser(name)
    if not os.path.isdir(name):
        return failure("Name provided to file.retention must be a directory")
    return retention.Retention(
        name=name, rules=retention.parse_rules(retain), form=str(strptime_format or ""),
        zone=retention.zone_of(timezone),
    )  # fmt: skip
