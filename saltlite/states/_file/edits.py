"""Edits of a file's text: what they would do is found out first, then they are done."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.host import Host
from saltlite.providers import textfile
from saltlite.providers.file import content, edits, hashes, permissions, sources, texts
from saltlite.providers.file.edits import comment_file
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file.checks import (
    Encoding,
    expressions,
    failure,
    require_owners,
    system_errors,
)
from saltlite.states._file.presence import way_to

UTF_8 = Encoding()
UNCHANGED = "No changes needed to be made"
_SPACE = r"(?:[\s]+)?"


def not_found(name: str) -> Verdict:
    """The verdict on a file that should be edited and is not there."""
    return failure(f"{name}: file not found")


def dry(edit: Callable[[bool], Any], would: str, own: Own | None = None) -> Declared:
    """An edit that can be tried: ``edit(True)`` gives the difference and changes nothing.

    ``own`` is whose the file shall be then, and how open.
    """
    with expressions(), system_errors():
        found = edit(True)
        other = own.look() if own else {}
    changes = {**({"diff": found} if found else {}), **other}
    if not changes:
        return Verdict(result=True, comment=UNCHANGED)

    def act(ctx: MinionContext) -> Verdict:
        told: dict[str, Any] = {}
        with system_errors():
            if found:
                told["diff"] = edit(False)
            if other and own:
                told |= own.give()
        return Verdict(result=True, comment="Changes were made", changes=told)

    return Action(would=would, run=act, changes=changes)


@dataclass(frozen=True, slots=True)
class Own:
    """Whose a file that is there shall be, and how open."""

    host: Host
    name: str
    wanted: DesiredPermissions

    def look(self) -> dict[str, Any]:
        """What is another."""
        ret, _ = permissions.check(self.name, None, self.wanted, self.host, follow=True, test=True)
        return dict(ret["changes"])

    def give(self) -> dict[str, Any]:
        """Change it; raises FunctionError."""
        require_owners(self.wanted.user, self.wanted.group)
        ret, _ = permissions.check(self.name, None, self.wanted, self.host, follow=True, test=False)
        if not ret["result"]:
            raise FunctionError(str(ret["comment"]))
        return dict(ret["changes"])


def chunks(
    ctx: MinionContext,
    text: object,
    source: object,
    all_sources: object,
    template: object,
    context: object,
    defaults: object,
    saltenv: str,
    source_hash: object = None,
    all_hashes: object = None,
) -> list[str]:
    """The texts to add: those given, or one for each source.

    Raises:
        FunctionError: a source is not there, or does not have its hash.
    """
    found = _with_hashes(source, all_sources or [], source_hash, all_hashes or [])
    if not found:
        return [str(part) for part in (text if isinstance(text, list) else [text])]
    return [
        read(ctx, one, template, context, defaults, saltenv, its_hash) for one, its_hash in found
    ]


def _with_hashes(
    source: object, all_sources: Any, source_hash: object, all_hashes: Any
) -> list[tuple[Any, Any]]:
    """Each source with the hash that is declared for it; ``sources`` have theirs in their order."""
    hashes_of = [all_hashes] if isinstance(all_hashes, str) else list(all_hashes)
    several = [all_sources] if isinstance(all_sources, str) else list(all_sources)
    if len(hashes_of) > len(several):
        raise FunctionError("source_hashes has more entries than sources")
    paired = list(zip_longest(several, hashes_of))
    return [*paired, *([(source, source_hash)] if source else [])]


def read(
    ctx: MinionContext,
    source: object,
    template: Any,
    context: Any,
    defaults: Any,
    saltenv: str,
    source_hash: object = None,
) -> str:
    """The text of a source, rendered if it is a template."""
    wanted = _find_source_hash(ctx, str(source), source_hash, saltenv)
    its_hash = wanted.get("hsum") if sources.is_of_web(str(source)) else None
    path = sources.client(ctx).cache_file(str(source), saltenv, source_hash=its_hash)
    if not path:
        raise FunctionError(f"Failed to load template file {source}")
    if wanted and hashes.file_hash(path, wanted["hash_type"]) != wanted["hsum"]:
        raise FunctionError(f"{source} does not have the declared hash {wanted['hsum']}")
    with system_errors(), open(path, encoding="utf-8", newline="") as stream:
        text = stream.read()
    if template:
        return sources.render(ctx, text, template, saltenv, context, defaults, path=path)
    return text


def _find_source_hash(
    ctx: MinionContext, source: str, source_hash: object, saltenv: str
) -> dict[str, str]:
    """The hash that a source shall have; of the file server's own files the server knows it."""
    if not source_hash or sources.scheme_of(source) == "salt":
        return {}
    with system_errors():
        return sources.source_sum(ctx, source, source, source_hash, None, saltenv)


