"""What is wrong with a tree of states, found without touching the machine they are meant for.

The files are rendered and compiled as for a run, and then each state is held against what there is:
its function and arguments, its requisites, the files it is made of, the pillar it names. All
mistakes are told at once, each with file and line. A line is looked up in the file as it is
written; a state whose ID only the template knows has the line of an ID that may print it, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from copy import deepcopy
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionUnavailable, RenderError, SaltliteError
from saltlite.fileserver.client import file_client
from saltlite.highstate.call import missing_of
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.graph import RECURSIVE, Requisites, order
from saltlite.highstate.high import finish, verify
from saltlite.highstate.locations import SALT, Places, place_errors
from saltlite.highstate.low import low_of
from saltlite.highstate.requisites import OWN
from saltlite.highstate.slips import (
    find_slips,
    is_one_slip,
    suggest_function,
    suggest_nearest,
)
from saltlite.highstate.sls import EXCLUDE, EXTEND, High, Reader, SlsRef, StateTree
from saltlite.highstate.top import TopStates
from saltlite.loader.signature import keywords
from saltlite.loader.states import resolve

ALIKE = 0.5
"""How like an argument must be to another for that one to be offered."""

SHORTEST_NAME = 4
"""Letters of a name in a template that another one may be a slip of."""

IN_TEMPLATES = frozenset({"salt", "pillar", "grains", "opts", "saltenv", "source", "name", "env"})
"""Names that every template of a file has."""

OF_PILLAR = frozenset({"contents_pillar", "dataset_pillar", "pillar_key"})
_ABSENT = object()


@dataclass(frozen=True, slots=True)
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


def check(ctx: MinionContext, wanted: TopStates, exclude: object = ()) -> Checked:
    """Look at the states of environment → SLS names or globs, as one run.

    Raises:
        SaltliteError: the master does not answer.
    """
    run = _Run(_Once(ctx, StateTree(file_client(ctx))), wanted.sls, exclude)
    return _collect_mistakes(ctx, [run], wanted.errors)


def check_all(
    ctx: MinionContext,
    wanted: Mapping[str, Sequence[str]],
    highstate: TopStates,
    exclude: object = (),
) -> Checked:
    """Look at a whole tree: at the highstate as one run, at other SLS that nobody includes alone.

    What those require may be in any SLS of the tree: a top file of another minion may join them.
    """
    tree, cache = StateTree(file_client(ctx)), _Cache()
    state_top = ctx.config.files.state_top.removeprefix(SALT)
    every = _Once(ctx, tree, cache=cache)
    named = {
        saltenv: [
            sls
            for name in names
            for sls in tree.matching(name, saltenv) or [name]
            if tree.file(SlsRef(sls, saltenv)) != state_top
        ]
        for saltenv, names in wanted.items()
    }
    every.read(named)
    runs = [_Run(_Once(ctx, tree, cache=cache), highstate.sls, exclude)]
    seen = {place for run in runs for place in run.files.places}
    rest = [SlsRef(sls, saltenv) for saltenv, names in named.items() for sls in names]
    for place in sorted(rest, key=lambda it: it in every.included):  # at last, circles of includes
        if place not in seen:
            alone = {place.saltenv: [place.sls]}
            runs.append(_Run(_Once(ctx, tree, cache=cache), alone, exclude, is_part=True))
            seen.update(runs[-1].files.places)
    return _collect_mistakes(ctx, runs, highstate.errors)


@dataclass(slots=True)
class _Cache:
    """What files rendered to, and the mistake of those that did not, message and all."""

    rendered: dict[SlsRef, Any] = field(default_factory=dict)
    failed: dict[SlsRef, tuple[str, tuple[SlsRef, SaltliteError]]] = field(default_factory=dict)


@dataclass(slots=True)
class _Once(Reader):
    """A reader that shares with others what files render to, and knows whose mistake is whose."""

    cache: _Cache = field(default_factory=_Cache)
    blamed: dict[str, SlsRef] = field(default_factory=dict)

    def _read_state(self, place: SlsRef) -> High:
        before = len(self.errors)
        state = Reader._read_state(self, place)  # no super(): the class is made anew for its slots
        for error in self.errors[before:]:  # those of what it includes are known by now
            self.blamed.setdefault(error, place)
        return state

    def _render_once(self, place: SlsRef, path: str) -> Any:
        if place not in self.cache.rendered:
            known = set(self.failed)
            self.cache.rendered[place] = Reader._render_once(self, place, path)
            for message in self.failed.keys() - known:
                self.cache.failed[place] = message, self.failed[message]
        elif place in self.cache.failed:
            message, why = self.cache.failed[place]
            self.errors.append(message)
            self.failed[message] = why
        # Compiling changes what it is given, and another run is to see it as it was.
        return deepcopy(self.cache.rendered[place])


class _Run:
    """States that would run together, as far as their files and declarations are sound."""

    def __init__(
        self,
        files: _Once,
        wanted: Mapping[str, Sequence[str]],
        exclude: Any,
        *,
        is_part: bool = False,
    ) -> None:
        self.files = files
        self.is_part = is_part
        high = {
            ident: body
            for ident, body in files.read(wanted).items()
            if isinstance(body, Mapping) or ident in (EXTEND, EXCLUDE)  # others were told
        }
        done = finish(high, list(exclude or ()))
        # One mistake is not to hide those of the other states.
        sound = {ident: body for ident, body in done.high.items() if not verify({ident: body})}
        self.is_whole = not files.errors and len(sound) == len(done.high)
        self.errors = [*files.errors, *done.errors]
        self.low = low_of(sound)


def _collect_mistakes(
    ctx: MinionContext, runs: Sequence[_Run], errors: Sequence[str] = ()
) -> Checked:
    mistakes = {Mistake("", 0, text) for text in errors}
    states: set[tuple[Any, ...]] = set()
    names: set[SlsRef] = set()
    # Of all runs: what one SLS requires may be declared by another.
    known = {name for run in runs for chunk in run.low for name in _names_of(chunk)}
    places = Places(runs[0].files.tree)
    own = Checks(ctx, places)
    for run in runs:
        mistakes.update(_compile_errors(run, places))
        for chunk in run.low:
            states.add((chunk.saltenv, chunk.sls, chunk.tag))
            mistakes.update(own.of(chunk))
        mistakes.update(_check_requisites(run, places, known))
        mistakes.update(own.templates(run.files.places))
        names.update(run.files.places)
    return Checked(
        len(names), len(states), sorted(mistakes, key=lambda it: (it.path, it.line, it.text))
    )


def _compile_errors(run: _Run, places: Places) -> Iterator[Mistake]:
    for text in run.errors:
        if text not in run.files.failed:
            yield Mistake(*_find_named(places, text, run.files), text)
            continue
        place, error = run.files.failed[text]
        path, line = places.text(place)[0], 0
        # The line of an imported file is no line of this one.
        if isinstance(error, RenderError) and not error.imported:
            line = error.line or 0
        yield Mistake(path, line, text.rstrip())


# --- where ----------------------------------------------------------------------------------------


def _find_named(places: Places, error: str, files: _Once) -> tuple[str, int]:
    """The SLS and line of a compile error: of the ID that it names, else of the include."""
    found = place_errors(places.tree, [error], {place.saltenv for place in files.places})
    if found:
        path, _, line = found[0].removesuffix(f": {error}").partition(".sls:")
        path = path.removeprefix(SALT)
        return (f"{path}.sls", int(line)) if line else (path, 0)
    blamed = files.blamed.get(error)
    if blamed is None:
        return "", 0
    path, lines = places.text(blamed)
    name = _INCLUDED.search(error)
    return path, _line_with(lines, name["sls"]) if name else 0


_INCLUDED = regex(r"\b(?:Specified SLS (?:\S+: )?|include of ')(?P<sls>[^\s']+)")


def _line_with(lines: Sequence[str], word: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if word in line), 0)


# --- what -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Text:
    """A template: ``names`` is what it is given beside :data:`IN_TEMPLATES`."""

    path: str
    saltenv: str
    text: str
    names: frozenset[str] = frozenset()


@dataclass(slots=True)
class Checks:
    """The checks of single states, and what they hold them against."""

    ctx: MinionContext
    places: Places
    _paths: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    def of(self, chunk: Chunk) -> Iterator[Mistake]:
        """What is wrong with a state by itself."""
        yield from self._check_function(chunk)
        yield from self._check_sources(chunk)
        if chunk.arguments.get("template") == "jinja":
            yield from self._check_template(chunk)
        for argument in OF_PILLAR & chunk.arguments.keys():
            yield from self._check_pillar(chunk, argument)

    def templates(self, places: Sequence[SlsRef]) -> Iterator[Mistake]:
        """Pillar and grains that SLS files, and what they name, print and that are not there."""
        for place in places:
            path, lines = self.places.text(place)
            first = _Text(path, place.saltenv, "\n".join(lines))
            for found in self._follow_templates(first):
                if isinstance(found, _Text):  # what is missing has kept it from being rendered
                    yield from self._check_lookups(found, with_macros=found is first)

    def _check_lookups(self, template: _Text, *, with_macros: bool) -> Iterator[Mistake]:
        from saltlite.templates.lookups import bare_lookups

        data = {"pillar.get": self.ctx.pillar, "grains.get": self.ctx.grains}
        for found in bare_lookups(template.text, with_macros=with_macros):
            values = data[found.function]
            if traverse(values, found.key, _ABSENT) is _ABSENT:
                hint = suggest_nearest(found.key, _list_nested_keys(values))
                text = f"{found.function}('{found.key}') finds nothing and has no default{hint}"
                yield Mistake(template.path, found.line, text)

    def _follow_templates(self, first: _Text) -> Iterator[_Text | Mistake]:
        """A template, and all that it names, each once; or that there is no such file."""
        from saltlite.templates.lookups import named_templates

        seen = {first.path}
        todo = [first]
        while todo:
            template = todo.pop()
            yield template
            for named in named_templates(template.text, template.path):
                if named.path in seen:
                    continue
                seen.add(named.path)
                text = self._read_text(named.path, template.saltenv)
                if text is not None:
                    names = frozenset() if named.sees is None else template.names | named.sees
                    todo.append(_Text(named.path, template.saltenv, text, names))
                elif named.is_sure and named.path not in self._list_files(template.saltenv)[0]:
                    yield Mistake(template.path, named.line, f"there is no {SALT}{named.path}")

    def _read_text(self, path: str, saltenv: str) -> str | None:
        if path not in self._list_files(saltenv)[0]:
            return None
        try:
            found = self.places.tree.read(path, saltenv)
        except SaltliteError:  # no text
            return None
        return found[1] if found else None

    # -- functions and arguments

    def _check_function(self, chunk: Chunk) -> Iterator[Mistake]:
        name = chunk.function
        try:
            function = resolve(name, self.ctx)
        except FunctionUnavailable as error:
            text = f"{str(error).rstrip('.')}{suggest_function(self.ctx, name)}"
            yield Mistake(*self.places.of_function(chunk), f"{chunk.ident}: {text}")
            return
        for each in missing_of(function.call, chunk.to_low()):
            yield self._make_mistake(chunk, f"{name} needs the argument '{each}'")
        taken, any_other = keywords(function.call)
        known = {*taken, *OWN}
        stray = [
            key
            for key in map(str, chunk.arguments)
            if key not in known and not key.startswith("__") and key not in ("name", "name_order")
        ]
        if any_other:
            # Where any argument may be given, only a near miss is a slip.
            slips = find_slips(stray, chunk, taken, OWN, is_custom=function.is_users)
            hints = {slip.given: f"; did you mean '{slip.meant}'?" for slip in slips}
        else:
            hints = {key: suggest_nearest(key, known, ALIKE) for key in stray}
        for key, hint in hints.items():
            yield self._make_mistake(chunk, f"'{key}' is no argument of {name}{hint}", key)

    # -- files

    def _check_sources(self, chunk: Chunk) -> Iterator[Mistake]:
        for argument, value in chunk.to_low().items():
            given = [
                _path_of_source(each) for each in (value if isinstance(value, list) else [value])
            ]
            wanted = [each for each in given if each.startswith(SALT)]
            several = argument == "source" and len(given) > 1
            lacking = [each for each in wanted if not self._is_there(each, chunk)]
            # Of several sources the first that is there counts.
            if several and len(lacking) < len(given):
                continue
            for each in lacking:
                yield self._make_mistake(chunk, f"{argument}: there is no {each}", str(argument))

    def _check_template(self, chunk: Chunk) -> Iterator[Mistake]:
        """What is surely wrong with the template that a file is made of, and with those it names.

        None is rendered: that would call what it calls.
        """
        # Of several sources it is not known which one counts.
        source = _path_of_source(chunk.arguments.get("source"))
        if not source.startswith(SALT) or not self._is_there(source, chunk):
            return
        path, saltenv = _split_url(source, str(chunk.saltenv or "base"))
        text = self._read_text(path, saltenv)
        if text is None:
            return
        first = _Text(path, saltenv, text, frozenset(_list_context(chunk)))
        for found in self._follow_templates(first):
            mistakes = _find_faults(found) if isinstance(found, _Text) else (found,)
            for each in mistakes:
                # Of one that several files are made of it does not matter by which.
                is_own = each.path == path
                yield replace(each, text=f"{chunk.ident}: {each.text}") if is_own else each

    def _is_there(self, url: str, chunk: Chunk) -> bool:
        path, saltenv = _split_url(url, str(chunk.saltenv or "base"))
        files, dirs = self._list_files(saltenv)
        return path in files or path.strip("/") in dirs

    def _list_files(self, saltenv: str) -> tuple[frozenset[str], frozenset[str]]:
        if saltenv not in self._paths:
            client = file_client(self.ctx)
            listed = frozenset(client.list_files(saltenv)), frozenset(client.list_dirs(saltenv))
            self._paths[saltenv] = listed
        return self._paths[saltenv]

    # -- pillar

    def _check_pillar(self, chunk: Chunk, argument: str) -> Iterator[Mistake]:
        given = chunk.arguments[argument]
        keys = given if isinstance(given, list) else [given]
        for key in map(str, keys):
            if traverse(self.ctx.pillar, key, _ABSENT) is _ABSENT:
                hint = suggest_nearest(key, _list_nested_keys(self.ctx.pillar))
                yield self._make_mistake(
                    chunk, f"{argument}: there is no pillar '{key}'{hint}", argument
                )

    def _make_mistake(self, chunk: Chunk, text: str, argument: str = "") -> Mistake:
        return Mistake(*self.places.of(chunk, argument), f"{chunk.ident}: {text}")


def _find_faults(template: _Text) -> Iterator[Mistake]:
    """That it is no template, or misspells a name that it is given."""
    from saltlite.templates.lookups import template_fault, undeclared_names

    fault = template_fault(template.text)
    if fault is not None:
        yield Mistake(template.path, fault[0], f"no Jinja template: {fault[1]}")
        return
    known = IN_TEMPLATES | template.names
    for name, line in undeclared_names(template.text):
        meant = next((each for each in sorted(known) if _is_slip_of(name, each)), "")
        if name not in known and meant:
            yield Mistake(template.path, line, f"'{name}' is not defined; did you mean '{meant}'?")


def _split_url(url: str, default: str) -> tuple[str, str]:
    """The path of a ``salt://`` address below the roots, and its environment."""
    path, _, query = url.removeprefix(SALT).partition("?")
    saltenv = query.partition("saltenv=")[2].partition("&")[0]
    return path.removeprefix("|"), saltenv or default


