"""Settings of the network as a whole: whether interfaces come up, and the resolver's domains.

They are lines ``NAME=value`` of NETWORKING, HOSTNAME, DOMAIN and SEARCH, as Salt shows them.
Source: the file of Debian's ``networking.service``, resolv.conf(5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from saltlite.core.lazyregex import regex
from saltlite.errors import UsageError
from saltlite.providers.network import stanza

NETWORKING_FILE = "/etc/default/networking"
RESOLVER_FILE = "/etc/resolv.conf"
FILES = (NETWORKING_FILE, RESOLVER_FILE)

_CONFIGURE = regex(r"^[ \t]*CONFIGURE_INTERFACES=.*$", re.MULTILINE)
_ORDER = ("NETWORKING", "HOSTNAME", "DOMAIN", "SEARCH")


def show_settings(hostname: str, networking: str, resolver: str) -> list[str]:
    """The lines, of the machine's name and the texts of the two files."""
    rows = [line.split() for line in resolver.splitlines()]
    found = {row[0].upper(): " ".join(row[1:]) for row in rows if row}
    found |= {"HOSTNAME": hostname}
    said = _CONFIGURE.findall(networking)
    if said:
        value = said[-1].partition("=")[2].strip().strip("\"'")
        found["NETWORKING"] = "no" if value == "no" else "yes"
    return _setting_lines(found)


def _setting_lines(found: Mapping[str, str]) -> list[str]:
    return [f"{name}={found[name]}\n" for name in _ORDER if name in found]


def as_map(lines: Sequence[str]) -> dict[str, str]:
    """Settings by name."""
    pairs = (line.rstrip("\n").partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def want_settings(now: Sequence[str], given: Mapping[str, object]) -> list[str]:
    """The lines as they are to be.

    Raises:
        UsageError: what is given cannot be.
    """
    found = as_map(now)
    enabled = given.get("enabled", given.get("networking"))
    if enabled is not None:
        found["NETWORKING"] = _yes_or_no(enabled)
    hostname = str(given.get("hostname") or "")
    if hostname and not re.fullmatch(r"[\w-]+(\.[\w-]+)*", hostname, re.ASCII):
        raise UsageError(f"Invalid network setting -- Setting: hostname, Value: {hostname}")
    if hostname and given.get("apply_hostname"):
        found["HOSTNAME"] = hostname
    domain = hostname.partition(".")[2]
    if domain and "DOMAIN" in found:
        found["DOMAIN"] = domain
    search = given.get("search")
    if search:
        words = search if isinstance(search, (list, tuple)) else [search]
        found["SEARCH"] = " ".join(" ".join(map(str, words)).split())
    return _setting_lines(found)


def _yes_or_no(value: object) -> str:
    try:
        return "yes" if stanza.switch(value) == "on" else "no"
    except ValueError as error:
        said = f"Invalid network setting -- Setting: networking, Expected: [{error}]"
        raise UsageError(said) from None


def alter_text(text: str, changed: Mapping[str, str], path: str) -> str:
    """The text of one of the files with what is in it of the settings; all else stays."""
    if path == NETWORKING_FILE:
        return _with_networking(text, changed["NETWORKING"]) if "NETWORKING" in changed else text
    for name in ("DOMAIN", "SEARCH"):
        if name in changed:
            text = _with_row(text, name.lower(), changed[name])
    return text


def _with_networking(text: str, value: str) -> str:
    line = f"CONFIGURE_INTERFACES={value}"
    if _CONFIGURE.search(text):
        return _CONFIGURE.sub(line, text)
    return f"{_end_text(text)}{line}\n"


def _with_row(text: str, word: str, value: str) -> str:
    """With one row of that word, in the place of the first one or at the end."""
    lines: list[str] = []
    is_there = False
    for line in text.splitlines(keepends=True):
        if line.split()[:1] != [word]:
            lines.append(line)
        elif not is_there:
            lines.append(f"{word} {value}\n")
            is_there = True
    return "".join(lines) if is_there else f"{_end_text(text)}{word} {value}\n"


def _end_text(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
