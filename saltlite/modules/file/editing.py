"""Change what is in a file: by patterns, blocks, lines, patches."""

from __future__ import annotations

import os
import re
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import textfile
from saltlite.providers.file import content as file_content
from saltlite.providers.file import edits, programs, texts
from saltlite.providers.file import lines as line_edits
from saltlite.providers.file.backups import timestamp_path
from saltlite.providers.file.edits import Block, comment_file
from saltlite.providers.file.edits import replace_blocks as block_replaced
from saltlite.providers.file.paths import home


def replace(
    ctx: MinionContext,
    path: str,
    pattern: str,
    repl: object,
    count: int = 0,
    flags: object = 8,
    bufsize: object = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: object = None,
    backup: object = ".bak",
    dry_run: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    preserve_inode: bool = True,
    backslash_literal: bool = False,
    encoding: str | None = None,
) -> Any:
    """Replace what a regular expression matches; the difference, or whether anything changed.

    ``count`` 0 is all. ``flags`` are names of ``re`` flags or their sum. The content that is not
    found may be appended or prepended. ``backup`` is the ending of the copy's name.

    CLI Example:

        salt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
        salt '*' file.replace /some/file pattern='a' repl='b' flags='[MULTILINE, IGNORECASE]'
    """
    given = home(path)
    path = os.path.realpath(given) if os.path.islink(given) else given
    if not os.path.exists(path):
        if ignore_if_missing:
            return False
        raise UsageError(f"File not found: {path}")
    wanted = edits.Replacement(
        pattern=edits.require_text(pattern),
        repl=str(repl),
        count=count,
        flags=edits.flags_of(flags),
        append=append_if_not_found,
        prepend=prepend_if_not_found,
        not_found_content=None if not_found_content is None else str(not_found_content),
        backslash_literal=backslash_literal,
    ).check(search_only=search_only)
    if isinstance(bufsize, str) and bufsize != "file":
        raise TypeError("'str' object cannot be interpreted as an integer")
    if search_only:
        content = _load_text(given, path, encoding).data
        searched: Any = content.decode(encoding) if encoding else content
        return edits.has_match(searched, wanted.pattern, wanted.flags)
    with textfile.hold_to_edit(ctx, path, dry_run=dry_run):
        was = _load_text(given, path, encoding)
        data, old, new = _replace_in_content(was.data, wanted, encoding)
        changed = old != new
        if changed and not dry_run:
            file_content.keep_copy(path, backup, given)
            file_content.put_data(given, data, keep=preserve_inode, was=was.status)
    return edits.show_replaced(old, new, wanted) if show_changes else changed


def _replace_in_content(
    content: bytes, wanted: edits.Replacement, encoding: str | None
) -> tuple[bytes, str, str]:
    """The new content, and the text before and after; two empty ones if nothing changes."""
    if encoding:
        old = content.decode(encoding)
        new = edits.replace_matches(old, wanted)
        return new.encode(encoding), old, new
    data = edits.replace_matches(content, wanted)
    return (data, content.decode(), data.decode()) if data != content else (data, "", "")


def _load_text(path: str, shown: str, encoding: str | None) -> file_content.Content:
    """Read a file that is text, or of an encoding; raises UsageError, OSError."""
    if not encoding and not os.path.isfile(path):
        file_content.require_text(shown, b"\0")
    found = file_content.load(path)
    if not encoding:
        file_content.require_text(shown, found.data)
    return found


def blockreplace(
    ctx: MinionContext,
    path: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    content: str = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: object = ".bak",
    dry_run: bool = False,
    show_changes: bool = True,
    append_newline: bool | None = False,
    insert_before_match: Any = None,
    insert_after_match: Any = None,
) -> Any:
    """Replace what stands between two markers; the difference, or whether anything changed.

    A block that is not there may be appended, prepended, or inserted by a regular expression.
    ``append_newline`` ``None`` ends the content if it is not.

    CLI Example:

        salt '*' file.blockreplace /etc/hosts '#-- start --' '#-- end --' '10.0.1.1 foo.foobar' True
    """
    path = home(path)
    if not os.path.exists(path):
        raise UsageError(f"File not found: {path}")
    block = Block(
        marker_start=marker_start,
        marker_end=marker_end,
        content=content,
        append=append_if_not_found,
        prepend=prepend_if_not_found,
        insert_before=insert_before_match,
        insert_after=insert_after_match,
        append_newline=append_newline,
    ).check()
    with textfile.hold_to_edit(ctx, path, dry_run=dry_run):
        old, was = _block_text(path)
        new = block_replaced(old, block)
        if new != old and not dry_run:
            file_content.keep_copy(path, backup)
            file_content.put_data(path, new.encode(), keep_names=False, was=was)
    return texts.difference(old, new) if show_changes else new != old


def _block_text(path: str) -> tuple[str, os.stat_result]:
    try:
        found = file_content.load(path)
        file_content.require_text(path, found.data)
        return found.data.decode(), found.status
    except UnicodeDecodeError:
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}") from None
    except OSError as error:
        raise FunctionError(f"Failed to read from {path}: {error}") from error


