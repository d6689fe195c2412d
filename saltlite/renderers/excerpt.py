"""The lines around a mistake, and the name that was probably meant."""

from __future__ import annotations

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


def nearest(error: Exception, names: Iterable[str]) -> str:
    """A line that names the key which an undefined one resembles; empty if none does.

    ``error`` tells ``owner`` and ``name`` if it is about a name; without an owner that is a map,
    the name is one of ``names``.
    """
    wanted = getattr(error, "name", None)
    if not isinstance(wanted, str) or not hasattr(error, "owner"):
        return ""
    owner: Any = error.owner
    known = owner if isinstance(owner, Mapping) else names
    close = get_close_matches(wanted, [key for key in known if isinstance(key, str)], n=1)
    return f"The nearest name is {close[0]!r}." if close else ""
