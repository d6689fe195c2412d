"""Lines of keys and values, set in a file's text: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass

_END = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValues:
    """What shall be set, and how its lines look. ``count`` is how many of one key are changed."""

    values: Mapping[str, Any]
    separator: str = "="
    count: int = 1
    uncomment: str | None = None
    append: bool = False
    prepend: bool = False
    key_ignore_case: bool = False
    value_ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The lines afterwards, what is told of the difference, and how many lines changed."""

    lines: list[str]
    told: list[str]
    changed: int


def apply_keys(lines: Sequence[str], wanted: KeyValues) -> Result:
    """The keys set in the lines (with their ends), and added where that is wanted.

    As in Salt more lines of a key than ``count`` go, but for those that are commented or set in:
    they only count as long as there are too few. With less than one none is added.
    """
    content: list[str] = []
    told: list[str] = []
    times = dict.fromkeys(wanted.values, 0)
    changed = 0
    for line in lines:
        key, new, is_plain = _alter_line(line, wanted)
        if key is not None and (is_plain or times[key] < wanted.count):
            times[key] += 1
            new = new if wanted.count < 0 or times[key] <= wanted.count else ""
        else:
            new = line
        content.append(new)
        if new != line:
            kind = "" if key is None else _show_kind(wanted.values[key])
            told += [f"- {_strip_end(line)}\n", *([f"+ {_strip_end(new)}{kind}\n"] if new else [])]
            changed += 1
    added = [f"{key}{wanted.separator}{wanted.values[key]}\n" for key in times if not times[key]]
    if not added or wanted.count < 1 or not (wanted.append or wanted.prepend):
        return Result(content, told, changed)
    changed += len(added)
    if not wanted.append:  # each before the last one
        added.reverse()
        shown = [f"+ {line}" for line in added]
        return Result([*added, *content], ["  <SOF>\n", *shown, *told], changed)
    shown = [f"+ {line}" for line in added]
    if content and not content[-1].endswith("\n"):
        content[-1] += "\n"
    return Result([*content, *added], [*told, "- <EOF>\n", *shown, "+ <EOF>\n"], changed)


def _alter_line(line: str, wanted: KeyValues) -> tuple[str | None, str, bool]:
    """The key that a line is about, the line with its value, whether it is neither set in nor out.

    Without ``uncomment`` blanks may be before a key; none may be behind it.
    """
    bare = _strip_end(line)
    plain = bare.lstrip(wanted.uncomment)
    found, separator, now = plain.partition(wanted.separator)
    is_plain = plain == bare
    for key, given in wanted.values.items():
        if not separator or not _are_equal(found, key, wanted.key_ignore_case):
            continue
        value = str(given)
        is_same = _are_equal(now.strip(), value.strip(), wanted.value_ignore_case)
        if is_same and is_plain:
            return key, line, True
        return key, f"{found}{separator}{value}{line[len(bare) :] or _END}", is_plain
    return None, line, is_plain


def _show_kind(value: object) -> str:
    """What Salt tells beside a value that is no text."""
    return "" if isinstance(value, str) else f" (from {type(value).__name__} type)"


def _are_equal(one: str, other: str, ignore_case: bool) -> bool:
    return one.lower() == other.lower() if ignore_case else one == other


def _strip_end(line: str) -> str:
    return line.rstrip("\r\n")
