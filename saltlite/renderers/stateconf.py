"""The renderer ``stateconf``: IDs that belong to one SLS file, parameters, and a goal state.

``#!stateconf [-Gosp] [DATA RENDERER . TEMPLATE RENDERER]``, without the two ``yaml . jinja``. What
stands before the marker is rendered first, and its ``stateconf.set`` states are variables when the
whole file is rendered. Source: observed on Salt 3006.30; tests/cases/data/highstate/stateconf.json
has its answers.
"""

from __future__ import annotations

import getopt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.lazyregex import regex
from saltlite.errors import RenderError
from saltlite.templates.pipe import Stage, TemplateSource, run_stage

if TYPE_CHECKING:
    from saltlite.context import MinionContext

High = dict[Any, Any]

START, GOAL = ".start", ".goal"
SET = ("stateconf", "set")
"""Module and function of the states that are parameters."""

MARKER = regex(r"#\s*-+\s*end of state config\s*-+")
FORWARD = ("require", "watch", "listen", "onchanges", "onfail")
_BACKWARD = ("require_in", "watch_in", "listen_in", "onchanges_in", "onfail_in")
REFERRING = frozenset({*FORWARD, *_BACKWARD, "use", "use_in"})
"""The requisites in which a name with a dot is one of this file."""

_NO_STATES = ("include", "exclude", "extend")
_PARAMETERS, _EXTENSIONS = "stateconf parameters", "stateconf extensions"
USAGE = "use #!stateconf [-G] [-o] [-s] [-p] [DATA RENDERER . TEMPLATE RENDERER]"


_YAML, _JINJA = Stage("yaml", ""), Stage("jinja", "")