def line(
    ctx: MinionContext,
    path: str,
    content: object = None,
    match: object = None,
    mode: object = None,
    location: str | None = None,
    before: object = None,
    after: object = None,
    show_changes: bool = True,
    backup: object = False,
    quiet: bool = False,
    indent: bool = True,
) -> Any:
    """Edit one line: ``mode`` is ensure, replace, delete or insert; the difference, or whether.

    ``match``, ``before`` and ``after`` are parts of a line or regular expressions. ``location``
    (start, end) is for insert.

    CLI Example:

        salt '*' file.line /etc/nsswitch.conf "networks: files dns" after="hosts:.*?" mode='ensure'
    """
    given = home(path)
    path = os.path.realpath(given)
    if not os.path.isfile(path):
        if quiet:
            return False
        raise FunctionError(f'File "{path}" does not exists or is not a file.')
    edit = line_edits.Edit(
        mode=line_edits.check_mode(mode, content),
        content=content,
        match=match,
        location=location,
        before=before,
        after=after,
        indent=indent,
    )
    with textfile.hold(ctx, path):
        found = file_content.load(given)
        old = texts.split_lines(found.data.decode())
        new = line_edits.edit_lines(old, edit)
        if new == old:
            return False
        if backup:
            file_content.copy(path, timestamp_path(path))
        file_content.put_data(given, "".join(new).encode(), keep_names=False, was=found.status)
    return texts.unified_diff(old, new) if show_changes else True


def comment(
    ctx: MinionContext, path: str, regex: str, char: str = "#", backup: object = ".bak"
) -> Any:
    """Comment out the lines that begin as a regular expression says.

    CLI Example:

        salt '*' file.comment /etc/modules pcspkr
    """
    return comment_line(ctx, path, regex, char, True, backup)


def uncomment(
    ctx: MinionContext, path: str, regex: str, char: str = "#", backup: object = ".bak"
) -> Any:
    """Take the comment sign from the lines that continue as a regular expression says.

    CLI Example:

        salt '*' file.uncomment /etc/hosts.deny 'ALL: PARANOID'
    """
    return comment_line(ctx, path, regex, char, False, backup)


def comment_line(
    ctx: MinionContext,
    path: str,
    regex: str,
    char: str = "#",
    cmnt: bool = True,
    backup: object = ".bak",
) -> Any:
    """Comment lines out or in; the difference, ``False`` if no line matches.

    CLI Example:

        salt '*' file.comment_line '/etc/modules' '^pcspkr'
    """
    return comment_file(ctx, path, regex, char, cmnt, backup)


def sed(
    ctx: MinionContext,
    path: str,
    before: object,
    after: object,
    limit: object = "",
    backup: object = ".bak",
    options: str = "-r -e",
    flags: str = "g",
    escape_all: bool = False,
    negate_match: bool = False,
) -> Any:
    """Change a file with sed; ``False`` if there is none.

    CLI Example:

        salt '*' file.sed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
    """
    path = home(path)
    if not os.path.exists(path):
        return False
    before, after = programs.escape_sed(before, escape_all), programs.escape_sed(after, escape_all)
    limit = programs.escape_sed(limit, escape_all)
    with textfile.hold(ctx, path):
        return programs.sed(ctx, path, before, after, limit, backup, options, flags, negate_match)


def psed(
    ctx: MinionContext,
    path: str,
    before: object,
    after: object,
    limit: object = "",
    backup: object = ".bak",
    flags: str = "gMS",
    escape_all: bool = False,
    multi: bool = False,
) -> None:
    """Change a file line by line as sed does; ``limit`` chooses lines, ``multi`` takes all as one.

    CLI Example:

        salt '*' file.psed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
    """
    path = home(path)
    number = 0
    for flag in flags.replace("g", ""):
        number |= {"I": 2, "L": 4, "M": 8, "S": 16, "U": 32, "X": 64}[flag]
    pattern = re.compile(re.escape(str(before)) if escape_all else str(before), number)
    repl = str(after).replace("\\", "\\\\") if escape_all else str(after)
    with textfile.hold(ctx, path):
        found = file_content.load(path)
        old = found.data.decode()
        parts = [old] if multi else texts.split_lines(old)
        chosen = [index for index, part in enumerate(parts) if re.search(str(limit), part)]
        for index in chosen:
            parts[index], times = pattern.subn(repl, parts[index], 0 if "g" in flags else 1)
            if times and "g" not in flags:
                break
        file_content.keep_copy(path, backup)
        file_content.put_data(path, "".join(parts).encode(), was=found.status)


def patch(
    ctx: MinionContext,
    originalfile: str,
    patchfile: str,
    options: object = "",
    dry_run: bool = False,
) -> dict[str, Any]:
    """Apply a patch to a file or directory.

    CLI Example:

        salt '*' file.patch /opt/file.txt /tmp/file.txt.patch
    """
    path = home(originalfile)
    with textfile.hold_to_edit(ctx, path, dry_run=bool(dry_run)):
        return programs.patch(ctx, path, home(patchfile), options, dry_run)
