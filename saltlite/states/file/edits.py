"""Lines and blocks of a file that has more: what would be done is found out first."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.core.dataclasses import replace as with_fields
from saltlite.core.fields import read_fields, write_fields
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.host import Host
from saltlite.providers import textfile
from saltlite.providers.file import content, hashes, permissions, sources, texts
from saltlite.providers.file.content import create as create_file
from saltlite.providers.file.edits import (
    Block,
    KeyValues,
    Replacement,
    apply_keys,
    comment_file,
    comment_lines,
    edit_line,
    replace_in_block,
    replace_in_file,
    uncomment_lines,
)
from saltlite.providers.file.lines import Edit, edit_lines
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.providers.file.sources import Source, Template
from saltlite.states.file import _accumulators as accumulators
from saltlite.states.file._checks import (
    Encoding,
    ensure_folder,
    explain_bad_name,
    expressions,
    failure,
    require_owners,
    system_errors,
)

UTF_8 = Encoding()
GIVEN_TO_USERS = (
    *("count", "flags", "bufsize", "append_if_not_found", "prepend_if_not_found"),
    *("not_found_content", "backup", "dry_run", "show_changes", "ignore_if_missing"),
    *("backslash_literal", "encoding"),
)
"""What a user's own ``file.replace`` is called with."""

LINE_OPTIONS = (
    "content match mode location before after show_changes backup quiet indent"
)  # fmt: skip
UNCHANGED = "No changes needed to be made"
_SPACE = r"(?:[\s]+)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Where texts for a file come from; the fields are the arguments of ``file.append``."""

    source: object = None
    source_hash: object = None
    sources: Any = None
    source_hashes: Any = None
    template: Any = "jinja"
    context: Any = None
    defaults: Any = None
    saltenv: str = "base"

    def list_sources(self) -> list[Source]:
        """Each source with the hash that is declared for it; ``sources`` have theirs in order."""
        hashes_of, several = _as_list(self.source_hashes), _as_list(self.sources)
        if len(hashes_of) > len(several):
            raise FunctionError("source_hashes has more entries than sources")
        pairs = [*zip_longest(several, hashes_of)]
        if self.source:
            pairs.append((self.source, self.source_hash))
        return [
            Source(source=source, source_hash=its_hash or "", saltenv=self.saltenv)
            for source, its_hash in pairs
        ]


