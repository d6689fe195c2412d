"""Privileges of MySQL: what ``GRANT`` says and what ``SHOW GRANTS`` tells. All pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.providers.mysql.client import ident

_SHOWN = regex(r"GRANT (.+) ON (?:TABLE )?(\S.*?) TO ['`]")
_COLUMNS = regex(r"([^(]+)\((.*)\)")
ALL = "ALL PRIVILEGES"


@dataclass(frozen=True, slots=True)
class Granted:
    """One line of ``SHOW GRANTS``."""

    privileges: frozenset[str]
    target: str
    passed_on: bool


def parse_shown(line: str) -> Granted | None:
    """A line of ``SHOW GRANTS``; ``None`` for one that grants a role."""
    found = _SHOWN.match(line)
    if found is None:
        return None
    return Granted(privileges(found[1]), found[2], line.endswith("WITH GRANT OPTION"))


def privileges(text: str) -> frozenset[str]:
    """The privileges in a list with commas, each in one form."""
    parts = re.split(r",(?![^(]*\))", text)
    return frozenset(_plain_privilege(part.strip()) for part in parts if part.strip())


def _plain_privilege(privilege: str) -> str:
    found = _COLUMNS.fullmatch(privilege)
    if found is None:
        name = " ".join(privilege.upper().split())
        return ALL if name == "ALL" else name
    columns = sorted(column.strip(" `") for column in found[2].split(","))
    return f"{found[1].strip().upper()} ({', '.join(columns)})"


def words(text: str) -> str:
    """The privileges as a statement has them, columns quoted."""
    return ", ".join(_quote_privilege(each) for each in sorted(privileges(text)))


def _quote_privilege(privilege: str) -> str:
    found = _COLUMNS.fullmatch(privilege)
    if found is None:
        return re.sub(r"[^A-Z_ ]", "", privilege)
    columns = ", ".join(ident(column.strip()) for column in found[2].split(","))
    return f"{found[1].strip()} ({columns})"


def target(database: str, *, escape: bool) -> str:
    """``shop.*`` or ``shop.orders``, quoted.

    With ``escape`` the signs ``_`` and ``%``, which would fit several databases, mean themselves.
    """
    name, _, table = database.partition(".")
    table = table or "*"
    if name == "*":
        return "*.*"
    if table != "*":
        return f"{ident(name)}.{ident(table)}"
    if escape:
        name = re.sub(r"([_%])", r"\\\1", name)
    return f"{ident(name)}.*"


def holds(
    lines: Iterable[str], wanted: str, on: str, *, passed_on: bool = False, one: bool = False
) -> bool:
    """Whether these lines have all the wanted privileges (with ``one``: any) on a target."""
    asked = privileges(wanted)
    mine = [found for found in map(parse_shown, lines) if found is not None and found.target == on]
    if asked == {"USAGE"}:
        return bool(mine)
    held = frozenset[str]().union(
        *(found.privileges for found in mine if found.passed_on or not passed_on)
    )
    if one:
        return bool(asked & held) or (ALL in held and bool(asked))
    return ALL in held or asked <= held
