"""The entries of ``reactor:``: which tags they mean, and the files that say what is done.

An entry is a map of one tag pattern (a shell glob, exact case, ``*`` also matches ``/``) to a file
or a list of files. Entries of another form are told as problems, and do not count.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from saltlite.config.schema import describe_found
from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex

ALLOWED: Final = "allowed: a map of one tag pattern to an SLS file or a list of them"

PATTERN_LIMIT: Final = 1024
"""Characters of a pattern; tags are not longer either."""

_SPECIAL: Final = regex(r"[*?\[\]]")


@dataclass(frozen=True, slots=True)
class ReactorEntry:
    """One entry: a pattern of tags and the files to render, in order."""

    pattern: str
    files: tuple[str, ...]

    def as_map(self) -> dict[str, list[str]]:
        """The entry as it is written in a configuration."""
        return {self.pattern: list(self.files)}


@dataclass(frozen=True, slots=True)
class Entries:
    """What a configuration says; ``problems`` are lines for people."""

    entries: tuple[ReactorEntry, ...]
    problems: tuple[str, ...] = ()


def read_entries(value: object, place: Callable[[int], str] = lambda _number: "") -> Entries:
    """Read the list of entries.

    ``place`` tells where the entry of a number is (``file:line``); -1 is the option itself.
    """
    if value is None:
        return Entries(())
    if not isinstance(value, (list, tuple)):
        return Entries((), (_problem(place(-1), value, "allowed: a list of maps"),))
    entries, problems = [], []
    for number, one in enumerate(value):
        entry = read_entry(one)
        if entry is None:
            problems.append(_problem(place(number), one, ALLOWED))
        else:
            entries.append(entry)
    return Entries(tuple(entries), tuple(problems))


def _problem(place: str, value: object, allowed: str) -> str:
    return ": ".join(
        part for part in (place, "reactor", f"found {describe_found(value)}") if part
    ) + (f", {allowed}")


def read_entry(value: object) -> ReactorEntry | None:
    """One entry; ``None`` if it is of another form."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    pattern, files = next(iter(value.items()))
    listed = [files] if isinstance(files, str) else files
    if not isinstance(pattern, str) or not 0 < len(pattern) <= PATTERN_LIMIT:
        return None
    if not isinstance(listed, (list, tuple)) or not listed:
        return None
    if not all(isinstance(file, str) and file for file in listed):
        return None
    return ReactorEntry(pattern, tuple(listed))


class TagTable:
    """Finds the entries that mean a tag; the cost hardly grows with their number.

    Patterns are put by the literal text before their first wildcard, then by that after their last
    one; of those that begin and end as a tag does only the regular expressions are asked.
    """

    def __init__(self, entries: Sequence[ReactorEntry]) -> None:
        self.entries = tuple(entries)
        self._exact: dict[str, list[int]] = {}
        self._by_prefix: dict[str, _BySuffix] = {}
        for number, entry in enumerate(entries):
            self._add(number, entry.pattern)
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def _add(self, number: int, pattern: str) -> None:
        found = [match.start() for match in _SPECIAL.finditer(pattern)]
        if not found:
            self._exact.setdefault(pattern, []).append(number)
            return
        prefix, suffix = pattern[: found[0]], pattern[found[-1] + 1 :]
        self._by_prefix.setdefault(prefix, _BySuffix()).add(suffix, number, pattern)

    def matching(self, tag: str) -> list[ReactorEntry]:
        """The entries that mean a tag, in the order of the list."""
        found = list(self._exact.get(tag, ()))
        for length in self._lengths:
            if length > len(tag):
                break
            bucket = self._by_prefix.get(tag[:length])
            if bucket is not None:
                found += bucket.matching(tag)
        return [self.entries[number] for number in sorted(found)]


class _BySuffix:
    """The patterns that begin alike."""

    __slots__ = ("_groups", "_lengths")

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._lengths: list[int] = []

    def add(self, suffix: str, number: int, pattern: str) -> None:
        self._groups.setdefault(suffix, _Group()).add(number, pattern)
        self._lengths = sorted({len(one) for one in self._groups})

    def matching(self, tag: str) -> set[int]:
        found: set[int] = set()
        for length in self._lengths:
            if length > len(tag):
                break
            group = self._groups.get(tag[len(tag) - length :])
            if group is not None:
                found |= group.matching(tag)
        return found


_START: Final = 3


class _Group:
    """The patterns that begin and end alike, by the start of their longest literal text."""

    __slots__ = ("_by_start", "_others")

    def __init__(self) -> None:
        self._by_start: dict[str, list[tuple[int, str, re.Pattern[str]]]] = {}
        self._others: list[tuple[int, re.Pattern[str]]] = []

    def add(self, number: int, pattern: str) -> None:
        compiled, literal = re.compile(fnmatch.translate(pattern)), _longest_literal(pattern)
        if len(literal) < _START:
            self._others.append((number, compiled))
        else:
            self._by_start.setdefault(literal[:_START], []).append((number, literal, compiled))

    def matching(self, tag: str) -> set[int]:
        found = {number for number, compiled in self._others if compiled.match(tag)}
        for at in range(len(tag) - _START + 1) if self._by_start else ():
            for number, literal, compiled in self._by_start.get(tag[at : at + _START], ()):
                if tag.startswith(literal, at) and compiled.match(tag):
                    found.add(number)
        return found


def _longest_literal(pattern: str) -> str:
    """The longest text that each tag that the pattern means has; ``""`` if that is not plain."""
    if "[" in pattern:
        return ""
    return max(re.split(r"[*?]+", pattern), key=len)
