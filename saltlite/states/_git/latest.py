"""A clone that follows a revision of another repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import CommandError, FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers.git import redact_text, with_login
from saltlite.states._git.target import (
    CLONING,
    RepositoryAccess,
    commit_of,
    empty_dir,
    explain_occupied,
    is_bare,
    is_work_tree,
    last_words,
    parse_revision,
    refuse,
    regular_file,
    sentences,
)

_UNCHANGED = ("untracked",)


@dataclass(frozen=True, slots=True)
class WorkTreeStatus:
    """A work tree and the other side. ``wrong``: why nothing can be done."""

    refs: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""
    exists: bool = False
    occupied: bool = False
    head: str | None = None
    branch: str = ""
    base: str | None = None
    """The commit of the local branch that is to follow; HEAD where that branch is yet to be."""
    upstream: str = ""
    """What that branch tracks."""
    fetched: bool = False
    """The branch of the other side has been fetched once."""
    address: str | None = None
    dirty: bool = False
    known: bool = False
    """The wanted revision is in the local repository."""
    ahead: bool = False
    """The wanted revision can be reached by a fast-forward, as far as that is known."""
    branches: tuple[str, ...] = ()
    """Local branches, where another one than the present one is to follow."""
    stale: bool = False
    """References of a bare repository differ from the other side's."""
    tags: tuple[str, ...] = ()
    """Tags of the other side that are not here."""
    stray: tuple[str, ...] = ()
    """Tags that are here and not on the other side."""


@dataclass(frozen=True, slots=True)
class _Heads:
    """Where HEAD of a work tree is, and its branch; what the branch to follow tracks.

    ``theirs`` is the commit of the other side's branch as last fetched.
    """

    head: str | None
    branch: str
    upstream: str
    theirs: str | None


