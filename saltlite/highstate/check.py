"""What is wrong with a tree of states, found without touching the machine they are meant for.

The files are rendered and compiled as for a run, and then each state is held against what there is:
its function and arguments, its requisites, the files it is made of, the pillar it names. All
mistakes are told at once, each with file and line. A line is looked up in the file as it is
written; a state whose ID only the template knows has the line of an ID that may print it, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.errors import FunctionUnavailable, SaltliteError
from saltlite.fileserver.client import file_client
from saltlite.highstate.call import OWN, StateFunctions, missing_of
from saltlite.highstate.graph import RECURSIVE, Ordered, Requisites, order
from saltlite.highstate.high import finished
from saltlite.highstate.low import Chunk, low_of, low_tag
from saltlite.highstate.sls import Place, Reader, reader
from saltlite.loader.signature import keywords
from saltlite.states.registry import resolve

SALT = "salt://"
ALIKE = 0.5
MISSPELT = 0.8
"""How like an argument must be to another to be named, and to be a slip where any may be given."""

OF_PILLAR = frozenset({"contents_pillar", "dataset_pillar", "pillar_key"})
_ABSENT = object()


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Something that is wrong. ``path`` is a path below the file roots; line 0 is no line."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        place = f"{SALT}{self.path}:{self.line}" if self.line else f"{SALT}{self.path}"
        return f"{place}: {self.text}" if self.path else self.text


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at, and what is wrong with it, in the order of the files."""

    sls: int
    states: int
    mistakes: Sequence[Mistake]


def check(ctx: MinionContext, wanted: Mapping[str, Sequence[str]], exclude: Any = ()) -> Checked:
    """Look at the states of environment → SLS names or globs.

    Raises:
        SaltliteError: the master does not answer.
    """
    files = reader(ctx)
    high = files.read(wanted)
    done = finished(high, list(exclude or ()))
    low = [] if done.errors else low_of(done.high)
    places = Places(files)
    mistakes = [Mistake("", 0, text) for text in (*files.errors, *done.errors)]
    own = Checks(ctx, places)
    for chunk in low:
        mistakes += own.of(chunk)
    mistakes += _requisites(order(low, files.names), low, files, places)
    mistakes += own.templates(files.places)
    return Checked(len(files.names), len(low), sorted(set(mistakes)))


# --- where ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Places:
    """Lines of declarations and their arguments in the SLS files."""

    files: Reader
    _texts: dict[Place, tuple[str, list[str]]] = field(default_factory=dict)

    def of(self, chunk: Chunk, argument: str = "") -> tuple[str, int]:
        """The path of a chunk's file, and the line of its argument, else of its ID, else 0."""
        path, lines = self.text(Place(str(chunk.get("__sls__")), str(chunk.get("__env__"))))
        start = _line_of_id(lines, str(chunk["__id__"]))
        if not start or not argument:
            return path, start
        return path, _line_of_argument(lines, start, argument) or start

    def text(self, place: Place) -> tuple[str, list[str]]:
        """The path of an SLS below its root, and its lines."""
        if place not in self._texts:
            path = self.files.tree.file(place) or ""
            try:
                found = self.files.tree.read(path, place.saltenv) if path else None
            except SaltliteError:
                found = None
            self._texts[place] = path, found[1].splitlines() if found else []
        return self._texts[place]


_KEY = re.compile(r"""^(?P<indent>\s*)(?P<quote>['"]?)(?P<key>[^\s#-].*?)(?P=quote)\s*:(\s|$)""")
_PRINTED = re.compile(r"{{.*?}}")


def _line_of_id(lines: Sequence[str], ident: str) -> int:
    """The line of a declaration, from 1: as it is written, else one that may print it, else 0."""
    maybe = 0
    for number, line in enumerate(lines, 1):
        found = _KEY.match(line)
        bare = found["key"] if found else line.strip().strip("'\"")
        if bare == ident:
            return number
        if found and not maybe and "{{" in bare and _fits(bare, ident):
            maybe = number
    return maybe


def _fits(written: str, ident: str) -> bool:
    parts = [re.escape(part) for part in _PRINTED.split(written)]
    return any(parts) and re.fullmatch(".*".join(parts), ident, re.DOTALL) is not None


def _line_of_argument(lines: Sequence[str], start: int, argument: str) -> int:
    """The line of ``- argument:`` below a declaration; 0 if it is not written there."""
    opening = _KEY.match(lines[start - 1])
    indent = len(opening["indent"]) if opening else 0
    written = re.compile(rf"""^\s*-\s+['"]?{re.escape(argument)}['"]?\s*(:|$)""")
    for number in range(start, len(lines)):
        line = lines[number]
        if written.match(line):
            return number + 1
        found = _KEY.match(line)
        if found and len(found["indent"]) <= indent and "{%" not in line:
            return 0
    return 0