def _as_list(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else list(given or [])


@takes_options(
    Texts,
    "name text makedirs source source_hash template sources source_hashes defaults context"
    " ignore_whitespace encoding encoding_errors saltenv",
)
def append(
    ctx: MinionContext,
    options: Texts,
    /,
    name: str,
    text: object = None,
    makedirs: bool = False,
    ignore_whitespace: bool = True,
    encoding: object = None,
    encoding_errors: str = "strict",
) -> Declared:
    """Lines that shall be in a file; those that are not there are added at its end."""
    return _declare_lines(
        ctx, name, text, options, makedirs, begin=False, spaces_differ=ignore_whitespace,
        encoding=(encoding, encoding_errors),
    )  # fmt: skip


@takes_options(
    Texts,
    "name text makedirs source source_hash template sources source_hashes defaults context"
    " header encoding encoding_errors saltenv",
)
def prepend(
    ctx: MinionContext,
    options: Texts,
    /,
    name: str,
    text: object = None,
    makedirs: bool = False,
    header: object = None,
    encoding: object = None,
    encoding_errors: str = "strict",
) -> Declared:
    """Lines that shall be in a file; those that are not there are put before it."""
    return _declare_lines(
        ctx, name, text, options, makedirs, begin=True, header=bool(header),
        encoding=(encoding, encoding_errors),
    )  # fmt: skip


def _declare_lines(
    ctx: MinionContext,
    name: str,
    text: object,
    options: Texts,
    makedirs: bool,
    *,
    begin: bool,
    header: bool = False,
    spaces_differ: bool = True,
    encoding: tuple[object, object],
) -> Declared:
    wrong = explain_bad_name(name, "prepend" if begin else "append")
    if wrong:
        return wrong
    wanted = _read_texts(ctx, text, options)
    added = AddedLines(
        os.path.expanduser(name), begin=begin, header=header, spaces_differ=spaces_differ,
        encoding=Encoding.check(*encoding),
    )  # fmt: skip
    return added.declare(wanted, makedirs=makedirs)


@takes_options(Replacement, without="dry_run search_only preserve_inode")
def replace(
    ctx: MinionContext, options: Replacement, /, name: str, pattern: str, repl: object
) -> Declared:
    """Whatever a regular expression matches, replaced."""
    wrong = explain_bad_name(name, "replace")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if options.encoding:
        Encoding.check(options.encoding, None)  # complains
    if not os.path.exists(name):
        if options.ignore_if_missing:
            return Verdict(result=True, comment=UNCHANGED)
        return _refuse_missing(name)
    wanted = with_fields(options, pattern=pattern, repl=repl)
    users = ctx.functions.find_replacement("file.replace")

    def edit(dry_run: bool) -> Any:
        if users is not None:
            given = {**write_fields(options), "dry_run": dry_run}
            return users(name, pattern, repl, **{part: given[part] for part in GIVEN_TO_USERS})
        return replace_in_file(ctx, name, with_fields(wanted, dry_run=dry_run))

    return _try_first(edit, "Changes would have been made")


@takes_options(Edit, f"name {LINE_OPTIONS} create user group file_mode")
def line(
    ctx: MinionContext,
    options: Edit,
    /,
    name: str,
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
        return _refuse_missing(name)
    wanted = options.with_mode()
    own = DesiredPermissions(user=user, group=group, mode=file_mode)
    users = ctx.functions.find_replacement("file.line")

    def run(dry_run: bool) -> Any:
        if dry_run:
            old = texts.split_lines(_read_text(name)[0])
            new = edit_lines(old, wanted)
            return new != old and (texts.unified_diff(old, new) if wanted.show_changes else True)
        if not there:
            require_owners(user, group)
            number = None if file_mode is None else permissions.mode_number(file_mode)
            create_file(name, b"", number, own.owner(), follow=True)
        if users is not None:
            return users(name, *[write_fields(options)[part] for part in LINE_OPTIONS.split()])
        return edit_line(ctx, name, wanted)

    return _try_first(run, "Changes would be made", Own(ctx.host, name, own) if there else None)


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
        return _refuse_missing(name)
    if source and sources:
        return failure("source and sources are mutually exclusive")
    block = with_fields(read_fields(Block, locals()), content=_join_block(ctx, locals()))
    users = ctx.functions.find_replacement("file.blockreplace")

    def edit(dry_run: bool) -> Any:
        if users is not None:
            return users(
                name, marker_start, marker_end, block.content, append_if_not_found,
                prepend_if_not_found, backup, dry_run, show_changes, append_newline,
                insert_before_match, insert_after_match,
            )  # fmt: skip
        return replace_in_block(ctx, name, with_fields(block, dry_run=dry_run))

    try:
        return _try_first(edit, "Changes would be made")
    except FunctionError as error:
        return failure(f"Encountered error managing block: {error}. See the log for details.")


def _join_block(ctx: MinionContext, given: Mapping[str, Any]) -> str:
    """The content, what was gathered for the block, and its sources."""
    block = accumulators.on_top(ctx, given["name"], str(given["content"]), given["__id__"])
    if given["source"] or given["sources"]:
        for part in _read_texts(ctx, "", read_fields(Texts, given)):
            block += part if block.endswith("\n") or not block else f"\n{part}"
    return block


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
    return _declare_commenting(
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
    return _declare_commenting(os.path.expanduser(name), regex, char, backup, out=False)


@takes_options(
    KeyValues,
    "name key value key_values separator append_if_not_found prepend_if_not_found search_only"
    " show_changes ignore_if_missing count uncomment key_ignore_case value_ignore_case",
)
def keyvalue(
    ctx: MinionContext,
    options: KeyValues,
    /,
    name: str,
    key: Any = None,
    value: Any = None,
    key_values: Any = None,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
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
    mark = None if options.uncomment is None else str(options.uncomment)
    values = {str(one): its for one, its in given.items()}
    wanted = with_fields(options, values=values, uncomment=mark)
    found = apply_keys(texts.split_lines(_read_text(name)[0]), wanted)
    if not found.changed:
        return Verdict(result=True, comment="")
    changes = {"diff": "".join(found.told)} if show_changes else {}
    would = f"File {name} is set to be changed ({found.changed} lines)"
    if show_changes:
        would += "\nPredicted diff:\n" + "".join(f"\r\t\t{line}" for line in found.told)

    def act(ctx: MinionContext) -> Verdict:
        with textfile.hold(ctx, name), system_errors():
            text, was = _read_text(name)
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


def _refuse_missing(name: str) -> Verdict:
    """The verdict on a file that should be edited and is not there."""
    return failure(f"{name}: file not found")


def _try_first(edit: Callable[[bool], Any], would: str, own: Own | None = None) -> Declared:
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
    """Whose a file shall be beside its lines, and how open."""

    host: Host
    name: str
    wanted: DesiredPermissions

    def look(self) -> dict[str, Any]:
        """What is another."""
        return permissions.find_differences(self.name, self.wanted, self.host, follow=True)

    def give(self) -> dict[str, Any]:
        """Change it; raises FunctionError."""
        require_owners(self.wanted.user, self.wanted.group)
        return permissions.enforce(self.name, self.wanted, self.host, follow=True)


def _read_texts(ctx: MinionContext, text: object, wanted: Texts) -> list[str]:
    """The texts to add: those given, or one for each source.

    Raises:
        FunctionError: a source is not there, or does not have its hash.
    """
    found = wanted.list_sources()
    if not found:
        return [str(part) for part in (text if isinstance(text, list) else [text])]
    template = Template(template=wanted.template, context=wanted.context, defaults=wanted.defaults)
    return [_read_source(ctx, one, template) for one in found]


def _read_source(ctx: MinionContext, source: Source, template: Template) -> str:
    """The text of a source, rendered if it is a template."""
    if source.source_hash and sources.scheme_of(source.url) != "salt":
        with system_errors():
            source = with_fields(source, known=sources.find_sum(ctx, source, source.url))
    path = sources.fetch_copy(ctx, source)
    if not path:
        raise FunctionError(f"Failed to load template file {source.url}")
    known = source.known
    if known and hashes.file_hash(path, known["hash_type"]) != known["hsum"]:
        raise FunctionError(f"{source.url} does not have the declared hash {known['hsum']}")
    with system_errors(), open(path, encoding="utf-8", newline="") as stream:
        text = stream.read()
    if template.template:
        return template.render(ctx, text, source.saltenv, path=path)
    return text


class AddedLines:
    """Lines that shall be in a file, at its end or (``begin``) its begin."""

    def __init__(
        self, name: str, *, begin: bool, header: bool, spaces_differ: bool, encoding: Encoding
    ) -> None:
        self.name, self.begin, self.header = name, begin, header
        self.spaces_differ, self.encoding = spaces_differ, encoding
        self._read_text()

    def _read_text(self) -> None:
        self.old, self.was = _read_text(self.name, self.encoding)

    def declare(self, wanted: Sequence[str], *, makedirs: bool) -> Declared:
        """What is to be done about the lines that are not there."""
        name, exists = self.name, os.path.exists(self.name)
        if os.path.isdir(name):
            return failure(f"[Errno 21] Is a directory: {name!r}")
        lines = self._find_missing(wanted)
        if exists and not lines:
            return Verdict(result=True, comment=f"File {name} is in correct state")

        def act(ctx: MinionContext) -> Verdict:
            ensure_folder(name, f"{name}: file not found", DesiredPermissions(), makedirs=makedirs)
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
        # As most are found again: letter by letter, without an expression to be compiled for each.
        if chunk and f"\n{chunk}\n" in f"\n{self.old}\n":
            return True
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


def _read_text(name: str, encoding: Encoding = UTF_8) -> tuple[str, os.stat_result | None]:
    """The text of a file and the status of the file; empty and ``None`` if it is not there."""
    if not os.path.isfile(name):
        return "", None
    with system_errors():
        found = content.load(name)
        return found.data.decode(encoding.name), found.status


def _declare_commenting(
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
        return _refuse_missing(name)
    text, _ = _read_text(name, encoding)
    lines = texts.split_lines(text)
    with expressions():
        as_is = _as_is(text, regex, char, out=out, ignore_missing=ignore_missing)
        if as_is is not None:
            return as_is
        changed = (comment_lines if out else uncomment_lines)(lines, regex, char)
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
