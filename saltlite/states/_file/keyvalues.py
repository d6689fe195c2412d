"""Lines of keys and values, set in a file's text: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValues:
    """What shall be set, and how its lines look. ``count`` is how many of one key are changed."""

    values: Mapping[str, str]
    separator: str = "="
    count: int = 1
    uncomment: str = ""
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


def applied(lines: Sequence[str], wanted: KeyValues) -> Result:
    """The keys set in the lines (with their ends), and added where that is wanted.

    Of more lines of a key than ``count`` the rest goes, as in Salt.
    """
    content: list[str] = []
    told: list[str] = []
    times = dict.fromkeys(wanted.values, 0)
    changed = 0
    for line in lines:
        key, new = _altered(line, wanted)
        if key is not None:
            times[key] += 1
            new = new if wanted.count < 0 or times[key] <= wanted.count else ""
        content.append(new)
        if new != line:
            told += [f"- {_bare(line)}\n", *([f"+ {_bare(new)}\n"] if new else [])]
            changed += 1
    added = [f"{key}{wanted.separator}{wanted.values[key]}\n" for key in times if not times[key]]
    if not added or not (wanted.append or wanted.prepend):
        return Result(content, told, changed)
    shown = [f"+ {line}" for line in added]
    changed += len(added)
    if wanted.prepend:
        return Result([*added, *content], ["  <SOF>\n", *shown, *told], changed)
    if content and not content[-1].endswith("\n"):
        content[-1] += "\n"
    return Result([*content, *added], [*told, "- <EOF>\n", *shown, "+ <EOF>\n"], changed)


def _altered(line: str, wanted: KeyValues) -> tuple[str | None, str]:
    """The key that a line is about, and the line with its value."""
    bare = _bare(line)
    plain = bare.lstrip(wanted.uncomment) if wanted.uncomment else bare
    found, separator, now = plain.partition(wanted.separator)
    if not separator:
        return None, line
    for key, value in wanted.values.items():
        if not _same(found.strip(), key, wanted.key_ignore_case):
            continue
        kept = now if _same(now, value, wanted.value_ignore_case) else value
        return key, f"{found}{separator}{kept}{line[len(bare) :]}"
    return None, line


def _same(one: str, other: str, ignore_case: bool) -> bool:
    return one.lower() == other.lower() if ignore_case else one == other


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
