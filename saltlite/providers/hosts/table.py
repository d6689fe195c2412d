"""``/etc/hosts`` as text in, text out. Pure.

The layout of what is written is Salt's: address, two tabs, names, two tabs, comment. Adding a name
and changing a comment write the whole table anew, without its empty lines; the other changes touch
one line. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass

Table = dict[str, Any]
"""Address → ``{"aliases": [...]}`` and ``comment`` if it has one; ``comment-N`` → lines."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line with an address."""

    address: str
    names: tuple[str, ...]
    comment: str


def _split_line(line: str) -> _Line | None:
    """A line taken apart, ``None`` for an empty one and one that is nothing but a comment."""
    text, _, comment = line.partition("#")
    words = text.split()
    return _Line(words[0], tuple(words[1:]), comment.strip()) if words else None


def parse(text: str) -> Table:
    """The table. Names of an address that stands in several lines are put together."""
    table: Table = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        parts = _split_line(line)
        if parts is None:
            number = sum(1 for key in table if key.startswith("comment-"))
            table[f"comment-{number}"] = [line.strip()]
            continue
        entry = table.setdefault(parts.address, {"aliases": []})
        entry["aliases"] += parts.names
        if parts.comment:
            entry["comment"] = parts.comment
    return table


def build(table: Table) -> str:
    """The text of a table."""
    return "".join(_table_lines(table))


def _table_lines(table: Table) -> Iterator[str]:
    for address, entry in table.items():
        if isinstance(entry, list):
            yield from (f"{line}\n" for line in entry)
        else:
            yield _format_line(address, " ".join(entry["aliases"]), entry.get("comment"))


def _format_line(address: str, names: str, comment: str | None) -> str:
    note = f"\t\t# {comment}" if comment else ""
    return f"{address}\t\t{names}{note}".rstrip() + "\n"


def addresses(table: Table) -> Iterator[tuple[str, Sequence[str]]]:
    """The addresses and their names, without the comments."""
    for address, entry in table.items():
        if not isinstance(entry, list):
            yield address, entry["aliases"]


def with_name(text: str, address: str, name: str) -> str:
    """The table with one name more."""
    table = parse(text)
    table.setdefault(address, {"aliases": []})["aliases"].append(name)
    return build(table)


def with_comment(text: str, address: str, comment: str) -> str | None:
    """The table with another comment to an address; ``None`` if the address is not in it."""
    table = parse(text)
    if address not in table:
        return None
    if table[address].get("comment") == comment:
        return text
    table[address]["comment"] = comment
    return build(table)


def with_names(text: str, address: str, names: str, comment: str | None) -> str:
    """The table with just these names for an address; without ``names`` its lines go."""
    lines = []
    written = not names
    for line in text.splitlines(keepends=True):
        parts = _split_line(line)
        if parts is None or parts.address != address:
            lines.append(line)
        elif not written:
            lines.append(_format_line(address, names, comment))
            written = True
    if not written:
        _end_line(lines)
        lines.append(_format_line(address, names, comment))
    return "".join(lines)


def without_name(text: str, address: str, name: str) -> str:
    """The table without a name; a line with no name left goes."""
    return "".join(
        changed
        for line in text.splitlines(keepends=True)
        if (changed := _line_without(line, address, name))
    )


def _line_without(line: str, address: str, name: str) -> str:
    parts = _split_line(line)
    if parts is None or parts.address != address or name not in parts.names:
        return line
    names = [each for each in parts.names if each != name]
    if not names:
        return ""
    comment = f"# {parts.comment}" if parts.comment else ""
    return f"{address}\t\t{' '.join(names)} {comment}\n"


def _end_line(lines: list[str]) -> None:
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
