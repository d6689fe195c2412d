"""The renderer ``pyobjects``: states as calls of Python objects, requisites as ``with`` blocks.

Such a file is code that the administrator put on the file server; it runs as those of the renderer
``py`` do, without any sandbox. Source: observed on Salt 3006.30, whose answers are in
tests/cases/data/highstate/pyobjects.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionUnavailable, RenderError
from saltlite.templates.python import build_error, execute, require_file

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource

IMPORT = regex(r"^\s*from\s+(salt://\S+)\s+import\s+(.+?)\s*$")
DEPTH = 20
"""Files that import one another in a chain at most."""

_KINDS = ("require", "watch", "listen", "onchanges", "onfail", "prereq", "use")
REQUISITES = frozenset(
    {*_KINDS, *(f"{kind}_in" for kind in _KINDS)}
    | {f"{kind}_any" for kind in ("require", "watch", "onchanges", "onfail")}
)


class InvalidFunction(AttributeError):
    """There is no such state function."""


class DuplicateState(Exception):
    """An ID has the same function twice."""


class Extended(str):
    """An ID of another file, of which something more is told."""

    __slots__ = ()


@dataclass(slots=True)
class States:
    """What one file has declared, and the ``with`` blocks that are open."""

    includes: list[Any] = field(default_factory=list)
    high: dict[str, dict[str, Any]] = field(default_factory=dict)
    extended: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: list[Requisite] = field(default_factory=list)

    def add(self, ident: str, function: str, arguments: Mapping[str, object]) -> None:
        """Declare a state; it has the requisites of the blocks around it.

        Raises:
            DuplicateState: it is declared already.
        """
        told = {key: _plain_argument(key, value) for key, value in arguments.items()}
        for block in self.blocks:
            told[block.kind] = [*told.get(block.kind, ()), block.reference]
        states = self.extended if isinstance(ident, Extended) else self.high
        body = states.setdefault(str(ident), {})
        if function in body:
            raise DuplicateState(f"A state with id ''{ident}'', type ''{function}'' exists")
        body[function] = [{key: told[key]} for key in sorted(told)]

    def data(self) -> dict[str, Any]:
        """High data as an SLS file says it."""
        found: dict[str, Any] = dict(self.high)
        if self.includes:
            found["include"] = self.includes
        if self.extended:
            found["extend"] = self.extended
        return found


def _plain_argument(key: str, value: object) -> Any:
    """An argument; a requisite is a list of maps."""
    if key not in REQUISITES:
        return value
    each = list(value) if isinstance(value, (list, tuple)) else [value]
    return [one.reference if isinstance(one, Requisite) else one for one in each]


class Requisite:
    """A state that others name; as a ``with`` block, those in the block name it."""

    def __init__(self, states: States, module: str, ident: str, kind: str = "require") -> None:
        self._states = states
        self.kind = kind
        self.reference = {module: str(ident)}

    def __enter__(self) -> Requisite:
        self._states.blocks.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._states.blocks.pop()


class Module:
    """One state module: ``File.managed(...)`` declares a state, ``File(...)`` names one."""

    def __init__(self, states: States, module: str, ctx: MinionContext) -> None:
        self._states = states
        self._module = module
        self._ctx = ctx

    def __call__(self, ident: str, requisite: str = "require") -> Requisite:
        """The state of this ID as a requisite."""
        return Requisite(self._states, self._module, ident, requisite)

    def __getattr__(self, function: str) -> Callable[..., Requisite]:
        from saltlite.loader.states import resolve

        if function.startswith("__"):
            raise AttributeError(function)
        name = f"{self._module}.{function}"
        try:
            resolve(name, self._ctx)
        except FunctionUnavailable:
            raise InvalidFunction(
                f"The function '{function}' does not exist in the StateFactory for '{self._module}'"
            ) from None

        def declare(id_: str, **arguments: Any) -> Requisite:
            self._states.add(id_, name, arguments)
            return Requisite(self._states, self._module, id_)

        return declare


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The high data that an SLS file of Python declares.

    Raises:
        RenderError: it is no file, is not Python, or raises; path and line of the file.
    """
    require_file(source)
    states = States()
    _run_file(str(data), source.path, _Run(states, ctx, source.saltenv, source.sls))
    return states.data()


