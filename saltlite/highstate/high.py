"""What is done to high data before it becomes low: exclude, extend, checks, ``_in`` turned round.

Pure. Mistakes are told in Salt's words. Source: observed on Salt 3006.30;
tests/cases/data/highstate.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.requisites import (
    CHECKED,
    JOINED,
    PREREQ,
    PREREQUIRED,
    TURNED,
    USE,
    Requisite,
)
from saltlite.highstate.sls import EXCLUDE, EXTEND, High, SlsRef, colon, origin_of, runs

TURNING = frozenset({PREREQ.name, USE.name, *TURNED})
"""Arguments by which a state gives something to another, or takes it."""

OWN = {*TURNED, *(kind.name for kind in TURNED.values()), "name", "names", "order"}
"""What ``use`` does not take from another state."""


@dataclass(slots=True)
class Extension:
    """Arguments for a state of a declaration. ``named`` may be an ID, or a state's name."""

    named: Any
    body: Mapping[str, Any]
    origin: SlsRef


@dataclass(slots=True)
class Finished:
    """High data as it is run, and what is wrong with it."""

    high: High
    errors: list[str] = field(default_factory=list)
    checking: list[str] = field(default_factory=list)
    """Those of the errors that came up before anything was turned round."""
    _named: dict[tuple[str, Any], list[Any]] | None = None

    def by_name(self, module: str, name: object) -> list[Any]:
        """The IDs whose state of a module has this ``name``."""
        if self._named is None:
            # Made at the first question: most trees name their states by ids alone.
            self._named = {}
            for ident, body in self.high.items():
                for found, run in runs(body):
                    own = _find_argument(run, "name")
                    if isinstance(own, Hashable):
                        self._named.setdefault((found, own), []).append(ident)
        return self._named.get((module, name), []) if isinstance(name, Hashable) else []

    def forget_names(self) -> None:
        """Names are to be looked up anew."""
        self._named = None


def finish(high: Mapping[Any, Any], exclude: Sequence[object] = ()) -> Finished:
    """Apply ``extend``, check, turn the ``_in`` forms round, and apply ``exclude``.

    What is excluded goes last: it may have mistakes, be extended, and others may ``use`` it. What
    it gives others counts, but not if its SLS is excluded by its very name.
    """
    # The lists are changed below; the caller still shows what the files said.
    own = {ident: _copy_declaration(body) for ident, body in high.items()}
    patterns, idents = _read_exclude([*_as_list(own.pop(EXCLUDE, ())), *exclude])
    extends = _read_extensions(own.pop(EXTEND, ()))
    result = Finished(own)
    for extension in extends:
        if extension.origin.sls not in patterns:
            _apply_extension(result, extension, strict=False)
    # After extend, which may bring what a declaration lacks.
    result.errors += verify(result.high)
    # A copy: what comes up from here on is told only where nothing came up before.
    result.checking = list(result.errors)
    for extension in _turn_all(result):
        if extension.origin.sls not in patterns:
            _apply_extension(result, extension, strict=True)
    result.high = _remove_excluded(result.high, patterns, idents)
    return result


def _copy_declaration(body: object) -> Any:
    """A declaration whose lists may be changed."""
    if not isinstance(body, (dict, Mapping)):
        return body
    return {key: list(run) if isinstance(run, list) else run for key, run in body.items()}


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


# --- exclude -------------------------------------------------------------------------------------


def _read_exclude(entries: Sequence[object]) -> tuple[set[str], set[Any]]:
    """The SLS (names or globs) and the IDs that are excluded."""
    patterns: set[str] = set()
    idents: set[Any] = set()
    for entry in entries:
        kind, value = "sls", entry
        if isinstance(entry, Mapping) and len(entry) == 1:
            kind, value = next(iter(entry.items()))
        if kind == "sls" and isinstance(value, str):
            patterns.add(value)
        elif kind == "id" and isinstance(value, Hashable):
            idents.add(value)
    return patterns, idents


def _remove_excluded(high: High, patterns: set[str], idents: set[Any]) -> High:
    """High data without some SLS and IDs."""
    kept: High = {}
    for ident, body in high.items():
        sls = str(origin_of(body).sls)
        if ident not in idents and not any(fnmatch.fnmatchcase(sls, each) for each in patterns):
            kept[ident] = body
    return kept


# --- extend --------------------------------------------------------------------------------------


def _read_extensions(extends: object) -> list[Extension]:
    return [
        Extension(ident, body, origin_of(body))
        for each in _as_list(extends)
        if isinstance(each, Mapping)
        for ident, body in each.items()
        if isinstance(body, Mapping)
    ]


