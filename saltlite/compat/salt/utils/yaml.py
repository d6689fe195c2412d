"""``salt.utils.yaml`` and ``salt.serializers.yaml``: plain values, whatever loader is named."""

from __future__ import annotations

from typing import Any

import yaml
from yaml import YAMLError
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, ScalarNode, SequenceNode
from yaml.parser import ParserError
from yaml.scanner import ScannerError

from saltlite.compat.salt.exceptions import SaltDeserializationError, SaltRenderError
from saltlite.config.yaml import load as load_text
from saltlite.errors import ConfigError

__all__ = [
    "ConstructorError",
    "IndentedSafeOrderedDumper",
    "MappingNode",
    "OrderedDumper",
    "ParserError",
    "SafeOrderedDumper",
    "ScalarNode",
    "ScannerError",
    "SequenceNode",
    "YAMLError",
    "available",
    "deserialize",
    "dump",
    "load",
    "safe_dump",
    "safe_load",
    "save_dump",
    "serialize",
]

available = True


class _PlainDumper(yaml.SafeDumper):
    """Writes maps in their own order, and only plain values; what ``dump`` uses by itself."""


class SafeOrderedDumper(_PlainDumper):
    """The same, without ``...`` after a text that is one plain value, as libyaml writes it."""

    def write_plain(self, text: str, split: bool = True) -> None:
        """Write a plain value; nothing has to mark its end."""
        super().write_plain(text, split)
        self.open_ended = False


class OrderedDumper(SafeOrderedDumper):
    """The same under its other name."""


class IndentedSafeOrderedDumper(SafeOrderedDumper):
    """Sets lists in maps off by two blanks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists as well."""
        super().increase_indent(flow, indentless=False)


def _represent_map(dumper: yaml.SafeDumper, data: Any) -> Any:
    return dumper.represent_mapping("tag:yaml.org,2002:map", list(data.items()), False)


def _represent_list(dumper: yaml.SafeDumper, data: Any) -> Any:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", list(data))


_PlainDumper.add_multi_representer(dict, _represent_map)
_PlainDumper.add_multi_representer(tuple, _represent_list)


def load(stream: Any, Loader: Any = None) -> Any:
    """The value of a YAML text or file.

    Raises:
        YAMLError: it is none.
    """
    text = stream.read() if hasattr(stream, "read") else stream
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return _as_plain(load_text(text, "YAML"))
    except ConfigError as error:
        raise YAMLError(str(error)) from error


def safe_load(stream: object, Loader: object = None) -> Any:
    """The value of a YAML text or file; raises YAMLError."""
    return load(stream)


def _as_plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _as_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_plain(item) for item in value]
    return value


def dump(data: Any, stream: Any = None, **kwargs: Any) -> Any:
    """The YAML text of a value, or ``None`` if it was written to ``stream``."""
    if not issubclass(kwargs.get("Dumper") or _PlainDumper, yaml.SafeDumper):
        kwargs.pop("Dumper")
    kwargs.setdefault("Dumper", _PlainDumper)
    kwargs.setdefault("allow_unicode", True)
    kwargs.setdefault("default_flow_style", None)
    return yaml.dump(data, stream, **kwargs)


def safe_dump(data: object, stream: object = None, **kwargs: Any) -> Any:
    """The YAML text of a value of plain types only."""
    kwargs["Dumper"] = SafeOrderedDumper
    kwargs.setdefault("default_flow_style", None)
    return dump(data, stream, **kwargs)


save_dump = safe_dump


def serialize(obj: object, **options: Any) -> str:
    """The YAML text of a value."""
    options.setdefault("default_flow_style", None)
    return str(safe_dump(obj, **options)).removesuffix("\n")


def deserialize(stream_or_string: object, **options: Any) -> Any:
    """The value of a YAML text or file.

    Raises:
        SaltDeserializationError: it is none.
    """
    try:
        return load(stream_or_string)
    except (YAMLError, SaltRenderError) as error:
        raise SaltDeserializationError(str(error)) from error
