"""Edits of a file's text: what they would do is found out first, then they are done."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules._file import comments, place, sources, texts
from saltlite.modules._file.commenting import comment_file
from saltlite.modules._file.permissions import Wanted
from saltlite.modules.file import content
from saltlite.states._file.checks import Encoding, expressions, failure, system_errors
from saltlite.states._file.presence import way_to

UTF_8 = Encoding()
UNCHANGED = "No changes needed to be made"
_SPACE = r"(?:[\s]+)?"


def not_found(name: str) -> Verdict:
    """The verdict on a file that should be edited and is not there."""
    return failure(f"{name}: file not found")


def dry(edit: Callable[[bool], Any], would: str) -> Declared:
    """An edit that can be tried: ``edit(True)`` gives the difference and changes nothing."""
    with expressions(), system_errors():
        found = edit(True)
    if not found:
        return Verdict(result=True, comment=UNCHANGED)

    def act(ctx: MinionContext) -> Verdict:
        with system_errors():
            changed = edit(False)
        return Verdict(result=True, comment="Changes were made", changes={"diff": changed})

    return Action(would=would, run=act, changes={"diff": found})


def chunks(
    ctx: MinionContext,
    text: Any,
    source: Any,
    all_sources: Any,
    template: Any,
    context: Any,
    defaults: Any,
    saltenv: str,
) -> list[str]:
    """The texts to add: those given, or one for each source.

    Raises:
        FunctionError: a source is not there.
    """
    found = [*(all_sources or []), *([source] if source else [])]
    if not found:
        return [str(part) for part in (text if isinstance(text, list) else [text])]
    return [read(ctx, one, template, context, defaults, saltenv) for one in found]


def read(
    ctx: MinionContext, source: Any, template: Any, context: Any, defaults: Any, saltenv: str
) -> str:
    """The text of a source, rendered if it is a template."""
    path = sources.client(ctx).cache_file(str(source), saltenv)
    if not path:
        raise FunctionError(f"Failed to load template file {source}")
    with system_errors(), open(path, encoding="utf-8", newline="") as stream:
        text = stream.read()
    if template:
        return sources.render(ctx, text, template, saltenv, context, defaults, path=path)
    return text


class Added:
    """Lines that shall be in a file, at its end or (``begin``) its begin."""

    def __init__(
        self, name: str, *, begin: bool, header: bool, spaces_differ: bool, encoding: Encoding
    ) -> None:
        self.name, self.begin, self.header = name, begin, header
        self.spaces_differ, self.encoding = spaces_differ, encoding
        self.old = _text(name, encoding)

    def declared(self, wanted: Sequence[str], *, makedirs: bool) -> Declared:
        """What is to be done about the lines that are not there."""
        name, exists = self.name, os.path.exists(self.name)
        lines = self._missing(wanted)
        if exists and not lines:
            return Verdict(result=True, comment=f"File {name} is in correct state")

        def act(ctx: MinionContext) -> Verdict:
            way_to(name, f"{name}: file not found", Wanted(), makedirs=makedirs)
            with system_errors():
                if not exists:
                    place.create(name, b"")
                self._write(lines)
            if not lines:
                return Verdict(result=True, comment=f"File {name} is in correct state")
            said = f"{'Prepended' if self.begin else 'Appended'} {len(lines)} lines"
            return Verdict(result=True, comment=said, changes={"diff": self._difference(lines)})

        if not exists:
            return Action(would=f"File {name} is set to be created", changes={"new": name}, run=act)
        changes = {"diff": self._difference(lines)}
        return Action(would=f"File {name} is set to be updated", changes=changes, run=act)

    def _write(self, lines: Sequence[str]) -> None:
        if self.encoding == UTF_8 and lines:
            (content.prepend if self.begin else content.append)(self.name, args=lines)
        elif lines:
            name, errors = self.encoding.name, self.encoding.errors
            new = "".join(_ended(lines)).encode(name, errors).decode(name)
            old = self.old
            if old and not self.begin and not old.endswith("\n"):
                old += "\n"
            text = new + old if self.begin else old + new
            place.put(self.name, text.encode(name))

    def _missing(self, wanted: Sequence[str]) -> list[str]:
        if self.header:
            lines = [line for chunk in wanted for line in chunk.splitlines()]
            begin = self.old.splitlines()[: len(lines)]
            return [] if begin == lines else lines
        return [line for chunk in wanted if not self._has(chunk) for line in chunk.splitlines()]

    def _has(self, chunk: str) -> bool:
        if not self.spaces_differ:
            return chunk in self.old
        lines = [_SPACE.join(map(re.escape, line.split())) for line in chunk.splitlines()]
        body = "".join(f"{_SPACE}{line}{_SPACE}" for line in lines)
        return re.search(f"(?m)^{body}$", self.old) is not None

    def _difference(self, lines: Sequence[str]) -> str:
        before = self.old.splitlines()
        after = [*lines, *before] if self.begin else [*before, *lines]
        if self.begin:
            return texts.unified(_ended(before), _ended(after))
        import difflib

        return "\n".join(difflib.unified_diff(before, after))


def _ended(lines: Sequence[str]) -> list[str]:
    return [f"{line}\n" for line in lines]


def _text(name: str, encoding: Encoding = UTF_8) -> str:
    if not os.path.isfile(name):
        return ""
    with system_errors(), open(name, encoding=encoding.name, newline="") as stream:
        return stream.read()


def lines_of(name: str) -> list[str]:
    """The lines of a file with their ends; none if it is not there."""
    return texts.split_lines(_text(name))


def commenting(
    name: str,
    regex: str,
    char: str,
    backup: Any,
    *,
    out: bool,
    ignore_missing: bool = False,
    encoding: Encoding = UTF_8,
) -> Declared:
    """Comment lines out, or in again."""
    if not os.path.isfile(name):
        return not_found(name)
    text = _text(name, encoding)
    lines = texts.split_lines(text)
    with expressions():
        changed = (comments.commented if out else comments.uncommented)(lines, regex, char)
        if changed.lines == lines:
            return _as_is(text, regex, char, out=out, ignore_missing=ignore_missing)
    word = "Commented" if out else "Uncommented"

    def act(ctx: MinionContext) -> Verdict:
        with system_errors():
            comment_file(name, regex, char, out, backup, encoding.name)
        changes = {"diff": texts.unified(lines, changed.lines)}
        return Verdict(result=True, comment=f"{word} lines successfully", changes=changes)

    would = f"File {name} is set to be updated"
    return Action(would=would, changes={name: "updated"}, run=act)


def _as_is(text: str, regex: str, char: str, *, out: bool, ignore_missing: bool) -> Verdict:
    inner = regex.lstrip("^").rstrip("$")
    pattern = rf"^\s*{re.escape(char)}\s*.*?(?:{inner})" if out else rf"^\s*(?:{inner})"
    if re.search(pattern, text, re.MULTILINE):
        word = "commented" if out else "uncommented"
        return Verdict(result=True, comment=f"Pattern already {word}")
    if ignore_missing:
        return Verdict(result=True, comment="Pattern not found and ignore_missing set to True")
    return failure(f"{inner}: Pattern not found")
