"""Comment lines out and in again: pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from saltlite.core.dataclasses import dataclass
from saltlite.providers.file.texts import unified_diff


@dataclass(frozen=True, slots=True)
class Commented:
    """The lines after the change, and those lines that it concerns, before and after.

    ``old`` is empty if no line matched.
    """

    lines: list[str]
    old: list[str]
    new: list[str]

    def difference(self) -> str:
        """The lines concerned; their numbers are those among themselves, as in Salt."""
        return unified_diff(self.old, self.new)


def comment_lines(lines: Sequence[str], regex: str, char: str) -> Commented:
    """Put ``char`` before each line that begins with ``regex``."""
    pattern = re.compile(_anchor_regex(regex))
    return _change_lines(lines, pattern, lambda line: f"{char}{line}")


def uncomment_lines(lines: Sequence[str], regex: str, char: str) -> Commented:
    """Take the characters of ``char`` from the begin of each line that matches behind them."""
    _, inner, end = _split_anchors(regex)
    pattern = re.compile(rf"^{char}\s*({inner}){end}")
    return _change_lines(lines, pattern, lambda line: line.lstrip(char) if char else line)


def _split_anchors(regex: str) -> tuple[str, str, str]:
    """Anchor, middle, anchor."""
    begin = "^" if regex.startswith("^") else ""
    end = "$" if regex.endswith("$") else ""
    return begin, regex.lstrip("^").rstrip("$"), end


def _anchor_regex(regex: str) -> str:
    begin, inner, end = _split_anchors(regex)
    return f"{begin}({inner}){end}"


def _change_lines(
    lines: Sequence[str], pattern: re.Pattern[str], change: Callable[[str], str]
) -> Commented:
    result, old, new = [], [], []
    for line in lines:
        if not pattern.match(line):
            result.append(line)
            continue
        altered = change(line)
        old.append(line)
        new.append(altered)
        result.append(altered)
    return Commented(result, old, new)
