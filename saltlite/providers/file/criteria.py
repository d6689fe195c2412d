"""The criteria of ``file.find``: what a user writes becomes a question about one file. Pure.

Salt's patterns are its own: ``name`` is a glob where ``?`` may also stand for nothing and ``[!a]``
is a set with an exclamation mark; ``regex`` is matched from the begin of the name.
Source: observed on Salt 3006.30; tests/unit/providers/file/test_find.py.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError

TYPES = {
    "b": stat.S_IFBLK,
    "c": stat.S_IFCHR,
    "d": stat.S_IFDIR,
    "f": stat.S_IFREG,
    "l": stat.S_IFLNK,
    "p": stat.S_IFIFO,
    "s": stat.S_IFSOCK,
}
LETTERS = {kind: letter for letter, kind in TYPES.items()}

_SIZE = regex(r"([+-]?)\s*(\d+(?:\.\d*)?)\s*([bkmgt]?)", re.IGNORECASE)
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_INTERVAL = regex(
    r"\s*([+-]?)\s*(?=\d)(?:(\d+(?:\.\d*)?)\s*w)?\s*(?:(\d+(?:\.\d*)?)\s*d)?"
    r"\s*(?:(\d+(?:\.\d*)?)\s*h)?\s*(?:(\d+(?:\.\d*)?)\s*m)?\s*(?:(\d+(?:\.\d*)?)\s*s)?\s*",
    re.IGNORECASE,
)
_SECONDS = (604800, 86400, 3600, 60, 1)


class CriterionError(FunctionError):
    """A criterion is not well formed; the text is Salt's."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was come upon. ``status`` is that of a link's target, if it has one."""

    path: str
    name: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float


Question = Callable[[FoundFile], bool]


def by_name(value: str) -> Question:
    """Whether the name is matched by a glob."""
    pattern = _compile_regex(_glob_regex(value), 0, value)
    return lambda entry: pattern.match(entry.name) is not None


def by_any_case_name(value: str) -> Question:
    """Whether the name is matched by a glob, capitals or not."""
    pattern = _compile_regex(_glob_regex(value), re.IGNORECASE, value)
    return lambda entry: pattern.match(entry.name) is not None


def by_regex(value: str) -> Question:
    """Whether the name begins as a regular expression says."""
    pattern = _compile_regex(value, 0, value)
    return lambda entry: pattern.match(entry.name) is not None


def by_any_case_regex(value: str) -> Question:
    """Whether the name begins as a regular expression says, capitals or not."""
    pattern = _compile_regex(value, re.IGNORECASE, value)
    return lambda entry: pattern.match(entry.name) is not None


def _glob_regex(value: str) -> str:
    return f"^{value.replace('.', chr(92) + '.').replace('?', '.?').replace('*', '.*')}$"


def _compile_regex(pattern: str, flags: int, shown: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except re.error:
        raise CriterionError(f'invalid regular expression: "{shown}"') from None


def containing(value: str) -> re.Pattern[bytes]:
    """The pattern that is searched in the content of files."""
    try:
        return re.compile(value.encode())
    except re.error:
        raise CriterionError(f'invalid regular expression: "{value}"') from None


def kinds(value: str) -> set[int]:
    """The kinds of files that letters stand for."""
    letters = value.strip().replace(",", "").replace(" ", "")
    for letter in letters:
        if letter not in TYPES:
            raise CriterionError(f'invalid file type "{letter}"')
    return {TYPES[letter] for letter in letters}


def by_type(value: str) -> Question:
    """Whether a file is of one of some kinds."""
    wanted = kinds(value)
    return lambda entry: stat.S_IFMT(entry.mode) in wanted


def by_size(value: str) -> Question:
    """Whether a file is as large as ``[+-]number[unit]``: at least, at most, or of that unit."""
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise CriterionError(f'invalid size: "{value}"')
    unit = 1024 ** _UNITS[match[3].lower() or "b"]
    size = int(float(match[2]) * unit)
    least = 0 if match[1] == "-" else size
    most = {"+": None, "-": size}.get(match[1], size + unit - 1)
    return lambda entry: entry.size >= least and (most is None or entry.size <= most)


def interval_s(value: str) -> tuple[str, float]:
    """Sign and seconds of ``[+-][num]w[num]d[num]h[num]m[num]s``."""
    match = _INTERVAL.fullmatch(str(value))
    if match is None:
        raise CriterionError(f"invalid time interval: '{value}'")
    numbers = match.groups()[1:]
    seconds = sum(
        float(number) * unit for number, unit in zip(numbers, _SECONDS, strict=True) if number
    )
    return match[1], seconds


def by_age(value: str, now_s: float) -> Question:
    """Whether a file was changed longer ago than an interval, or since then with a minus."""
    sign, seconds = interval_s(value)
    moment = now_s - seconds
    if sign == "-":
        return lambda entry: entry.mtime >= moment
    return lambda entry: entry.mtime <= moment


def by_owner(value: object, kind: str, id_of: Callable[[str], Any]) -> Question:
    """Whether a file belongs to one of some users or groups (``kind``), by names or ids."""
    wanted = set()
    for name in str(value).replace(",", " ").split():
        number = int(name) if is_digits(name) else id_of(name)
        if number == "":
            raise CriterionError(f'no such {kind} "{name}"')
        wanted.add(number)
    if kind == "user":
        return lambda entry: entry.uid in wanted
    return lambda entry: entry.gid in wanted


SIMPLE: Mapping[str, Callable[[str], Question]] = {
    "name": by_name,
    "iname": by_any_case_name,
    "regex": by_regex,
    "iregex": by_any_case_regex,
    "type": by_type,
    "size": by_size,
}
"""The options that need nothing but their value."""
