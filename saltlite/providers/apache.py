"""What ``apache2ctl`` says, and configuration as text. Pure. Source: httpd 2.4; Salt 3006.30."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from saltlite.core.lazyregex import regex

_NAMED = regex(r"port (?P<port>\d+) namevhost (?P<name>\S+) \((?P<conf>\S+)\)")
_DEFAULT = regex(r"default server (?P<name>\S+) \((?P<conf>\S+)\)")
_ALONE = regex(r"(?P<at>\S+:\S+)\s+(?P<name>\S+) \((?P<conf>\S+)\)")


def parse_version(text: str) -> str:
    """``Apache/2.4.57 (Debian)``."""
    return text.partition("\n")[0].partition(":")[2].strip()


def parse_full_version(text: str) -> dict[str, Any]:
    """Each fact by its name in small letters; ``compiled_with`` is a list."""
    found: dict[str, Any] = {"compiled_with": []}
    for line in text.splitlines():
        name, colon, value = line.partition(": ")
        if line.startswith(" -D "):
            found["compiled_with"].append(line.removeprefix(" -D "))
        elif colon:
            found[name.strip().lower().replace(" ", "_")] = value.strip()
    return found


def parse_modules(text: str) -> dict[str, list[str]]:
    """``{"static": [...], "shared": [...]}``."""
    found: dict[str, list[str]] = {"static": [], "shared": []}
    for name, kind in re.findall(r"^ (\w+) \((static|shared)\)", text, re.MULTILINE):
        found[kind].append(name)
    return found


def parse_compiled(text: str) -> list[str]:
    """The source files of the modules that are compiled in."""
    return [line.strip() for line in text.splitlines() if line.strip().endswith(".c")]


def parse_directives(text: str) -> dict[str, str]:
    """What each directive is for, and where it may be."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line[:1].isspace():
            found[next(reversed(found))].append(line.strip())
        elif line:
            found[line.strip()] = []
    return {name: "\n".join(lines) for name, lines in found.items()}


def parse_vhosts(text: str) -> dict[str, dict[str, Any]]:
    """``{address: {name: {"vhost", "conf", "port"}}}``; ``default`` is who answers other names.

    An address with one host alone has its ``vhost`` and ``conf`` directly.
    """
    found: dict[str, dict[str, Any]] = {}
    at = ""
    for line in text.splitlines():
        if alone := _ALONE.match(line):
            found[alone["at"]] = {"vhost": alone["name"], "conf": alone["conf"]}
        elif line.endswith("is a NameVirtualHost"):
            at = line.split()[0]
            found[at] = {}
        elif at and (default := _DEFAULT.search(line)):
            found[at]["default"] = {"vhost": default["name"], "conf": default["conf"]}
        elif at and (named := _NAMED.search(line)):
            told = {"vhost": named["name"], "conf": named["conf"], "port": named["port"]}
            found[at][named["name"]] = told
    return found


def parse_status(text: str) -> dict[str, str]:
    """``server-status?auto``: facts by name."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def render_config(config: Mapping[str, object]) -> str:
    """One part of a configuration: directives, a map being a section.

    A section's ``this`` is its argument; a list repeats the directive.
    """
    return "".join(_render_directive(name, value) for name, value in config.items())


def _render_directive(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        inner = {key: each for key, each in value.items() if key != "this"}
        argument = f" {value['this']}" if "this" in value else ""
        return f"<{name}{argument}>\n{render_config(inner)}\n</{name}>\n\n"
    if isinstance(value, list):
        return "".join(_render_directive(name, each) for each in value) + "\n"
    return f"{name} {value}\n"