def _apply_extension(result: Finished, extension: Extension, *, strict: bool) -> None:
    """Add arguments to a state. ``strict``: to one that is there; else to one of a known ID."""
    high = result.high
    ident = extension.named
    if ident in high and not isinstance(high[ident], Mapping):
        return  # which has been told
    for module, run in runs(extension.body):
        if ident not in high or (strict and module not in high[ident]):
            found = result.by_name(module, ident)
            if len(found) != 1:
                # More than one state of that name is as good as none: which one is meant?
                error = _describe_unknown(ident, extension)
                if error not in result.errors:  # of each function of a state that is extended
                    result.errors.append(error)
                return
            ident = found[0]
        body = high[ident]
        if module not in body:
            body[module] = run
            result.forget_names()
        elif isinstance(run, list) and isinstance(body[module], list):
            _merge_arguments(body[module], run)
            if _find_argument(run, "name") is not None:
                result.forget_names()


def _describe_unknown(ident: object, extension: Extension) -> str:
    origin = extension.origin
    return (
        f"Cannot extend ID '{ident}' in '{origin}'. "
        "It is not part of the high state.\n"
        "This is likely due to a missing include statement or an incorrectly typed ID.\n"
        f"Ensure that a state with an ID of '{ident}' is available\n"
        f"in environment '{origin.saltenv}' and to SLS '{origin.sls}'"
    )


def _merge_arguments(run: list[Any], more: Sequence[Any]) -> None:
    """Put arguments into a state's; a function replaces its function."""
    for argument in more:
        place = next((n for n, old in enumerate(run) if _is_same_argument(old, argument)), None)
        if place is None:
            run.append(argument)
            continue
        key = _argument_key(argument)
        old = run[place]
        if key in JOINED and isinstance(old[key], list) and isinstance(argument[key], list):
            # Requisites grow; any other argument is replaced.
            run[place] = {key: [*old[key], *argument[key]]}
        else:
            run[place] = argument


def _is_same_argument(old: object, new: object) -> bool:
    """Whether both are functions, or the same argument; ``name`` and ``names`` are one."""
    if isinstance(old, str) or isinstance(new, str):
        return isinstance(old, str) and isinstance(new, str)
    both = {_argument_key(old), _argument_key(new)}
    return (len(both) == 1 and None not in both) or both == {"name", "names"}


def _argument_key(argument: object) -> Any:
    return next(iter(argument), None) if isinstance(argument, (dict, Mapping)) else None


def _find_argument(run: object, key: str) -> Any:
    for argument in run if isinstance(run, list) else ():
        if isinstance(argument, (dict, Mapping)) and key in argument:
            return argument[key]
    return None


# --- _in, use, prereq ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stated:
    """A state of a declaration, and where it stands."""

    ident: Any
    module: str
    run: Sequence[Any]
    origin: SlsRef


