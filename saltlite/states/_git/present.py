"""A repository that is there, with or without anything in it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._git.target import (
    RepositoryAccess,
    empty_dir,
    explain_occupied,
    is_bare,
    is_work_tree,
    last_words,
    refuse,
    regular_file,
    sentences,
)


class TargetKind(Enum):
    """What is at the path."""

    NOTHING = "nothing"
    FILE = "file"
    OTHER = "other"
    REPOSITORY = "repository"


@dataclass(frozen=True, kw_only=True)
class PresentRepository(Resource[TargetKind]):
    """A repository at ``path``. ``shared`` is as git takes it."""

    path: str
    force: bool = False
    bare: bool = True
    template: str | None = None
    separate_git_dir: str | None = None
    shared: Any = None
    access: RepositoryAccess = field(default_factory=RepositoryAccess)

    def read(self, ctx: MinionContext) -> TargetKind:
        """A repository of the other kind is none."""
        if (is_bare if self.bare else is_work_tree)(ctx, self.path):
            return TargetKind.REPOSITORY
        if ctx.host.exists(self.path) and not ctx.host.is_dir(self.path):
            return TargetKind.FILE
        return TargetKind.OTHER if ctx.host.names(self.path) else TargetKind.NOTHING

    def plan(self, now: TargetKind) -> Sequence[Step] | Verdict:
        """Make one; what else is there goes with ``force`` only."""
        if now is TargetKind.REPOSITORY:
            return []
        if now is TargetKind.FILE:
            return refuse(regular_file(self.path))
        forced = now is TargetKind.OTHER
        if forced and not self.force:
            return refuse(explain_occupied(self.path, "force", "initializing a repository", ","))
        kind = "bare repository" if self.bare else "repository"
        would = f"New {kind} would be created"
        if forced:
            would = (
                f"Target directory {self.path} exists. Since force=True, the contents of"
                f" {self.path} would be deleted, and a {kind} would be initialized in its place."
            )
        said = [f"Initialized {kind} in {self.path}"]
        if self.template:
            said.append(f"Template directory set to {self.template}")
        if self.separate_git_dir:
            said.append(f"Gitdir set to {self.separate_git_dir}")
        return [
            Step(
                would=would,
                did=sentences(said),
                changes={"new": self.path, **({"forced init": True} if forced else {})},
                run=lambda ctx: self._make_repository(ctx, forced),
            )
        ]

    def _make_repository(self, ctx: MinionContext, forced: bool) -> None:
        if forced:
            empty_dir(self.path)
        try:
            ctx.functions.call(
                "git.init",
                self.path,
                bare=self.bare,
                template=self.template,
                separate_git_dir=self.separate_git_dir,
                shared=self.shared,
                **self.access.local(),
            )
        except FunctionError as error:
            raise FunctionError(last_words(error)) from error

    def comment_unchanged(self, now: TargetKind) -> str:
        """There is one."""
        return f"Repository already exists at {self.path}"