class Added:
    """Lines that shall be in a file, at its end or (``begin``) its begin."""

    def __init__(
        self, name: str, *, begin: bool, header: bool, spaces_differ: bool, encoding: Encoding
    ) -> None:
        self.name, self.begin, self.header = name, begin, header
        self.spaces_differ, self.encoding = spaces_differ, encoding
        self._read_text()

    def _read_text(self) -> None:
        self.old, self.was = text_of(self.name, self.encoding)

    def declare(self, wanted: Sequence[str], *, makedirs: bool) -> Declared:
        """What is to be done about the lines that are not there."""
        name, exists = self.name, os.path.exists(self.name)
        if os.path.isdir(name):
            return failure(f"[Errno 21] Is a directory: {name!r}")
        lines = self._find_missing(wanted)
        if exists and not lines:
            return Verdict(result=True, comment=f"File {name} is in correct state")

        def act(ctx: MinionContext) -> Verdict:
            way_to(name, f"{name}: file not found", DesiredPermissions(), makedirs=makedirs)
            with textfile.hold(ctx, name), system_errors():
                added = self._add_lines(wanted)
            if not added:
                return Verdict(result=True, comment=f"File {name} is in correct state")
            said = f"{'Prepended' if self.begin else 'Appended'} {len(added)} lines"
            return Verdict(
                result=True, comment=said, changes={"diff": self._show_difference(added)}
            )

        if not exists:
            return Action(would=f"File {name} is set to be created", changes={"new": name}, run=act)
        changes = {"diff": self._show_difference(lines)}
        return Action(would=f"File {name} is set to be updated", changes=changes, run=act)

    def _add_lines(self, wanted: Sequence[str]) -> Sequence[str]:
        """Add what is not in the file as it is by now: another job may have added it."""
        if not os.path.exists(self.name):
            content.create(self.name, b"", follow=True)
        self._read_text()
        lines = self._find_missing(wanted)
        self._write_lines(lines)
        return lines

    def _write_lines(self, lines: Sequence[str]) -> None:
        if self.encoding == UTF_8 and lines:
            (content.prepend_lines if self.begin else content.append_lines)(self.name, lines)
        elif lines:
            name, errors = self.encoding.name, self.encoding.errors
            new = "".join(_end_lines(lines)).encode(name, errors).decode(name)
            old = self.old
            if old and not self.begin and not old.endswith("\n"):
                old += "\n"
            text = new + old if self.begin else old + new
            content.put_data(self.name, text.encode(name), was=self.was)

    def _find_missing(self, wanted: Sequence[str]) -> list[str]:
        """The lines to add, as the file can hold them: letters may be left out or replaced."""
        wanted = [self._as_written(chunk) for chunk in wanted]
        if self.header:
            lines = [line for chunk in wanted for line in chunk.splitlines()]
            begin = self.old.splitlines()[: len(lines)]
            return [] if begin == lines else lines
        return [
            line for chunk in wanted if not self._has_chunk(chunk) for line in chunk.splitlines()
        ]

    def _as_written(self, chunk: str) -> str:
        with system_errors():
            return chunk.encode(self.encoding.name, self.encoding.errors).decode(self.encoding.name)

    def _has_chunk(self, chunk: str) -> bool:
        if not self.spaces_differ:
            return chunk in self.old
        lines = [_SPACE.join(map(re.escape, line.split())) for line in chunk.splitlines()]
        body = "".join(f"{_SPACE}{line}{_SPACE}" for line in lines)
        return re.search(f"(?m)^{body}$", self.old) is not None

    def _show_difference(self, lines: Sequence[str]) -> str:
        if self.begin:
            before = texts.split_lines(self.old)
            return texts.unified_diff(before, [*_end_lines(lines), *before])
        import difflib

        before = self.old.splitlines()
        return "\n".join(difflib.unified_diff(before, [*before, *lines]))


