"""Formats that values are written in and read from: the serializers of ``slsutil`` and states."""

from __future__ import annotations

import json
import pprint
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import ConfigError, FunctionError


@dataclass(frozen=True, slots=True)
class Format:
    """A format; a direction that does not exist is ``None``."""

    serialize: Callable[..., Any] | None
    deserialize: Callable[..., Any] | None


def _to_json(value: object, **options: Any) -> str:
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _from_json(text: Any, **_: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise FunctionError(str(error)) from error


STYLE = ("allow_unicode", "canonical", "default_style", "explicit_end", "explicit_start", "width")
"""Options of PyYAML that are passed on. As in Salt letters are escaped if it is not said."""


def _to_yaml(value: object, default_flow_style: bool | None = None, **options: Any) -> str:
    from saltlite.config.yaml import dump

    style = {name: options[name] for name in STYLE if name in options}
    return dump(
        value,
        flow=default_flow_style,
        indent=int(options.get("indent") or 2),
        sort_keys=bool(options.get("sort_keys", True)),
        **{"allow_unicode": False, **style},
    ).rstrip("\n")


def _to_yamlex(value: object, **options: Any) -> str:
    return _to_yaml(value, **{"default_flow_style": True, **options})


def _from_yaml(text: object, **_: Any) -> Any:
    from saltlite.config.yaml import YamlError, load_plain

    return _read_serialized(load_plain, text, YamlError)


def _from_yamlex(text: object, **_: Any) -> Any:
    from saltlite.config.yaml import YamlError, load_aggregated

    return _read_serialized(lambda each: load_aggregated(each, ""), text, YamlError)


def _read_serialized(load: Callable[[str], Any], text: Any, kind: Any) -> Any:
    try:
        return load(text.decode() if isinstance(text, bytes) else str(text))
    except ConfigError as error:
        finding = error.finding if isinstance(error, kind) else error.problem
        raise FunctionError(f"{finding}, line {error.line}") from error


def _to_python(value: object, **options: Any) -> str:
    return pprint.pformat(value, **options)


def _to_ini(value: Mapping[str, Mapping[str, object]], **options: Any) -> str:
    import configparser
    import io

    try:
        parser = configparser.RawConfigParser(**options)
    except TypeError as error:
        raise FunctionError(str(error)) from error
    for section, items in value.items():
        parser.add_section(str(section))
        for name, item in items.items():
            parser.set(str(section), str(name), "" if item is None else str(item))
    written = io.StringIO()
    parser.write(written)
    return written.getvalue()


def _from_ini(text: object, **options: Any) -> dict[str, dict[str, str]]:
    import configparser

    try:
        parser = configparser.ConfigParser(**options)
        parser.read_string(str(text))
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except (configparser.Error, TypeError) as error:
        raise FunctionError(str(error)) from error


def _to_plist(value: Any, **options: Any) -> str:
    import plistlib

    return plistlib.dumps(value, **{"sort_keys": True, **options}).decode()


def _from_plist(text: Any, **_: Any) -> Any:
    import plistlib

    return plistlib.loads(text.encode() if isinstance(text, str) else text)


def _to_lines(value: Any, separator: str = "=", **_: Any) -> str:
    pairs = value.items() if isinstance(value, Mapping) else value
    return "\n".join(f"{key}{separator}{item}" for key, item in pairs)


def _from_lines(text: object, separator: str = "=", **_: Any) -> dict[str, str]:
    lines = (line.partition(separator) for line in str(text).splitlines() if line.strip())
    return {key.strip(): value.strip() for key, _separator, value in lines}


SERIALIZERS: Mapping[str, Format] = {
    "configparser": Format(_to_ini, _from_ini),
    "json": Format(_to_json, _from_json),
    "keyvalue": Format(_to_lines, _from_lines),
    "plist": Format(_to_plist, _from_plist),
    "python": Format(_to_python, None),
    "yaml": Format(_to_yaml, _from_yaml),
    "yamlex": Format(_to_yamlex, _from_yamlex),
}
"""Salt's names of the formats."""
