"""Change what is in a file: by patterns, blocks, lines, patches."""

from __future__ import annotations

import os
import re
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import replace as with_fields
from saltlite.providers import textfile
from saltlite.providers.file import content as file_content
from saltlite.providers.file import edits, programs, texts
from saltlite.providers.file.edits import comment_file
from saltlite.providers.file.lines import Edit
from saltlite.providers.file.paths import home


@takes_options(edits.Replacement)
def replace(
    ctx: MinionContext, options: edits.Replacement, /, path: str, pattern: str, repl: object
) -> Any:
    """Replace what a regular expression matches; the difference, or whether anything changed.

    ``count`` 0 is all. ``flags`` are names of ``re`` flags or their sum. The content that is not
    found may be appended or prepended. ``backup`` is the ending of the copy's name.

    CLI Example:

        salt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
        salt '*' file.replace /some/file pattern='a' repl='b' flags='[MULTILINE, IGNORECASE]'
    """
    wanted = with_fields(options, pattern=pattern, repl=repl)
    return edits.replace_in_file(ctx, home(path), wanted)


@takes_options(edits.Block)
def blockreplace(ctx: MinionContext, options: edits.Block, /, path: str) -> Any:
    """Replace what stands between two markers; the difference, or whether anything changed.

    A block that is not there may be appended, prepended, or inserted by a regular expression.
    ``append_newline`` ``None`` ends the content if it is not.

    CLI Example:

        salt '*' file.blockreplace /etc/hosts '#-- start --' '#-- end --' '10.0.1.1 foo.foobar' True
    """
    return edits.replace_in_block(ctx, home(path), options)


@takes_options(Edit)
def line(ctx: MinionContext, options: Edit, /, path: str) -> Any:
    """Edit one line: ``mode`` is ensure, replace, delete or insert; the difference, or whether.

    ``match``, ``before`` and ``after`` are parts of a line or regular expressions. ``location``
    (start, end) is for insert.

    CLI Example:

        salt '*' file.line /etc/nsswitch.conf "networks: files dns" after="hosts:.*?" mode='ensure'
    """
    return edits.edit_line(ctx, home(path), options)


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
