"""A file with its content, owner and mode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.core.dataclasses import dataclass
from saltlite.core.dataclasses import replace as with_fields
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError, RenderError, SaltliteError
from saltlite.highstate.resource import OwnDeclared, Resource, Step, Verdict
from saltlite.providers.file import content, paths, permissions, sources
from saltlite.providers.file.managed import (
    DesiredFile,
    FileStatus,
    compare_permissions,
    create_file,
    describe_before,
    encode_contents,
    find_changes,
    find_differences,
    read_file,
    set_permissions,
    with_source_mode,
    write_content,
)
from saltlite.providers.file.permissions import NOT_SET, DesiredPermissions
from saltlite.providers.file.sources import Source, Template
from saltlite.states.file import _accumulators as accumulators
from saltlite.states.file._checks import failure, owner_of, require_owners, system_errors

INTERNAL = ("add_source",)
"""For other states of files; nobody calls it by name."""

DELIMITER = ":"
FILE_MODE = (
    "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
)
CONTEXT = {"seuser", "serole", "setype", "serange"}
UNABLE = "Unable to manage file: "
WOULD_CHANGE = (
    "The file {} is set to be changed\n"
    "Note: No changes made, actual changes may\n"
    "be different due to other states."
)
_NOWHERE = object()
_MALFORMED = (
    "Contents specified by contents/contents_pillar/contents_grains is not a string or list of"
    " strings, and is not binary data. SLS is likely malformed."
)
_WORDS = "'contents', 'contents_pillar', and 'contents_grains'"


def managed(
    ctx: MinionContext,
    name: str,
    source: object = None,
    source_hash: object = "",
    source_hash_name: object = None,
    keep_source: bool = True,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    attrs: Any = None,
    template: Any = None,
    makedirs: bool = False,
    dir_mode: object = None,
    context: Any = None,
    replace: bool = True,
    defaults: Any = None,
    backup: object = "",
    show_changes: object = True,
    create: bool = True,
    contents: Any = None,
    tmp_dir: str = "",
    tmp_ext: str = "",
    contents_pillar: object = None,
    contents_grains: object = None,
    contents_newline: bool = True,
    contents_delimiter: str = DELIMITER,
    encoding: Any = None,
    encoding_errors: str = "strict",
    allow_empty: bool = True,
    follow_symlinks: bool = True,
    check_cmd: object = None,
    skip_verify: bool = False,
    selinux: object = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> OwnDeclared:
    """A file with its content, owner and mode."""
    if not name:
        return failure("Destination file name is required")
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"Specified file {name} is not an absolute path")
    if isinstance(selinux, dict) and CONTEXT & selinux.keys():
        return failure(NOT_SET.format("file.managed"))
    has_contents = any(way is not None for way in (contents, contents_pillar, contents_grains))
    keep_mode = str(mode).lower() == "keep"
    template_of = Template(
        template=template, context=accumulators.context(ctx, name, context), defaults=defaults
    )
    _refuse_conflicts(source, context, defaults, keep_mode=keep_mode, has_contents=has_contents)
    warnings = (FILE_MODE,) if "file_mode" in kwargs else ()
    if not create and not os.path.isfile(name):
        comment = f"File {name} is not present and is not set for creation"
        return Verdict(result=True, comment=comment)
    wanted = DesiredPermissions(
        user=owner_of(user, kwargs), group=group, mode=None if keep_mode else mode, attrs=attrs
    )
    file = DesiredFile(
        name=name, wanted=wanted, follow=follow_symlinks, backup=backup, makedirs=makedirs,
        dir_mode=dir_mode, show_changes=show_changes and not contents_pillar,  # pillar is secret
    )  # fmt: skip
    is_left_alone = not replace or not (source or has_contents)
    if is_left_alone and os.path.exists(name) and not os.path.isdir(name):
        return ManagedFile(file=file, is_left_alone=True, warnings=warnings)
    if has_contents:
        text = _join_given(
            ctx, contents, contents_pillar, contents_grains, newline=contents_newline,
            delimiter=contents_delimiter, allow_empty=allow_empty,
        )  # fmt: skip
        text = _render_text(ctx, text, template_of, saltenv)
        with system_errors(UNABLE):
            file = with_fields(file, contents=encode_contents(text, encoding, encoding_errors))
    elif source:
        file = add_source(ctx, file, read_fields(Source, locals()), template_of)
        file = with_source_mode(ctx, file) if keep_mode else file
    check = Check(command=str(check_cmd), folder=str(tmp_dir or ""), ending=str(tmp_ext or ""))
    return ManagedFile(
        file=file, check=check if check_cmd else None, forget=not keep_source, warnings=warnings
    )


def _render_text(ctx: MinionContext, text: Any, template: Template, saltenv: str) -> Any:
    if not template.template or not text:
        return text
    template.refuse_unknown()
    return template.render(ctx, text, saltenv)


def _refuse_conflicts(
    source: object, context: object, defaults: object, *, keep_mode: bool, has_contents: bool
) -> None:
    """Raises FunctionError for arguments that exclude one another or are no maps."""
    ways = "'contents', 'contents_pillar', or 'contents_grains'"
    if keep_mode and has_contents:
        raise FunctionError(f"Mode preservation cannot be used in combination with {ways}")
    if source and has_contents:
        raise FunctionError(f"'source' cannot be used in combination with {ways}")
    for word, value in (("Context", context), ("Defaults", defaults)):
        if value and not isinstance(value, dict):
            raise FunctionError(f"{word} must be formed as a dict")


def add_source(
    ctx: MinionContext, file: DesiredFile, source: Source, template: Template
) -> DesiredFile:
    """The file with its source, of several the first that is there; rendered if it is a template.

    Raises:
        FunctionError: there is none, or it does not render.
    """
    own = file.wanted
    mode = None if own.mode is None else permissions.normalize_mode(own.mode)
    seen = {"user": own.user, "group": own.group, "mode": mode, "attrs": own.attrs}
    has_template = bool(template.template)
    contents = None
    try:
        chosen = sources.choose_source(ctx, source)
        with system_errors():
            chosen = sources.locate_content(ctx, file.name, chosen, lazy=True, here=has_template)
            if has_template:
                contents = sources.render_source(ctx, file.name, chosen, template, seen)
    except FunctionError as error:
        raise FunctionError(f"{UNABLE}{error}") from error
    except RenderError as error:
        raise FunctionError(f"{UNABLE}{error.salt_text}") from error
    if sources.is_local(chosen.url) and sources.local_path(chosen.url) == file.name:
        raise FunctionError("Source file cannot be the same as destination")
    return with_fields(file, source=chosen, contents=contents)


class RefusedContent(FunctionError):
    """The command that looks at a content did not accept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A command that has to accept a content, and the file that it is shown.

    The file lies in ``folder``, without one where temporary files do, and ends in ``ending``.
    """

    command: str
    folder: str = ""
    ending: str = ""

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """The path of a private file, gone afterwards; raises OSError."""
        import tempfile

        fd, path = tempfile.mkstemp(
            prefix=content.SCRATCH_PREFIX, suffix=self.ending, dir=self.folder or None
        )
        os.close(fd)
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)

    def run(self, ctx: MinionContext, file: DesiredFile) -> None:
        """Let the command look at the new content; raises RefusedContent."""
        with system_errors(UNABLE), self.scratch() as path:
            shown = with_fields(file, name=path, makedirs=False, backup="", follow=True)
            write_content(ctx, shown)
            set_permissions(ctx, shown)
            ran = ctx.functions.call("cmd.run_all", f"{self.command} {path}", python_shell=True)
        if ran["retcode"]:
            words = (ran["stdout"], ran["stderr"]) if file.show_changes else ()
            raise RefusedContent("\n".join(filter(None, ("check_cmd execution failed", *words))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedFile(Resource[FileStatus]):
    """A file as declared; ``is_left_alone`` says that its content is.

    ``check`` has to accept the content first. ``difference`` is shown in place of that of the
    texts, ``intention`` in place of a test run's sentence. With ``forget`` the copy of the source
    in the cache goes.
    """

    file: DesiredFile
    is_left_alone: bool = False
    check: Check | None = None
    difference: Any = None
    intention: str = ""
    forget: bool = False
    warnings: Sequence[str] = ()

    def read(self, ctx: MinionContext) -> FileStatus:
        with system_errors(UNABLE):
            if not self.is_left_alone:
                self.file.refuse_misleading()
            return read_file(ctx, self.file)

    def plan(self, now: FileStatus) -> Sequence[Step] | Verdict:
        if now.is_directory:
            return failure(f"Specified target {self.file.name} is a directory")
        # An owner '' is none: only the module tells of it, as Salt's does.
        found = {part: its for part, its in find_differences(self.file, now).items() if its != ""}
        if not found:
            return ()
        parts = [self._plan_part({part: found.pop(part)}, act) for part, act in (
            ("newfile", self._create),
            ("sum", lambda ctx: write_content(ctx, self.file)),
            ("diff", lambda ctx: write_content(ctx, self.file, now.source)),
        ) if part in found]  # fmt: skip
        if found:  # owner and mode are set through one descriptor, in one step
            parts.append(self._plan_part(found, lambda ctx: set_permissions(ctx, self.file)))
        return (Step(would="", run=self._prepare), *parts, Step(would="", run=self._forget_source))

    def _plan_part(self, changes: dict[str, Any], act: Callable[[MinionContext], None]) -> Step:
        if self.difference and "diff" in changes:
            changes["diff"] = self.difference

        def run(ctx: MinionContext) -> None:
            with system_errors(UNABLE):
                act(ctx)

        return Step(would="", changes=changes, run=run)

    def _prepare(self, ctx: MinionContext) -> None:
        """Have what has to be true before anything is changed."""
        require_owners(self.file.wanted.user, self.file.wanted.group)
        if self.check:
            self.check.run(ctx, self.file)

    def _create(self, ctx: MinionContext) -> None:
        create_file(ctx, self.file)
        set_permissions(ctx, self.file)

    def _forget_source(self, ctx: MinionContext) -> None:
        source = self.file.source
        if self.forget and source and not sources.is_local(source.url):
            copy = sources.client(ctx).is_cached(source.url, source.saltenv)
            if copy:
                paths.remove(copy)

    def would(self, now: FileStatus, steps: Sequence[Step]) -> str:
        name = self.file.name
        if not self.is_left_alone:
            return self.intention or WOULD_CHANGE.format(name)
        changes = compare_permissions(self.file, now)
        if "mode" in changes and now.status:
            mode = permissions.mode_text(now.status.st_mode)
            said = f"permissions {changes['mode']} from its current state of {mode}"
        else:
            said = ", ".join(f"{part} {value}" for part, value in changes.items())
        return f"File {name} will be updated with {said}"

    def would_leave(self, now: FileStatus) -> str:
        if self.is_left_alone:
            return self.comment_unchanged(now)
        return f"The file {self.file.name} is in the correct state"

    def comment_unchanged(self, now: FileStatus) -> str:
        source = self.file.source
        is_verified = source and source.known and source.source_hash and self.file.contents is None
        if self.is_left_alone or (source and is_verified and sources.is_of_web(source.url)):
            return f"File {self.file.name} exists with proper permissions. No changes made."
        return f"File {self.file.name} is in the correct state"

    def comment_changed(self, before: FileStatus, after: FileStatus, steps: Sequence[Step]) -> str:
        if self.is_left_alone:
            return ""
        if before.is_new and not self.file.has_content:
            return "Empty file"
        return f"File {self.file.name} updated"

    def changes(
        self, before: FileStatus, after: FileStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        found = find_changes(self.file, before, after)
        if self.difference and "diff" in found:
            found["diff"] = self.difference
        return found

    def changes_of_failed(
        self, before: FileStatus, after: FileStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return self.changes(before, after, steps)  # the content may be there, though not the mode

    def describe_before(self, before: FileStatus, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        were = describe_before(before, changes)
        if not self.file.show_changes:  # of a short secret a digest tells enough
            were.pop("sha256", None)
        return were

    def more(self) -> Mapping[str, Any]:
        return {"warnings": list(self.warnings)} if self.warnings else {}

    def more_of_failed(self, error: SaltliteError) -> Mapping[str, Any]:
        return {"skip_watch": True} if isinstance(error, RefusedContent) else {}


def _join_given(
    ctx: MinionContext,
    contents: object,
    contents_pillar: object,
    contents_grains: object,
    *,
    newline: bool,
    delimiter: str,
    allow_empty: bool,
) -> Any:
    """The content as text (or bytes), ``None`` if none of the three is given.

    Raises:
        FunctionError: more than one is given, or it is not there; in Salt's words.
    """
    ways = [way is not None for way in (contents, contents_pillar, contents_grains)]
    if sum(ways) > 1:
        raise FunctionError(f"Only one of {_WORDS} is permitted")
    if contents_pillar:
        contents = _look_up("Pillar", ctx.pillar, contents_pillar, delimiter)
    elif contents_grains:
        contents = _look_up("Grain", ctx.grains, contents_grains, delimiter)
    if contents is None:
        if any(ways):
            return _say_empty(allow_empty, newline)
        return None
    if isinstance(contents, list) and not contents:
        raise FunctionError(_MALFORMED)
    if not contents and not isinstance(contents, (int, float)):
        return _say_empty(allow_empty, newline)
    return _as_text(contents, newline=newline)


def _look_up(kind: str, data: Mapping[str, object], keys: object, delimiter: str) -> Any:
    if not isinstance(keys, list):
        return _find_value(kind, data, keys, delimiter)
    values = [_find_value(kind, data, key, delimiter) for key in keys]
    return [line for value in values for line in (value if isinstance(value, list) else [value])]


def _find_value(kind: str, data: Mapping[str, object], key: object, delimiter: str) -> Any:
    value = traverse(data, str(key), _NOWHERE, delimiter)
    if value is _NOWHERE:
        raise FunctionError(f"{kind} {key} does not exist")
    return value


def _say_empty(allowed: bool, newline: bool) -> str:
    if not allowed:
        raise FunctionError(
            "'contents' value would result in empty contents. Set allow_empty to True to allow the"
            " managed file to be empty."
        )
    return ""


def _as_text(contents: object, *, newline: bool) -> Any:
    r"""Lines joined, numbers written out, ended by a line feed only if ``newline``.

    As in Salt, what ends a line is whatever Python takes for it: ``\r\n`` becomes ``\n``, and an
    empty text in a list is no line.
    """
    if isinstance(contents, bytes):
        return contents
    if isinstance(contents, Mapping):
        from saltlite.config.yaml import dump

        parts: Sequence[Any] = [dump(dict(contents), flow=False)]
    else:
        parts = contents if isinstance(contents, (list, tuple)) else [contents]
    lines = [line for part in parts for line in str(part).splitlines()]
    text = "\n".join(lines)
    if not newline:
        return text.rstrip("\n")
    return f"{text}\n" if lines else ""
