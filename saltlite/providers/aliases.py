"""The table of mail aliases: lines of ``name: target``. Source: aliases(5)."""

from __future__ import annotations

from collections.abc import Iterator

from saltlite.core.lazyregex import regex

_LINE = regex(r"^([^ #][^:]*) *: *([^#]*?)\s*(#.*)?$")


def parse(text: str) -> dict[str, str]:
    """Names and their targets; remarks and continued lines are left out."""
    return {name: target for name, target, _ in _parse_lines(text) if name}


def with_target(text: str, alias: str, target: str) -> str:
    """The table in which a name has a target; a remark behind it stays."""
    lines, found = [], False
    for name, _, line in _parse_lines(text):
        if name == alias:
            found = True
            match = _LINE.match(line)
            remark = match[3] if match else None
            lines.append(f"{alias}: {target}{f' {remark}' if remark else ''}")
        else:
            lines.append(line)
    return "".join(f"{line}\n" for line in (lines if found else [*lines, f"{alias}: {target}"]))


def without(text: str, alias: str) -> str:
    """The table without a name."""
    return "".join(f"{line}\n" for name, _, line in _parse_lines(text) if name != alias)


def show_target(target: object) -> str:
    """One target, or several as the table has them."""
    return ", ".join(map(str, target)) if isinstance(target, (list, tuple)) else str(target)


def _parse_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, target and the whole line; no name where there is none."""
    for line in text.splitlines():
        match = _LINE.match(line)
        yield (match[1].strip(), match[2], line) if match else ("", "", line)
