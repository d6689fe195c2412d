"""The ``.repo`` files of dnf, yum and zypper: read and changed, comments kept.

Pure. A file is a list of sections; what is not changed keeps every byte.
"""

from __future__ import annotations

from collections.abc import Mapping


def parse(text: str) -> dict[str, dict[str, str]]:
    """The sections and their options; a continued value has line feeds in it."""
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    last = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", ";")):
            continue
        if line.startswith("[") and stripped.endswith("]"):
            current = sections.setdefault(stripped[1:-1], {})
            last = ""
        elif line[0].isspace() and current is not None and last:
            current[last] = f"{current[last]}\n{stripped}"
        elif "=" in stripped and current is not None:
            name, _, value = stripped.partition("=")
            last = name.strip()
            current[last] = value.strip()
    return sections


def change(text: str, section: str, values: Mapping[str, str | None]) -> str:
    """A file with options of one section set; ``None`` takes an option away.

    A section that is not there is put at the end.
    """
    lines = text.splitlines()
    start, end = _section_bounds(lines, section)
    if start < 0:
        body = [f"{name}={value}" for name, value in values.items() if value is not None]
        return _join_lines([*lines, *([""] if lines and lines[-1] else []), f"[{section}]", *body])
    left = dict(values)
    kept: list[str] = []
    skipping = False
    for line in lines[start + 1 : end]:
        name = line.partition("=")[0].strip()
        if skipping and line[:1].isspace() and line.strip():
            continue
        skipping = name in values and "=" in line
        if not skipping:
            kept.append(line)
        elif name in left:
            value = left.pop(name)
            kept += [] if value is None else [f"{name}={value}"]
    added = [f"{name}={value}" for name, value in left.items() if value is not None]
    while kept and not kept[-1].strip():
        kept.pop()
    blank = [""] if end < len(lines) else []
    return _join_lines([*lines[: start + 1], *kept, *added, *blank, *lines[end:]])


def format_value(value: object) -> str | None:
    """The value of an option as it is in a file, ``None`` if it is to be taken away."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    lines = value if isinstance(value, (list, tuple)) else str(value).splitlines()
    return "\n ".join(str(line) for line in lines)  # a blank first: no line is a section


def with_comments(text: str, section: str, comments: object) -> str:
    """A file with comments (a text or a list) at the end of one section, unless they are there."""
    for line in strip_comments(comments):
        text = _with_comment(text, section, line)
    return text


def strip_comments(comments: object) -> list[str]:
    """Comments that were asked for as the lines they are, without their sign."""
    given = comments if isinstance(comments, (list, tuple)) else str(comments or "").splitlines()
    lines = (" ".join(str(each).split()) for each in given)
    return [line for line in lines if line]


def comments_of(text: str) -> dict[str, str]:
    """The comments in each section that has any, by line, without their sign."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("[") and line.rstrip().endswith("]"):
            section = line.strip()[1:-1]
        elif section and line.startswith("#") and line.strip("# "):
            found.setdefault(section, []).append(line.lstrip("#").strip())
    return {name: "\n".join(lines) for name, lines in found.items()}


def _with_comment(text: str, section: str, comment: str) -> str:
    lines = text.splitlines()
    start, end = _section_bounds(lines, section)
    there = (line.lstrip("#").strip() for line in lines[start:end] if line.startswith("#"))
    if start < 0 or comment in there:
        return text
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return _join_lines([*lines[:end], f"# {comment}", *lines[end:]])


def without(text: str, section: str) -> str:
    """A file without one section."""
    lines = text.splitlines()
    start, end = _section_bounds(lines, section)
    return text if start < 0 else _join_lines([*lines[:start], *lines[end:]])


def _section_bounds(lines: list[str], section: str) -> tuple[int, int]:
    """The line of the section's head and the one after its last; -1 if it is not there."""
    start = next((n for n, line in enumerate(lines) if line.strip() == f"[{section}]"), -1)
    if start < 0:
        return -1, -1
    after = range(start + 1, len(lines))
    return start, next((n for n in after if lines[n].startswith("[")), len(lines))


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