class _Turner:
    """Looks at requisites and says what others get by them."""

    def __init__(self, result: Finished) -> None:
        self._result = result
        self._high = result.high
        self._named: dict[Any, list[tuple[Any, str]]] | None = None
        self._of_sls: dict[Any, list[tuple[Any, str]]] | None = None

    def turned(self) -> Iterator[Extension]:
        for ident, body in self._high.items():
            for module, run in runs(body):
                for argument in run if isinstance(run, (list, tuple)) else ():
                    # Most arguments are none of these, and are told from them in one step.
                    if not isinstance(argument, (dict, Mapping)) or TURNING.isdisjoint(argument):
                        continue
                    key = _argument_key(argument)
                    if key in TURNING:
                        state = Stated(ident, module, run, origin_of(body))
                        yield from self._turn_argument(state, str(key), argument[key])

    def _turn_argument(self, state: Stated, key: str, value: object) -> Iterator[Extension]:
        given = TURNED.get(key)
        if isinstance(value, (dict, Mapping)) and key != PREREQ.name:
            yield from self._turn_map(state, given or USE, value)
        elif given is not None:
            yield from self._turn_inverse(state, given, value)
        elif key == PREREQ.name:
            yield from self._turn_prerequired(state, value)
        else:
            yield from self._turn_use(state, value)

    def _turn_map(
        self, state: Stated, kind: Requisite, value: Mapping[Any, Any]
    ) -> Iterator[Extension]:
        """What Salt makes of a map in place of a list, also of ``use``: the others get the word."""
        for module, ident in value.items():
            if isinstance(ident, Hashable):
                yield self._make_extension(state, ident, str(module), kind)

    def _turn_inverse(self, state: Stated, kind: Requisite, value: object) -> Iterator[Extension]:
        """What the states that a state names by ``require_in`` and the like get by it."""
        for ident, module in self._read_targets(value):
            if "." in module:
                self._result.errors.append(
                    f"Invalid requisite in {kind.name}: {module} for {ident}, "
                    f"in SLS '{state.origin.sls}'. "
                    "Requisites must not contain dots, did you mean "
                    f"'{module.partition('.')[0]}'?"
                )
            if kind is USE:
                yield from self._copy_arguments(state, state.run, ident, module)
            else:
                yield self._make_extension(state, ident, module, kind)
            if kind is PREREQ:
                # The giver of a prereq_in is itself what the others run before.
                turned = [{PREREQUIRED.name: [{module: ident}]}]
                yield Extension(state.ident, {state.module: turned}, state.origin)

    def _make_extension(
        self, state: Stated, ident: object, module: str, kind: Requisite
    ) -> Extension:
        given = [{kind.name: [{state.module: state.ident}]}]
        known = self._find_id(ident, module)
        named = ident if known is None else known
        return Extension(named, {module: given}, state.origin)

    def _turn_prerequired(self, state: Stated, value: object) -> Iterator[Extension]:
        for ident, module in self._read_targets(value):
            found = self._find_id(ident, module)
            if found is not None:
                yield self._make_extension(state, found, module, PREREQUIRED)

    def _turn_use(self, state: Stated, value: object) -> Iterator[Extension]:
        if not isinstance(value, list):
            return
        for ident, module in self._read_targets(value):
            found = self._find_id(ident, module)
            if found is not None:
                source = self._high[found][module]
                yield from self._copy_arguments(state, source, state.ident, state.module)

    def _copy_arguments(
        self, state: Stated, source: Sequence[object], ident: object, module: str
    ) -> Iterator[Extension]:
        """The arguments of one state for another that does not have them."""
        target = self._find_id(ident, module)
        if target is None:
            return
        has = {_argument_key(argument) for argument in _as_list(self._high[target][module])}
        given = [
            argument
            for argument in _as_list(source)
            if isinstance(argument, Mapping)
            # A function is a text, so it stays its own state's.
            and len(argument) == 1
            and _argument_key(argument) not in OWN
            and _argument_key(argument) not in has
        ]
        if given:
            yield Extension(target, {module: given}, state.origin)

    def _find_id(self, ident: object, module: str) -> Any:
        """The ID of a state that is named by ID or name; ``None`` if there is not just one."""
        if ident in self._high and any(module == own for own, _run in runs(self._high[ident])):
            return ident
        found = self._result.by_name(module, ident)
        return found[0] if len(found) == 1 else None

    def _read_targets(self, value: object) -> Iterator[tuple[Any, str]]:
        """ID (or name) and module of what the entries name."""
        for entry in value if isinstance(value, list) else ():
            if isinstance(entry, (dict, Mapping)) and entry:
                module, name = next(iter(entry.items()))
                if not isinstance(name, (str, Hashable)):
                    continue
                if module == "sls":
                    yield from self._list_sls().get(name, ())
                else:
                    yield name, str(module)
            elif isinstance(entry, str):
                yield from self._find_plain_name(entry)

    def _find_plain_name(self, name: str) -> Iterator[tuple[Any, str]]:
        """The first state of an ID, else those of that name."""
        if name in self._high:
            first = next(iter(runs(self._high[name])), None)
            if first is not None:
                yield name, first[0]
            return
        yield from self._list_names().get(name, ())

    def _list_names(self) -> dict[Any, list[tuple[Any, str]]]:
        """The states by their ``name``; made at the first question, which most trees never ask."""
        if self._named is None:
            self._named = {}
            for ident, body in self._high.items():
                for module, run in runs(body):
                    name = _find_argument(run, "name")
                    if isinstance(name, Hashable):
                        self._named.setdefault(name, []).append((ident, module))
        return self._named

    def _list_sls(self) -> dict[Any, list[tuple[Any, str]]]:
        """The states by their SLS, made as those by name."""
        if self._of_sls is None:
            self._of_sls = {}
            for ident, body in self._high.items():
                for module, _run in runs(body):
                    self._of_sls.setdefault(body.get("__sls__"), []).append((ident, module))
        return self._of_sls


def _turn_all(result: Finished) -> list[Extension]:
    """What states get by the ``_in`` forms, ``prereq`` and ``use`` of others; each once."""
    joined: dict[tuple[Any, str, Any], tuple[Extension, dict[str, Any]]] = {}
    for extension in _Turner(result).turned():
        for module, arguments in runs(extension.body):
            for argument in arguments or [{}]:
                key = _argument_key(argument)
                _first, values = joined.setdefault((extension.named, module, key), (extension, {}))
                entries = argument[key] if key in JOINED else [argument.get(key)]
                # By repr: entries are maps and lists, which cannot be keys.
                values.update((repr(entry), entry) for entry in entries)
    return [
        Extension(named, {module: _arguments_for(key, list(values.values()))}, first.origin)
        for (named, module, key), (first, values) in joined.items()
    ]


def _arguments_for(key: object, values: list[Any]) -> list[High]:
    if key is None:
        return []
    return [{key: values if key in JOINED else values[-1]}]


