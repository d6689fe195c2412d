"""The one safe YAML loader, with the line of each top-level key and of each error.

Everything that is YAML comes through :func:`load`: configuration, values on the command line, later
pillar and SLS. It builds plain values from the parser's events, on a stack of its own: nesting,
the number of nodes after aliases are expanded, and merged keys are all bounded, a key that is set
twice is an error, and there are no tags that make objects.

Where Salt's YAML departs from YAML 1.1 this does as well: ``0755`` is decimal, and dates stay text.
Source: ``salt-call --local test.get_opts`` of 3006.30 and 3008.5, tests/cases/yaml.json.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import yaml

from saltlite.core.data import AggregatedList, AggregatedMap, aggregate
from saltlite.errors import ConfigError

MAX_NODES = 1_000_000
"""Nodes of a document after all aliases and merges are expanded. Source: security.md 3.1."""

MAX_DEPTH = 100
"""Collections inside one another."""

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CONTROL = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.1, 5.1
)

_TAG = "tag:yaml.org,2002:"
_MERGE = object()
_PENDING = object()


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
    return _parsed(text, path, _Builder)


def _parsed(text: str, path: str, builder: type[_Builder]) -> Any:
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


def load_plain(text: str) -> Any:
    """As other programs read YAML 1.1: ``0755`` is octal, and of a key set twice the last counts.

    Raises: as :func:`load`.
    """
    return _parsed(text, "", _PlainBuilder)


def load_aggregated(text: str, path: str) -> Any:
    """As :func:`load`, with the tags ``!aggregate`` and ``!reset``, and keys that may come again.

    Values of one key that are marked are joined, of others the last counts.

    Raises: as :func:`load`.
    """
    return _parsed(text, path, _AggregateBuilder)


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


@dataclass(slots=True)
class _Frame:
    """A collection that is being read. ``key`` waits for its value in a map."""

    value: dict[Any, Any] | list[Any]
    anchor: str | None
    start: int
    key: Any = _PENDING
    key_line: int = 0
    seen: dict[Any, int] = field(default_factory=dict)
    merges: list[Any] = field(default_factory=list)
    tag: str | None = None


class _Builder:
    """Events in, one plain value out.

    ``marks`` are tags that a collection may have, ``repeats`` lets a key come again, ``octal``
    takes ``0755`` as YAML 1.1 does.
    """

    marks: ClassVar[Collection[str]] = ()
    repeats: ClassVar[bool] = False
    octal: ClassVar[bool] = False

    def __init__(self, parser: Any, path: str) -> None:
        self._parser = parser
        self._path = path
        self._nodes = 0
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._result: Any = None

    def document(self) -> Any:
        documents = 0
        while True:
            event = self._parser.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                return self._result
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error("a second document in one file", event)
            self._on(event)

    def _on(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event), event, size=1)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open({} if self._stack else LinedMap(), event, "map")
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open([], event, "seq")
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(event)

    def _open(self, value: dict[Any, Any] | list[Any], event: Any, kind: str) -> None:
        if event.tag not in (None, "!", _TAG + kind) and event.tag not in self.marks:
            raise self._bad_tag(event.tag, event)
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} levels deep", event)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is _PENDING:
            problem = f"a {'list' if kind == 'seq' else 'map'} cannot be a key"
            raise self._error(problem, event, f"found unacceptable key: {problem}")
        self._count(1, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (_PENDING, 0)
        self._stack.append(_Frame(value, event.anchor, self._nodes - 1, tag=event.tag))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if frame.merges and isinstance(frame.value, dict):
            self._merge(frame.value, frame.merges, event)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._nodes - frame.start)
        self._put(self._finished(frame), event)

    def _merge(self, own: dict[Any, Any], merges: list[Any], event: Any) -> None:
        """Put merged keys before the own ones, which count; of merged maps the first wins."""
        merged: dict[Any, Any] = {}
        for each in reversed(merges):
            merged.update(each)
        self._count(sum(1 for key in merged if key not in own), event)
        merged.update(own)
        own.clear()
        own.update(merged)

    def _finished(self, frame: _Frame) -> Any:
        return frame.value

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self._error(f"alias *{event.anchor} without an anchor", event)
        value, size = self._anchors[event.anchor]
        if value is _PENDING:
            raise self._error(f"alias *{event.anchor} inside its own anchor", event)
        self._count(size, event)
        self._put(value, event)

    def _add(self, value: Any, event: Any, *, size: int) -> None:
        self._count(size, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, size)
        self._put(value, event)

    def _put(self, value: Any, event: Any) -> None:
        if not self._stack:
            self._result = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _PENDING:
            self._key(frame, value, event)
        else:
            self._value(frame, value, event)

    def _key(self, frame: _Frame, key: Any, event: Any) -> None:
        line = event.start_mark.line + 1
        if not isinstance(key, Hashable):
            problem = "a list or map cannot be a key"
            raise self._error(problem, event, f"found unacceptable key: {problem}")
        if key in frame.seen and not self.repeats:
            first = frame.seen[key]
            raise self._error(
                f"key {_shown(key)} is set twice, first on line {first}",
                event,
                f"found conflicting ID '{key}', set first on line {first}",
            )
        frame.key = key
        frame.key_line = line
        if key is not _MERGE:
            frame.seen[key] = line

    def _value(self, frame: _Frame, value: Any, event: Any) -> None:
        key, frame.key = frame.key, _PENDING
        if key is _MERGE:
            merged = value if isinstance(value, list) else [value]
            if not all(isinstance(item, dict) for item in merged):
                raise self._error("only maps can be merged with <<", event)
            frame.merges.extend(merged)
            return
        assert isinstance(frame.value, dict)  # noqa: S101 - for the type checker
        frame.value[key] = self._joined(frame.value, key, value)
        if isinstance(frame.value, LinedMap):
            frame.value.lines[key] = frame.key_line

    def _joined(self, frame: dict[Any, Any], key: Any, value: Any) -> Any:
        return value

    def _scalar(self, event: Any) -> Any:
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
        return self._typed(name, tag, event)

    def _typed(self, name: str, tag: str, event: Any) -> Any:
        text = event.value
        if (
            name == "int"
            and not self.octal
            and text[:1] == "0"
            and text != "0"
            and text[:2].lower() not in ("0b", "0x")
        ):
            text = text.lstrip("0") or "0"
        node = yaml.ScalarNode(tag, text, event.start_mark, event.end_mark)
        try:
            return getattr(self._parser, f"construct_yaml_{name}")(node)  # one of five names above
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            raise self._error(f"{_shown(event.value)} is not of tag !!{name}", event) from error

    def _expects_key(self) -> bool:
        frame = self._stack[-1] if self._stack else None
        return frame is not None and isinstance(frame.value, dict) and frame.key is _PENDING

    def _count(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._error(f"more than {MAX_NODES} values once aliases are expanded", event)

    def _bad_tag(self, tag: str, event: Any) -> YamlError:
        return self._error(
            f"tag {_tag_words(tag)} is not allowed here",
            event,
            f"could not determine a constructor for the tag '{tag}'",
        )

    def _error(self, problem: str, event: Any, finding: str = "") -> YamlError:
        line = event.start_mark.line + 1
        return YamlError(problem, path=self._path, line=line, finding=finding)


class _PlainBuilder(_Builder):
    repeats = True
    octal = True


class _AggregateBuilder(_Builder):
    marks = ("!aggregate", "!reset")
    repeats = True

    def _add(self, value: Any, event: Any, *, size: int) -> None:
        if event.tag == "!aggregate":
            value = AggregatedList([] if value is None else [value])
        super()._add(value, event, size=size)

    def _finished(self, frame: _Frame) -> Any:
        if frame.tag != "!aggregate":
            return frame.value
        if isinstance(frame.value, dict):
            return AggregatedMap(frame.value)
        return AggregatedList(frame.value)

    def _joined(self, frame: dict[Any, Any], key: Any, value: Any) -> Any:
        return aggregate(frame[key], value) if key in frame else value


def dump(value: Any, *, indent: int = 2, flow: bool | None = False, sort_keys: bool = True) -> str:
    """Plain values as YAML; what YAML has no type for is its text.

    In block style, or on one line with ``flow``, or what holds no list or map on one line with
    ``None``.
    """
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=flow,
        allow_unicode=True,
        indent=indent,
        sort_keys=sort_keys,
    )
    return text.removesuffix("...\n")


LONG_LINE = 2**31 - 1
"""A width that no line reaches."""


def dump_scalar(text: str, quote: str) -> str:
    """A text in these quotes, on one line unless they cannot express line feeds."""
    written: str = yaml.dump(
        text, Dumper=_Dumper, default_style=quote, allow_unicode=False, width=LONG_LINE
    )
    return written.strip()


_SafeDumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SafeDumper):  # type: ignore[misc]  # one of two classes
    """Never writes anchors: the same value twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        return True


_Dumper.add_multi_representer(object, lambda dumper, value: dumper.represent_str(str(value)))
for _kind in (dict, MappingProxyType, Mapping):  # and what is derived from them
    _Dumper.add_multi_representer(_kind, lambda dumper, value: dumper.represent_dict(dict(value)))
for _row in (list, tuple, set):
    _Dumper.add_multi_representer(_row, lambda dumper, value: dumper.represent_list(value))


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _tag_words(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
