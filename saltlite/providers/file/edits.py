"""Edits of a file's text: replace, blocks between markers, comments, keys and values.

What is pure comes first; what reads and writes files last, under the lock of the file. Replacing
works on bytes, as in Salt: a dot is one byte, and letters beyond ASCII have no case. With an
encoding it is text. The edits of ``file.line`` are in ``lines.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, AnyStr

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import textfile
from saltlite.providers.file import content
from saltlite.providers.file.backups import timestamp_path
from saltlite.providers.file.content import Content
from saltlite.providers.file.lines import Edit, edit_lines
from saltlite.providers.file.paths import home
from saltlite.providers.file.texts import difference, line_end, split_lines, unified_diff

FLAGS = {
    "A": re.ASCII,
    "ASCII": re.ASCII,
    "DEBUG": re.DEBUG,
    "I": re.IGNORECASE,
    "IGNORECASE": re.IGNORECASE,
    "L": re.LOCALE,
    "LOCALE": re.LOCALE,
    "M": re.MULTILINE,
    "MULTILINE": re.MULTILINE,
    "S": re.DOTALL,
    "DOTALL": re.DOTALL,
    "U": re.UNICODE,
    "UNICODE": re.UNICODE,
    "X": re.VERBOSE,
    "VERBOSE": re.VERBOSE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What becomes what; the fields are the arguments of ``file.replace``.

    ``count`` 0 is all. Without a match the content may be added.
    """

    pattern: str = ""
    repl: object = ""
    count: int = 0
    flags: object = 8
    bufsize: object = 1
    append_if_not_found: bool = False
    prepend_if_not_found: bool = False
    not_found_content: object = None
    backup: object = ".bak"
    dry_run: bool = False
    search_only: bool = False
    show_changes: bool = True
    ignore_if_missing: bool = False
    preserve_inode: bool = True
    backslash_literal: bool = False
    encoding: str | None = None

    def check(self) -> None:
        """Raise UsageError for options that exclude one another, TypeError for wrong types."""
        adds = (self.append_if_not_found, self.prepend_if_not_found)
        if not isinstance(self.pattern, str):
            raise TypeError(f"expected str, bytes, or bytearray not {type(self.pattern)}")
        if all(adds):
            raise UsageError("Only one of append and prepend_if_not_found is permitted")
        if self.search_only and any(adds):
            raise UsageError("search_only cannot be used with append/prepend_if_not_found")
        if isinstance(self.bufsize, str) and self.bufsize != "file":
            raise TypeError("'str' object cannot be interpreted as an integer")


def flags_of(flags: object) -> int:
    """``re`` flags from a number, a name or a list of names.

    Raises:
        FunctionError: there is no such flag.
    """
    if isinstance(flags, int):
        return int(flags)
    if isinstance(flags, str):
        return _parse_flag(flags)
    if not isinstance(flags, (list, tuple)):
        raise FunctionError(
            f'Invalid re flags: "{flags}", must be given either as a single flag string, a list of'
            " strings, as an integer, or as an re flag"
        )
    return sum({_parse_flag(flag) for flag in flags})


def _parse_flag(name: object) -> int:
    flag = FLAGS.get(str(name).upper())
    if flag is None:
        raise FunctionError(f"Invalid re flag given: {name}")
    return int(flag)


def has_match(content: AnyStr, pattern: str, flags: int) -> bool:
    """Whether the pattern matches anywhere."""
    return re.search(_as_type_of(content, pattern), content, flags) is not None


def replace_matches(content: AnyStr, wanted: Replacement) -> AnyStr:
    """The content with the matches replaced, or with the content added that was not found."""
    repl = _as_type_of(content, str(wanted.repl))
    if wanted.backslash_literal:
        repl = repl.replace(_as_type_of(content, "\\"), _as_type_of(content, "\\\\"))
    flags = flags_of(wanted.flags)
    compiled = re.compile(_as_type_of(content, wanted.pattern), flags)
    result, times = compiled.subn(repl, content, wanted.count)
    if times or not (wanted.append_if_not_found or wanted.prepend_if_not_found):
        return result
    missing = _missing_content(wanted)
    if _has_line(content, missing, flags):
        return content
    return _add_content(content, missing, at_end=wanted.append_if_not_found)