@dataclass(frozen=True, slots=True)
class _Run:
    """One rendering: what files that import one another share."""

    states: States
    ctx: MinionContext
    saltenv: str
    sls: str
    depth: int = 0


def _run_file(text: str, path: str, run: _Run) -> dict[str, Any]:
    """Run a file; its names."""
    names = _base_names(run)
    try:
        plain = "\n".join(_without_import(line, names, run) for line in text.split("\n"))
        return execute(plain, path, names)
    except RenderError:
        raise
    except Exception as error:
        raise build_error(error, text, path) from error


def _without_import(line: str, names: dict[str, Any], run: _Run) -> str:
    """A line of Python; what an import from ``salt://`` brings is put among the names."""
    found = IMPORT.match(line)
    if found is None:
        return line
    given = _import_file(found[1], run)
    for each in found[2].split(","):
        name, _, other = (part.strip() for part in each.strip().partition(" as "))
        if name not in given:
            raise ImportError(f"'{name}' was not found in '{found[1]}'")
        names[other or name] = given[name]
    return ""


def _import_file(address: str, run: _Run) -> dict[str, Any]:
    """The names of another file; the states it declares do not count."""
    from saltlite.templates.pipe import source_of_file

    if run.depth >= DEPTH:
        raise ImportError(f"'{address}': more than {DEPTH} files import one another")
    place, _, saltenv = address.partition("?saltenv=")
    source = source_of_file(place, run.ctx, saltenv or run.saltenv)
    if source is None:
        raise ImportError(f"Could not find the file '{address}'")
    inner = _Run(States(), run.ctx, saltenv or run.saltenv, run.sls, run.depth + 1)
    return _run_file(source.text, place, inner)


def _base_names(run: _Run) -> dict[str, Any]:
    from saltlite.templates.template import base_variables

    given = base_variables(run.ctx, run.saltenv, run.sls)
    salt = given["salt"]
    grains = given["grains"]
    return {
        **{
            _class_name(module): Module(run.states, module, run.ctx)
            for module in _list_modules(run.ctx)
        },
        **{f"__{name}__": given[name] for name in ("salt", "pillar", "grains", "opts", "sls")},
        "salt": salt,
        "Map": _make_map_class(grains, lambda path: salt["pillar.get"](path)),
        "pillar": lambda path, default="": salt["pillar.get"](path, default),
        "grains": lambda path, default="": salt["grains.get"](path, default),
        "config": lambda path, default="": salt["config.get"](path, default),
        "mine": lambda *args, **kwargs: salt["mine.get"](*args, **kwargs),
        "include": _make_include(run.states),
        "extend": Extended,
    }


def _make_include(states: States) -> Callable[..., None]:
    def include(*names: Any) -> None:
        for name in names:
            states.includes.extend(name if isinstance(name, (list, tuple)) else [name])

    return include


def _list_modules(ctx: MinionContext) -> Iterator[str]:
    from saltlite.loader.catalogue import STATES
    from saltlite.loader.surroundings import surroundings

    yield from STATES
    yield from surroundings(ctx).modules("states").modules()


def _class_name(module: str) -> str:
    """``SshAuth`` for ``ssh_auth``."""
    return "".join(part.capitalize() for part in module.split("_"))


def _make_map_class(grains: Mapping[str, object], pillar: Callable[[str], Any]) -> type:
    """The class ``Map``: what derives from it has the values of its classes that fit the grains."""

    class Mapped(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Mapped:
            classes = [each for each in body.values() if _matches_grains(each, grains)]
            priority = body.get("priority", ())
            if priority:
                classes.sort(key=lambda each: _rank_of(each, priority))
            found = dict(body)
            for each in classes:
                found.update({k: v for k, v in vars(each).items() if not k.startswith("__")})
            if body.get("merge"):
                found.update(pillar(body["merge"]) or {})
            return super().__new__(cls, name, bases, found)

    return Mapped("Map", (), {})


def _grain_of(each: type) -> str:
    return str(vars(each).get("__grain__", "os_family"))


def _matches_grains(each: object, grains: Mapping[str, object]) -> bool:
    if not isinstance(each, type):
        return False
    match = vars(each).get("__match__", each.__name__)
    return bool(grains.get(_grain_of(each)) == match)


def _rank_of(each: type, priority: tuple[str, ...]) -> int:
    """The place of a class: those of later grains count more, those of others least."""
    grain = _grain_of(each)
    return priority.index(grain) if grain in priority else -1
