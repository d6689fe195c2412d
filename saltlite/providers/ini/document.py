"""A file of sections and options that keeps its comments, its order and what it cannot read. Pure.

Written anew, options get the same space around the separator, sections one empty line between them;
a section or option that comes again is put together with the first one. Source: observed on Salt
3006.30, ``ini.set_option`` and its kin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex

_SECTION = regex(r"\[(.*)\]\s*$")
_COMMENT = regex(r"\s*[;#]")


@dataclass(slots=True)
class Section:
    """Lines as they are (``str``) and names of options (``(name,)``), with the options' values."""

    body: list[str | tuple[str]] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: str) -> None:
        """Give an option a value; a new one comes last."""
        if name not in self.options:
            self._strip_blanks()
            self.body.append((name,))
        self.options[name] = value

    def drop(self, name: str) -> str | None:
        """Take an option out; its value, ``None`` if there was none."""
        if name not in self.options:
            return None
        self.body.remove((name,))
        return self.options.pop(name)

    def _strip_blanks(self) -> None:
        while self.body and not _has_text(self.body[-1]):
            del self.body[-1]

    def lines(self, around: str) -> list[str]:
        """The lines without the empty ones at both ends."""
        shown = [
            line
            if isinstance(line, str)
            else f"{line[0]}{around}{_fold_value(self.options[line[0]])}"
            for line in self.body
        ]
        return "\n".join(shown).strip("\n").split("\n") if any(map(str.strip, shown)) else []


def _has_text(line: str | tuple[str]) -> bool:
    return not isinstance(line, str) or bool(line.strip())


def _fold_value(value: str) -> str:
    """A value of several lines; those after the first are set in, so that they stay its own."""
    first, *more = value.split("\n")
    return "\n".join([first, *(line if line[:1].isspace() else f"    {line}" for line in more)])


@dataclass(slots=True)
class Document:
    """A whole file: what stands before the sections, and the sections."""

    separator: str = "="
    top: Section = field(default_factory=Section)
    sections: dict[str, Section] = field(default_factory=dict)

    def section(self, name: str) -> Section:
        """A section, made if it is not there."""
        return self.sections.setdefault(name, Section())

    def text(self, *, no_spaces: bool = False) -> str:
        """The file; ``no_spaces`` leaves none around the separator."""
        around = self.separator if no_spaces else f" {self.separator} "
        return "".join(self._iter_parts(around))

    def _iter_parts(self, around: str) -> Iterator[str]:
        lines = self.top.lines(around)
        yield "".join(f"{line}\n" for line in lines)
        is_first = not lines
        for name, section in self.sections.items():
            yield "" if is_first else "\n"
            yield f"[{name}]\n"
            yield "".join(f"{line}\n" for line in section.lines(around))
            is_first = False


def parse(text: str, separator: str = "=") -> Document:
    """Read a file. What is no section, option or comment stays a line of its own."""
    option = re.compile(rf"\s*([^\s{re.escape(separator)}].*?)?\s*{re.escape(separator)}\s*(.*)$")
    document = Document(separator)
    here, last = document.top, ""
    for line in text.splitlines():
        header = _SECTION.match(line)
        if header is not None:
            here, last = document.section(header[1]), ""
        elif last and line[:1].isspace() and line.strip() and not _COMMENT.match(line):
            here.options[last] += f"\n{line}"
        else:
            last = _add_line(here, line, option)
    return document


def _add_line(section: Section, line: str, option: re.Pattern[str]) -> str:
    """Add a line; the name of its option, if it is one."""
    found = None if _COMMENT.match(line) else option.match(line)
    if found is None or not found[1]:
        section.body.append(line)
        return ""
    name = found[1]
    if name not in section.options:
        section.body.append((name,))
    section.options[name] = found[2].rstrip()
    return name


def same(one: str | None, other: str) -> bool:
    """Whether two values are the same but for how their lines are set in."""
    if one is None:
        return False
    return [line.strip() for line in one.split("\n")] == [
        line.strip() for line in other.split("\n")
    ]