def show_replaced(old: str, new: str, wanted: Replacement) -> str:
    """What changed. Content that was added counts as one line, however many it has, as in Salt."""
    before, after = split_lines(old), split_lines(new)
    added = f"{_missing_content(wanted)}\n"
    if wanted.prepend_if_not_found and new == added + old:
        after = [added, *before]
    elif wanted.append_if_not_found and new in (old + added, f"{old}\n{added}"):
        after = [*split_lines(new.removesuffix(added)), added]
    return unified_diff(before, after)


def _missing_content(wanted: Replacement) -> str:
    return str(wanted.repl if wanted.not_found_content is None else wanted.not_found_content)


def _has_line(content: AnyStr, line: str, flags: int) -> bool:
    escaped = re.escape(_as_type_of(content, line))
    pattern = _as_type_of(content, "^(?:") + escaped + _as_type_of(content, r")($|(?=\r\n))")
    return re.search(pattern, content, flags) is not None


def _add_content(content: AnyStr, line: str, *, at_end: bool) -> AnyStr:
    feed = _as_type_of(content, "\n")
    added = _as_type_of(content, line) + feed
    if not at_end:
        return added + content
    if content and not content.endswith(feed):
        content += feed
    return content + added


def _as_type_of(content: AnyStr, text: str) -> AnyStr:
    """``text`` in the type of ``content``."""
    value: Any = text if isinstance(content, str) else text.encode()
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block and where it goes when its markers are not there yet.

    The fields are the arguments of ``file.blockreplace``; ``append_newline`` ``None`` adds a line
    feed to the content if it has none at its end.
    """

    marker_start: str = "#-- start managed zone --"
    marker_end: str = "#-- end managed zone --"
    content: str = ""
    append_if_not_found: bool = False
    prepend_if_not_found: bool = False
    backup: object = ".bak"
    dry_run: bool = False
    show_changes: bool = True
    append_newline: bool | None = False
    insert_before_match: Any = None
    insert_after_match: Any = None

    def check(self) -> None:
        """Raise UsageError if more than one place for a new block is given."""
        places = (
            self.append_if_not_found, self.prepend_if_not_found, self.insert_before_match,
            self.insert_after_match,
        )  # fmt: skip
        if sum(map(bool, places)) > 1:
            raise UsageError(
                "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and"
                " insert_after_match is permitted"
            )

    def body(self, end: str) -> str:
        """The content with the line ends of its file."""
        text = self.content
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        if self.append_newline or (self.append_newline is None and not text.endswith("\n")):
            lines.append("")
        return end.join(lines)


def replace_blocks(text: str, block: Block) -> str:
    """The text with the content of every such block replaced, or the block added.

    Raises:
        FunctionError: there is no such block and no place for one, or a block has no end.
    """
    lines = split_lines(text)
    end = line_end(lines)
    body = block.body(end)
    found = _replace_within(lines, block, body, end)
    if found is None:
        found = _add_block(
            lines, block, f"{block.marker_start}{end}{body}{block.marker_end}{end}", end
        )
    return "".join(found)


def _replace_within(lines: Sequence[str], block: Block, body: str, end: str) -> list[str] | None:
    """The lines with all blocks replaced, ``None`` without a block."""
    result: list[str] = []
    inside, found = False, False
    for line in lines:
        if block.marker_start in line:
            result.append(line)
            inside = found = True
        elif not inside:
            result.append(line)
        elif block.marker_end in line:
            rest = line[line.index(block.marker_end) :].rstrip("\r\n")
            result.append(f"{body}{rest}{end}")
            inside = False
    if inside:
        raise FunctionError("Unterminated marked block. End of file reached before marker_end.")
    return result if found else None


def _add_block(lines: list[str], block: Block, whole: str, end: str) -> list[str]:
    place = _find_place(lines, block)
    if place is None:
        raise FunctionError("Cannot edit marked block. Markers were not found in file.")
    before = lines[:place]
    if before and not before[-1].endswith("\n"):
        before[-1] += end
    return [*before, whole, *lines[place:]]


def _find_place(lines: Sequence[str], block: Block) -> int | None:
    if block.prepend_if_not_found:
        return 0
    if block.append_if_not_found:
        return len(lines)
    for name, pattern, shift in (
        ("insert_before_match", block.insert_before_match, 0),
        ("insert_after_match", block.insert_after_match, 1),
    ):
        if not pattern:
            continue
        if not isinstance(pattern, str):
            raise FunctionError(f"RegEx expected in {name} parameter.")
        compiled = re.compile(pattern)
        found = (index for index, line in enumerate(lines) if compiled.search(line))
        return next((index + shift for index in found), None)
    return None


@dataclass(frozen=True, slots=True)
class Commented:
    """The lines after the change, and those lines that it concerns, before and after.

    ``old`` is empty if no line matched.
    """

    lines: list[str]
    old: list[str]
    new: list[str]

    def difference(self) -> str:
        """The lines concerned; their numbers are those among themselves, as in Salt."""
        return unified_diff(self.old, self.new)


def comment_lines(lines: Sequence[str], regex: str, char: str) -> Commented:
    """Put ``char`` before each line that begins with ``regex``."""
    pattern = re.compile(_anchor_regex(regex))
    return _change_lines(lines, pattern, lambda line: f"{char}{line}")


def uncomment_lines(lines: Sequence[str], regex: str, char: str) -> Commented:
    """Take the characters of ``char`` from the begin of each line that matches behind them."""
    _, inner, end = _split_anchors(regex)
    pattern = re.compile(rf"^{char}\s*({inner}){end}")
    return _change_lines(lines, pattern, lambda line: line.lstrip(char) if char else line)


def _split_anchors(regex: str) -> tuple[str, str, str]:
    """Anchor, middle, anchor."""
    begin = "^" if regex.startswith("^") else ""
    end = "$" if regex.endswith("$") else ""
    return begin, regex.lstrip("^").rstrip("$"), end


def _anchor_regex(regex: str) -> str:
    begin, inner, end = _split_anchors(regex)
    return f"{begin}({inner}){end}"


def _change_lines(
    lines: Sequence[str], pattern: re.Pattern[str], change: Callable[[str], str]
) -> Commented:
    result, old, new = [], [], []
    for line in lines:
        if not pattern.match(line):
            result.append(line)
            continue
        altered = change(line)
        old.append(line)
        new.append(altered)
        result.append(altered)
    return Commented(result, old, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValues:
    """What shall be set, and how its lines look. ``count`` is how many of one key are changed."""

    values: Mapping[str, Any] = field(default_factory=dict)
    separator: str = "="
    count: int = 1
    uncomment: str | None = None
    append_if_not_found: bool = False
    prepend_if_not_found: bool = False
    key_ignore_case: bool = False
    value_ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class KeyedLines:
    """The lines afterwards, what is told of the difference, and how many lines changed."""

    lines: list[str]
    told: list[str]
    changed: int


def apply_keys(lines: Sequence[str], wanted: KeyValues) -> KeyedLines:
    """The keys set in the lines (with their ends), and added where that is wanted.

    As in Salt more lines of a key than ``count`` go, but for those that are commented or set in:
    they only count as long as there are too few. With less than one none is added.
    """
    content: list[str] = []
    told: list[str] = []
    times = dict.fromkeys(wanted.values, 0)
    changed = 0
    for line in lines:
        key, new, is_plain = _alter_line(line, wanted)
        if key is not None and (is_plain or times[key] < wanted.count):
            times[key] += 1
            new = new if wanted.count < 0 or times[key] <= wanted.count else ""
        else:
            new = line
        content.append(new)
        if new != line:
            kind = "" if key is None else _show_kind(wanted.values[key])
            told += [f"- {_strip_end(line)}\n", *([f"+ {_strip_end(new)}{kind}\n"] if new else [])]
            changed += 1
    added = [f"{key}{wanted.separator}{wanted.values[key]}\n" for key in times if not times[key]]
    may_add = wanted.count >= 1 and (wanted.append_if_not_found or wanted.prepend_if_not_found)
    if not added or not may_add:
        return KeyedLines(content, told, changed)
    changed += len(added)
    if not wanted.append_if_not_found:  # each before the last one
        added.reverse()
        shown = [f"+ {line}" for line in added]
        return KeyedLines([*added, *content], ["  <SOF>\n", *shown, *told], changed)
    shown = [f"+ {line}" for line in added]
    if content and not content[-1].endswith("\n"):
        content[-1] += "\n"
    return KeyedLines([*content, *added], [*told, "- <EOF>\n", *shown, "+ <EOF>\n"], changed)


def _alter_line(line: str, wanted: KeyValues) -> tuple[str | None, str, bool]:
    """The key that a line is about, the line with its value, whether it is neither set in nor out.

    Without ``uncomment`` blanks may be before a key; none may be behind it.
    """
    bare = _strip_end(line)
    plain = bare.lstrip(wanted.uncomment)
    found, separator, now = plain.partition(wanted.separator)
    is_plain = plain == bare
    for key, given in wanted.values.items():
        if not separator or not _are_equal(found, key, wanted.key_ignore_case):
            continue
        value = str(given)
        is_same = _are_equal(now.strip(), value.strip(), wanted.value_ignore_case)
        if is_same and is_plain:
            return key, line, True
        end = line[len(bare) :] or "\n"
        return key, f"{found}{separator}{value}{end}", is_plain
    return None, line, is_plain


def _show_kind(value: object) -> str:
    """What Salt tells beside a value that is no text."""
    return "" if isinstance(value, str) else f" (from {type(value).__name__} type)"


def _are_equal(one: str, other: str, ignore_case: bool) -> bool:
    return one.lower() == other.lower() if ignore_case else one == other


def _strip_end(line: str) -> str:
    return line.rstrip("\r\n")


def rewrite_file(
    ctx: MinionContext,
    path: str,
    change: Callable[[bytes], bytes],
    *,
    load: Callable[[str], Content] | None = None,
    keep_copy: Callable[[], object] | None = None,
    dry_run: bool = False,
    **how: bool,
) -> tuple[bytes, bytes]:
    """Change the content of a file while no other job does; what it was and what it becomes.

    ``keep_copy`` is called before it is written, ``how`` is for ``put_data``. Nothing is written
    for an equal content, or by a ``dry_run``.

    Raises:
        OSError: it cannot be read or written, and is as it was.
    """
    with textfile.hold_to_edit(ctx, path, dry_run=dry_run):
        found = load(path) if load else content.load(path)
        new = change(found.data)
        if new != found.data and not dry_run:
            if keep_copy:
                keep_copy()
            content.put_data(path, new, was=found.status, **how)
    return found.data, new


def replace_in_file(ctx: MinionContext, path: str, wanted: Replacement) -> Any:
    """Replace what a pattern matches; the difference, or whether anything changed.

    Raises:
        FunctionError: it is not there, no text, or the options are wrong.
        OSError, UnicodeError, re.error: as the system, the encoding, the pattern say.
    """
    target = os.path.realpath(path) if os.path.islink(path) else path
    if not os.path.exists(target):
        if wanted.ignore_if_missing:
            return False
        raise UsageError(f"File not found: {target}")
    wanted.check()
    encoding = wanted.encoding

    def load_text(path: str) -> Content:
        if not encoding and not os.path.isfile(path):
            content.require_text(target, b"\0")
        found = content.load(path)
        if not encoding:
            content.require_text(target, found.data)
        return found

    if wanted.search_only:
        data = load_text(path).data
        searched: Any = data.decode(encoding) if encoding else data
        return has_match(searched, wanted.pattern, flags_of(wanted.flags))
    old, new = rewrite_file(
        ctx, path, lambda data: _replace_bytes(data, wanted), load=load_text,
        keep_copy=lambda: content.keep_copy(target, wanted.backup, path),
        dry_run=wanted.dry_run, keep=wanted.preserve_inode,
    )  # fmt: skip
    if not wanted.show_changes or old == new:
        return old != new if not wanted.show_changes else ""
    form = encoding or "utf-8"
    return show_replaced(old.decode(form), new.decode(form), wanted)


def _replace_bytes(data: bytes, wanted: Replacement) -> bytes:
    if wanted.encoding:
        text = data.decode(wanted.encoding)
        changed = replace_matches(text, wanted)
        return data if changed == text else changed.encode(wanted.encoding)
    new = replace_matches(data, wanted)
    if new != data:  # what cannot be shown is not changed
        data.decode()
        new.decode()
    return new


def replace_in_block(ctx: MinionContext, path: str, block: Block) -> Any:
    """Replace what stands between two markers; the difference, or whether anything changed.

    Raises:
        FunctionError: it is not there or no text, or there is no place for the block.
    """
    if not os.path.exists(path):
        raise UsageError(f"File not found: {path}")
    block.check()
    old, new = rewrite_file(
        ctx, path, lambda data: replace_blocks(data.decode(), block).encode(), load=_load_block,
        keep_copy=lambda: content.keep_copy(path, block.backup), dry_run=block.dry_run,
        keep_names=False,
    )  # fmt: skip
    if not block.show_changes:
        return new != old
    return difference(old.decode(), new.decode())


def _load_block(path: str) -> Content:
    try:
        found = content.load(path)
        content.require_text(path, found.data)
        found.data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}") from None
    except OSError as error:
        raise FunctionError(f"Failed to read from {path}: {error}") from error
    return found


def edit_line(ctx: MinionContext, path: str, edit: Edit) -> Any:
    """Edit one line; the difference, or whether anything changed.

    Raises:
        FunctionError: it is no file, or the line is not found.
    """
    target = os.path.realpath(path)
    if not os.path.isfile(target):
        if edit.quiet:
            return False
        raise FunctionError(f'File "{target}" does not exists or is not a file.')
    edit = edit.with_mode()
    keep = partial(content.copy, target, timestamp_path(target)) if edit.backup else None
    lines: list[str] = []

    def change(data: bytes) -> bytes:
        lines[:] = edit_lines(split_lines(data.decode()), edit)
        return "".join(lines).encode()

    old, new = rewrite_file(ctx, path, change, keep_copy=keep, keep_names=False)
    if new == old:
        return False
    # What was put in counts as one line, however many it has, as in Salt.
    return unified_diff(split_lines(old.decode()), lines) if edit.show_changes else True


def comment_file(
    ctx: MinionContext,
    path: str,
    regex: str,
    char: str,
    out: bool,
    backup: object,
    encoding: str = "utf-8",
) -> Any:
    """Comment lines out or in again, in any encoding; the difference, ``False`` without a line."""
    path = home(path)
    target = os.path.realpath(path)
    if not os.path.isfile(target):
        raise UsageError(f"File not found: {target}")
    found = Commented([], [], [])

    def change(data: bytes) -> bytes:
        nonlocal found
        if encoding == "utf-8":
            content.require_text(target, data)
        lines = split_lines(data.decode(encoding))
        found = (comment_lines if out else uncomment_lines)(lines, regex, char)
        return "".join(found.lines).encode(encoding) if found.old else data

    rewrite_file(
        ctx, path, change, keep_copy=lambda: content.keep_copy(target, backup), keep_names=False
    )
    return found.difference() if found.old else False