def _end_lines(lines: Sequence[str]) -> list[str]:
    return [f"{line}\n" for line in lines]


def text_of(name: str, encoding: Encoding = UTF_8) -> tuple[str, os.stat_result | None]:
    """The text of a file and the status of the file; empty and ``None`` if it is not there."""
    if not os.path.isfile(name):
        return "", None
    with system_errors():
        found = content.load(name)
        return found.data.decode(encoding.name), found.status


def lines_of(name: str) -> list[str]:
    """The lines of a file with their ends; none if it is not there."""
    return texts.split_lines(text_of(name)[0])


def commenting(
    name: str,
    regex: str,
    char: str,
    backup: object,
    *,
    out: bool,
    ignore_missing: bool = False,
    encoding: Encoding = UTF_8,
) -> Declared:
    """Comment lines out, or in again."""
    if not os.path.isfile(name):
        return not_found(name)
    text, _ = text_of(name, encoding)
    lines = texts.split_lines(text)
    with expressions():
        as_is = _as_is(text, regex, char, out=out, ignore_missing=ignore_missing)
        if as_is is not None:
            return as_is
        changed = (edits.comment_lines if out else edits.uncomment_lines)(lines, regex, char)
        if changed.lines == lines:
            return _of_no_effect(text, regex, char, out=out)
    word = "Commented" if out else "Uncommented"

    def act(ctx: MinionContext) -> Verdict:
        with system_errors():
            comment_file(ctx, name, regex, char, out, backup, encoding.name)
        changes = {"diff": texts.unified_diff(lines, changed.lines)}
        return Verdict(result=True, comment=f"{word} lines successfully", changes=changes)

    would = f"File {name} is set to be updated"
    return Action(would=would, changes={name: "updated"}, run=act)


def _has_comment(text: str, regex: str, char: str, *, out: bool) -> bool:
    """Whether a line is commented, as Salt looks for it: the pattern behind the mark, anywhere."""
    mark = re.escape(char)
    pattern = f"{mark}{_strip_anchors(regex)}" if out else rf"{mark}[ \t]*{regex.lstrip('^')}"
    return re.search(pattern, text, re.MULTILINE) is not None


def _has_plain(text: str, regex: str, char: str, *, out: bool) -> bool:
    """Whether a line is not commented, as Salt looks for it."""
    pattern = rf"^[ \t]*{regex.lstrip('^')}"
    if out:
        pattern = rf"^(?!\s*{re.escape(char)})\s*{_strip_anchors(regex)}"
    return re.search(pattern, text, re.MULTILINE) is not None


def _strip_anchors(regex: str) -> str:
    return regex.lstrip("^").rstrip("$")


def _as_is(text: str, regex: str, char: str, *, out: bool, ignore_missing: bool) -> Verdict | None:
    """The verdict on a text with nothing to change; ``None`` if there may be something."""
    has, has_other = (_has_plain, _has_comment) if out else (_has_comment, _has_plain)
    if has(text, regex, char, out=out):
        return None
    if has_other(text, regex, char, out=out):
        return Verdict(
            result=True, comment=f"Pattern already {'commented' if out else 'uncommented'}"
        )
    if ignore_missing:
        return Verdict(result=True, comment="Pattern not found and ignore_missing set to True")
    return failure(f"{_strip_anchors(regex) if out else regex}: Pattern not found")


def _of_no_effect(text: str, regex: str, char: str, *, out: bool) -> Verdict:
    """The verdict on lines that were found and stay as they are, as in Salt."""
    word = "commented" if out else "uncommented"
    if (_has_comment if out else _has_plain)(text, regex, char, out=out):
        return Verdict(result=True, comment=f"{word.capitalize()} lines successfully")
    return failure(f"Expected {word} lines not found")
