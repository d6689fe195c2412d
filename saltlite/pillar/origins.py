"""Where a value of a pillar comes from: the file and line that set it, and what that overrode.

The pillar is compiled as for the minion, with what each file and source gave kept beside it; only
for who asks, so that the pillars of minions cost nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from saltlite.core.data import DELIMITER, traverse
from saltlite.core.dataclasses import dataclass
from saltlite.errors import SaltliteError
from saltlite.pillar.compiler import ERRORS, Compiler, Layer

_ABSENT: Final = object()

NAMES_AT_MOST: Final = 10_000
"""Keys of a pillar that one which is not there is compared with."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A file or source that gives a key a value. ``place`` is ``path:line``, or the source."""

    name: str
    place: str
    value: Any


@dataclass(frozen=True, slots=True)
class Explained:
    """A key's value, and who gave it: in the order in which they joined, the last one wins.

    With ``is_joined`` the value is a map or list with parts of several of them.
    """

    key: str
    value: Any
    settings: Sequence[Setting]
    is_joined: bool
    strategy: str


def explain(compiler: Compiler, key: str) -> Explained:
    """Compile a pillar, and tell who gave it the value of a key: ``a:b``.

    Raises:
        SaltliteError: it has no such key.
    """
    compiler.layers = []
    pillar = compiler.compile()
    value = traverse(pillar, key, _ABSENT)
    if value is _ABSENT:
        raise SaltliteError(_describe_missing(compiler, pillar, key))
    settings = [found for layer in compiler.layers for found in _find_setting(layer, key)]
    # Only maps and lists are joined; of all else the last one is the value.
    is_joined = (
        isinstance(value, (Mapping, list))
        and len(settings) > 1
        and not _is_same(settings[-1].value, value)
    )
    strategy = compiler.options.pillar_source_merging_strategy
    return Explained(key, value, settings, is_joined, strategy)


def file_of_key(layers: Sequence[Layer], parts: Sequence[str]) -> str:
    """``path:line`` of the file that a key is from, of several the last; ``""`` for a source."""
    key = DELIMITER.join(parts)
    for layer in reversed(layers):
        if layer.path:
            for setting in _find_setting(layer, key):
                return setting.place
    return ""


def _describe_missing(compiler: Compiler, pillar: Mapping[str, Any], key: str) -> str:
    names = [name for name, _ in zip(_list_names(pillar), range(NAMES_AT_MOST), strict=False)]
    close = get_close_matches(key, names, n=1, cutoff=0.75)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    text = f"the pillar of {compiler.ctx.config.identity.id} has no {key!r}{hint}"
    # What is missing may be missing because of them.
    return "; ".join([text, *(problem.text for problem in compiler.mistakes.problems[:1])])


def _list_names(data: Mapping[Any, Any], before: str = "") -> Iterator[str]:
    for key, value in data.items():
        if key == ERRORS and not before:
            continue
        yield f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _list_names(value, f"{before}{key}{DELIMITER}")


def _find_setting(layer: Layer, key: str) -> Iterator[Setting]:
    below = layer.below.split(DELIMITER) if layer.below else []
    parts = key.split(DELIMITER)
    if below[: len(parts)] == parts:  # the key holds what the file was put below
        own: list[str] = []
        value: Any = layer.data
        for part in reversed(below[len(parts) :]):
            value = {part: value}
    elif parts[: len(below)] == below:
        own = parts[len(below) :]
        value = traverse(layer.data, own, _ABSENT)
    else:
        return
    if value is _ABSENT:
        return
    yield Setting(layer.name, _locate(layer, own), value)


def _locate(layer: Layer, parts: Sequence[str]) -> str:
    if not layer.path:
        return layer.name
    line = line_of_key(layer.text, parts)
    return f"{layer.path}:{line}" if line else layer.path


def line_of_key(text: str, parts: Sequence[str]) -> int:
    """The line of ``a:b:c`` in a YAML file as it is written, else of the deepest part of it; or 0.

    A key that a template makes has no line of its own, and gets that of the map around it.
    """
    lines = text.splitlines()
    found, start, indent = 0, 0, -1
    for part in parts:
        at = _line_below(lines, start, indent, part)
        if not at:
            # ``a: {b: 1}``, all on the line of the map
            return found
        found, start = at, at
        indent = _indent_of(lines[at - 1])
    return found


def _line_below(lines: Sequence[str], start: int, indent: int, part: str) -> int:
    """The line of a key within the map whose own key is on line ``start`` with this indent."""
    named = re.compile(rf"""\s*(?:-\s+)*(['"]?){re.escape(part)}\1\s*:(?:\s|$)""")
    level = -1
    for number in range(start, len(lines)):
        line = lines[number]
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "{%", "{#")):
            continue
        here = _indent_of(line)
        if here <= indent and not stripped.startswith("- "):
            return 0
        level = here if level < 0 else level
        # Deeper ones are keys of other maps; templates may indent as they like.
        if here <= level or stripped.startswith("- "):
            if named.match(line):
                return number + 1
            level = min(level, here)
    return 0


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def tell(found: Explained, *, show_values: bool) -> dict[str, Any]:
    """As ``pillar.why`` gives it."""

    def as_told(setting: Setting) -> Any:
        place = (
            setting.place if setting.place == setting.name else f"{setting.place} ({setting.name})"
        )
        return {place: setting.value} if show_values else place

    told: dict[str, Any] = {"key": found.key, "strategy": found.strategy}
    if show_values:
        told["value"] = found.value
    settings = [as_told(setting) for setting in found.settings]
    if found.is_joined:
        return {**told, "joined_from": settings}
    if settings:
        told["set_by"] = settings[-1]
    return {**told, "overrode": settings[-2::-1]}
