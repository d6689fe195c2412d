"""The one safe YAML loader, with the line of each top-level key and of each error.

Everything that is YAML comes through :func:`load`: configuration, values on the command line, later
pillar and SLS. It builds plain values from the parser's events, on a stack of its own: nesting,
the number of nodes after aliases are expanded, and merged keys are all bounded, a key that is set
twice is an error, and there are no tags that make objects.

Where Salt's YAML departs from YAML 1.1 this does as well: ``0755`` is decimal, and dates stay text.
Source: ``salt-call --local test.get_opts`` of 3006.30 and 3008.5; tests/unit/config/test_yaml.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import yaml

from saltlite.core.data import AggregatedList, AggregatedMap, aggregate
from saltlite.core.lazyregex import regex
from saltlite.errors import ConfigError

MAX_NODES = 1_000_000
"""Nodes of a document after all aliases and merges are expanded.

Source: docs/security.md#malformed-input.
"""

MAX_DEPTH = 100
"""Collections inside one another."""

SEXAGESIMAL_LENGTH_MOST = 100
"""Characters of a number to the base 60. Making one takes time that grows as their square."""

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CONTROL = regex(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.1, 5.1
)

_TAG = "tag:yaml.org,2002:"
_MERGE = object()
_PENDING = object()
_NO_KEYS: dict[Any, int] = {}


class LinedMap(dict[Any, Any]):
    """A document's top-level map; ``lines`` has the line of each key, counted from 1."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[Any, int] = {}


class YamlError(ConfigError):
    """Text is no YAML. ``finding`` says the same in the words of Salt's renderers."""

    def __init__(self, problem: str, *, path: str, line: int, finding: str = "") -> None:
        self.finding = finding or problem
        super().__init__(problem, path=path, line=line)


def load(text: str, path: str) -> Any:
    """The value of a YAML document; a top-level map is a :class:`LinedMap`.

    Raises:
        ConfigError: not one well-formed document within the bounds; names ``path`` and the line.
    """
    return _parse_document(text, path, _Builder)


def _parse_document(text: str, path: str, builder: Callable[[Any, str], _Builder]) -> Any:
    bad = _CONTROL.search(text, 1 if text.startswith("\ufeff") else 0)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        raise ConfigError(f"control character {bad.group()!r}", path=path, line=line)
    parser = _Loader(text)
    try:
        return builder(parser, path).document()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, path) from None
    except yaml.YAMLError as error:
        raise ConfigError(" ".join(str(error).split()), path=path) from None
    finally:
        parser.dispose()


def item_lines(text: str, key: str | None = None) -> list[int]:
    """The line of each item of a document's list, or of the list under a key of its map.

    Nothing where there is no such list. For what is told of a document that :func:`load` has read.
    """
    try:
        node: Any = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return []
    if key is not None and isinstance(node, yaml.MappingNode):
        node = next((value for name, value in node.value if name.value == key), None)
    if not isinstance(node, yaml.SequenceNode):
        return []
    return [item.start_mark.line + 1 for item in node.value]


def load_plain(text: str, *, nodes_most: int = MAX_NODES) -> Any:
    """As other programs read YAML 1.1: ``0755`` is octal, and of a key set twice the last counts.

    Raises: as :func:`load`; also for more than ``nodes_most`` nodes, once aliases are expanded.
    """
    return _parse_document(text, "", partial(_PlainBuilder, nodes_most=nodes_most))


def load_aggregated(text: str, path: str) -> Any:
    """As :func:`load`, with the tags ``!aggregate`` and ``!reset``, and keys that may come again.

    Values of one key that are marked are joined, of others the last counts.

    Raises: as :func:`load`.
    """
    return _parse_document(text, path, _AggregateBuilder)


def _syntax_error(error: yaml.MarkedYAMLError, text: str, path: str) -> YamlError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 1
    lines = text.split("\n")
    line = min(line, len(lines))
    indent = re.match(r"\s*", lines[line - 1])
    if "\t" in (indent.group() if indent else ""):
        return YamlError(
            "tab in the indentation; YAML takes only blanks",
            path=path,
            line=line,
            finding="found character that cannot start any token (a tab in the indentation)",
        )
    finding = f"{error.problem}, {error.context}" if error.context else f"{error.problem}"
    return YamlError(f"not YAML: {finding}", path=path, line=line, finding=finding)