# --- what -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Checks:
    """The checks of single states, and what they hold them against."""

    ctx: MinionContext
    places: Places
    _known: list[str] = field(default_factory=list)
    _paths: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    def of(self, chunk: Chunk) -> Iterator[Mistake]:
        """What is wrong with a state by itself."""
        yield from self._function(chunk)
        yield from self._sources(chunk)
        for argument in OF_PILLAR & chunk.keys():
            yield from self._pillar(chunk, argument)

    def templates(self, places: Sequence[Place]) -> Iterator[Mistake]:
        """Pillar and grains that SLS files print and that are not there."""
        from saltlite.renderers.lookups import bare_lookups

        data = {"pillar.get": self.ctx.pillar, "grains.get": self.ctx.grains}
        for place in places:
            path, lines = self.places.text(place)
            for found in bare_lookups("\n".join(lines)):
                values = data[found.function]
                if traverse(values, found.key, _ABSENT) is _ABSENT:
                    hint = _nearest(found.key, _keys(values))
                    text = f"{found.function}('{found.key}') finds nothing and has no default{hint}"
                    yield Mistake(path, found.line, text)

    # -- functions and arguments

    def _function(self, chunk: Chunk) -> Iterator[Mistake]:
        name = f"{chunk['state']}.{chunk['fun']}"
        try:
            function = resolve(name, self.ctx)
        except FunctionUnavailable as error:
            text = f"{str(error).rstrip('.')}{_nearest(name, self._names())}"
            yield self._mistake(chunk, text, str(chunk["state"]))
            return
        for each in missing_of(function.call, chunk):
            yield self._mistake(chunk, f"{name} needs the argument '{each}'")
        taken, any_other = keywords(function.call)
        for key in map(str, chunk):
            if key in taken or key in OWN or key.startswith("__") or key in ("name", "name_order"):
                continue
            cutoff = MISSPELT if any_other else ALIKE
            close = get_close_matches(key, [*taken, *OWN], n=1, cutoff=cutoff)
            if any_other and not close:
                continue
            hint = f"; did you mean '{close[0]}'?" if close else ""
            yield self._mistake(chunk, f"'{key}' is no argument of {name}{hint}", key)

    def _names(self) -> list[str]:
        if not self._known:
            self._known = StateFunctions(self.ctx, lambda: True).names()
        return self._known

    # -- files

    def _sources(self, chunk: Chunk) -> Iterator[Mistake]:
        for argument, value in chunk.items():
            given = [_source(each) for each in (value if isinstance(value, list) else [value])]
            wanted = [each for each in given if each.startswith(SALT)]
            several = argument == "source" and len(given) > 1
            lacking = [each for each in wanted if not self._is_there(each, chunk)]
            if several and len(lacking) < len(given):
                continue
            for each in lacking:
                yield self._mistake(chunk, f"{argument}: there is no {each}", str(argument))

    def _is_there(self, url: str, chunk: Chunk) -> bool:
        path, _, query = url.removeprefix(SALT).partition("?")
        saltenv = query.partition("saltenv=")[2].partition("&")[0]
        files, dirs = self._listed(saltenv or str(chunk.get("__env__") or "base"))
        return path.removeprefix("|") in files or path.strip("/") in dirs

    def _listed(self, saltenv: str) -> tuple[frozenset[str], frozenset[str]]:
        if saltenv not in self._paths:
            client = file_client(self.ctx)
            listed = frozenset(client.list_files(saltenv)), frozenset(client.list_dirs(saltenv))
            self._paths[saltenv] = listed
        return self._paths[saltenv]

    # -- pillar

    def _pillar(self, chunk: Chunk, argument: str) -> Iterator[Mistake]:
        keys = chunk[argument] if isinstance(chunk[argument], list) else [chunk[argument]]
        for key in map(str, keys):
            if traverse(self.ctx.pillar, key, _ABSENT) is _ABSENT:
                hint = _nearest(key, _keys(self.ctx.pillar))
                yield self._mistake(
                    chunk, f"{argument}: there is no pillar '{key}'{hint}", argument
                )

    def _mistake(self, chunk: Chunk, text: str, argument: str = "") -> Mistake:
        return Mistake(*self.places.of(chunk, argument), f"{chunk['__id__']}: {text}")


def _source(value: Any) -> str:
    """An entry of ``source``, which may be a map with the hash behind it."""
    if isinstance(value, Mapping):
        value = next(iter(value), "")
    return value if isinstance(value, str) else ""


def _requisites(
    settled: Ordered, low: Sequence[Chunk], files: Reader, places: Places
) -> Iterator[Mistake]:
    """Requisites that name nothing, and circles. With files that do not render, only circles."""
    by_tag = {low_tag(chunk): (number, chunk) for number, chunk in enumerate(low)}
    found = Requisites(low, files.names)
    known = sorted({f"{each['state']}: {each[key]}" for each in low for key in ("__id__", "name")})
    for tag, problem in settled.problems.items():
        number, chunk = by_tag[tag]
        if problem == RECURSIVE:
            path, line = places.of(chunk)
            yield Mistake(path, line, f"circle: {' -> '.join(settled.circles[tag])}")
        elif not files.errors:
            for kind, module, name in found.lacking(number):
                hint = _nearest(f"{module}: {name}", known)
                text = f"{chunk['__id__']}: {kind}: there is no {module}: {name}{hint}"
                yield Mistake(*places.of(chunk, kind), text)
    for module, name, _teller in settled.unheard if not files.errors else ():
        yield Mistake("", 0, f"listen: there is no {module}: {name}")


def _keys(data: Any, before: str = "") -> list[str]:
    """The names ``a``, ``a:b`` ... that can be looked up."""
    found: list[str] = []
    for key, value in data.items():
        found.append(f"{before}{key}")
        if isinstance(value, Mapping):
            found += _keys(value, f"{before}{key}:")
    return found


def _nearest(wanted: str, known: Sequence[str]) -> str:
    close = get_close_matches(wanted, known, n=1, cutoff=0.75)
    return f"; did you mean '{close[0]}'?" if close else ""
