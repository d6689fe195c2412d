"""What ``supervisorctl`` says, and what the configuration of supervisord says. Pure.

Source: the output of supervisor 4.3.0; shapes observed on Salt 3006.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from configparser import Error as ParserError
from configparser import RawConfigParser

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError

STATES = frozenset(
    {"STOPPED", "STARTING", "RUNNING", "BACKOFF", "STOPPING", "EXITED", "FATAL", "UNKNOWN"}
)
RUNNING = frozenset({"RUNNING", "STARTING"})
"""States of a process that has been started, as ``supervisorctl start`` sees it."""

ALIVE = RUNNING | {"BACKOFF"}
"""States of a process that can be stopped."""

CONFIG_FILES = (
    "/etc/supervisord.conf",
    "/etc/supervisor/supervisord.conf",
    "/usr/local/etc/supervisord.conf",
)
HARMLESS = ("(already started)", "(not running)")

_NEWS = regex(
    r"(?P<group>\S+): (?:(?P<news>available|changed|disappeared)"
    r"|(?P<done>added|updated|removed) process group)"
)
_BECOMES = {"available": "added", "changed": "updated", "disappeared": "removed"}


def parse_status(text: str) -> dict[str, dict[str, str]]:
    """``{process: {"state", "reason"}}``. A name that is none is there as ``name:``, in ``ERROR``.

    Raises:
        FunctionError: this is no list of processes; the text is what it says instead.
    """
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        name, state, reason = (*line.split(None, 2), "", "", "")[:3]
        if state not in STATES | {"ERROR"}:
            raise FunctionError(text)
        found[name] = {"state": state, "reason": reason}
    return found


def parse_news(text: str) -> dict[str, str]:
    """``{group: "added", "updated" or "removed"}`` from ``reread`` (will be) or ``update`` (is).

    Raises:
        FunctionError: the configuration cannot be read.
    """
    if text.startswith("ERROR"):
        raise FunctionError(text)
    found = filter(None, map(_NEWS.fullmatch, text.splitlines()))
    return {each["group"]: each["done"] or _BECOMES[each["news"]] for each in found}


def complaint(text: str) -> str:
    """What of the answer to ``start`` or ``stop`` says that it did not work; empty if it did."""
    lines = (line for line in text.splitlines() if "ERROR" in line or "error:" in line.lower())
    return "\n".join(line for line in lines if not line.endswith(HARMLESS))


def options_of(texts: Mapping[str, str], name: str) -> dict[str, bool | int | str]:
    """The options of one program from configuration files, by their paths.

    Raises:
        FunctionError: a file cannot be understood, or no program has this name.
    """
    parser = RawConfigParser(strict=False, inline_comment_prefixes=(";",))
    try:
        for path, text in texts.items():
            parser.read_string(text, path)
    except ParserError as error:
        raise FunctionError(f"Unable to read from file: {error}") from error
    section = f"program:{name}"
    if not parser.has_section(section):
        raise FunctionError(f"Process '{name}' not found")
    return {key: _parse_value(text) for key, text in parser.items(section)}


def included_patterns(text: str) -> list[str]:
    """The patterns of ``[include] files``."""
    parser = RawConfigParser(strict=False, inline_comment_prefixes=(";",))
    try:
        parser.read_string(text)
    except ParserError:
        return []
    return parser.get("include", "files", fallback="").split()


def _parse_value(text: str) -> bool | int | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text
