"""A file with its content, owner and mode."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules.file import moving
from saltlite.providers.file import content, managed, permissions, sources
from saltlite.providers.file.managed import File
from saltlite.states._file.checks import Told, failure, require_owners, system_errors

WOULD_CHANGE = (
    "The file {} is set to be changed\n"
    "Note: No changes made, actual changes may\n"
    "be different due to other states."
)


@dataclass(frozen=True, slots=True)
class FileDifferences:
    """What is not as declared, the mode, and why nothing can be done about it."""

    changes: Mapping[str, Any]
    mode: str = ""
    complaint: str = ""


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
        fd, path = tempfile.mkstemp(
            prefix=content.SCRATCH_PREFIX, suffix=self.ending, dir=self.folder or None
        )
        os.close(fd)
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedFile(Resource[FileDifferences]):
    """A file as declared; ``rendered`` is the content that a template gave.

    ``check`` has to accept the content first. ``difference`` is shown in
    place of that of the texts, ``intention`` in place of a test run's sentence. With ``forget``
    the copy of the source in the cache goes.
    """

    file: File
    rendered: bytes | None = None
    check: Check | None = None
    difference: Any = None
    intention: str = ""
    forget: bool = False
    warnings: Sequence[str] = ()
    told: Told = field(default_factory=Told)

    def read(self, ctx: MinionContext) -> FileDifferences:
        name = self.file.name
        if os.path.isdir(name) and (self.file.follow or not os.path.islink(name)):
            return FileDifferences({}, complaint=f"Specified target {name} is a directory")
        with system_errors("Unable to manage file: "), self._prepare_file(ctx) as file:
            file.refuse_misleading()
            changes = _find_differences(ctx, file)
        if self.difference and "diff" in changes:
            changes["diff"] = self.difference
        return FileDifferences(changes)

    def plan(self, now: FileDifferences) -> Sequence[Step] | Verdict:
        if now.complaint:
            return failure(now.complaint)
        if not now.changes:
            return ()
        would = self.intention or WOULD_CHANGE.format(self.file.name)
        return (Step(would=would, changes=now.changes, run=self._write_file),)

    def comment_unchanged(self, now: FileDifferences) -> str:
        file = self.file
        if file.source_sum and self.rendered is None and sources.is_of_web(str(file.source)):
            return f"File {file.name} exists with proper permissions. No changes made."
        return f"File {file.name} is in the correct state"

    def would_leave(self, now: FileDifferences) -> str:
        return f"The file {self.file.name} is in the correct state"

    def more(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"warnings": list(self.warnings)} if self.warnings else {}
        return {**found, "skip_watch": True} if self.told.refused else found

    def comment_changed(
        self, before: FileDifferences, after: FileDifferences, steps: Sequence[Step]
    ) -> str:
        return self.told.comment

    def changes(
        self, before: FileDifferences, after: FileDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return dict(self.told.changes)

    def changes_of_failed(
        self, before: FileDifferences, after: FileDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return dict(self.told.changes)  # the content may be there, though not the mode

    @contextmanager
    def _prepare_file(self, ctx: MinionContext) -> Iterator[File]:
        """The file with its content at hand and the mode of its source."""
        file = replace(self.file)
        if file.keep_mode and file.source:
            mode = managed.source_mode(ctx, str(file.source), file.saltenv)
            file.wanted = replace(file.wanted, mode=mode or file.wanted.mode)
        if file.contents is not None and file.encoding:
            file.contents = file.data()
        if self.rendered is None:
            yield file
            return
        with content.scratch(self.rendered) as file.sfn:
            yield file

    def _write_file(self, ctx: MinionContext) -> None:
        require_owners(self.file.wanted.user, self.file.wanted.group)
        if self.check:
            self._run_check(ctx, self.check)
        with system_errors("Unable to manage file: "), self._prepare_file(ctx) as file:
            said = managed.manage(acting(ctx), file, None)
        self.told.comment, self.told.changes = said["comment"], said["changes"]
        if self.difference and "diff" in said["changes"]:
            said["changes"]["diff"] = self.difference
        if not said["result"]:
            raise FunctionError(said["comment"])
        if self.forget and self.file.source and not sources.is_local(str(self.file.source)):
            copy = sources.client(ctx).is_cached(str(self.file.source), self.file.saltenv)
            if copy:
                moving.remove(copy)

    def _run_check(self, ctx: MinionContext, check: Check) -> None:
        """Let the command look at the new content in a file of its own."""
        with system_errors("Unable to manage file: "), check.scratch() as path:
            with self._prepare_file(ctx) as file:
                file = replace(file, name=path, makedirs=False, backup="", follow=True)
                said = managed.manage(acting(ctx), file, None)
            if not said["result"]:
                raise FunctionError(said["comment"])
            ran = ctx.functions.call("cmd.run_all", f"{check.command} {path}", python_shell=True)
            self.told.refused = bool(ran["retcode"])
            if self.told.refused:
                words = (ran["stdout"], ran["stderr"]) if self.file.show_changes else ()
                raise FunctionError("\n".join(filter(None, ("check_cmd execution failed", *words))))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile(Resource[FileDifferences]):
    """A file whose content is left as it is: owner, mode and attributes only."""

    file: File
    warnings: Sequence[str] = ()

    def more(self) -> Mapping[str, Any]:
        return {"warnings": list(self.warnings)} if self.warnings else {}

    def read(self, ctx: MinionContext) -> FileDifferences:
        if os.path.isdir(self.file.name):
            return FileDifferences(
                {}, complaint=f"Specified target {self.file.name} is a directory"
            )
        mode = permissions.mode_text(
            permissions.status(self.file.name, follow=self.file.follow).st_mode
        )
        return FileDifferences(_find_differences(ctx, self._without_content()), mode)

    def plan(self, now: FileDifferences) -> Sequence[Step] | Verdict:
        if now.complaint:
            return failure(now.complaint)
        if not now.changes:
            return ()
        would = f"File {self.file.name} will be updated with "
        if "mode" in now.changes:
            would += f"permissions {now.changes['mode']} from its current state of {now.mode}"
        else:
            would += ", ".join(f"{part} {value}" for part, value in now.changes.items())
        return (Step(would=would, changes=now.changes, run=self._set_permissions),)

    def comment_unchanged(self, now: FileDifferences) -> str:
        return f"File {self.file.name} exists with proper permissions. No changes made."

    def comment_changed(
        self, before: FileDifferences, after: FileDifferences, steps: Sequence[Step]
    ) -> str:
        return ""

    def _without_content(self) -> File:
        return replace(self.file, source=None, source_sum={}, contents=None)

    def _set_permissions(self, ctx: MinionContext) -> None:
        file = self.file
        require_owners(file.wanted.user, file.wanted.group)
        ret, _ = permissions.check(
            file.name, None, file.wanted, ctx.host, follow=file.follow, test=False
        )
        if not ret["result"]:
            raise FunctionError(str(ret["comment"]))


def _find_differences(ctx: MinionContext, file: File) -> dict[str, Any]:
    """What is not as declared. An owner ``''`` is none: only the module tells of it, as Salt's."""
    return {part: each for part, each in managed.check_meta(ctx, file).items() if each != ""}


def acting(ctx: MinionContext) -> MinionContext:
    """The context without the option that keeps functions from changing anything."""
    return replace(ctx, config=replace(ctx.config, files=replace(ctx.config.files, test=False)))
