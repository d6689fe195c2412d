"""Repositories of git that shall be there, at a revision of another one; settings of git.

Comments are Salt's. Source: docs/states-reference.md; observed on Salt 3006.30 with repositories
on disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.git import redact_text
from saltlite.states._git.detached import Detached
from saltlite.states._git.latest import Latest
from saltlite.states._git.present import PresentRepository
from saltlite.states._git.target import (
    RepositoryAccess,
    last_words,
    parse_revision,
    refuse,
    stray_arguments,
)


def latest(
    name: str,
    target: str | None = None,
    rev: object = "HEAD",
    branch: str | None = None,
    user: str | None = None,
    password: str | None = None,
    update_head: bool = True,
    force_checkout: bool = False,
    force_clone: bool = False,
    force_fetch: bool = False,
    force_reset: object = False,
    submodules: bool = False,
    bare: bool = False,
    mirror: bool = False,
    remote: str = "origin",
    fetch_tags: bool = True,
    sync_tags: bool = True,
    depth: int | None = None,
    identity: object = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    refspec_branch: str = "*",
    refspec_tag: str = "*",
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Declared:
    """A clone of ``name`` in ``target`` is at the newest revision of ``rev``.

    ``branch`` names the local branch. ``force_reset`` may discard what was committed or changed
    here (``remote-changes``: only if there is something new), ``force_clone`` what is in the
    directory instead. ``sync_tags`` removes tags here that the other side does not have;
    ``refspec_branch`` and ``refspec_tag`` say which branches and tags a fetch takes.
    """
    if not target:
        return refuse("'target' argument is required")
    if not os.path.isabs(str(target)):
        return refuse(f"target '{target}' is not an absolute path")
    if (bare or mirror) and str(rev) != "HEAD":
        return refuse("'rev' is not compatible with the 'mirror' and 'bare' arguments")
    if depth and str(rev) == "HEAD":
        return refuse(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote"
            " repository"
        )
    return Latest(
        name=str(name),
        target=str(target),
        rev=str(rev),
        branch=branch,
        access=RepositoryAccess(user, identity, https_user, https_pass, output_encoding),
        remote=remote,
        bare=bool(bare),
        mirror=bool(mirror),
        update_head=bool(update_head),
        submodules=bool(submodules),
        fetch_tags=bool(fetch_tags),
        sync_tags=bool(sync_tags),
        refspecs=(str(refspec_branch), str(refspec_tag)),
        force_clone=bool(force_clone),
        force_checkout=bool(force_checkout),
        force_fetch=bool(force_fetch),
        force_reset=force_reset,
        depth=depth,
    )


def detached(
    name: str,
    rev: object,
    target: str | None = None,
    remote: str = "origin",
    user: str | None = None,
    password: str | None = None,
    force_clone: bool = False,
    force_checkout: bool = False,
    fetch_remote: bool = True,
    hard_reset: bool = False,
    submodules: bool = False,
    identity: object = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Declared:
    """A clone of ``name`` in ``target`` has ``rev`` checked out, on no branch.

    ``rev`` is a commit, a tag or a branch of the other side. ``hard_reset`` discards what was
    changed here, ``force_checkout`` only what would be in the way. Without ``fetch_remote`` only
    what is known here already is looked at.
    """
    for argument, value in (("rev", rev), ("target", target)):
        if not value:
            return refuse(f"'{value}' is not a valid value for the '{argument}' argument")
    if not os.path.isabs(str(target)):
        return refuse(f"Target '{target}' is not an absolute path")
    return Detached(
        name=str(name),
        target=str(target),
        rev=str(rev),
        access=RepositoryAccess(user, identity, https_user, https_pass, output_encoding),
        remote=str(remote),
        force_clone=bool(force_clone),
        force_checkout=bool(force_checkout),
        fetch_remote=bool(fetch_remote),
        hard_reset=bool(hard_reset),
        submodules=bool(submodules),
    )


def present(
    name: str,
    force: bool = False,
    bare: bool = True,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: object = None,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
) -> Declared:
    """A repository is at ``name``, bare unless it is said; ``force`` removes what else is there.

    ``template`` and ``shared`` are as ``git init`` takes them.
    """
    if not os.path.isabs(str(name)):
        return refuse(f"Target '{name}' is not an absolute path")
    if bare and separate_git_dir:
        return refuse("'separate_git_dir' and 'bare' cannot be used together")
    return PresentRepository(
        path=str(name),
        force=bool(force),
        bare=bool(bare),
        template=template,
        separate_git_dir=separate_git_dir,
        shared=shared,
        access=RepositoryAccess(user, output_encoding=output_encoding),
    )


@dataclass(frozen=True, kw_only=True)
class GitSetting(Resource[list[str] | None]):
    """A setting of a repository or of a user, with one value or several."""

    name: str
    values: tuple[str, ...]
    single: bool
    repo: str | None
    everywhere: bool
    access: RepositoryAccess

    def _find_scope(self) -> dict[str, Any]:
        where = self.access.local()
        return {**where, "global": True} if self.everywhere else {**where, "cwd": self.repo}

    @property
    def _setting_name(self) -> str:
        return f"Global key '{self.name}'" if self.everywhere else f"'{self.name}'"

    @property
    def _show_value(self) -> str:
        return f"'{self.values[0]}'" if self.single else str(list(self.values))

    def read(self, ctx: MinionContext) -> list[str] | None:
        """Its values now, ``None`` without any."""
        found = ctx.functions.call("git.config_get", self.name, all=True, **self._find_scope())
        return None if found is None else [str(each) for each in found]

    def plan(self, now: list[str] | None) -> Sequence[Step] | Verdict:
        """Set it."""
        if now == list(self.values):
            return []
        how = f"added as {self._show_value}" if now is None else f"set to {self._show_value}"
        return [
            Step(
                would=f"{self._setting_name} would be {how}",
                did=f"{self._setting_name} was {how}",
                run=self._set_values,
                changes={self.name: {"old": now, "new": list(self.values)}},
            )
        ]

    def _set_values(self, ctx: MinionContext) -> None:
        given = {"value": self.values[0]} if self.single else {"multivar": list(self.values)}
        try:
            ctx.functions.call("git.config_set", self.name, **given, **self._find_scope())
        except FunctionError as error:
            raise FunctionError(
                f"Failed to set {self._setting_name} to {self._show_value}: {last_words(error)}"
            ) from error

    def comment_unchanged(self, now: list[str] | None) -> str:
        """It has these values."""
        return f"{self._setting_name} is already set to {self._show_value}"


def config_set(
    name: str,
    value: object = None,
    multivar: object = None,
    repo: str | None = None,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Declared:
    """A setting of the repository ``repo`` has a value, or with ``multivar`` several.

    With ``global`` it is one of the user's.
    """
    everywhere = bool(kwargs.pop("global", False))
    if stray := stray_arguments(kwargs):
        return refuse(stray)
    if value is not None and multivar is not None:
        return refuse("Only one of 'value' and 'multivar' is permitted")
    if value is None and multivar is None:
        return refuse("One of 'value' and 'multivar' is required")
    if not everywhere and repo is None:
        return refuse("Non-global config options require the 'repo' argument to be set")
    several = multivar if isinstance(multivar, (list, tuple)) else [multivar]
    values = [value] if multivar is None else several
    return GitSetting(
        name=name,
        values=tuple(str(each) for each in values),
        single=multivar is None,
        repo=repo,
        everywhere=everywhere,
        access=RepositoryAccess(user, output_encoding=output_encoding),
    )


@dataclass(frozen=True, kw_only=True)
class Cloned(Resource[tuple[bool, str]]):
    """A clone that is there, perhaps at a branch; it is never brought up to date."""

    name: str
    target: str
    branch: str | None
    access: RepositoryAccess

    def read(self, ctx: MinionContext) -> tuple[bool, str]:
        """Whether there is something, and the branch that is checked out."""
        if not ctx.host.exists(self.target) or (
            ctx.host.is_dir(self.target) and not ctx.host.names(self.target)
        ):
            return False, ""
        ctx.functions.call("git.status", self.target, **self.access.local())
        local = self.access.local()
        current = str(ctx.functions.call("git.current_branch", self.target, **local))
        if self.branch and current != self.branch and self._is_at_tag(ctx):
            current = self.branch
        return True, current

    def _is_at_tag(self, ctx: MinionContext) -> bool:
        """Whether ``branch`` is the tag of what is checked out."""
        local = self.access.local()
        at = parse_revision(ctx, self.target, "HEAD", local)
        tag = parse_revision(ctx, self.target, f"refs/tags/{self.branch}^{{commit}}", local)
        current = ctx.functions.call("git.current_branch", self.target, **local)
        return current == "HEAD" and tag is not None and tag == at

    def plan(self, now: tuple[bool, str]) -> list[Step]:
        """Clone it, or switch to the branch."""
        exists, current = now
        if not exists:
            at = f" with branch '{self.branch}'" if self.branch else ""
            step = Step(
                would=f"{redact_text(self.name)} would be cloned to {self.target}{at}",
                did=f"{redact_text(self.name)} cloned to {self.target}{at}",
                changes={"new": f"{redact_text(self.name)} => {self.target}"},
                run=self._clone_repository,
            )
            return [step]
        if self.branch and current != self.branch:
            step = Step(
                would=f"Branch would be changed to '{self.branch}'",
                did=f"Branch changed to '{self.branch}'",
                changes={"branch": {"old": current, "new": self.branch}},
                run=self._switch_branch,
            )
            return [step]
        return []

    def _clone_repository(self, ctx: MinionContext) -> None:
        words = ["--branch", self.branch] if self.branch else []
        given = {**self.access.remote(), **self.access.login()}
        try:
            ctx.functions.call("git.clone", self.target, self.name, opts=words, **given)
        except FunctionError as error:
            raise FunctionError(f"Clone failed: {last_words(error)}") from error

    def _switch_branch(self, ctx: MinionContext) -> None:
        call, given = ctx.functions.call, self.access.local()
        tag = parse_revision(ctx, self.target, f"refs/tags/{self.branch}^{{commit}}", given)
        there = bool(tag) or self.branch in call("git.list_branches", self.target, **given)
        words = [] if there else ["-b", str(self.branch)]
        rev = self.branch if there else f"origin/{self.branch}"
        try:
            call("git.checkout", self.target, rev=rev, opts=words, **given)
        except FunctionError as error:
            said = f"Failed to change branch to '{self.branch}': {error}"
            raise FunctionError(said) from error

    def comment_unchanged(self, now: tuple[bool, str]) -> str:
        """It is there."""
        at = f" and is checked out to branch '{self.branch}'" if self.branch else ""
        return f"Repository already exists at {self.target}{at}"


def cloned(
    name: str,
    target: str | None = None,
    branch: str | None = None,
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    output_encoding: str | None = None,
) -> Declared:
    """A clone of ``name`` is in ``target``, and at ``branch``; what is new there is not fetched."""
    if not target:
        return refuse("'target' argument is required")
    if not os.path.isabs(str(target)):
        return refuse("'target' path must be absolute")
    return Cloned(
        name=str(name),
        target=str(target),
        branch=branch or None,
        access=RepositoryAccess(user, identity, https_user, https_pass, output_encoding),
    )


@dataclass(frozen=True, kw_only=True)
class NoSetting(Resource[dict[str, list[str]]]):
    """Settings that are not there; their names may be a regular expression."""

    name: str
    value_regex: str | None
    every: bool
    where: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> dict[str, list[str]]:
        """The settings that match, and their values."""
        found = ctx.functions.call(
            "git.config_get_regexp",
            f"^{self.name}$",
            value_regex=self.value_regex,
            **self.where,
        )
        return {key: [str(each) for each in values] for key, values in (found or {}).items()}

    def plan(self, now: dict[str, list[str]]) -> Sequence[Step] | Verdict:
        """Unset them; several values of one only if that was said."""
        several = [f"{key} ({', '.join(now[key])})" for key in now if len(now[key]) > 1]
        if several and not self.every:
            return refuse(
                "Multivar(s) matched by the key expression (set 'all' to True to force removal):"
                f" {'; '.join(several)}"
            )
        step = Step(
            would=f"{len(now)} key(s) would have value(s) unset",
            did=f"{len(now)} key(s) had value(s) unset",
            changes=now,
            run=lambda ctx: self._unset_values(ctx, now),
        )
        return [step] if now else []

    def _unset_values(self, ctx: MinionContext, now: Mapping[str, list[str]]) -> None:
        for key in now:
            ctx.functions.call(
                "git.config_unset",
                key,
                value_regex=self.value_regex,
                all=self.every,
                **self.where,
            )

    def comment_unchanged(self, now: dict[str, list[str]]) -> str:
        """None is there."""
        return "No matching keys are set"


def config_unset(
    name: str,
    value_regex: str | None = None,
    repo: str | None = None,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Declared:
    """Settings called as the regular expression ``name`` are not there.

    ``value_regex`` leaves other values alone; ``all`` is needed for settings with several values.
    ``global`` is as with :func:`config_set`.
    """
    every = bool(kwargs.pop("all", False))
    everywhere = bool(kwargs.pop("global", False))
    if stray := stray_arguments(kwargs):
        return refuse(stray)
    if not everywhere and repo is None:
        return refuse("Non-global config options require the 'repo' argument to be set")
    where: dict[str, Any] = {"global": True} if everywhere else {"cwd": repo}
    return NoSetting(
        name=str(name),
        value_regex=value_regex,
        every=every,
        where={**where, **RepositoryAccess(user, output_encoding=output_encoding).local()},
    )
