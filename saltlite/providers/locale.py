"""Locales by name and in the files that choose and generate them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from saltlite.core.lazyregex import regex

SUPPORTED = "/usr/share/i18n/SUPPORTED"
GENERATED = "/etc/locale.gen"

_FILES = {
    "Debian": "/etc/default/locale",
    "RedHat": "/etc/locale.conf",
    "Suse": "/etc/locale.conf",
    "Arch": "/etc/locale.conf",
    "Gentoo": "/etc/env.d/02locale",
}
_VALUE = regex(r"""\s*(?:export\s+)?LANG=["']?([^"'\s#]*)""")


def settings_file(os_family: str) -> str:
    """The file in which a family of systems keeps its locale."""
    return _FILES.get(os_family, "/etc/locale.conf")


def parse_setting(text: str) -> str:
    """The value of ``LANG``, empty without one."""
    found = [match.group(1) for line in text.splitlines() if (match := _VALUE.match(line))]
    return found[-1] if found else ""


def with_setting(text: str, locale: str) -> str:
    """The file with another ``LANG``."""
    wanted = f'LANG="{locale}"\n'
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if _VALUE.match(line):
            lines[index] = wanted
            return "".join(lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, wanted])


def normalize_locale(name: str) -> str:
    """One spelling for all of a locale: ``de_DE.utf8@euro`` for ``de_DE.UTF-8@euro``."""
    name, _, modifier = name.split(" ")[0].partition("@")
    place, _, codeset = name.partition(".")
    codeset = codeset.lower().replace("-", "")
    return place + (f".{codeset}" if codeset else "") + (f"@{modifier}" if modifier else "")


def is_among(locale: str, known: Iterable[str]) -> bool:
    """Whether a locale is one of these, however it is spelt."""
    wanted = normalize_locale(locale)
    return any(normalize_locale(each) == wanted for each in known)


def generation_line(locale: str) -> str:
    """The line for ``/etc/locale.gen``: the locale and its character set."""
    name, _, charmap = locale.strip().partition(" ")
    codeset = name.partition("@")[0].partition(".")[2]
    return f"{name} {charmap.strip() or codeset}".rstrip()


def is_supported(line: str, supported: str) -> bool:
    """Whether the list of all locales that can be generated has this line."""
    known = (each.strip().lstrip("# ") for each in supported.splitlines())
    return line in known


def with_generated(text: str, line: str) -> str:
    """``/etc/locale.gen`` with a locale, which may stand in there as a comment."""
    lines = text.splitlines(keepends=True)
    if any(each.strip() == line for each in lines):
        return text
    for index, each in enumerate(lines):
        if each.lstrip("# \t").strip() == line:
            lines[index] = f"{line}\n"
            return "".join(lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, f"{line}\n"])