@dataclass(frozen=True, slots=True)
class StateconfOptions:
    """What the first line of a file asks for."""

    goal: bool = True
    ordered: bool = False
    start: bool = False
    is_data: bool = False
    data: Stage = _YAML
    template: Stage = _JINJA


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The high data of an SLS file whose names belong to it.

    Raises:
        RenderError: an option is unknown, the file does not render, or its names do not fit.
    """
    options = read_options(argument, source.path)
    if options.is_data:
        return _rewrite_high(data, source, options)
    if not isinstance(data, str):
        raise RenderError(f"stateconf wants text; for data {USAGE} with -p", path=source.path)

    def load(text: str, variables: Mapping[str, object]) -> Any:
        named = {**source.variables, **variables, "sls_dir": _sls_directory(source.sls)}
        with_names = replace(source, variables=named)
        rendered = run_stage(options.template, text, with_names, ctx)
        return run_stage(options.data, rendered, with_names, ctx) or {}

    parameters = source.shared.setdefault(_PARAMETERS, {})
    marker = MARKER.search(data)
    own: dict[str, Any] = {}
    if marker is not None:
        own = _own_parameters(load(data[: marker.start()], parameters), source)
    high = _rewrite_high(load(data, {**parameters, **own}), source, options)
    parameters.update({absolute_id(f".{name}", source): each for name, each in own.items()})
    _keep_extensions(high.get("extend"), source)
    return high


def read_options(argument: str, path: str) -> StateconfOptions:
    """What the words behind ``#!stateconf`` mean.

    Raises:
        RenderError: an option is unknown, or the two renderers are not told.
    """
    try:
        letters, rest = getopt.getopt(argument.split(), "Gosp")
    except getopt.GetoptError as error:
        raise RenderError(f"{error}; {USAGE}", path=path, line=1) from None
    given = {letter for letter, _ in letters}
    options = StateconfOptions("-G" not in given, "-o" in given, "-s" in given, "-p" in given)
    if not rest:
        return options
    data, dot, template = " ".join(rest).partition(" . ")
    if not dot:
        raise RenderError(USAGE, path=path, line=1)
    return replace(options, data=_parse_stage(data), template=_parse_stage(template))


def _parse_stage(words: str) -> Stage:
    name, _, argument = words.strip().partition(" ")
    return Stage(name, argument.strip())


def _sls_directory(sls: str) -> str:
    return sls.rpartition(".")[0].replace(".", "/") or sls


# --- parameters --------------------------------------------------------------------------------


def _own_parameters(high: Any, source: TemplateSource) -> dict[str, Any]:
    """The parameters before the marker, with what files before this one said about them."""
    _require_map(high, source)
    extensions = source.shared.get(_EXTENSIONS, {})
    found = {}
    for ident, values in _take_parameters(high, source):
        changed = extensions.get(absolute_id(ident, source), {})
        found[ident.lstrip(".")] = {**values, **changed}
    return found


def _keep_extensions(extend: object, source: TemplateSource) -> None:
    """Keep what ``extend`` says of the parameters of files that are read later."""
    if isinstance(extend, Mapping):
        kept = source.shared.setdefault(_EXTENSIONS, {})
        for ident, values in _take_parameters(extend, source):
            kept[ident] = {**kept.get(ident, {}), **values}


def _take_parameters(
    high: Mapping[Any, Any], source: TemplateSource
) -> Iterator[tuple[str, dict[Any, Any]]]:
    for ident, body in high.items():
        if ident in _NO_STATES:
            continue
        for module, arguments in _list_runs(ident, body, source):
            if _is_set(module, arguments):
                maps = [
                    _full_argument(each, source) for each in arguments if isinstance(each, Mapping)
                ]
                yield str(ident), {key: value for each in maps for key, value in each.items()}


# --- the rewriting of names --------------------------------------------------------------------


def _rewrite_high(high: Any, source: TemplateSource, options: StateconfOptions) -> High:
    """High data with full names, and with the states and requisites that the options want."""
    _require_map(high, source)
    states = {
        ident: dict(_list_runs(ident, body, source))
        for ident, body in high.items()
        if ident not in _NO_STATES
    }
    found: High = {**high, **states}
    places = [(str(ident), _module_of(key)) for ident, body in states.items() for key in body]
    if options.ordered:
        _require_order(states, source)
    if options.start:
        found[START] = _add_start(states, places, source)
        places.append((START, SET[0]))
    if options.goal:
        found[GOAL] = _add_goal(states, places, source)
    return _rename_all(found, source)


def _require_map(high: object, source: TemplateSource) -> None:
    if not isinstance(high, Mapping):
        raise RenderError(f"SLS {source.sls} does not render to a dictionary", path=source.path)


def _list_runs(ident: object, body: object, source: TemplateSource) -> Iterator[tuple[str, Any]]:
    """What a declaration says, each list a copy; ``test.nop`` alone says it to that function."""
    if isinstance(body, str):
        body = {body: []}
    if not isinstance(body, Mapping):
        text = f"The type {ident} in {body} is not formatted as a dictionary"
        raise RenderError(text, path=source.path)
    for key, arguments in body.items():
        yield str(key), list(arguments) if isinstance(arguments, list) else arguments


def _module_of(key: str) -> str:
    return key.partition(".")[0]


def _is_set(key: str, arguments: object) -> bool:
    """Whether this is ``stateconf.set``, written in one word or in two."""
    if not isinstance(arguments, list):
        return False
    return key == ".".join(SET) or (key == SET[0] and SET[1] in arguments)


def _add_start(states: High, places: list[tuple[str, str]], source: TemplateSource) -> High:
    _require_free(START, "start", states, source)
    if not places:
        problem = "Can't determine the first state in the sls file!"
        raise RenderError(problem, path=source.path)
    ident, module = places[0]
    return {".".join(SET): [{"require_in": [{module: ident}]}]}


def _add_goal(states: High, places: list[tuple[str, str]], source: TemplateSource) -> High:
    _require_free(GOAL, "goal", states, source)
    return {".".join(SET): [{"require": [{module: ident} for ident, module in places]}]}


def _require_free(ident: str, what: str, states: High, source: TemplateSource) -> None:
    if ident in states:
        problem = f"Can't generate {what} state({ident})! The same state id already exists!"
        raise RenderError(problem, path=source.path)


# --- the order in which states are written -----------------------------------------------------


def _require_order(states: High, source: TemplateSource) -> None:
    """Let each state require the one before it.

    Raises:
        RenderError: a requisite asks for another order.
    """
    runs = [(i, key, each) for i, body in states.items() for key, each in body.items()]
    numbers = {(ident, _module_of(key)): number for number, (ident, key, _) in enumerate(runs)}
    for number, (ident, key, arguments) in enumerate(runs):
        if isinstance(arguments, list):
            _check_order((ident, _module_of(key)), arguments, numbers, source)
            if number:
                before, module, _ = runs[number - 1]
                _add_requirement(arguments, {_module_of(module): before})


def _check_order(
    place: tuple[str, str], arguments: list[Any], numbers: Mapping[Any, int], source: TemplateSource
) -> None:
    ident, module = place
    for requisite, reference in _list_references(arguments):
        backward = requisite.endswith("_in")
        for other, name in reference.items():
            number = numbers.get((name, other))
            if requisite.startswith("use") or number is None:
                continue
            if number < numbers[place] if backward else number > numbers[place]:
                told = "/".join(_BACKWARD if backward else FORWARD)
                when = "before" if backward else "after"
                raise RenderError(
                    f"State({ident}:{module}) can't {told} a state({name}:{other}) "
                    f"defined {when} it!",
                    path=source.path,
                )


def _add_requirement(arguments: list[Any], requirement: dict[str, Any]) -> None:
    for number, each in enumerate(arguments):
        if isinstance(each, Mapping) and isinstance(each.get("require"), list):
            arguments[number] = {**each, "require": [requirement, *each["require"]]}
            return
    arguments.append({"require": [requirement]})


def _list_references(arguments: list[Any]) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Each requisite and what it names, of those that may name states of this file."""
    for argument in arguments:
        if not isinstance(argument, Mapping):
            continue
        for requisite, references in argument.items():
            if requisite in REFERRING and isinstance(references, list):
                yield from ((requisite, each) for each in references if isinstance(each, Mapping))


