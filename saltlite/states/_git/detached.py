"""A work tree at a commit, on no branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers.git import redact_text, with_login
from saltlite.states._git.target import (
    CLONING,
    RepositoryAccess,
    commit_of,
    empty_dir,
    explain_occupied,
    is_work_tree,
    last_words,
    parse_revision,
    refuse,
    regular_file,
    sentences,
)

_HASH = regex(r"[0-9a-f]{4,40}$")


@dataclass(frozen=True, slots=True)
class DetachedTarget:
    """What is at the target. ``wrong``: why nothing can be done."""

    commit: str = ""
    """The wanted commit; only its beginning where nothing tells the rest."""
    wrong: str = ""
    exists: bool = False
    occupied: bool = False
    head: str | None = None
    address: str | None = None
    known: bool = False
    """The wanted commit is in the local repository."""
    dirty: bool = False


@dataclass(frozen=True, kw_only=True)
class Detached(Resource[DetachedTarget]):
    """A clone with ``rev`` (a commit, tag or branch of the other side) checked out."""

    name: str
    target: str
    rev: str
    access: RepositoryAccess
    remote: str = "origin"
    force_clone: bool = False
    force_checkout: bool = False
    fetch_remote: bool = True
    hard_reset: bool = False
    submodules: bool = False

    # looking

    def read(self, ctx: MinionContext) -> DetachedTarget:
        """Look at the target; the other side is asked if what is wanted is not known here."""
        if is_work_tree(ctx, self.target):
            return self._read_tree(ctx)
        if ctx.host.exists(self.target) and not ctx.host.is_dir(self.target):
            return DetachedTarget(wrong=regular_file(self.target))
        if ctx.host.names(self.target):
            if not self.force_clone:
                return DetachedTarget(wrong=explain_occupied(self.target, "force_clone", CLONING))
            return self._find_offered(ctx, DetachedTarget(occupied=True))
        return self._find_offered(ctx, DetachedTarget())

    def _read_tree(self, ctx: MinionContext) -> DetachedTarget:
        call, given = ctx.functions.call, self.access.local()
        remotes = call("git.remotes", self.target, redact_auth=False, **given)
        status = call("git.status", self.target, **given)
        now = DetachedTarget(
            exists=True,
            head=parse_revision(ctx, self.target, "HEAD", given),
            address=remotes.get(self.remote, {}).get("fetch"),
            dirty=any(names for kind, names in status.items() if kind != "untracked"),
        )
        own = self._find_here(ctx, self.rev) if _HASH.match(self.rev) else ""
        if own:
            return replace(now, commit=own, known=True)
        if self.fetch_remote:
            return self._find_offered(ctx, now)
        tracked = (f"refs/remotes/{self.remote}/{self.rev}", f"refs/tags/{self.rev}")
        found = next(filter(None, (self._find_here(ctx, each) for each in tracked)), "")
        return (
            replace(now, commit=found, known=True)
            if found
            else DetachedTarget(wrong=self._say_unknown())
        )

    def _find_here(self, ctx: MinionContext, rev: str) -> str:
        return parse_revision(ctx, self.target, f"{rev}^{{commit}}", self.access.local()) or ""

    def _find_offered(self, ctx: MinionContext, now: DetachedTarget) -> DetachedTarget:
        """The commit by the references of the other side."""
        given = {**self.access.remote(), **self.access.login()}
        try:
            refs: Mapping[str, str] = ctx.functions.call("git.remote_refs", self.name, **given)
        except (FunctionError, CommandError) as error:
            return DetachedTarget(wrong=f"Failed to check remote refs: {last_words(error)}")
        commit = commit_of(refs, self.rev)
        if not commit and _HASH.match(self.rev):
            commit = self.rev
        if not commit:
            return DetachedTarget(wrong=self._say_unknown())
        return replace(now, commit=commit, known=now.exists and bool(self._find_here(ctx, commit)))

    def _say_unknown(self) -> str:
        return f"Revision '{self.rev}' does not exist"

    # planning

    def plan(self, now: DetachedTarget) -> Sequence[Step] | Verdict:
        """Clone, or set the remote and fetch; then discard what is changed, and check out."""
        if now.wrong:
            return refuse(now.wrong)
        if not now.exists:
            return [self._plan_clone(now)]
        steps = self._plan_fetch(now)
        if self.hard_reset and now.dirty:
            steps.append(self._plan_discard())
        if now.head != now.commit:
            steps.append(self._plan_checkout(now))
        return steps

    def _plan_clone(self, now: DetachedTarget) -> Step:
        shown = redact_text(self.name)
        would = f"Repository {shown} would be cloned to {self.target}"
        if now.occupied:
            would = (
                f"Target directory {self.target} exists. Since force_clone=True, the contents of"
                f" {self.target} would be deleted, and {shown} would be cloned into this directory."
            )
        return Step(
            would=would,
            did=f"{shown} cloned to {self.target}",
            changes={
                **({"forced clone": True} if now.occupied else {}),
                "HEAD": {"old": None, "new": now.commit},
            },
            run=lambda ctx: self._clone_repository(ctx, now),
        )

    def _clone_repository(self, ctx: MinionContext, now: DetachedTarget) -> None:
        if now.occupied:
            empty_dir(self.target)
        words = ["--no-checkout"]
        words += ["--origin", self.remote] if self.remote != "origin" else []
        given = {**self.access.remote(), **self.access.login()}
        try:
            ctx.functions.call("git.clone", self.target, self.name, opts=words, **given)
        except FunctionError as error:
            raise FunctionError(f"Clone failed: {last_words(error)}") from error
        self._check_out(ctx, now.commit)

    def _plan_fetch(self, now: DetachedTarget) -> list[Step]:
        wanted = with_login(self.name, self.access.https_user, self.access.https_pass)
        local, steps = self.access.local(), []
        if now.address != wanted:
            old, new = redact_text(str(now.address)), redact_text(self.name)
            steps.append(
                Step(
                    would=f"Remote {self.remote} would be set to {new}",
                    did=f"Remote {self.remote} updated from '{old}' to '{new}'",
                    run=lambda ctx: ctx.functions.call(
                        "git.remote_set",
                        self.target,
                        self.name,
                        self.remote,
                        **local,
                        **self.access.login(),
                    ),
                )
            )
        if self.fetch_remote and (steps or not now.known):
            steps.append(
                Step(
                    would=f"Repository remote {self.remote} would be fetched",
                    did=f"Remote {self.remote} was fetched, resulting in updated refs",
                    run=self._fetch_remote,
                )
            )
        return steps

    def _fetch_remote(self, ctx: MinionContext) -> None:
        given = self.access.remote()
        words = ["--tags"]
        ctx.functions.call(
            "git.fetch", self.target, remote=self.remote, force=True, opts=words, **given
        )

    def _plan_discard(self) -> Step:
        local = self.access.local()
        return Step(
            would="Repository would be reset to HEAD before checking out revision",
            did="Repository was reset to HEAD before checking out revision",
            run=lambda ctx: ctx.functions.call(
                "git.reset", self.target, opts=["--hard", "HEAD"], **local
            ),
        )

    def _plan_checkout(self, now: DetachedTarget) -> Step:
        return Step(
            would=f"Commit ID {now.commit} would be checked out at {self.target}",
            did=self._say_checkout(now.commit),
            changes={"HEAD": {"old": now.head, "new": now.commit}},
            run=lambda ctx: self._check_out(ctx, now.commit),
        )

    def _say_checkout(self, commit: str) -> str:
        return f"Commit ID {commit} was checked out at {self.target}"

    def _check_out(self, ctx: MinionContext, commit: str) -> None:
        call, found = ctx.functions.call, self._find_here(ctx, commit)
        if not found:
            raise FunctionError(self._say_unknown())
        local = self.access.local()
        try:
            call("git.checkout", self.target, rev=found, force=self.force_checkout, **local)
        except FunctionError as error:
            raise FunctionError(last_words(error)) from error
        if self.submodules:
            words = ["--init", "--recursive"]
            call("git.submodule", self.target, "update", opts=words, **self.access.remote())

    # telling

    def comment_unchanged(self, now: DetachedTarget) -> str:
        """The commit is checked out, be it by a branch."""
        return "Already checked out at correct revision"

    def would(self, now: DetachedTarget, steps: Sequence[Step]) -> str:
        """The remarks of all steps."""
        return steps[0].would if len(steps) == 1 else sentences([step.would for step in steps])

    def comment_changed(
        self, before: DetachedTarget, after: DetachedTarget, steps: Sequence[Step]
    ) -> str:
        """As :meth:`would`, afterwards."""
        said = [step.did for step in steps]
        if not before.exists:
            said.append(self._say_checkout(str(after.head)))
        elif before.head == after.head:
            said.append(self.comment_unchanged(after))
        return sentences(said)

    def changes(
        self, before: DetachedTarget, after: DetachedTarget, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """The whole hash also where only its beginning was known before."""
        made = super().changes(before, after, steps)
        if "HEAD" in made:
            made["HEAD"] = {"old": before.head, "new": after.head}
        return made