class _Frame:
    """A collection that is being read.

    ``items`` is the value of a list. Of a map, ``key`` waits for its value, ``seen`` has the line
    of each key, and ``merges`` are the maps of ``<<``. ``start`` is the number of nodes before it.
    """

    __slots__ = ("anchor", "items", "key", "merges", "seen", "start", "tag", "value")

    def __init__(
        self, value: Any, items: list[Any] | None, anchor: str | None, start: int, tag: str | None
    ) -> None:
        self.value = value
        self.items = items
        self.anchor = anchor
        self.start = start
        self.tag = tag
        self.key: Any = _PENDING
        self.merges: list[Any] | None = None
        self.seen: dict[Any, int] = _NO_KEYS if items is not None else {}


class _Builder:
    """Events in, one plain value out.

    ``marks`` are tags that a collection may have, ``repeats`` lets a key come again, ``octal``
    takes ``0755`` as YAML 1.1 does.
    """

    marks: ClassVar[Collection[str]] = ()
    repeats: ClassVar[bool] = False
    octal: ClassVar[bool] = False

    def __init__(self, parser: Any, path: str, *, nodes_most: int = MAX_NODES) -> None:
        self._parser = parser
        self._path = path
        self._nodes = 0
        self._nodes_most = nodes_most
        self._stack: list[_Frame] = []
        self._frame: _Frame | None = None
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._result: Any = None
        self._starts = parser.yaml_implicit_resolvers
        self._any_start = None in self._starts
        self._known: dict[str, Any] = {}

    def document(self) -> Any:
        """The value of the only document.

        Raises:
            YamlError: it is none that is allowed here.
        """
        documents = 0
        following = self._parser.get_event
        handlers = {
            yaml.ScalarEvent: self._add_scalar,
            yaml.MappingStartEvent: self._open_map,
            yaml.SequenceStartEvent: self._open_list,
            yaml.MappingEndEvent: self._close_collection,
            yaml.SequenceEndEvent: self._close_collection,
            yaml.AliasEvent: self._add_alias,
        }
        while True:
            event = following()
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif isinstance(event, yaml.StreamEndEvent):
                return self._result
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._make_error("a second document in one file", event)

    def _add_scalar(self, event: Any) -> None:
        """Two of three events are scalars, so this does in one step what could be five."""
        value = event.value
        if event.tag is not None:
            value = self._construct_scalar(event)
        elif event.implicit[0] and (self._any_start or value[:1] in self._starts):
            value = self._known.get(value, _PENDING)
            if value is _PENDING:
                value = self._resolve_plain(event)
        self._nodes += 1
        if self._nodes > self._nodes_most:
            self._count_nodes(0, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        frame = self._frame
        if frame is None:
            self._result = value
        elif frame.items is not None:
            frame.items.append(value)
        else:
            self._add_to_map(frame, value, event)

    def _open_map(self, event: Any) -> None:
        self._check_start(event, "map")
        own: dict[Any, Any] = LinedMap() if self._frame is None else {}
        self._open_collection(_Frame(own, None, event.anchor, self._nodes - 1, event.tag))

    def _open_list(self, event: Any) -> None:
        self._check_start(event, "seq")
        own: list[Any] = []
        self._open_collection(_Frame(own, own, event.anchor, self._nodes - 1, event.tag))

    def _check_start(self, event: Any, kind: str) -> None:
        tag = event.tag
        if tag is not None and tag not in ("!", _TAG + kind) and tag not in self.marks:
            raise self._bad_tag(tag, event)
        if len(self._stack) >= MAX_DEPTH:
            raise self._make_error(f"more than {MAX_DEPTH} levels deep", event)
        frame = self._frame
        if frame is not None and frame.items is None and frame.key is _PENDING:
            problem = f"a {'list' if kind == 'seq' else 'map'} cannot be a key"
            raise self._make_error(problem, event, f"found unacceptable key: {problem}")
        self._count_nodes(1, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (_PENDING, 0)

    def _open_collection(self, frame: _Frame) -> None:
        self._stack.append(frame)
        self._frame = frame

    def _close_collection(self, event: Any) -> None:
        frame = self._stack.pop()
        above = self._frame = self._stack[-1] if self._stack else None
        if frame.merges:
            self._add_merged(frame.value, frame.merges, event)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._nodes - frame.start)
        value = self._finish_collection(frame) if self.marks else frame.value
        if above is None:
            self._result = value
        elif above.items is not None:
            above.items.append(value)
        else:
            self._add_to_map(above, value, event)

    def _add_merged(self, own: dict[Any, Any], merges: list[Any], event: Any) -> None:
        """Put merged keys before the own ones, which count; of merged maps the first wins."""
        merged: dict[Any, Any] = {}
        for each in reversed(merges):
            merged.update(each)
        merged = {key: value for key, value in merged.items() if key not in own}
        self._count_nodes(len(merged), event)
        merged.update(own)
        own.clear()
        own.update(merged)

    def _finish_collection(self, frame: _Frame) -> Any:
        return frame.value

    def _add_alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self._make_error(f"alias *{event.anchor} without an anchor", event)
        value, size = self._anchors[event.anchor]
        if value is _PENDING:
            raise self._make_error(f"alias *{event.anchor} inside its own anchor", event)
        self._count_nodes(size, event)
        frame = self._frame
        if frame is None:
            self._result = value
        elif frame.items is not None:
            frame.items.append(value)
        else:
            self._add_to_map(frame, value, event)

    def _add_to_map(self, frame: _Frame, value: Any, event: Any) -> None:
        """A key or a value for a map."""
        key = frame.key
        if key is _PENDING:
            self._set_value(frame, value, event)
            return
        frame.key = _PENDING
        own = frame.value
        if key is _MERGE:
            merged = value if isinstance(value, list) else [value]
            if not all(isinstance(item, dict) for item in merged):
                raise self._make_error("only maps can be merged with <<", event)
            frame.merges = [*(frame.merges or ()), *merged]
            return
        own[key] = self._join_values(own, key, value) if self.repeats else value
        if type(own) is LinedMap:
            own.lines[key] = frame.seen[key]

    def _set_value(self, frame: _Frame, key: Any, event: Any) -> None:
        if type(key) is not str and not isinstance(key, Hashable):
            problem = "a list or map cannot be a key"
            raise self._make_error(problem, event, f"found unacceptable key: {problem}")
        if key in frame.seen and not self.repeats:
            first = frame.seen[key]
            raise self._make_error(
                f"key {_shorten_value(key)} is set twice, first on line {first}",
                event,
                f"found conflicting ID '{key}', set first on line {first}",
            )
        frame.key = key
        if key is not _MERGE:
            frame.seen[key] = event.start_mark.line + 1

    def _join_values(self, frame: dict[Any, Any], key: Any, value: Any) -> Any:
        return value

    def _resolve_plain(self, event: Any) -> Any:
        """A scalar without tag and quotes. The same few come again and again: looked at once."""
        value = self._construct_scalar(event)
        if not event.value.startswith("<"):  # merges, or is text, as it stands in a map or not
            self._known[event.value] = value
        return value

    def _construct_scalar(self, event: Any) -> Any:
        """What a scalar's tag says that it is; without one, what its form says."""
        tag = event.tag
        if tag is None or tag == "!" or tag in self.marks:
            plain = event.implicit if tag is None or tag == "!" else (not event.style, False)
            tag = self._parser.resolve(yaml.ScalarNode, event.value, plain)
        name = tag.removeprefix(_TAG)
        if name in ("str", "timestamp", "value"):
            return event.value
        if name == "merge":
            return _MERGE if self._expects_key() else event.value
        if name not in ("int", "float", "bool", "null", "binary"):
            raise self._bad_tag(tag, event)
        return self._construct_typed(name, tag, event)

    def _construct_typed(self, name: str, tag: str, event: Any) -> Any:
        text = event.value
        if (
            name == "int"
            and not self.octal
            and text[:1] == "0"
            and text != "0"
            and text[:2].lower() not in ("0b", "0x")
        ):
            text = text.lstrip("0") or "0"
        if len(text) > SEXAGESIMAL_LENGTH_MOST and ":" in text and name in ("int", "float"):
            raise self._make_error(
                f"a number to the base 60 of more than {SEXAGESIMAL_LENGTH_MOST} characters; "
                "a text needs quotes",
                event,
            )
        node = yaml.ScalarNode(tag, text, event.start_mark, event.end_mark)
        try:
            return getattr(self._parser, f"construct_yaml_{name}")(node)  # one of five names above
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            raise self._make_error(
                f"{_shorten_value(event.value)} is not of tag !!{name}", event
            ) from error

    def _expects_key(self) -> bool:
        frame = self._frame
        return frame is not None and frame.items is None and frame.key is _PENDING

    def _count_nodes(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > self._nodes_most:
            most = self._nodes_most
            raise self._make_error(f"more than {most} values once aliases are expanded", event)

    def _bad_tag(self, tag: str, event: Any) -> YamlError:
        return self._make_error(
            f"tag {_tag_words(tag)} is not allowed here",
            event,
            f"could not determine a constructor for the tag '{tag}'",
        )

    def _make_error(self, problem: str, event: Any, finding: str = "") -> YamlError:
        line = event.start_mark.line + 1
        return YamlError(problem, path=self._path, line=line, finding=finding)


class _PlainBuilder(_Builder):
    repeats = True
    octal = True


class _AggregateBuilder(_Builder):
    marks = ("!aggregate", "!reset")
    repeats = True

    def _construct_scalar(self, event: Any) -> Any:
        value = super()._construct_scalar(event)
        if event.tag == "!aggregate":
            return AggregatedList([] if value is None else [value])
        return value

    def _finish_collection(self, frame: _Frame) -> Any:
        if frame.tag != "!aggregate":
            return frame.value
        if isinstance(frame.value, dict):
            return AggregatedMap(frame.value)
        return AggregatedList(frame.value)

    def _join_values(self, frame: dict[Any, Any], key: Any, value: Any) -> Any:
        return aggregate(frame[key], value) if key in frame else value


def dump(
    value: Any,
    *,
    indent: int = 2,
    flow: bool | None = False,
    sort_keys: bool = True,
    unknown: str | None = None,
    **style: Any,
) -> str:
    """Plain values as YAML; what YAML has no type for is its text, or ``unknown``.

    In block style, or on one line with ``flow``, or what holds no list or map on one line with
    ``None``. ``style`` are further options of PyYAML.
    """
    text: str = yaml.dump(
        value,
        Dumper=_Dumper if unknown is None else partial(_make_dumper, unknown),
        default_flow_style=flow,
        indent=indent,
        sort_keys=sort_keys,
        **{"allow_unicode": True, **style},
    )
    return text.removesuffix("...\n")


LONG_LINE = 2**31 - 1
"""A width that no line reaches."""


class BlockText(str):
    """A text that :func:`dump` writes as a block of lines, if it can stand so."""

    __slots__ = ()


def dump_scalar(text: str, quote: str) -> str:
    """A text in these quotes, on one line unless they cannot express line feeds."""
    written: str = yaml.dump(
        text, Dumper=_Dumper, default_style=quote, allow_unicode=False, width=LONG_LINE
    )
    return written.strip()


_SafeDumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SafeDumper):  # type: ignore[misc]  # one of two classes
    """Never writes anchors: the same value twice is written twice."""

    unknown: str | None = None

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        return True

    def represent_unknown(self, value: Any) -> Any:
        """A node for what is no type of YAML's."""
        text = str(value)  # an undefined name of a template complains
        if self.unknown is None or isinstance(value, str):
            return self.represent_str(text)
        return self.represent_scalar(f"{_TAG}null", self.unknown)

    def represent_block(self, value: BlockText) -> Any:
        """A text below the sign ``|``; what cannot stand so, PyYAML puts in quotes."""
        return self.represent_scalar(f"{_TAG}str", str(value), style="|")


def _make_dumper(unknown: str, *args: Any, **options: Any) -> Any:
    made = _Dumper(*args, **options)
    made.unknown = unknown
    return made


_Dumper.add_multi_representer(object, _Dumper.represent_unknown)
_Dumper.add_representer(BlockText, _Dumper.represent_block)
for _kind in (dict, MappingProxyType, Mapping):  # and what is derived from them
    _Dumper.add_multi_representer(_kind, lambda dumper, value: dumper.represent_dict(dict(value)))
for _row in (list, tuple, set):
    _Dumper.add_multi_representer(_row, lambda dumper, value: dumper.represent_list(value))


def _shorten_value(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _tag_words(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
