"""Files of sections and options: what shall be in them, and what not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import ini
from saltlite.providers.ini import document

Content = Mapping[str, Any]
"""Options that are in no section, and maps of options by section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file, and how it is written."""

    path: str
    separator: str = "="
    encoding: str | None = None
    no_spaces: bool = False

    def content(self, ctx: MinionContext) -> Content:
        """What is in it; nothing if it is not there."""
        return ctx.follow(ini.get_ini, self.path, self.separator, self.encoding)


def options_present(
    name: str,
    sections: Mapping[str, object] | None = None,
    separator: str = "=",
    strict: bool = False,
    encoding: str | None = None,
    no_spaces: bool = False,
) -> IniOptions:
    """Options with these values, by section; a value in no section stands before them.

    ``strict`` removes other sections, other options of these sections, and those in no section.
    """
    file = File(path=name, separator=separator, encoding=encoding, no_spaces=no_spaces)
    return IniOptions(file=file, sections=sections or {}, strict=strict)


def options_absent(
    name: str,
    sections: Mapping[str, object] | None = None,
    separator: str = "=",
    encoding: str | None = None,
) -> NoOptions:
    """No options of these names, listed by section; one without a list is in no section."""
    file = File(path=name, separator=separator, encoding=encoding)
    return NoOptions(file=file, sections=sections or {})


def sections_present(
    name: str, sections: Any = None, separator: str = "=", encoding: str | None = None
) -> Sections:
    """These sections; those that are not there get the options that are given for them."""
    file = File(path=name, separator=separator, encoding=encoding)
    wanted = sections if isinstance(sections, Mapping) else {each: {} for each in sections or ()}
    return Sections(file=file, sections=wanted)


def sections_absent(
    name: str, sections: Any = None, separator: str = "=", encoding: str | None = None
) -> NoSections:
    """None of these sections."""
    file = File(path=name, separator=separator, encoding=encoding)
    return NoSections(file=file, sections=tuple(map(str, sections or ())))


class _Content(Resource[Content]):
    """What shall be true of a file; the same words for all of it."""

    __slots__ = ()
    file: File

    def read(self, ctx: MinionContext) -> Content:
        return self.file.content(ctx)

    def comment_unchanged(self, now: Content) -> str:
        return "No anomaly detected"

    def comment_changed(self, before: Content, after: Content, steps: Sequence[Step]) -> str:
        return "Changes take effect"


@dataclass(frozen=True, slots=True, kw_only=True)
class IniOptions(_Content):
    """Options that have values."""

    file: File
    sections: Mapping[str, Any]
    strict: bool

    def plan(self, now: Content) -> list[Step]:
        steps = self._plan_removals(now) if self.strict else []
        inside = {name: each for name, each in self.sections.items() if isinstance(each, Mapping)}
        outside = {name: each for name, each in self.sections.items() if name not in inside}
        for name, value in outside.items():
            if not document.same(_text_or_none(now.get(name)), str(value)):
                change = {"before": now.get(name), "after": str(value)}
                steps.append(self._plan_set(f"Changed key {name}.", {name: value}, {name: change}))
        for name, options in inside.items():
            steps += self._plan_section(now, str(name), options)
        return steps

    def _plan_section(self, now: Content, name: str, options: Mapping[Any, Any]) -> list[Step]:
        there = now.get(name)
        before = there if isinstance(there, Mapping) else {}
        wrong = {
            str(key): str(value)
            for key, value in options.items()
            if not document.same(before.get(str(key)), str(value))
        }
        if there is not None and not wrong:
            return []
        changes: dict[str, Any] = {
            key: {"before": before.get(key), "after": value} for key, value in wrong.items()
        }
        if there is None:
            changes = {"before": None, "after": wrong}
        lines = [f"Changed key {key} in section {name}." for key in wrong]
        return [self._plan_set("\n".join(lines), {name: wrong}, {name: changes})]

    def _plan_set(self, would: str, sections: Content, changes: Content) -> Step:
        def run(ctx: MinionContext) -> None:
            file = self.file
            ctx.follow(
                ini.set_option, file.path, sections, file.separator, file.encoding, file.no_spaces
            )

        return Step(would=would, changes=changes, run=run)

    def _plan_removals(self, now: Content) -> list[Step]:
        """What is there besides."""
        steps = []
        for name, there in now.items():
            wanted = self.sections.get(name)
            if not isinstance(there, Mapping):
                steps += [] if name in self.sections else [self._plan_removal(name, there)]
                continue
            if not isinstance(wanted, Mapping):
                steps.append(self._without_section(name, there))
                continue
            keys = {str(key) for key in wanted}
            steps += [
                self._without_option(name, key, value)
                for key, value in there.items()
                if key not in keys
            ]
        return steps

    def _plan_removal(self, name: str, value: object) -> Step:
        return Step(
            would=f"Removed key {name}.",
            changes={name: {"before": value, "after": None}},
            run=lambda ctx: ctx.follow(
                ini.remove_option,
                self.file.path,
                None,
                name,
                self.file.separator,
                self.file.encoding,
            ),
        )

    def _without_section(self, name: str, there: Mapping[str, object]) -> Step:
        return Step(
            would=f"Removed section {name}.",
            changes={name: {"before": dict(there), "after": None}},
            run=lambda ctx: ctx.follow(
                ini.remove_section, self.file.path, name, self.file.separator, self.file.encoding
            ),
        )

    def _without_option(self, section: str, name: str, value: str) -> Step:
        return Step(
            would=f"Deleted key {name} in section {section}.",
            changes={section: {name: {"before": value, "after": None}}},
            run=lambda ctx: ctx.follow(
                ini.remove_option,
                self.file.path,
                section,
                name,
                self.file.separator,
                self.file.encoding,
            ),
        )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions(_Content):
    """Options that are not there."""

    file: File
    sections: Mapping[str, Any]

    def plan(self, now: Content) -> list[Step]:
        steps = []
        for section, names in self.sections.items():
            if not isinstance(names, (list, tuple, Mapping)):
                if isinstance(now.get(section), str):
                    steps.append(self._plan_drop(None, section, {section: now[section]}))
                continue
            there = now.get(section)
            found = [str(name) for name in names] if isinstance(there, Mapping) else []
            steps += [
                self._plan_drop(section, name, {section: {name: now[section][name]}})
                for name in found
                if name in now[section]
            ]
        return steps

    def _plan_drop(self, section: str | None, name: str, changes: Content) -> Step:
        place = f" in section {section}" if section else ""
        return Step(
            would=f"Deleted key {name}{place}.",
            changes=changes,
            run=lambda ctx: ctx.follow(
                ini.remove_option,
                self.file.path,
                section,
                name,
                self.file.separator,
                self.file.encoding,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections(_Content):
    """Sections that are there."""

    file: File
    sections: Mapping[str, Any]

    def plan(self, now: Content) -> list[Step]:
        return [
            self._plan_section(str(name), options or {})
            for name, options in self.sections.items()
            if not isinstance(now.get(str(name)), Mapping)
        ]

    def _plan_section(self, name: str, options: Mapping[Any, Any]) -> Step:
        shown = {str(key): str(value) for key, value in options.items()}
        return Step(
            would=f"Created new section {name}.",
            changes={name: {"before": None, "after": shown}},
            run=lambda ctx: ctx.follow(
                ini.set_option,
                self.file.path,
                {name: options},
                self.file.separator,
                self.file.encoding,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSections(_Content):
    """Sections that are not there."""

    file: File
    sections: tuple[str, ...]

    def plan(self, now: Content) -> list[Step]:
        return [
            self._plan_drop(name, now[name])
            for name in self.sections
            if isinstance(now.get(name), Mapping)
        ]

    def _plan_drop(self, name: str, there: Mapping[str, object]) -> Step:
        return Step(
            would=f"Deleted section {name}.",
            changes={name: dict(there)},
            run=lambda ctx: ctx.follow(
                ini.remove_section, self.file.path, name, self.file.separator, self.file.encoding
            ),
        )