# --- checks --------------------------------------------------------------------------------------

_LOOKED_AT = CHECKED | {"names"}

Met = dict[Any, tuple[str, dict[Any, Any]]]
"""Of each ID the last of its modules with requisites, and of what that one names the modules."""


def verify(high: Mapping[Any, Any]) -> list[str]:
    """What is wrong with high data, in Salt's words."""
    errors: list[str] = []
    met: Met = {}
    for ident, body in high.items():
        # __exclude__ and __extend__ are for the compiler, and no states.
        if isinstance(ident, str) and ident.startswith("__"):
            continue
        if not isinstance(ident, str):
            errors.append(
                f"ID '{ident}' in SLS '{origin_of(body).sls}' is not formed as a string, but is a "
                f"{type(ident).__name__}. It may need to be quoted."
            )
        if not isinstance(body, (dict, Mapping)):
            errors.append(f"The type {ident} in {body} is not formatted as a dictionary")
            continue
        sls = body.get("__sls__")
        for module, run in runs(body):
            errors += _state_errors(ident, sls, module, run, met)
    return errors


def _state_errors(ident: object, sls: object, module: str, run: object, met: Met) -> Iterator[str]:
    if run is None:
        yield colon(ident, f"SLS '{sls}'", module)
        return
    if not isinstance(run, list):
        yield f"State '{ident}' in SLS '{sls}' is not formed as a list"
        return
    functions = [argument for argument in run if isinstance(argument, str)]
    for function in functions:
        if " " in function.strip():
            yield (
                f'The function "{function}" in state "{ident}" in SLS "{sls}" has whitespace, a '
                "function with whitespace is not supported, perhaps this is an argument that is "
                'missing a ":"'
            )
    for argument in run:
        # Most arguments are of the function, which says itself what is wrong with them.
        if isinstance(argument, (dict, Mapping)) and not _LOOKED_AT.isdisjoint(argument):
            yield from _argument_errors(ident, sls, module, argument, met)
    if not functions:
        yield f"No function declared in state '{ident}' in SLS '{sls}'"
    elif len(functions) > 1:
        yield (
            f"Too many functions declared in state '{ident}' in SLS '{sls}'. "
            f"Please choose one of the following: {', '.join(functions)}"
        )


def _argument_errors(
    ident: object, sls: object, module: str, argument: Mapping[Any, Any], met: Met
) -> Iterator[str]:
    key = _argument_key(argument)
    if "names" in argument:
        yield from _names_errors(ident, sls, argument["names"])
    if key not in CHECKED:
        return
    if ident not in met or met[ident][0] != module:  # what another state of the ID names is its own
        met[ident] = (module, {})
    if not isinstance(argument[key], list):
        yield f"The {key} statement in state '{ident}' in SLS '{sls}' needs to be formed as a list"
        return
    for entry in argument[key]:
        yield from _requisite_errors(ident, sls, module, entry, met)


def _names_errors(ident: object, sls: object, names: object) -> Iterator[str]:
    """What is wrong with ``names``: texts, and maps of a name and arguments of its own."""
    if not isinstance(names, list):
        yield f"The 'names' argument in state '{ident}' in SLS '{sls}' needs to be formed as a list"
        return
    for entry in names:
        if isinstance(entry, Mapping) and not _are_arguments(next(iter(entry.values()), 0)):
            yield (
                f"An entry of 'names' in state '{ident}' in SLS '{sls}' is not a name, or a name "
                f"with a list of its arguments (`- vim: [{{version: '9'}}]`): {entry!r:.80}"
            )


def _are_arguments(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(one, Mapping) for one in value)
    return value is None or isinstance(value, Mapping)


def _requisite_errors(
    ident: object, sls: object, module: str, entry: object, met: Met
) -> Iterator[str]:
    if isinstance(entry, str):
        return
    if not isinstance(entry, (dict, Mapping)) or not entry:
        yield f"Requisite declaration {entry} in SLS {sls} is not formed as a single key dictionary"
        return
    kind, name = next(iter(entry.items()))
    # Users mean `pkg.installed: x`; only the module belongs here.
    if "." in str(kind):
        yield (
            f"Invalid requisite type '{kind}' in state '{ident}', in SLS '{sls}'. Requisite types "
            f"must not contain dots, did you mean '{str(kind).partition('.')[0]}'?"
        )
    if not isinstance(name, (str, Hashable)):
        yield f'Illegal requisite "{name}", please check your syntax.\n'
        return
    met[ident][1][name] = kind
    # Circles of two alone, as in Salt; longer ones are found when the order is settled.
    other, named = met.get(name, ("", {}))
    if other == kind and named.get(ident) == module:
        yield f'A recursive requisite was found, SLS "{sls}" ID "{ident}" ID "{name}"'
