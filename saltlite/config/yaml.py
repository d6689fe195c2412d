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
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

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


def load(text: str, path: str) -> Any:
    """The value of a YAML document; a top-level map is a :class:`LinedMap`.

    Raises:
        ConfigError: not one well-formed document within the bounds; names ``path`` and the line.
    """
    bad = _CONTROL.search(text, 1 if text.startswith("\ufeff") else 0)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        raise ConfigError(f"control character {bad.group()!r}", path=path, line=line)
    parser = _Loader(text)
    try:
        return _Builder(parser, path).document()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, path) from None
    except yaml.YAMLError as error:
        raise ConfigError(" ".join(str(error).split()), path=path) from None
    finally:
        parser.dispose()


def _syntax_error(error: yaml.MarkedYAMLError, text: str, path: str) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 1
    lines = text.split("\n")
    line = min(line, len(lines))
    indent = re.match(r"\s*", lines[line - 1])
    if "\t" in (indent.group() if indent else ""):
        return ConfigError("tab in the indentation; YAML takes only blanks", path=path, line=line)
    context = f", {error.context}" if error.context else ""
    return ConfigError(f"not YAML: {error.problem}{context}", path=path, line=line)


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


class _Builder:
    """Events in, one plain value out."""

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
        if event.tag not in (None, "!", _TAG + kind):
            raise self._error(f"tag {_tag_words(event.tag)} is not allowed here", event)
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} levels deep", event)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is _PENDING:
            raise self._error(f"a {'list' if kind == 'seq' else 'map'} cannot be a key", event)
        self._count(1, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (_PENDING, 0)
        self._stack.append(_Frame(value, event.anchor, self._nodes - 1))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        for merged in reversed(frame.merges):  # of several merged maps the first wins
            for key, value in merged.items():
                if key not in frame.seen:
                    self._count(1, event)
                    frame.value[key] = value
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._nodes - frame.start)
        self._put(frame.value, event)

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
            raise self._error("a list or map cannot be a key", event)
        if key in frame.seen:
            raise self._error(
                f"key {_shown(key)} is set twice, first on line {frame.seen[key]}", event
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
        frame.value[key] = value
        if isinstance(frame.value, LinedMap):
            frame.value.lines[key] = frame.key_line

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._parser.resolve(yaml.ScalarNode, event.value, event.implicit)
        name = tag.removeprefix(_TAG)
        if name in ("str", "timestamp", "value"):
            return event.value
        if name == "merge":
            return _MERGE if self._expects_key() else event.value
        if name not in ("int", "float", "bool", "null", "binary"):
            raise self._error(f"tag {_tag_words(tag)} is not allowed here", event)
        return self._typed(name, tag, event)

    def _typed(self, name: str, tag: str, event: Any) -> Any:
        text = event.value
        if (
            name == "int"
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

    def _error(self, problem: str, event: Any) -> ConfigError:
        return ConfigError(problem, path=self._path, line=event.start_mark.line + 1)


def dump(value: Any, *, indent: int = 2) -> str:
    """Plain values as YAML in block style, keys sorted; what YAML has no type for is its text."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, indent=indent
    )
    return text.removesuffix("...\n")


_SafeDumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SafeDumper):  # type: ignore[misc]  # one of two classes
    """Never writes anchors: the same value twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        return True


_Dumper.add_multi_representer(object, lambda dumper, value: dumper.represent_str(str(value)))
for _kind in (dict, MappingProxyType):  # and what is derived from them
    _Dumper.add_multi_representer(_kind, lambda dumper, value: dumper.represent_dict(dict(value)))
for _row in (list, tuple, set):
    _Dumper.add_multi_representer(_row, lambda dumper, value: dumper.represent_list(value))


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _tag_words(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