def _list_context(chunk: Chunk) -> list[str]:
    """The names that a declaration gives to its template."""
    given = (chunk.arguments.get(each) for each in ("context", "defaults"))
    return [str(key) for each in given if isinstance(each, Mapping) for key in each]


def _is_slip_of(name: str, known: str) -> bool:
    return len(known) >= SHORTEST_NAME and name[:1] == known[:1] and is_one_slip(name, known)


def _path_of_source(value: object) -> str:
    """An entry of ``source``, which may be a map with the hash behind it."""
    if isinstance(value, Mapping):
        value = next(iter(value), "")
    return value if isinstance(value, str) else ""


def _check_requisites(run: _Run, places: Places, elsewhere: Set[str]) -> Iterator[Mistake]:
    """Requisites that name nothing, and circles. With files that do not render, only circles."""
    low = run.low
    settled = order(low, run.files.names)
    by_tag = {chunk.tag: (number, chunk) for number, chunk in enumerate(low)}
    found = Requisites(low, run.files.names)
    known = sorted({name for each in low for name in _names_of(each)})
    # What is looked at alone may be meant to run with others.
    others = elsewhere if run.is_part else frozenset()
    for tag, problem in settled.problems.items():
        number, chunk = by_tag[tag]
        if problem == RECURSIVE:
            path, line = places.of(chunk)
            yield Mistake(path, line, f"circle: {' -> '.join(settled.circles[tag])}")
        # With files missing from the run nobody knows what is not there.
        elif run.is_whole:
            for kind, module, name in found.lacking(number):
                if f"{module}: {name}" in others:
                    continue
                hint = suggest_nearest(f"{module}: {name}", known)
                text = f"{chunk.ident}: {kind.name}: there is no {module}: {name}{hint}"
                yield Mistake(*places.of(chunk, kind.name), text)
    for module, name, _teller in settled.unheard if run.is_whole else ():
        if f"{module}: {name}" not in others:
            yield Mistake("", 0, f"listen: there is no {module}: {name}")


def _names_of(chunk: Chunk) -> Iterator[str]:
    """What a requisite may call a state, but for globs."""
    yield f"{chunk.state}: {chunk.ident}"
    yield f"{chunk.state}: {chunk.name}"
    yield f"id: {chunk.ident}"
    yield f"sls: {chunk.sls}"


def _list_nested_keys(data: Any, before: str = "") -> list[str]:
    """The names ``a``, ``a:b`` ... that can be looked up."""
    found: list[str] = []
    for key, value in data.items():
        found.append(f"{before}{key}")
        if isinstance(value, Mapping):
            found += _list_nested_keys(value, f"{before}{key}:")
    return found
