"""Files of sections and options. What is written keeps comments, order and lines it cannot read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import textfile
from saltlite.providers.ini import document
from saltlite.providers.ini.document import Document, Section


def set_option(
    ctx: MinionContext,
    file_name: str,
    sections: Mapping[str, object] | None = None,
    separator: str = "=",
    encoding: str | None = None,
    no_spaces: bool = False,
) -> dict[str, Any]:
    """Set options, and make the sections and the file they need; what has changed.

    ``sections`` has options by section, and values of options that are in none.

    CLI Example:

        salt '*' ini.set_option /path/to/ini '{section_foo: {key: value}}'
    """
    with textfile.hold(ctx, file_name):
        was = textfile.load(ctx.host, file_name)
        found = _parse_document(was or "", file_name, separator, encoding)
        before = found.text(no_spaces=no_spaces)
        changes: dict[str, Any] = {}
        for name, value in (sections or {}).items():
            if not isinstance(value, Mapping):
                changes |= _set_options(found.top, {name: value})
                continue
            is_new = str(name) not in found.sections
            changed = _set_options(found.section(str(name)), value)
            if is_new:
                after = {key: each["after"] for key, each in changed.items()}
                changes[str(name)] = {"before": None, "after": after}
            elif changed:
                changes[str(name)] = changed
        if changes or found.text(no_spaces=no_spaces) != before:
            _save_document(file_name, found, encoding, was, no_spaces=no_spaces)
        return changes


def _set_options(section: Section, options: Mapping[Any, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, value in options.items():
        before, after = section.options.get(str(name)), str(value)
        if not document.same(before, after):
            section.set(str(name), after)
            changes[str(name)] = {"before": before, "after": after}
    return changes


def get_option(
    ctx: MinionContext,
    file_name: str,
    section: str | None,
    option: str,
    separator: str = "=",
    encoding: str | None = None,
) -> str | None:
    """The value of an option, ``None`` without it.

    CLI Example:

        salt '*' ini.get_option /path/to/ini section_name option_name
    """
    found = _load_document(ctx.host, file_name, separator, encoding)
    return _find_section(found, section).options.get(option)


def remove_option(
    ctx: MinionContext,
    file_name: str,
    section: str | None,
    option: str,
    separator: str = "=",
    encoding: str | None = None,
) -> str | None:
    """Remove an option; its value, ``None`` if it was not there.

    CLI Example:

        salt '*' ini.remove_option /path/to/ini section_name option_name
    """
    with textfile.hold(ctx, file_name):
        was = textfile.load(ctx.host, file_name)
        found = _parse_document(was or "", file_name, separator, encoding)
        value = _find_section(found, section).drop(option)
        if value is not None:
            _save_document(file_name, found, encoding, was)
        return value


def get_section(
    ctx: MinionContext,
    file_name: str,
    section: str,
    separator: str = "=",
    encoding: str | None = None,
) -> dict[str, str]:
    """The options of a section; empty without it.

    CLI Example:

        salt '*' ini.get_section /path/to/ini section_name
    """
    return dict(
        _find_section(_load_document(ctx.host, file_name, separator, encoding), section).options
    )


def remove_section(
    ctx: MinionContext,
    file_name: str,
    section: str,
    separator: str = "=",
    encoding: str | None = None,
) -> dict[str, str] | None:
    """Remove a section; its options, ``None`` if it was not there.

    CLI Example:

        salt '*' ini.remove_section /path/to/ini section_name
    """
    with textfile.hold(ctx, file_name):
        was = textfile.load(ctx.host, file_name)
        found = _parse_document(was or "", file_name, separator, encoding)
        removed = found.sections.pop(section, None)
        if removed is None:
            return None
        _save_document(file_name, found, encoding, was)
        return dict(removed.options)


def get_ini(
    ctx: MinionContext, file_name: str, separator: str = "=", encoding: str | None = None
) -> dict[str, Any]:
    """The whole file: options that are in no section, and options by section.

    CLI Example:

        salt '*' ini.get_ini /path/to/ini
    """
    found = _load_document(ctx.host, file_name, separator, encoding)
    sections = {name: dict(each.options) for name, each in found.sections.items()}
    return {**found.top.options, **sections}


def _find_section(found: Document, name: str | None) -> Section:
    return found.sections.get(name, Section()) if name else found.top


def _load_document(host: Host, path: str, separator: str, encoding: str | None) -> Document:
    return _parse_document(textfile.load(host, path) or "", path, separator, encoding)


def _parse_document(text: str, path: str, separator: str, encoding: str | None) -> Document:
    if encoding:
        try:
            text = text.encode("utf-8", "surrogateescape").decode(encoding)
        except (LookupError, UnicodeDecodeError) as error:
            raise FunctionError(f"Unable to read {path}: {error}") from error
    return document.parse(text, separator)


def _save_document(
    path: str, found: Document, encoding: str | None, was: str | None, *, no_spaces: bool = False
) -> None:
    text = found.text(no_spaces=no_spaces)
    if encoding:
        text = text.encode(encoding).decode("utf-8", "surrogateescape")
    textfile.save(path, text, was=was)
