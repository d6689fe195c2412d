"""Edit one line of a text: pure. The rules, and their oddities, are those of ``file.line``.

A line is matched by a part of it or by a regular expression that is searched in it.
Source: observed on Salt 3006.30; tests/cases/data/file/lines.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, replace
from saltlite.errors import FunctionError

TOO_MANY = 'Found more than expected occurrences in "{}" expression'
BETWEEN = 'Found more than one line between boundaries "before" and "after".'


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to do; the fields are the arguments of ``file.line``.

    ``match`` falls back to ``content``; the anchors are for insert and ensure.
    """

    content: Any = None
    match: Any = None
    mode: Any = None
    location: str | None = None
    before: Any = None
    after: Any = None
    show_changes: bool = True
    backup: object = False
    quiet: bool = False
    indent: bool = True

    def with_mode(self) -> Edit:
        """The same with its mode in small letters.

        Raises:
            FunctionError: there is no such mode, or it needs a content.
        """
        return replace(self, mode=check_mode(self.mode, self.content))


def check_mode(mode: Any, content: object) -> str:
    """The mode in small letters.

    Raises:
        FunctionError: there is no such mode, or it needs a content.
    """
    name: str = mode.lower() if mode else ""
    if not name:
        raise FunctionError("Mode was not defined. How to process the file?")
    if name not in MODES:
        raise FunctionError(f'Unknown mode: "{name}"')
    if content is None and name != "delete":
        raise FunctionError('Content can only be empty if mode is "delete"')
    return name


def edit_lines(lines: Sequence[str], edit: Edit) -> list[str]:
    """The lines after the edit; equal ones if there is nothing to do.

    Raises:
        FunctionError: an expression does not compile, matches too often, or not at all.
    """
    body = list(lines)
    if body and body[-1].endswith("\n"):
        body.append("")  # Salt counts what follows the last line feed as a line
    return _end_lines(MODES[edit.mode](body, edit))


def _end_lines(body: list[str]) -> list[str]:
    """The lines, each but the last with an end: its own, or that of its neighbour."""
    for index, line in enumerate(body[:-1]):
        if not line.endswith("\n"):
            body[index] = f"{line.rstrip()}{_end_beside(body, index)}"
    return [line for line in body if line]


def _end_beside(body: Sequence[str], index: int) -> str:
    """How a new line ends: as the one before it, the first as the one after it.

    The second line always has a line feed. Source: observed on Salt 3006.30.
    """
    if index == 1:
        return "\n"
    return "\r\n" if body[index - 1 if index else 1].endswith("\r\n") else "\n"


def _compile_pattern(pattern: Any) -> re.Pattern[str] | None:
    """``None`` for nothing to match."""
    if pattern is None or pattern == "":
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise FunctionError(f"{error}: '{pattern}'") from error


def _find_matching(lines: Sequence[str], pattern: Any) -> list[int]:
    compiled = _compile_pattern(pattern)
    if compiled is None:
        return []
    return [index for index, line in enumerate(lines) if pattern in line or compiled.search(line)]


def _find_only(lines: Sequence[str], pattern: object, name: str) -> int | None:
    """The one line that an anchor matches, ``None`` if it matches none."""
    found = _find_matching(lines, pattern)
    if len(found) > 1:
        raise FunctionError(TOO_MANY.format(name))
    return found[0] if found else None


def _indent_content(edit: Edit, like: str) -> str:
    """The content, indented as another line."""
    content = str(edit.content)
    if not edit.indent or not content.strip():
        return content
    blank = like[: len(like) - len(like.lstrip())].rstrip("\r\n")
    return f"{blank}{content.lstrip()}"


def _bare_line(lines: Sequence[str], index: int) -> str:
    """A line without its end; empty behind the last one. Before the first one is the last one."""
    return lines[index].rstrip("\r\n") if index < len(lines) else ""


def _find_target(lines: Sequence[str], edit: Edit) -> int | None:
    """The first line that delete and replace are about."""
    found = _find_matching(lines, _match_text(edit))
    return found[0] if found else None


def _match_text(edit: Edit) -> Any:
    """The content stands for what is not given, unless there are anchors."""
    if edit.match is None and edit.before is None and edit.after is None:
        return edit.content
    return edit.match


def _delete_lines(lines: list[str], edit: Edit) -> list[str]:
    """All lines equal to the first that matches."""
    index = _find_target(lines, edit)
    return lines if index is None else [line for line in lines if line != lines[index]]


def _replace_line(lines: list[str], edit: Edit) -> list[str]:
    index = _find_target(lines, edit)
    if index is not None:
        lines[index] = _indent_content(edit, lines[index])
    return lines


def _insert_at_location(lines: list[str], edit: Edit) -> list[str]:
    """At the end, an empty line is left where the last one is ended."""
    _compile_pattern(_match_text(edit))
    if edit.location == "end":
        return [*lines, _indent_content(edit, lines[-1])] if lines else [str(edit.content)]
    if edit.location == "start":
        return [str(edit.content), *lines] if lines else [f"{edit.content}\n"]
    return lines


def _insert_line(lines: list[str], edit: Edit) -> list[str]:
    if edit.location:
        return _insert_at_location(lines, edit)
    if not lines or not (edit.before or edit.after):
        raise FunctionError(
            'On insert either "location" or "before/after" conditions are required.'
        )
    before = _find_only(lines, edit.before, "before")
    after = _find_only(lines, edit.after, "after")
    if before is not None:
        if after is None and _stands_at(lines, before - 1, edit):
            return lines
        return _put_at(lines, before, _indent_content(edit, lines[before]))
    if after is None:
        raise FunctionError("Neither before or after was found in file")
    return lines if _stands_at(lines, after + 1, edit) else _insert_after(lines, after, edit)


def _stands_at(lines: Sequence[str], index: int, edit: Edit) -> bool:
    """Whether the content stands in that line already, as it was given."""
    return _bare_line(lines, index) == str(edit.content).rstrip("\r\n")


def _insert_after(lines: list[str], index: int, edit: Edit) -> list[str]:
    return _put_at(lines, index + 1, _indent_content(edit, lines[index]))


def _put_at(lines: list[str], index: int, content: str) -> list[str]:
    return [*lines[:index], content, *lines[index:]]


def _ensure_line(lines: list[str], edit: Edit) -> list[str]:
    after = _find_only(lines, edit.after, "after")
    before = _find_only(lines, edit.before, "before")
    if after is not None and before is not None:
        return _ensure_between(lines, after, before, edit)
    if after is not None:
        return lines if _stands_at(lines, after + 1, edit) else _insert_after(lines, after, edit)
    if before is not None:
        if _stands_at(lines, before - 1, edit):
            return lines
        return _put_at(lines, before, _indent_content(edit, lines[before - 1]))
    raise FunctionError(
        "Wrong conditions? Unable to ensure line without knowing where to put it before"
        " and/or after."
    )


def _ensure_between(lines: list[str], after: int, before: int, edit: Edit) -> list[str]:
    """Nothing or one line may stand between; the one is replaced."""
    content = _indent_content(edit, lines[after])
    if before - after == 1:
        return _put_at(lines, before, content)
    if before - after != 2:
        raise FunctionError(BETWEEN)
    if _bare_line(lines, after + 1) != content.rstrip("\r\n"):
        lines[after + 1] = content
    return lines


MODES: Mapping[str, Callable[[list[str], Edit], list[str]]] = {
    "ensure": _ensure_line,
    "replace": _replace_line,
    "delete": _delete_lines,
    "insert": _insert_line,
}
