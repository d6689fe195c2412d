"""The lines around a mistake, and the name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

AROUND = 5
"""Lines shown before and after the one that is meant."""

MARK = "    <======================"


def excerpt(text: str, line: int, hint: str = "") -> str:
    """The lines around ``line`` (from 1), which is marked, as Salt shows them."""
    lines = text.splitlines()
    line = max(1, min(line, len(lines) or 1))
    first, last = max(0, line - AROUND - 1), min(len(lines), line + AROUND)
    shown = lines[first:last]
    if shown:
        shown[line - 1 - first] += MARK
    before = ["[...]"] if first > 0 else []
    after = ["[...]"] if last < len(lines) else []
    return "\n".join(["---", *before, *shown, *after, "---", *([hint] if hint else [])])


def similar(wanted: str, names: Iterable[object], kind: str) -> str:
    """A sentence that names what ``wanted`` resembles; empty if nothing does."""
    close = get_close_matches(wanted, [name for name in names if isinstance(name, str)], n=1)
    return f"The nearest {kind} is {close[0]!r}." if close else ""


def nearest(error: Exception, names: Iterable[str]) -> str:
    """A line that names the key which an undefined one resembles; empty if none does.

    ``error`` tells ``owner`` and ``name`` if it is about a name; without an owner that is a map,
    the name is one of ``names``.
    """
    wanted = getattr(error, "name", None)
    if not isinstance(wanted, str) or not hasattr(error, "owner"):
        return ""
    owner: Any = error.owner
    return similar(wanted, owner if isinstance(owner, Mapping) else names, "name")


_YAML_HINTS = (
    ("mapping values are not allowed", "", "A value with ': ' in it needs quotes."),
    ("that cannot start any token", r"[@%`]", "A value that begins with @, % or ` needs quotes."),
    ("could not find expected ':'", "", "A line before has no colon."),
    ("while scanning a quoted scalar", "", "A quote before is not closed."),
    ("while parsing a flow", "", "A bracket here or before is not closed."),
    ("without an anchor", "", "A value that begins with * needs quotes."),
    (
        "parsing a block mapping",
        r": +(['\"]).*\1\w",
        "A quote in a quoted value has to be doubled.",
    ),
    ("while parsing a block mapping", "", "The indentation fits no line before."),
    ("expected '-' indicator", "", "A list and a map cannot share one indentation."),
    ("sequence entries are not allowed", r":\s+-", "A list begins on the line after its key."),
    ("unknown escape character", "", "A backslash in double quotes needs another one before it."),
    ("while scanning a block scalar", "", "A value that begins with | or > needs quotes."),
    ("while scanning an a", "", "A value that begins with & or * needs quotes."),
    ("constructor for the tag '!", "", "A value that begins with ! needs quotes."),
    ("found unacceptable key", r"\{\{", "Jinja has not rendered this text."),
)
"""Part of what the parser says, what the line must have, and what was probably meant."""


def yaml_hint(finding: str, text: str, line: int | None) -> str:
    """A sentence for what YAML's parser found in a line (from 1); empty without one."""
    lines = text.splitlines()
    shown = lines[line - 1] if line and line <= len(lines) else ""
    for part, needed, hint in _YAML_HINTS:
        if part in finding and "a tab in" not in finding and re.search(needed, shown):
            return hint
    return ""
