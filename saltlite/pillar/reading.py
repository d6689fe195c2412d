"""Which keys of the pillar a tree of states reads, as far as its files say so.

Nothing is run. What cannot be told counts as read: where a key is made of a variable, all that is
below the part that is known; and a text that is the path of a key counts for it, wherever it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from saltlite.core.data import DELIMITER
from saltlite.core.dataclasses import dataclass, field
from saltlite.pillar.expressions import Expression, Kind, parse_python, parse_template

Path = tuple[str, ...]

_PILLARS: Final = frozenset(("pillar", "__pillar__"))
_OPTIONS: Final = frozenset(("opts", "__opts__"))
_FUNCTIONS: Final = frozenset(("salt", "__salt__"))
_METHODS: Final = frozenset(("copy", "items", "iteritems", "keys", "update", "values"))
_GETTERS: Final = frozenset(("get", "pop", "setdefault"))

_READ_BY_NAME: Final = frozenset(
    (
        "config.get", "config.option", "defaults.get", "match.pillar", "match.pillar_pcre",
        "pillar.fetch", "pillar.get", "pillar.item", "pillar.keys", "pillar.raw",
    )
)  # fmt: skip
"""Functions whose arguments are names of keys, or begin with one."""

_READ_NOTHING: Final = frozenset(("pillar.file_exists", "pillar.obfuscate"))

_PUBLIC_LIBRARIES: Final = frozenset(("libmapstack.jinja", "libmatchers.jinja", "libtofs.jinja"))
"""Of Salt's public formulas: by names that are given to them, they read what is the formula's."""

_TOLD_IN_TEXT: Final = re.compile(r"pillar|config\.(?:get|option)|defaults\.get")
_MADE_IN_TEXT: Final = re.compile(
    r"pillar(?:__)?\s*(?:\[\s*|\.get\(\s*|['\"]\]\(\s*)[^'\"\s\[]"
    r"|pillar(?:__)?\.(?:items|keys|values)"
)
_CUT_OFF: Final = re.compile(r"(?:pillar['\"]?:\s*|pillar\.\w+\(|[CIJ].?@)['\"]?$")
"""Where a name would come next, and a variable does."""
_SLOT: Final = re.compile(r"__slot__:salt:[\w.]+\(")
_WORDS: Final = re.compile(r"[\w.-]+(?::[\w.*-]+)*")
_TARGET: Final = re.compile(r"\b[CIJ](?:.)?@([\w.-]+(?::[\w.-]+)*)")
_PYTHON: Final = re.compile(r"#!(?:py|pydsl|pyobjects)\b")
_PROSE: Final = (".md", ".rst")
"""Files that may speak of pillars and read none."""


class Read(NamedTuple):
    """A key that is read, and where: ``path:line``."""

    path: Path
    place: str


@dataclass(slots=True)
class Readings:
    """What was found in all files."""

    covered: set[Path] = field(default_factory=set)
    """Keys that are read with all that is below them."""
    above: set[Path] = field(default_factory=set)
    """Keys of which a part is read."""
    exact: dict[Path, dict[str, str]] = field(default_factory=dict)
    """Keys that are spelt out: key above → name → the first place that reads it."""
    words: set[str] = field(default_factory=set)
    """All words of the files of states."""
    unknown: str = ""
    """Why any key may be read, the first reason of all; empty: what is read is known."""

    def cover(self, path: Path, place: str) -> None:
        """Note that a key is read with all below it; no key: the whole pillar."""
        self.covered.add(path)
        if not path:
            self.doubt(f"{place} may read any key")
        self.above.update(path[:count] for count in range(len(path)))

    def doubt(self, reason: str) -> None:
        """Note why it cannot be known what is read."""
        self.unknown = self.unknown or reason

    def note(self, read: Read) -> None:
        """Note a key that is spelt out."""
        if read.path:
            self.exact.setdefault(read.path[:-1], {}).setdefault(read.path[-1], read.place)

    def is_read(self, path: Path) -> bool:
        """Whether a key, or a part of it, or what holds it, is read."""
        return path in self.above or any(
            path[:count] in self.covered for count in range(len(path) + 1)
        )

    def is_named(self, path: Path) -> bool:
        """Whether a key, or a part of it, is read by its own name."""
        return path in self.above or path in self.covered


def read_states(found: Readings, text: str, path: str, formula: str = "") -> None:
    """Add what a file of states, templates or modules reads.

    ``path`` is how it is told; ``formula`` the directory below the root that it is in.
    """
    for word in _WORDS.findall(text):
        found.words.update((*word.split(DELIMITER), *re.split(r"[:.]", word)))
    tree = _read_file(found, text, path, formula)
    for data in _list_data(tree, text):
        if _CUT_OFF.search(data):
            found.cover((), path)
        if not _TOLD_IN_TEXT.search(data):
            continue
        if not path.endswith(_PROSE) and _MADE_IN_TEXT.search(_SLOT.sub("", data)):
            found.cover((), path)
        for word in _WORDS.findall(data):
            _cover_text(found, word.strip(".-:"), path)
    _cover_targets(found, text, path)


def read_pillars(found: Readings, text: str, path: str) -> None:
    """Add what a file of the pillar reads of it."""
    _read_file(found, text, path, "")
    _cover_targets(found, text, path)


def _cover_text(found: Readings, text: str, place: str) -> None:
    # ``role:*`` is for whatever value the key has
    way = _split(text.partition("*")[0])
    if way:
        found.cover(way, place)


def _cover_targets(found: Readings, text: str, place: str) -> None:
    for target in _TARGET.findall(text):
        _cover_text(found, target, place)


def _read_file(found: Readings, text: str, path: str, formula: str) -> Expression | None:
    is_python = path.endswith(".py") or _PYTHON.match(text)
    if not is_python and "{{" not in text and "{%" not in text:
        return None
    try:
        tree = parse_python(text) if is_python else parse_template(text)
        if tree is not None:
            _FileReader(found, path, formula, _name_texts(tree)).visit(tree)
    except (RecursionError, MemoryError):
        found.cover((), path)  # too deep to be followed: it may read any key
        return None
    return tree


def _list_data(tree: Expression | None, text: str) -> Iterator[str]:
    """What of a file is neither Python nor within braces; all of one that is not understood."""
    if tree is None:
        yield text
        return
    for each in _walk(tree):
        if each.kind is Kind.DATA:
            yield each.text


def _walk(tree: Expression) -> Iterator[Expression]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(each.parts)


def _name_texts(tree: Expression) -> dict[str, str]:
    """Names that are given one constant text, once in the file."""
    given: dict[str, list[Expression]] = {}
    for each in _walk(tree):
        if each.kind is Kind.SET:
            given.setdefault(each.text, []).append(each.parts[0])
    return {
        name: values[0].text
        for name, values in given.items()
        if len(values) == 1 and values[0].kind is Kind.TEXT
    }


def _split(text: str, delimiter: str = DELIMITER) -> Path:
    return tuple(part for part in text.split(delimiter) if part)


class _Way(NamedTuple):
    """The key that an expression stands for. ``is_known`` until a part of it is made."""

    path: Path
    is_known: bool = True


class _FileReader:
    """One file."""

    def __init__(self, found: Readings, path: str, formula: str, texts: dict[str, str]) -> None:
        self._found = found
        self._path = path
        self._texts = {"tplroot": formula, **texts} if formula else texts
        self._bound: Path = ()
        if formula and path.rpartition("/")[2] in _PUBLIC_LIBRARIES:
            self._bound = (formula,)
        self._names: dict[str, _Way] = {}

    def visit(self, node: Expression) -> None:
        """Note what is read by an expression and by its parts."""
        if node.kind is Kind.SET:
            self._visit_set(node)
        elif node.kind is Kind.IN and self._visit_in(node):
            return
        else:
            way = self._way_of(node)
            if way is not None:
                self._note(way, node)
                self._visit_arguments(node)
                return
            self._visit_function(node)
            is_of_grains = node.kind is Kind.CALL and _is_of_grains(node.parts[0])
            for part in node.parts:
                if not (is_of_grains and part.kind is Kind.TEXT):
                    self.visit(part)

    def _visit_set(self, node: Expression) -> None:
        self.visit(node.parts[0])
        way = self._way_of(node.parts[0])
        if way is not None and way.is_known and way.path:
            self._names[node.text] = way
        else:
            self._names.pop(node.text, None)

    def _visit_in(self, node: Expression) -> bool:
        """``'a' in pillar`` asks for one key, and not for all."""
        key, whole = node.parts
        way = self._way_of(whole)
        if way is None or key.kind is not Kind.TEXT:
            return False
        self._note(_extend(way, key.text), node)
        self._visit_arguments(whole)
        # ``'x' in pillar.get('list')`` asks for a value as well
        if way.path:
            self._found.cover(way.path, self._place_of(node))
        return True

    def _visit_arguments(self, node: Expression) -> None:
        """What else is in an expression that stands for a key: defaults, and parts of its name."""
        if node.kind not in (Kind.PART, Kind.SAME, Kind.CALL):
            return
        first, *others = node.parts
        self._visit_arguments(first)
        # a name that is spelt out is part of the key, and no other
        if node.kind is not Kind.SAME and others and self._text_of(others[0])[1]:
            del others[0]
        for part in others:
            self.visit(part)

    def _visit_text(self, node: Expression) -> None:
        _cover_text(self._found, node.text, self._place_of(node))

    def _visit_function(self, node: Expression) -> None:
        """What a function reads that is named and not called here, or by a name that is made."""
        if node.kind is Kind.TEXT:
            self._visit_text(node)
        elif node.kind is Kind.PART:
            name = _function_of(node)
            if name is not None and (name == "" or _reads_pillar(name)):
                self._found.cover(self._bound, self._place_of(node))

    def _note(self, way: _Way, node: Expression) -> None:
        if way.is_known:
            self._found.note(Read(way.path, self._place_of(node)))
        self._found.cover(way.path or self._bound, self._place_of(node))

    def _place_of(self, node: Expression) -> str:
        return f"{self._path}:{node.line}"

    def _way_of(self, node: Expression) -> _Way | None:
        """The key whose value an expression is; ``None`` for all others."""
        if node.kind is Kind.NAME:
            return self._names.get(node.text) or (_Way(()) if node.text in _PILLARS else None)
        if node.kind is Kind.SAME:
            return self._way_of(node.parts[0])
        if node.kind is Kind.PART:
            return self._way_of_part(node)
        return self._way_of_call(node) if node.kind is Kind.CALL else None

    def _way_of_part(self, node: Expression) -> _Way | None:
        whole, key, *_others = node.parts
        if whole.kind is Kind.NAME and whole.text in _OPTIONS and key.text == "pillar":
            return _Way(())
        way = self._way_of(whole)
        if way is None or not way.is_known:
            return way
        if key.kind is Kind.TEXT and key.text in _METHODS | _GETTERS:
            return _Way(way.path, is_known=False)
        return self._join(way, key)

    def _way_of_call(self, node: Expression) -> _Way | None:
        function, *given = node.parts
        name = _function_of(function)
        if name is not None:
            return self._way_of_function(name, given)
        if function.kind is not Kind.PART:
            return None
        whole, method = function.parts[:2]
        way = self._way_of(whole)
        if way is None or not way.is_known:
            return way
        if method.kind is Kind.TEXT and method.text in _GETTERS and given:
            return self._join(way, given[0])
        return _Way(way.path, is_known=False)

    def _way_of_function(self, name: str, given: Sequence[Expression]) -> _Way | None:
        if not _reads_pillar(name):
            return None
        keywords = {each.text: each.parts[0] for each in given if each.kind is Kind.KEYWORD}
        plain = [each for each in given if each.kind is not Kind.KEYWORD]
        if name == "pillar.filter_by":
            role = Expression(Kind.TEXT, 1, "role")
            return self._join(_Way(()), keywords.get("pillar", role))
        keys = plain or [keywords[name] for name in ("key", "value", "tgt") if name in keywords]
        if name not in _READ_BY_NAME or not keys:
            return _Way((), is_known=False)
        if "delimiter" in keywords:
            return _Way((), is_known=False)
        if name == "pillar.item":
            for key in keys[1:]:
                self._found.cover(self._join(_Way(()), key).path, self._place_of(key))
        return self._join(_Way(()), keys[0])

    def _join(self, way: _Way, key: Expression) -> _Way:
        text, is_whole = self._text_of(key)
        if is_whole:
            return _extend(way, text)
        return _Way((*way.path, *_split(text.rpartition(DELIMITER)[0])), is_known=False)

    def _text_of(self, node: Expression) -> tuple[str, bool]:
        """What is known of a text from its beginning, and whether that is all."""
        if node.kind is Kind.TEXT:
            return node.text, True
        if node.kind is Kind.NAME and node.text in self._texts:
            return self._texts[node.text], True
        if node.kind is Kind.JOINED:
            known = ""
            for part in node.parts:
                text, is_whole = self._text_of(part)
                known += text
                if not is_whole:
                    return known, False
            return known, True
        # a text with places for others: all that is before the first of them
        first = node
        while first.parts:
            first = first.parts[0]
        if first.kind is Kind.TEXT:
            return re.split(r"[%{]", first.text)[0], False
        return "", False


def _extend(way: _Way, text: str) -> _Way:
    return _Way((*way.path, *_split(text)))


def _reads_pillar(name: str) -> bool:
    if name in _READ_BY_NAME:
        return True
    is_of_pillar = name.startswith("pillar.") and name not in _READ_NOTHING
    return is_of_pillar or name == "config.items"


def _is_of_grains(function: Expression) -> bool:
    """Whether what it is given are names of grains: they are often those of keys too."""
    return (_function_of(function) or "").startswith("grains.")


def _function_of(node: Expression) -> str | None:
    """``pillar.get`` of ``salt['pillar.get']`` and ``salt.pillar.get``; ``""`` if it is made."""
    if node.kind is not Kind.PART:
        return None
    whole, key = node.parts[:2]
    if whole.kind is Kind.NAME and whole.text in _FUNCTIONS:
        if key.kind is not Kind.TEXT:
            return ""
        return key.text if "." in key.text else None
    if whole.kind is Kind.PART and key.kind is Kind.TEXT:
        outer, kind = whole.parts[:2]
        if outer.kind is Kind.NAME and outer.text in _FUNCTIONS and kind.kind is Kind.TEXT:
            return f"{kind.text}.{key.text}" if "." not in kind.text else None
    return None


def list_named(pillar: object) -> set[Path]:
    """What texts in a pillar may name: they are often names of keys that are looked up by them."""
    named: set[Path] = set()
    waiting = [pillar]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            named.update(map(_split, _WORDS.findall(value[:1000])))
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)
    return named
