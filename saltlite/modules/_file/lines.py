"""Edit one line of a text: pure. The rules, and their oddities, are those of ``file.line``.

A line is matched by a part of it or by a regular expression that is searched in it.
Source: observed on Salt 3006.30; tests/cases/file/lines.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saltlite.errors import FunctionError
from saltlite.modules._file.texts import line_end

TOO_MANY = 'Found more than expected occurrences in "{}" expression'
BETWEEN = 'Found more than one line between boundaries "before" and "after".'


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to do. ``match`` falls back to ``content``; the anchors are for insert and ensure."""

    mode: str
    content: Any = None
    match: Any = None
    location: str | None = None
    before: Any = None
    after: Any = None
    indent: bool = True


def checked_mode(mode: Any, content: Any) -> str:
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


def edited(lines: Sequence[str], edit: Edit) -> list[str]:
    """The lines after the edit; equal ones if there is nothing to do.

    Raises:
        FunctionError: an expression does not compile, matches too often, or not at all.
    """
    return MODES[edit.mode](list(lines), edit)


def _compiled(pattern: Any) -> re.Pattern[str] | None:
    """``None`` for nothing to match."""
    if pattern is None or pattern == "":
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise FunctionError(f"{error}: '{pattern}'") from error


def _matching(lines: Sequence[str], pattern: Any) -> list[int]:
    compiled = _compiled(pattern)
    if compiled is None:
        return []
    return [index for index, line in enumerate(lines) if pattern in line or compiled.search(line)]


def _only(lines: Sequence[str], pattern: Any, name: str) -> int | None:
    """The one line that an anchor matches, ``None`` if it matches none."""
    found = _matching(lines, pattern)
    if len(found) > 1:
        raise FunctionError(TOO_MANY.format(name))
    return found[0] if found else None


def _indented(edit: Edit, like: str) -> str:
    """The content without its end, indented as another line."""
    if not edit.indent:
        return str(edit.content.rstrip("\r\n"))
    blank = like[: len(like) - len(like.lstrip())].rstrip("\r\n")
    return f"{blank}{edit.content.strip()}"


def _ending(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _bare(lines: Sequence[str], index: int) -> str:
    """A line without its end; empty where there is none."""
    return lines[index].rstrip("\r\n") if 0 <= index < len(lines) else ""


def _target(lines: Sequence[str], edit: Edit) -> int | None:
    """The first line that delete and replace are about."""
    found = _matching(lines, edit.content if edit.match is None else edit.match)
    return found[0] if found else None


def _delete(lines: list[str], edit: Edit) -> list[str]:
    index = _target(lines, edit)
    if index is not None:
        del lines[index]
    return lines


def _replace(lines: list[str], edit: Edit) -> list[str]:
    index = _target(lines, edit)
    if index is not None:
        lines[index] = _indented(edit, lines[index]) + _ending(lines[index])
    return lines


def _put_after(lines: list[str], index: int, content: str) -> list[str]:
    if lines[index].endswith("\n"):
        lines.insert(index + 1, f"{content}\n")
    else:
        lines[index] += "\n"
        lines.append(content)
    return lines


def _put_before(lines: list[str], index: int, content: str) -> list[str]:
    lines.insert(index, f"{content}\n")
    return lines


def _insert_at_end(lines: list[str], edit: Edit) -> list[str]:
    """Salt leaves an empty line where the last line is ended, and does not end the new one."""
    if lines and lines[-1].endswith("\n"):
        lines.append(line_end(lines))
    elif lines:
        lines[-1] += line_end(lines)
    return [*lines, edit.content] if edit.content else lines


def _insert_at_location(lines: list[str], edit: Edit) -> list[str]:
    _compiled(edit.content if edit.match is None else edit.match)
    if edit.location == "end":
        return _insert_at_end(lines, edit)
    if edit.location == "start":
        end = line_end(lines)
        content = str(edit.content).removesuffix("\n")
        lines.insert(0, f"{content}{end}")
    return lines


def _insert(lines: list[str], edit: Edit) -> list[str]:
    if edit.location:
        return _insert_at_location(lines, edit)
    if not lines or not (edit.before or edit.after):
        raise FunctionError(
            'On insert either "location" or "before/after" conditions are required.'
        )
    before = _only(lines, edit.before, "before")
    after = _only(lines, edit.after, "after")
    if before is not None:
        if not edit.after and _stands(lines, before - 1, edit):
            return lines
        return _put_before(lines, before, _indented(edit, lines[before]))
    if after is None:
        raise FunctionError("Neither before or after was found in file")
    return lines if _stands(lines, after + 1, edit) else _after(lines, after, edit)


def _stands(lines: Sequence[str], index: int, edit: Edit) -> bool:
    """Whether the content stands in that line already, as it was given."""
    return _bare(lines, index) == str(edit.content).rstrip("\r\n")


def _after(lines: list[str], index: int, edit: Edit) -> list[str]:
    return _put_after(lines, index, _indented(edit, lines[index]))


def _ensure(lines: list[str], edit: Edit) -> list[str]:
    after = _only(lines, edit.after, "after")
    before = _only(lines, edit.before, "before")
    if after is not None and before is not None:
        return _ensure_between(lines, after, before, edit)
    if after is not None:
        return lines if _stands(lines, after + 1, edit) else _after(lines, after, edit)
    if before is not None:
        if _stands(lines, before - 1, edit):
            return lines
        return _put_before(lines, before, _indented(edit, _bare(lines, before - 1)))
    raise FunctionError(
        "Wrong conditions? Unable to ensure line without knowing where to put it before"
        " and/or after."
    )


def _ensure_between(lines: list[str], after: int, before: int, edit: Edit) -> list[str]:
    """Nothing or one line may stand between; the one is replaced."""
    content = _indented(edit, lines[after])
    if before - after == 1:
        return _put_after(lines, after, content)
    if before - after != 2:
        raise FunctionError(BETWEEN)
    if _bare(lines, after + 1) != content:
        lines[after + 1] = f"{content}\n"
    return lines


MODES: Mapping[str, Callable[[list[str], Edit], list[str]]] = {
    "ensure": _ensure,
    "replace": _replace,
    "delete": _delete,
    "insert": _insert,
}