@dataclass(frozen=True, kw_only=True)
class Latest(Resource[WorkTreeStatus]):
    """A clone at the newest revision of a branch, or at a tag or commit."""

    name: str
    target: str
    rev: str
    branch: str | None
    access: RepositoryAccess
    remote: str = "origin"
    bare: bool = False
    mirror: bool = False
    update_head: bool = True
    submodules: bool = False
    fetch_tags: bool = True
    sync_tags: bool = True
    refspecs: tuple[str, str] = ("*", "*")
    """Which branches and tags a fetch takes."""
    force_clone: bool = False
    force_checkout: bool = False
    force_fetch: bool = False
    force_reset: Any = False
    depth: int | None = None

    @property
    def _safe_name(self) -> str:
        return redact_text(self.name)

    # looking

    def read(self, ctx: MinionContext) -> WorkTreeStatus:
        """Ask the other side for its references, and look at the target."""
        call = ctx.functions.call
        given = {**self.access.remote(), **self.access.login()}
        try:
            refs = call("git.remote_refs", self.name, **given)
        except (FunctionError, CommandError) as error:
            return WorkTreeStatus(wrong=f"Failed to check remote refs: {last_words(error)}")
        if not self._wanted_sha(refs):
            wrong = f"No revision matching '{self.rev}' exists in the remote repository"
            return WorkTreeStatus(refs=refs, wrong=wrong)
        bare = self.bare or self.mirror
        is_there = is_bare if bare else is_work_tree
        if not is_there(ctx, self.target):
            return self._read_place(ctx, refs)
        return self._read_bare(ctx, refs) if bare else self._read_tree(ctx, refs)

    def _read_place(self, ctx: MinionContext, refs: Mapping[str, str]) -> WorkTreeStatus:
        if ctx.host.exists(self.target) and not ctx.host.is_dir(self.target):
            return WorkTreeStatus(refs=refs, wrong=regular_file(self.target))
        return WorkTreeStatus(refs=refs, occupied=bool(ctx.host.names(self.target)))

    def _read_bare(self, ctx: MinionContext, refs: Mapping[str, str]) -> WorkTreeStatus:
        given = self.access.local()
        mine = ctx.functions.call("git.remote_refs", self.target, **given)
        heads = {name: sha for name, sha in refs.items() if name.startswith("refs/heads/")}
        stale = any(mine.get(name) != sha for name, sha in heads.items())
        stale = stale or not _tags_of(refs) <= _tags_of(mine)
        return WorkTreeStatus(refs=refs, exists=True, head=mine.get("HEAD"), stale=stale)

    def _read_tree(self, ctx: MinionContext, refs: Mapping[str, str]) -> WorkTreeStatus:
        call, given, sha = ctx.functions.call, self.access.local(), self._wanted_sha(refs)
        followed = self._upstream_of(refs)
        heads = self._read_heads(ctx, followed)
        head, branch, upstream, theirs = heads.head, heads.branch, heads.upstream, heads.theirs
        local = self.branch or branch
        base = head
        if local != branch:
            base = parse_revision(ctx, self.target, f"refs/heads/{local}", given) or head
        # What is checked out is there: nothing has to be asked where it is the wanted one.
        known = sha in (head, base) or (
            parse_revision(ctx, self.target, f"{sha}^{{commit}}", given) is not None
        )
        fetched = theirs is not None
        if not fetched and (not followed or upstream.endswith(f"/{self.rev}")):
            theirs = parse_revision(ctx, self.target, f"refs/remotes/{upstream}", given)
        remotes = call("git.remotes", self.target, redact_auth=False, **given)
        status = call("git.status", self.target, **given)
        tags = set(call("git.list_tags", self.target, **given))
        return WorkTreeStatus(
            refs=refs,
            exists=True,
            head=head,
            branch=branch,
            base=base,
            upstream=upstream,
            fetched=fetched,
            address=remotes.get(self.remote, {}).get("fetch"),
            dirty=any(files for kind, files in status.items() if kind not in _UNCHANGED),
            known=known,
            ahead=self._is_behind(ctx, base, sha if known else theirs),
            branches=self._read_branches(ctx, branch),
            tags=tuple(sorted(self._find_tags(refs) - tags)),
            stray=tuple(sorted(tags - _tags_of(refs))) if self.sync_tags else (),
        )

    def _read_heads(self, ctx: MinionContext, followed: str) -> _Heads:
        """Look where HEAD is, and what the branch that is to follow tracks.

        One command where all of it is there, as in a clone that is up to date.
        """
        call, given = ctx.functions.call, self.access.local()
        theirs = [f"refs/remotes/{followed}"] if followed else []
        # What follows --abbrev-ref is told by its name; at what is not there git stops.
        words = ["--revs-only", "HEAD", *theirs, "--abbrev-ref", "HEAD"]
        tracked = f"{self.branch or ''}@{{upstream}}"
        try:
            told = str(call("git.rev_parse", self.target, tracked, opts=words, **given))
        except FunctionError:
            told = ""
        lines = told.splitlines()
        if len(lines) == 3 + len(theirs):
            branch = "" if lines[-2] == "HEAD" else lines[-2]
            return _Heads(lines[0], branch, lines[-1], lines[1] if theirs else None)
        return self._read_each_head(ctx, followed)

    def _read_each_head(self, ctx: MinionContext, followed: str) -> _Heads:
        """As :meth:`_read_heads`, where some of it is not there."""
        given = self.access.local()
        head = parse_revision(ctx, self.target, "HEAD", given)
        branch = parse_revision(ctx, self.target, "HEAD", given, "--abbrev-ref") or ""
        branch = "" if branch == "HEAD" else branch
        tracked = f"{self.branch or branch}@{{upstream}}"
        upstream = parse_revision(ctx, self.target, tracked, given, "--abbrev-ref") or ""
        theirs = parse_revision(ctx, self.target, f"refs/remotes/{followed}", given)
        return _Heads(head, branch, upstream, theirs)

    def _read_branches(self, ctx: MinionContext, branch: str) -> tuple[str, ...]:
        """The branches that are there; nobody asks for them unless another one is to follow."""
        if self.branch in (None, "", branch):
            return ()
        given = self.access.local()
        return tuple(ctx.functions.call("git.list_branches", self.target, **given))

    def _find_tags(self, refs: Mapping[str, str]) -> set[str]:
        """The tags that a fetch takes: without ``fetch_tags`` the wanted revision, if it is one."""
        return _tags_of(refs) if self.fetch_tags else _tags_of(refs) & {self.rev}

    def _is_behind(self, ctx: MinionContext, base: str | None, sha: str | None) -> bool:
        if not base or not sha:
            return False
        if base == sha:
            return True
        given, call = self.access.local(), ctx.functions.call
        refs = [base, sha]
        return bool(call("git.merge_base", self.target, refs=refs, is_ancestor=True, **given))

    def _wanted_sha(self, refs: Mapping[str, str]) -> str:
        """The hash of the wanted revision, ``""`` if the other side does not know it."""
        return commit_of(refs, self.rev)

    def _describe_revision(self, now: WorkTreeStatus) -> str:
        """The wanted revision as comments name it."""
        short = self._wanted_sha(now.refs)[:7]
        if self.rev == "HEAD":
            return f"remote HEAD ({short})"
        if self.rev == self._wanted_sha(now.refs):
            return short
        return f"{self._upstream_now(now) or self.rev} ({short})"

    def _upstream_now(self, now: WorkTreeStatus) -> str:
        return self._upstream_of(now.refs)

    def _upstream_of(self, refs: Mapping[str, str]) -> str:
        return f"{self.remote}/{self.rev}" if f"refs/heads/{self.rev}" in refs else ""

    # planning

    def plan(self, now: WorkTreeStatus) -> Sequence[Step] | Verdict:
        """Clone; or fetch, discard what may be discarded, and move to the wanted revision."""
        if now.wrong:
            return refuse(now.wrong)
        if not now.exists:
            return self._plan_clone(now)
        if self.bare or self.mirror:
            return self._with_changes(now, [self._plan_fetch(now)]) if now.stale else []
        if self._does_rest(now) or (now.known and self._holds_head(now)):
            return []
        return self._find_refusal(now) or self._with_changes(now, self._plan_update(now))

    def _holds_head(self, now: WorkTreeStatus) -> bool:
        """Whether HEAD is elsewhere and shall stay there; another branch is brought along."""
        behind = now.base != self._wanted_sha(now.refs)
        return behind and not self.update_head and not self._does_switch(now)

    def _with_changes(self, now: WorkTreeStatus, steps: list[Step]) -> list[Step]:
        """The steps; what they do beside HEAD is told where it would be all that is done."""
        if not steps or any(step.changes for step in steps):
            return steps
        changes: dict[str, Any] = {}
        if now.address is not None and self._plan_remote(now):
            changes["remote"] = {"old": redact_text(now.address), "new": self._safe_name}
        bare = self.bare or self.mirror
        if bare or self._does_fetch(now):
            changes["fetched"] = self._safe_name
        if not bare and self._does_switch(now):
            changes["branch"] = {"old": now.branch or None, "new": self.branch}
        if not bare and not self._does_create(now) and self._plan_tracking(now):
            old = "" if self._loses_upstream(now) else now.upstream
            changes["tracking"] = {"old": old or None, "new": self._upstream_now(now) or None}
        return [replace(steps[0], changes=changes), *steps[1:]]

    def _plan_clone(self, now: WorkTreeStatus) -> Sequence[Step] | Verdict:
        if now.occupied and not self.force_clone:
            return refuse(explain_occupied(self.target, "force_clone", CLONING))
        would = f"Repository {self._safe_name} would be cloned to {self.target}"
        changes: dict[str, Any] = {}
        if now.occupied:
            would = (
                f"Target directory {self.target} exists. Since force_clone=True, the contents of"
                f" {self.target} would be deleted, and {self._safe_name} would be cloned into this"
                " directory."
            )
            changes["forced clone"] = True
        changes["new"] = f"{self._safe_name} => {self.target}"
        changes["revision"] = {"old": None, "new": self._wanted_sha(now.refs)}
        return [
            Step(
                would=would,
                did=sentences(self._say_cloned(now)),
                run=lambda ctx: self._clone_repository(ctx, now),
                changes=changes,
            )
        ]

    def _say_cloned(self, now: WorkTreeStatus) -> list[str]:
        kind = " as mirror" if self.mirror else " as bare repository" if self.bare else ""
        said = [f"{self._safe_name} cloned to {self.target}{kind}"]
        if kind:
            return said
        if self.branch and self.branch != self._branch_of_clone(now):
            start = f"with {self._describe_revision(now)} as a starting point"
            return [*said, f"Branch '{self.branch}' checked out, {start}"]
        if self.depth:
            return said
        if self._wanted_sha(now.refs) != now.refs.get(f"refs/heads/{self._branch_of_clone(now)}"):
            said.append(f"Repository was reset to {self._describe_revision(now)}")
            upstream = self._upstream_now(now)
            tracking = f"updated to {upstream}" if upstream else "unset"
            said.append(f"Tracking branch was {tracking}")
        return said

    def _clone_repository(self, ctx: MinionContext, now: WorkTreeStatus) -> None:
        call, local = ctx.functions.call, self.access.local()
        if now.occupied:
            empty_dir(self.target)
        words = ["--mirror"] if self.mirror else ["--bare"] if self.bare else []
        words += ["--origin", self.remote] if self.remote != "origin" and not words else []
        words += ["--depth", str(self.depth), "--branch", self.rev] if self.depth else []
        given = {**self.access.remote(), **self.access.login()}
        try:
            call("git.clone", self.target, self.name, opts=words, **given)
        except FunctionError as error:
            raise FunctionError(f"Clone failed: {last_words(error)}") from error
        if self.bare or self.mirror:
            return
        self._settle_clone(ctx, now, local)
        self._update_submodules(ctx)

    def _branch_of_clone(self, now: WorkTreeStatus) -> str:
        """The branch that a new clone is on."""
        if self.depth:
            return self.rev
        return _default_branch(now.refs)

    def _settle_clone(
        self, ctx: MinionContext, now: WorkTreeStatus, local: Mapping[str, object]
    ) -> None:
        call, sha = ctx.functions.call, self._wanted_sha(now.refs)
        current = parse_revision(ctx, self.target, "HEAD", local, "--abbrev-ref")
        if self.branch and current != self.branch:
            start = self._upstream_now(now) or sha
            call("git.checkout", self.target, rev=start, opts=["-B", self.branch], **local)
        elif sha != parse_revision(ctx, self.target, "HEAD", local):
            call("git.reset", self.target, opts=["--hard", sha], **local)
            self._track_upstream(ctx, self._upstream_now(now))

    def _track_upstream(self, ctx: MinionContext, upstream: str) -> None:
        words = [f"--set-upstream-to={upstream}"] if upstream else ["--unset-upstream"]
        ctx.functions.call("git.branch", self.target, opts=words, **self.access.local())

    def _update_submodules(self, ctx: MinionContext) -> None:
        if self.submodules:
            words = ["--init", "--recursive"]
            given = self.access.remote()
            ctx.functions.call("git.submodule", self.target, "update", opts=words, **given)

    def _does_switch(self, now: WorkTreeStatus) -> bool:
        """Whether another branch than the present one is to follow."""
        return bool(self.branch) and self.branch != now.branch

    def _does_create(self, now: WorkTreeStatus) -> bool:
        """Whether the branch that is to follow is yet to be made."""
        return self._does_switch(now) and self.branch not in now.branches

    def _find_refusal(self, now: WorkTreeStatus) -> Verdict | None:
        if now.base == self._wanted_sha(now.refs):
            return self._refuse_switch(now)
        if self._holds_head(now):
            return None
        if now.dirty and not self.force_reset:
            why = (
                "there are uncommitted changes. Set 'force_reset' to True (or 'remote-changes') to"
                " force this update and discard these changes."
            )
            return refuse(self._not_moved(now, why) + self._say_hint(now))
        if now.known and not now.ahead and not (self.force_reset or self._does_create(now)):
            return refuse(self._not_forward(now))
        return self._refuse_switch(now)

    def _refuse_switch(self, now: WorkTreeStatus) -> Verdict | None:
        """Why another branch is not checked out."""
        if not (now.dirty and self._does_switch(now)) or self.force_checkout:
            return None
        return refuse(
            f"Local branch '{now.branch}' has uncommitted changes. Set 'force_checkout' to True to"
            " discard them and proceed."
        )

    def _does_rest(self, now: WorkTreeStatus) -> bool:
        """Whether nothing is done, not even a switch: only uncommitted changes would be lost."""
        same = now.base == self._wanted_sha(now.refs)
        return same and now.dirty and self.force_reset is not True

    def _say_hint(self, now: WorkTreeStatus) -> str:
        default = _default_branch(now.refs)
        if self.branch or now.branch in ("", default if self.rev == "HEAD" else self.rev):
            return ""
        if self.rev == "HEAD":
            return (
                f" The default remote branch ({default}) differs from the local branch"
                f" ({now.branch}). This could be caused by changing the default remote branch, or"
                " if the local branch was manually changed. Rather than forcing an update, it may"
                f" be advisable to set the 'branch' argument to '{default}' instead. To ensure that"
                f" this state follows the '{default}' branch instead of the remote HEAD, set the"
                f" 'rev' argument to '{default}'."
            )
        return (
            f" The desired rev ({self.rev}) differs from the name of the local branch"
            f" ({now.branch}), if the desired rev is a branch name then a forced update could"
            f" possibly be avoided by setting the 'branch' argument to '{self.rev}' instead."
        )

    def _not_moved(self, now: WorkTreeStatus, why: str) -> str:
        start = f"from {(now.head or '')[:7]} to "
        to = self._wanted_sha(now.refs)[:7]
        if self._does_switch(now):
            start, to = "to ", f"{to} (after checking out local branch '{self.branch}')"
        return f"Repository would be updated {start}{to}, but {why}"

    def _not_forward(self, now: WorkTreeStatus) -> str:
        after = (
            f" (after checking out local branch '{self.branch}')" if self._does_switch(now) else ""
        )
        return (
            f"Repository would be updated to {self._wanted_sha(now.refs)[:7]}{after}, but this is"
            " not a fast-forward merge. Set 'force_reset' to True to force this update."
            f"{self._say_hint(now)}"
        )

    def _plan_update(self, now: WorkTreeStatus) -> list[Step]:
        steps = [*self._plan_remote(now), *self._plan_tag_removal(now)]
        if self._does_fetch(now):
            steps.append(self._plan_fetch(now))
        if self._does_switch(now):
            steps.append(self._plan_switch(now))
        if self._does_create(now):
            return steps
        return [*steps, *self._plan_following(now)]

    def _does_fetch(self, now: WorkTreeStatus) -> bool:
        if not now.known or now.tags:
            return True
        return bool(self._upstream_now(now)) and (not now.fetched or bool(self._plan_remote(now)))

    def _plan_following(self, now: WorkTreeStatus) -> list[Step]:
        """Bring a branch that is there to the wanted revision, and have it track the other side's.

        What may turn out to be refused comes before the branch tracks another one.
        """
        moves = self._does_move(now)
        tracking, moving = self._plan_tracking(now), [self._plan_move(now)] if moves else []
        discards = now.dirty and (self.force_reset is True or bool(self.force_reset and moves))
        steps = [self._plan_discard(now, moves)] if discards and not self._does_switch(now) else []
        if self._is_forced(now) or not now.ahead:
            return [*steps, *moving, *tracking]
        return [*steps, *tracking, *moving]

    def _does_move(self, now: WorkTreeStatus) -> bool:
        return now.base != self._wanted_sha(now.refs) and not self._holds_head(now)

    def _plan_tracking(self, now: WorkTreeStatus) -> list[Step]:
        upstream = self._upstream_now(now)
        current = "" if self._loses_upstream(now) else now.upstream
        if self._ignores_upstream(now) or current == upstream:
            return []
        how = f"{'updated' if current else 'set'} to {upstream}" if upstream else "unset"
        return [
            Step(
                would=f"Tracking branch would be {how}",
                did=f"Tracking branch was {how}",
                run=lambda ctx: self._track_upstream(ctx, upstream),
            )
        ]

    def _ignores_upstream(self, now: WorkTreeStatus) -> bool:
        """Whether nobody has said what is to be tracked, or there is no branch to do it."""
        return self.rev == "HEAD" or not (self.branch or now.branch) or self._holds_head(now)

    def _loses_upstream(self, now: WorkTreeStatus) -> bool:
        """Whether another address for the remote makes git forget what branches track."""
        return bool(now.address and self._plan_remote(now))

    def _is_forced(self, now: WorkTreeStatus) -> bool:
        discards = now.known and now.dirty and self.force_reset is True
        return bool(self.force_reset) and (discards or not now.ahead)

    def _plan_remote(self, now: WorkTreeStatus) -> list[Step]:
        wanted = with_login(self.name, self.access.https_user, self.access.https_pass)
        if now.address == wanted:
            return []
        if now.address is None:
            would = did = f"Remote '{self.remote}' set to {self._safe_name}"
            changes = {"new": f"{self._safe_name} => {self.remote}"}
        else:
            both = f"from {redact_text(now.address)} to {self._safe_name}"
            did = f"Remote '{self.remote}' changed {both}"
            would = f"Remote '{self.remote}' would be changed {both}"
            changes = {}
        given = {**self.access.local(), **self.access.login()}

        def run(ctx: MinionContext) -> None:
            ctx.functions.call("git.remote_set", self.target, self.name, self.remote, **given)

        return [Step(would=would, did=did, run=run, changes=changes)]

    def _plan_fetch(self, now: WorkTreeStatus) -> Step:
        did = f"{self._safe_name} was fetched, resulting in updated refs"
        tags = [self.refspecs[1]] if self.fetch_tags else self._find_tags(now.refs)
        refspecs = [
            f"+refs/heads/{self.refspecs[0]}:refs/remotes/{self.remote}/{self.refspecs[0]}",
            *(f"+refs/tags/{tag}:refs/tags/{tag}" for tag in tags),
        ]
        bare = self.bare or self.mirror
        if bare:
            did = f"Bare repository at {self.target} was fetched, resulting in updated refs"
            refspecs = ["+refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"]

        def run(ctx: MinionContext) -> None:
            words = [] if bare else ["--tags"] if self.fetch_tags else ["--no-tags"]
            ctx.functions.call(
                "git.fetch",
                self.target,
                remote=self.remote,
                force=self.force_fetch,
                refspecs=refspecs,
                opts=words,
                **self.access.remote(),
            )

        would = f"Remote '{self.remote}' would be fetched"
        changes = {"new_tags": list(now.tags)} if now.tags else {}
        return Step(would=would, did=did, run=run, changes=changes)

    def _plan_tag_removal(self, now: WorkTreeStatus) -> list[Step]:
        if not now.stray:
            return []
        tags = list(now.stray)

        def run(ctx: MinionContext) -> None:
            for tag in tags:
                ctx.functions.call("git.tag", self.target, tag, opts="-d", **self.access.local())

        return [
            Step(
                would=f"The following tags would be removed: {', '.join(tags)}",
                did=f"The following tags were removed from the local checkout: {', '.join(tags)}",
                run=run,
                changes={"deleted_tags": tags},
            )
        ]

    def _plan_switch(self, now: WorkTreeStatus) -> Step:
        new = self._does_create(now)
        start = f", with {self._describe_revision(now)} as a starting point" if new else ""
        words = ["--force"] if self.force_checkout else []
        moves = self._does_move(now) and not new

        def run(ctx: MinionContext) -> None:
            call, local, name = ctx.functions.call, self.access.local(), str(self.branch)
            if new:
                start = self._upstream_now(now) or self._wanted_sha(now.refs)
                call("git.checkout", self.target, rev=start, opts=[*words, "-b", name], **local)
            else:
                call("git.checkout", self.target, rev=name, opts=words, **local)

        return Step(
            would=f"{'New branch ' if new else ''}'{self.branch}' would be checked out{start}",
            did=f"{'New branch ' if new else ''}'{self.branch}' was checked out{start}",
            run=run,
            changes={} if moves else self._revision_change(now),
        )

    def _plan_discard(self, now: WorkTreeStatus, moves: bool) -> Step:
        local = self.access.local()
        reset = "" if moves else f". Repository was hard-reset to {self._describe_revision(now)}."

        def run(ctx: MinionContext) -> None:
            ctx.functions.call("git.reset", self.target, opts=["--hard", "HEAD"], **local)

        return Step(
            would="Uncommitted changes would be discarded",
            did=f"Uncommitted changes were discarded{reset}",
            run=run,
            changes={} if moves else {"forced update": True},
        )

    def _revision_change(self, now: WorkTreeStatus) -> dict[str, Any]:
        sha = self._wanted_sha(now.refs)
        return {} if now.head == sha else {"revision": {"old": now.head, "new": sha}}

    def _plan_move(self, now: WorkTreeStatus) -> Step:
        sha = self._wanted_sha(now.refs)
        forced = self._is_forced(now)
        to = self._describe_revision(now)
        old, new = (now.head or "")[:7], sha[:7]
        would = f"Repository would be updated from {old} to {new}"
        did = f"Repository was fast-forwarded to {to}"
        if not self._upstream_now(now) and self.rev != "HEAD":
            did = f"Repository was reset to {to.partition(' ')[0]} (fast-forward)"
        if forced:
            would = f"Repository would be hard-reset from {old} to {new}"
            did = f"Repository was hard-reset to {to}"
        changes = {**({"forced update": True} if forced else {}), **self._revision_change(now)}

        def run(ctx: MinionContext) -> None:
            self._move_head(ctx, now, sha)
            self._update_submodules(ctx)

        return Step(would=would, did=did, run=run, changes=changes)

    def _move_head(self, ctx: MinionContext, now: WorkTreeStatus, sha: str) -> None:
        call, local = ctx.functions.call, self.access.local()
        forward = self._is_behind(ctx, now.base, sha)
        if forward and not now.dirty and not self._is_forced(now):
            call("git.merge", self.target, rev=sha, opts=["--ff-only"], **local)
        elif self.force_reset or now.base is None or forward:
            call("git.reset", self.target, opts=["--hard", sha], **local)
        else:
            made = f"Changes already made: {self._safe_name} was fetched, resulting in updated refs"
            raise FunctionError(f"{self._not_forward(now)}\n\n{made}")

    # telling

    def comment_unchanged(self, now: WorkTreeStatus) -> str:
        """It is at the wanted revision, or shall not be moved."""
        sha = self._wanted_sha(now.refs)
        if now.exists and not (self.bare or self.mirror) and now.head != sha:
            where = "Remote head" if self.rev == "HEAD" else self._upstream_now(now) or self.rev
            return (
                f"{where} ({sha[:7]}) is already present and local HEAD"
                f" ({(now.head or '')[:7]}) does not match, but update_head=False. HEAD has not"
                " been updated locally."
            )
        said = f"Repository {self.target} is up-to-date"
        if now.dirty:
            said += (
                ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted"
                " changes."
            )
        return said

    def would(self, now: WorkTreeStatus, steps: Sequence[Step]) -> str:
        """The remarks of all steps, below the news that there is none where HEAD stays."""
        said = [step.would for step in steps]
        if not now.exists:
            return said[0]
        if self._does_stay(now):
            return f"{self._say_unchanged()}\n\nChanges that would be made: {sentences(said)}"
        return sentences(said)

    def comment_changed(
        self, before: WorkTreeStatus, after: WorkTreeStatus, steps: Sequence[Step]
    ) -> str:
        """As :meth:`would`, afterwards."""
        said = [step.did for step in steps]
        if not before.exists:
            return said[0]
        if self._holds_head(before):
            return self.comment_unchanged(before)
        if self._does_stay(before):
            return f"{self._say_unchanged()}\n\nChanges made: {sentences(said)}"
        return sentences(said)

    def _does_stay(self, now: WorkTreeStatus) -> bool:
        return self.bare or self.mirror or now.head == self._wanted_sha(now.refs)

    def _say_unchanged(self) -> str:
        return f"Repository {self.target} is up-to-date"


def _tags_of(refs: Mapping[str, str]) -> set[str]:
    names = (name[10:] for name in refs if name.startswith("refs/tags/"))
    return {name for name in names if not name.endswith("^{}")}


def _default_branch(refs: Mapping[str, str]) -> str:
    """The branch that HEAD of the other side stands for, as far as hashes tell."""
    names = [name[11:] for name, sha in refs.items() if name.startswith("refs/heads/")]
    same = [name for name in names if refs[f"refs/heads/{name}"] == refs.get("HEAD")]
    return next((name for name in ("master", "main") if name in same), same[0] if same else "")
