"""Arguments that functions take and nothing reads are those that docs/differences.md lists."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from parameters import Definition, Program, unread

from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import MODULES, RENDERERS, RETURNERS, RUNNERS, STATES, WHEELS

ROOT = Path(__file__).parents[2]
KINDS = {
    "module": MODULES.modules(),
    "state": STATES.modules(),
    "runner": RUNNERS.modules(),
    "wheel": WHEELS.modules(),
    "returner": RETURNERS.modules(),
    "renderer": RENDERERS.modules(),
}
GIVEN_BY_THE_ENGINE = {"state": {"name", "sfun"}, "renderer": {"source", "ctx"}}
"""What every function of a kind is given, also one whose other arguments say all."""


@cache
def program() -> Program:
    return Program(ROOT)


@cache
def functions(kind: str) -> dict[str, Definition]:
    found = {}
    for name, value in public(kind):
        found[name] = with_options(definition_of(value), value)
    return found


def with_options(definition: Definition, value: Any) -> Definition:
    """With the options that a function takes as one value, if it does."""
    arguments = getattr(value, "option_arguments", None)
    if arguments is None:
        return definition
    family = program().member(arguments.family.__module__, arguments.family.__name__)
    assert isinstance(family, Definition)
    return replace(definition, family=family, options=tuple(arguments.options))


def definition_of(value: Any) -> Definition:
    """The definition of a function, or that of what it was made of."""
    found = program().member(value.__module__, value.__name__)
    if isinstance(found, Definition):
        return found
    arguments = getattr(value, "option_arguments", None)
    made = arguments.function if arguments else value
    home, name = made.__globals__["__name__"], made.__code__.co_name
    nodes = ast.walk(program().modules[home].tree)
    return Definition(home, name, next(node for node in nodes if getattr(node, "name", "") == name))


def public(kind: str) -> Iterator[tuple[str, Any]]:
    """The functions of a kind; a renderer is one function, called as the renderer itself."""
    for name, place in KINDS[kind].items():
        module = importlib.import_module(place)
        if kind == "renderer":
            yield name, module.render
        else:
            yield from ((f"{name}.{each}", value) for each, value in functions_of(module).items())


@cache
def unread_of(kind: str) -> dict[str, list[str]]:
    found = unread(program(), functions(kind))
    given = GIVEN_BY_THE_ENGINE.get(kind, set())
    return {
        name: [each for each in arguments if each not in given] for name, arguments in found.items()
    }


@dataclass(frozen=True)
class Row:
    """A row of the table: every function with every argument, as far as there are such."""

    functions: tuple[tuple[str, str], ...]
    arguments: tuple[str, ...]

    def covers(self, kind: str, name: str, argument: str) -> bool:
        return self.names(kind, name) and any(fnmatchcase(argument, one) for one in self.arguments)

    def names(self, kind: str, name: str) -> bool:
        return any(kind == its and fnmatchcase(name, one) for its, one in self.functions)


def _cells() -> Iterator[tuple[str, str]]:
    page = (ROOT / "docs/differences.md").read_text().partition("## Arguments without effect")[2]
    for line in page.partition("\n## ")[0].splitlines():
        cells = line.split("|")
        if line.startswith("| ") and "`" in cells[1]:
            yield cells[1], cells[2]


@cache
def table() -> tuple[Row, ...]:
    return tuple(
        Row(tuple(_functions(functions)), tuple(re.findall(r"`([^`]+)`", arguments)))
        for functions, arguments in _cells()
    )


def _functions(cell: str) -> Iterator[tuple[str, str]]:
    kind = "module"
    for word, pattern in re.findall(
        r"(states?|runners?|wheel|returners?|renderers?)?\s*`([^`]+)`", cell
    ):
        kind = word.removesuffix("s") or kind
        yield kind, pattern


def found() -> Iterator[tuple[str, str, str]]:
    for kind in KINDS:
        for name, arguments in unread_of(kind).items():
            yield from ((kind, name, argument) for argument in arguments)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_nobody_reads_is_listed(kind: str) -> None:
    new = [one for one in found() if one[0] == kind and not any(r.covers(*one) for r in table())]
    assert not new, "make them work, refuse them, or list them in docs/differences.md"


@pytest.mark.parametrize("row", table(), ids=lambda row: row.functions[0][1])
def test_every_row_is_needed(row: Row) -> None:
    covered = [one for one in found() if row.covers(*one)]
    needed = {a for a in row.arguments if any(fnmatchcase(one[2], a) for one in covered)}
    assert needed == set(row.arguments)
    named = {f for f in row.functions if any(Row((f,), row.arguments).covers(*c) for c in covered)}
    assert named == set(row.functions)


WALKED = """
import saltlite.probe_callee as callee
from saltlite.probe_callee import Thing, keywords

def reads_all(ctx, name, one, two=None):
    return f"{name}{one}{two}"

def hands_on(one, lost):
    return callee.takes(one, lost)

def keeps(seen, unseen):
    return Thing(seen, unseen)

def by_keyword(found, missing):
    return keywords(found=found, missing=missing)

def by_locals(found, missing):
    return callee.of_map(locals())

def deletes(gone):
    del gone

def takes_family(options, /, own):
    return callee.show(options, own)
"""
CALLEE = """
from dataclasses import dataclass, replace

def takes(one, two):
    return one + 1

@dataclass
class Thing:
    seen: int
    unseen: int

    def show(self):
        return self.seen

def keywords(**given):
    return given.get("found")

def of_map(arguments):
    return arguments["found"]

@dataclass
class Family:
    found: int = 0
    lost: int = 0
    missing: int = 0

    def show(self):
        return self.found

def show(family: Family, own):
    return Thing(family.lost, None)

def show_other(other):
    return other.missing
"""
EXPECTED = {
    "reads_all": [],
    "hands_on": ["lost"],
    "keeps": ["unseen"],
    "by_keyword": ["missing"],
    "by_locals": ["missing"],
    "deletes": ["gone"],
    "takes_family": ["own", "missing"],
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_walk(name: str, tmp_path: Path) -> None:
    package = tmp_path / "saltlite"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "probe.py").write_text(WALKED)
    (package / "probe_callee.py").write_text(CALLEE)
    walked = Program(tmp_path)
    function = walked.member("saltlite.probe", name)
    assert isinstance(function, Definition)
    if name == "takes_family":
        family = walked.member("saltlite.probe_callee", "Family")
        assert isinstance(family, Definition)
        options = ("found", "lost", "missing")
        function = replace(function, family=family, options=options)
    assert unread(walked, {name: function}).get(name, []) == EXPECTED[name]
