"""Lines and blocks of a file that has more."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules.file import editing
from saltlite.providers import textfile
from saltlite.providers.file import content, managed, permissions, texts
from saltlite.providers.file import lines as line_edits
from saltlite.providers.file.content import create as create_file
from saltlite.providers.file.edits import KeyValues, apply_keys
from saltlite.providers.file.managed import File
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file import accumulators, edits, patching
from saltlite.states._file.checks import (
    Encoding,
    explain_bad_name,
    failure,
    require_owners,
    system_errors,
)
from saltlite.states._file.located import mark_location


def append(
    ctx: MinionContext,
    name: str,
    text: object = None,
    makedirs: bool = False,
    source: object = None,
    source_hash: object = None,
    template: object = "jinja",
    sources: object = None,
    source_hashes: object = None,
    defaults: object = None,
    context: object = None,
    ignore_whitespace: bool = True,
    encoding: object = None,
    encoding_errors: str = "strict",
    saltenv: str = "base",
) -> Declared:
    """Lines that shall be in a file; those that are not there are added at its end."""
    wrong = explain_bad_name(name, "append")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    wanted = edits.chunks(
        ctx, text, source, sources, template, context, defaults, saltenv,
        source_hash, source_hashes,
    )  # fmt: skip
    added = edits.Added(
        name, begin=False, header=False, spaces_differ=ignore_whitespace,
        encoding=Encoding.check(encoding, encoding_errors),
    )  # fmt: skip
    return added.declare(wanted, makedirs=makedirs)


def prepend(
    ctx: MinionContext,
    name: str,
    text: object = None,
    makedirs: bool = False,
    source: object = None,
    source_hash: object = None,
    template: object = "jinja",
    sources: object = None,
    source_hashes: object = None,
    defaults: object = None,
    context: object = None,
    header: object = None,
    encoding: object = None,
    encoding_errors: str = "strict",
    saltenv: str = "base",
) -> Declared:
    """Lines that shall be in a file; those that are not there are put before it."""
    wrong = explain_bad_name(name, "prepend")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    wanted = edits.chunks(
        ctx, text, source, sources, template, context, defaults, saltenv,
        source_hash, source_hashes,
    )  # fmt: skip
    added = edits.Added(
        name, begin=True, header=bool(header), spaces_differ=True,
        encoding=Encoding.check(encoding, encoding_errors),
    )  # fmt: skip
    return added.declare(wanted, makedirs=makedirs)


def replace(
    ctx: MinionContext,
    name: str,
    pattern: str,
    repl: object,
    count: int = 0,
    flags: object = 8,
    bufsize: object = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: object = None,
    backup: object = ".bak",
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    backslash_literal: bool = False,
    encoding: Any = None,
) -> Declared:
    """Whatever a regular expression matches, replaced."""
    wrong = explain_bad_name(name, "replace")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if encoding:
        Encoding.check(encoding, None)  # complains
    if not os.path.exists(name):
        if ignore_if_missing:
            return Verdict(result=True, comment=edits.UNCHANGED)
        return edits.not_found(name)

    def edit(dry_run: bool) -> Any:
        return ctx.follow(
            editing.replace, name, pattern, repl, count=count, flags=flags, bufsize=bufsize,
            append_if_not_found=append_if_not_found, prepend_if_not_found=prepend_if_not_found,
            not_found_content=not_found_content, backup=backup, dry_run=dry_run,
            show_changes=show_changes, ignore_if_missing=ignore_if_missing,
            backslash_literal=backslash_literal, encoding=encoding,
        )  # fmt: skip

    return edits.dry(edit, "Changes would have been made")


def line(
    ctx: MinionContext,
    name: str,
    content: Any = None,
    match: Any = None,
    mode: Any = None,
    location: Any = None,
    before: Any = None,
    after: Any = None,
    show_changes: bool = True,
    backup: Any = False,
    quiet: bool = False,
    indent: bool = True,
    create: bool = False,
    user: object = None,
    group: object = None,
    file_mode: object = None,
) -> Declared:
    """One line of a file."""
    wrong = explain_bad_name(name, "line")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    there = os.path.isfile(name)
    if not there and not create:
        return edits.not_found(name)
    edit = line_edits.Edit(
        mode=line_edits.check_mode(mode, content), content=content, match=match,
        location=location, before=before, after=after, indent=indent,
    )  # fmt: skip

    wanted = DesiredPermissions(user=user, group=group, mode=file_mode)

    def run(dry_run: bool) -> Any:
        if not dry_run:
            if not there:
                require_owners(user, group)
                number = None if file_mode is None else permissions.mode_number(file_mode)
                create_file(name, b"", number, wanted.owner(), follow=True)
            return ctx.follow(
                editing.line, name, content, match, mode, location, before, after, show_changes,
                backup, quiet, indent,
            )  # fmt: skip
        old = edits.lines_of(name)
        new = line_edits.edit_lines(old, edit)
        if new == old:
            return False
        return texts.unified_diff(old, new) if show_changes else True

    own = edits.Own(ctx.host, name, wanted) if there else None
    return edits.dry(run, "Changes would be made", own)


def blockreplace(
    ctx: MinionContext,
    name: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    source: object = None,
    source_hash: object = None,
    template: object = "jinja",
    sources: object = None,
    source_hashes: object = None,
    defaults: object = None,
    context: object = None,
    content: object = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: Any = ".bak",
    show_changes: bool = True,
    append_newline: Any = None,
    insert_before_match: Any = None,
    insert_after_match: object = None,
    saltenv: str = "base",
    __id__: str | None = None,
) -> Declared:
    """The text between two markers; with what ``file.accumulated`` gathered that it waits for."""
    wrong = explain_bad_name(name, "blockreplace")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if not os.path.exists(name):
        return edits.not_found(name)
    if source and sources:
        return failure("source and sources are mutually exclusive")
    block = accumulators.on_top(ctx, name, str(content), __id__)
    if source or sources:
        for part in edits.chunks(
            ctx, "", source, sources, template, context, defaults, saltenv,
            source_hash, source_hashes,
        ):  # fmt: skip
            block += part if block.endswith("\n") or not block else f"\n{part}"

    def edit(dry_run: bool) -> Any:
        return ctx.follow(
            editing.blockreplace, name, marker_start, marker_end, block,
            append_if_not_found, prepend_if_not_found, backup, dry_run, show_changes,
            append_newline, insert_before_match,
            insert_after_match,
        )  # fmt: skip

    try:
        return edits.dry(edit, "Changes would be made")
    except FunctionError as error:
        return failure(f"Encountered error managing block: {error}. See the log for details.")


def comment(
    ctx: MinionContext,
    name: str,
    regex: str,
    char: str = "#",
    backup: object = ".bak",
    ignore_missing: bool = False,
    encoding: object = None,
    encoding_errors: str = "strict",
) -> Declared:
    """Lines that are commented out."""
    wrong = explain_bad_name(name, "comment")
    if wrong:
        return wrong
    return edits.commenting(
        os.path.expanduser(name), regex, char, backup, out=True, ignore_missing=ignore_missing,
        encoding=Encoding.check(encoding, encoding_errors),
    )  # fmt: skip


def uncomment(
    ctx: MinionContext, name: str, regex: str, char: str = "#", backup: object = ".bak"
) -> Declared:
    """Lines that are no comments."""
    wrong = explain_bad_name(name, "uncomment")
    if wrong:
        return wrong
    return edits.commenting(os.path.expanduser(name), regex, char, backup, out=False)


def keyvalue(
    ctx: MinionContext,
    name: str,
    key: Any = None,
    value: Any = None,
    key_values: Any = None,
    separator: str = "=",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    count: int = 1,
    uncomment: Any = None,
    key_ignore_case: bool = False,
    value_ignore_case: bool = False,
) -> Declared:
    """Values of keys in a file of such lines. As in Salt, ``search_only`` keeps nothing back."""
    wrong = explain_bad_name(name, "keyvalue")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    given = key_values or ({key: value} if key is not None and value is not None else {})
    if not given:
        return failure("file.keyvalue key and value not supplied and key_values is empty")
    if not os.path.isfile(name):
        return Verdict(result=bool(ignore_if_missing), comment=f"unable to open {name}")
    wanted = KeyValues(
        values={str(one): its for one, its in given.items()}, separator=separator,
        count=count, uncomment=None if uncomment is None else str(uncomment),
        append=append_if_not_found, prepend=prepend_if_not_found, key_ignore_case=key_ignore_case,
        value_ignore_case=value_ignore_case,
    )  # fmt: skip
    found = apply_keys(edits.lines_of(name), wanted)
    if not found.changed:
        return Verdict(result=True, comment="")
    changes = {"diff": "".join(found.told)} if show_changes else {}
    would = f"File {name} is set to be changed ({found.changed} lines)"
    if show_changes:
        would += "\nPredicted diff:\n" + "".join(f"\r\t\t{line}" for line in found.told)

    def act(ctx: MinionContext) -> Verdict:
        with textfile.hold(ctx, name), system_errors():
            text, was = edits.text_of(name)
            done = apply_keys(texts.split_lines(text), wanted)
            content.put_data(name, "".join(done.lines).encode(), was=was)
        told = {"diff": "".join(done.told)} if show_changes else {}
        return Verdict(result=True, comment=f"Changed {done.changed} lines", changes=told)

    return Action(would=would, run=act, changes=changes)


def accumulated(
    ctx: MinionContext, name: str, filename: str, text: object, **kwargs: Any
) -> Declared:
    """A text for a file that another state of this run makes: its template sees ``accumulator``."""
    if not name:
        return failure("Must provide name to file.accumulated")
    if text is None:
        return failure("No text supplied for accumulator")
    ident = str(kwargs.get("__id__", name))
    if not accumulators.is_taken(ctx, ident, name):
        return failure(f"Orphaned accumulator {name} in {kwargs.get('__sls__')}:{ident}")
    texts = text if isinstance(text, (list, tuple)) else [text]
    if not accumulators.charge(ctx, name, filename, texts):
        return Verdict(result=True, comment="")
    comment = f"Accumulator {name} for file {filename} was charged by text"
    return Verdict(result=True, comment=comment)


def patch(
    ctx: MinionContext,
    name: str,
    source: object = None,
    source_hash: object = None,
    source_hash_name: object = None,
    skip_verify: bool = False,
    template: object = None,
    context: object = None,
    defaults: object = None,
    options: object = "",
    reject_file: object = None,
    strip: object = None,
    saltenv: object = None,
    **kwargs: Any,
) -> Declared:
    """A patch that is applied to a file, or to the files of a directory."""
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"{name} is not an absolute path")
    if not os.path.exists(name):
        return failure(f"{name} does not exist")
    if not source:
        return failure("No source supplied for the patch")
    checked = patching.options_of(options, strip)
    file = File(
        name=name, source_sum={}, wanted=DesiredPermissions(), saltenv=str(saltenv or "base"),
        skip_verify=skip_verify,
    )  # fmt: skip
    origin = {"template": template, "context": context, "defaults": defaults}
    text = mark_location(ctx, file, source, source_hash or "", source_hash_name, origin)
    if text is None:
        with system_errors(), open(managed.content_path(ctx, file), "rb") as stream:
            text = stream.read()
    return patching.Patch(
        name=name, text=text, options=checked, reject_file=str(reject_file or "")
    ).declare(ctx)