# --- full names --------------------------------------------------------------------------------


def _rename_all(high: High, source: TemplateSource) -> High:
    """The same with full names; IDs that get another one come last."""
    found = _rename_ids(high, source)
    if isinstance(found.get("include"), list):
        found["include"] = [_full_sls(each, source) for each in found["include"]]
    if isinstance(found.get("exclude"), list):
        found["exclude"] = [_full_exclusion(each, source) for each in found["exclude"]]
    if isinstance(found.get("extend"), Mapping):
        extended = {i: dict(_list_runs(i, body, source)) for i, body in found["extend"].items()}
        found["extend"] = _rename_ids(extended, source)
    return found


def _rename_ids(high: High, source: TemplateSource) -> High:
    kept: High = {}
    renamed: High = {}
    for ident, body in high.items():
        if ident in _NO_STATES:
            kept[ident] = body
        elif str(ident).startswith("."):
            renamed[absolute_id(ident, source)] = _rename_body(body, source, ident[1:])
        else:
            kept[ident] = _rename_body(body, source)
    return {**kept, **renamed}


def _rename_body(body: Mapping[str, object], source: TemplateSource, name: str = "") -> High:
    """A declaration whose requisites have full names, and which has the name ``name``."""
    found: High = {}
    for key, arguments in body.items():
        if not isinstance(arguments, list) or key.startswith("__"):
            found[key] = arguments
            continue
        full = [_full_argument(each, source) for each in arguments]
        if name and not _is_set(key, arguments) and not _has_name(arguments):
            full.insert(0, {"name": name})
        found[key] = full
    return found


def _has_name(arguments: list[Any]) -> bool:
    return any(isinstance(each, Mapping) and "name" in each for each in arguments)


def _full_argument(argument: object, source: TemplateSource) -> Any:
    if not isinstance(argument, Mapping):
        return argument
    return {
        key: [_full_reference(each, source) for each in value]
        if key in REFERRING and isinstance(value, list)
        else value
        for key, value in argument.items()
    }


def _full_reference(reference: object, source: TemplateSource) -> Any:
    if not isinstance(reference, Mapping):
        return reference
    return {
        module: absolute_id(name, source) if _is_relative(name) else name
        for module, name in reference.items()
    }


def _full_sls(entry: Any, source: TemplateSource) -> Any:
    return _absolute_sls(entry, source) if _is_relative(entry) else entry


def _full_exclusion(entry: object, source: TemplateSource) -> Any:
    if isinstance(entry, Mapping) and _is_relative(entry.get("sls")):
        return {**entry, "sls": _absolute_sls(entry["sls"], source)}
    return entry


def _is_relative(name: object) -> bool:
    return isinstance(name, str) and name.startswith(".")


def absolute_id(ident: str, source: TemplateSource) -> str:
    """The full name of an ID: ``.x`` is of this file, ``.b::x`` of the file ``b`` beside it.

    Raises:
        RenderError: it leads out of the tree.
    """
    if not ident.startswith("."):
        return ident
    if "::" in ident:
        sls, _, name = ident.partition("::")
        return f"{_absolute_sls(sls, source)}::{name}"
    name = ident.lstrip(".")
    return f"{_parent_sls(source, len(ident) - len(name) - 1)}::{name}"


def _absolute_sls(name: str, source: TemplateSource) -> str:
    """An SLS by its place beside this one; a package's ``init.sls`` counts as a file, as in Salt.

    Raises:
        RenderError: it leads out of the tree.
    """
    plain = name.lstrip(".")
    above = _parent_sls(source, len(name) - len(plain))
    return f"{above}.{plain}" if above else plain


def _parent_sls(source: TemplateSource, levels: int) -> str:
    parts = source.sls.split(".")
    if levels > len(parts):
        problem = "Attempted relative include goes beyond top level package"
        raise RenderError(problem, path=source.path)
    return ".".join(parts[: len(parts) - levels])
