"""Repositories of git that shall be there, at a revision of another one; settings of git.

Comments are Salt's. Source: modules.md 3; observed on Salt 3006.30 with repositories on disk.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import CommandError, FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict

_FULL = re.compile(r"[0-9a-f]{40}$")
_UNCHANGED = ("untracked",)


def _sentences(said: Sequence[str]) -> str:
    """Several remarks as sentences; a single one has no full stop."""
    return said[0] if len(said) == 1 else ". ".join(said) + "."


def _refused(comment: str) -> Verdict:
    return Verdict(result=False, comment=comment)


@dataclass(frozen=True, slots=True)
class Access:
    """Who asks for a repository, and with which credentials."""

    user: str | None = None
    password: str | None = None
    identity: Any = None
    https_user: str | None = None
    https_pass: str | None = None

    def local(self) -> dict[str, Any]:
        """For commands that stay on this machine."""
        return {"user": self.user, "password": self.password} if self.user else {}

    def remote(self) -> dict[str, Any]:
        """For commands that ask the other side."""
        return {**self.local(), **({"identity": self.identity} if self.identity else {})}

    def login(self) -> dict[str, Any]:
        """For commands that take an address."""
        given = {"https_user": self.https_user, "https_pass": self.https_pass}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Now:
    """A work tree and the other side. ``wrong``: why nothing can be done."""

    refs: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""
    exists: bool = False
    occupied: bool = False
    head: str | None = None
    branch: str = ""
    upstream: str = ""
    address: str | None = None
    dirty: bool = False
    known: bool = False
    """The wanted revision is in the local repository."""
    ahead: bool = False
    """The wanted revision can be reached by a fast-forward."""
    branches: tuple[str, ...] = ()
    stale: bool = False
    """References of a bare repository differ from the other side's."""
    tags: tuple[str, ...] = ()
    """Tags of the other side that are not here."""


@dataclass(frozen=True, kw_only=True)
class Latest(Resource[Now]):
    """A clone at the newest revision of a branch, or at a tag or commit."""

    name: str
    target: str
    rev: str
    branch: str | None
    access: Access
    remote: str = "origin"
    bare: bool = False
    mirror: bool = False
    update_head: bool = True
    submodules: bool = False
    fetch_tags: bool = True
    force_clone: bool = False
    force_checkout: bool = False
    force_fetch: bool = False
    force_reset: Any = False
    depth: int | None = None

    # looking

    def read(self, ctx: MinionContext) -> Now:
        """Ask the other side for its references, and look at the target."""
        call = ctx.functions.call
        given = {**self.access.remote(), **self.access.login()}
        try:
            refs = call("git.remote_refs", self.name, **given)
        except (FunctionError, CommandError) as error:
            said = str(error).partition(" failed: ")[2] or str(error)
            return Now(wrong=f"Failed to check remote refs: {said}")
        if not self._wanted(refs):
            wrong = f"No revision matching '{self.rev}' exists in the remote repository"
            return Now(refs=refs, wrong=wrong)
        if not _is_repository(ctx, self.target):
            return self._place(ctx, refs)
        return self._bare(ctx, refs) if self.bare or self.mirror else self._tree(ctx, refs)

    def _place(self, ctx: MinionContext, refs: Mapping[str, str]) -> Now:
        if ctx.host.exists(self.target) and not ctx.host.is_dir(self.target):
            wrong = f"Target '{self.target}' exists and is a regular file, cannot proceed"
            return Now(refs=refs, wrong=wrong)
        return Now(refs=refs, occupied=bool(ctx.host.names(self.target)))

    def _bare(self, ctx: MinionContext, refs: Mapping[str, str]) -> Now:
        given = self.access.local()
        mine = ctx.functions.call("git.remote_refs", self.target, **given)
        heads = {name: sha for name, sha in refs.items() if name.startswith("refs/heads/")}
        stale = any(mine.get(name) != sha for name, sha in heads.items())
        return Now(refs=refs, exists=True, head=mine.get("HEAD"), stale=stale)

    def _tree(self, ctx: MinionContext, refs: Mapping[str, str]) -> Now:
        call, given, sha = ctx.functions.call, self.access.local(), self._wanted(refs)
        head = _parsed(ctx, self.target, "HEAD", given)
        branch = _parsed(ctx, self.target, "HEAD", given, "--abbrev-ref") or ""
        known = _parsed(ctx, self.target, f"{sha}^{{commit}}", given) is not None
        remotes = call("git.remotes", self.target, redact_auth=False, **given)
        status = call("git.status", self.target, **given)
        tags = set(call("git.list_tags", self.target, **given)) if self.fetch_tags else set()
        return Now(
            refs=refs,
            exists=True,
            head=head,
            branch="" if branch == "HEAD" else branch,
            upstream=_parsed(ctx, self.target, "@{upstream}", given, "--abbrev-ref") or "",
            address=remotes.get(self.remote, {}).get("fetch"),
            dirty=any(files for kind, files in status.items() if kind not in _UNCHANGED),
            known=known,
            ahead=bool(known and head and self._is_behind(ctx, head, sha)),
            branches=tuple(call("git.list_branches", self.target, **given)),
            tags=tuple(sorted(_tags(refs) - tags)) if self.fetch_tags else (),
        )

    def _is_behind(self, ctx: MinionContext, head: str, sha: str) -> bool:
        given, call = self.access.local(), ctx.functions.call
        refs = [head, sha]
        return bool(call("git.merge_base", self.target, refs=refs, is_ancestor=True, **given))

    def _wanted(self, refs: Mapping[str, str]) -> str:
        """The hash of the wanted revision, ``""`` if the other side does not know it."""
        tag = f"refs/tags/{self.rev}"
        names = ("HEAD",) if self.rev == "HEAD" else (f"refs/heads/{self.rev}", f"{tag}^{{}}", tag)
        found = next((refs[name] for name in names if name in refs), "")
        return found or (self.rev if _FULL.match(self.rev) else "")

    def _described(self, now: Now) -> str:
        """The wanted revision as comments name it."""
        short = self._wanted(now.refs)[:7]
        if self.rev == "HEAD":
            return f"remote HEAD ({short})"
        return f"{self._upstream(now) or self.rev} ({short})"

    def _upstream(self, now: Now) -> str:
        known = f"refs/heads/{self.rev}" in now.refs
        return f"{self.remote}/{self.rev}" if known else ""

    # planning

    def plan(self, now: Now) -> Sequence[Step] | Verdict:
        """Clone; or fetch, discard what may be discarded, and move to the wanted revision."""
        if now.wrong:
            return _refused(now.wrong)
        if not now.exists:
            return self._cloning(now)
        if self.bare or self.mirror:
            return [self._fetching(now)] if now.stale else []
        return self._refusal(now) or self._updating(now)

    def _cloning(self, now: Now) -> Sequence[Step] | Verdict:
        if now.occupied and not self.force_clone:
            return _refused(
                f"Target '{self.target}' exists, is non-empty and is not a git repository. Set the"
                " 'force_clone' option to True to remove this directory's contents and proceed"
                " with cloning the remote repository"
            )
        would = f"Repository {self.name} would be cloned to {self.target}"
        changes: dict[str, Any] = {}
        if now.occupied:
            would = (
                f"Target directory {self.target} exists. Since force_clone=True, the contents of"
                f" {self.target} would be deleted, and {self.name} would be cloned into this"
                " directory."
            )
            changes["forced clone"] = True
        changes["new"] = f"{self.name} => {self.target}"
        changes["revision"] = {"old": None, "new": self._wanted(now.refs)}
        return [
            Step(
                would=would,
                did=_sentences(self._cloned(now)),
                run=lambda ctx: self._clone(ctx, now),
                changes=changes,
            )
        ]

    def _cloned(self, now: Now) -> list[str]:
        kind = " as mirror" if self.mirror else " as bare repository" if self.bare else ""
        said = [f"{self.name} cloned to {self.target}{kind}"]
        if kind:
            return said
        if self.branch:
            start = f"with {self._described(now)} as a starting point"
            return [*said, f"Branch '{self.branch}' checked out, {start}"]
        if self._wanted(now.refs) != now.refs.get("HEAD"):
            said.append(f"Repository was reset to {self._described(now)}")
            upstream = self._upstream(now)
            tracking = f"updated to {upstream}" if upstream else "unset"
            said.append(f"Tracking branch was {tracking}")
        return said

    def _clone(self, ctx: MinionContext, now: Now) -> None:
        call, local = ctx.functions.call, self.access.local()
        if now.occupied:
            _emptied(self.target)
        words = ["--mirror"] if self.mirror else ["--bare"] if self.bare else []
        words += ["--origin", self.remote] if self.remote != "origin" and not words else []
        words += ["--depth", str(self.depth), "--branch", self.rev] if self.depth else []
        given = {**self.access.remote(), **self.access.login()}
        try:
            call("git.clone", self.target, self.name, opts=words, **given)
        except FunctionError as error:
            raise FunctionError(f"Clone failed: {_last(error)}") from error
        if self.bare or self.mirror:
            return
        self._settle_clone(ctx, now, local)
        self._submodules(ctx)

    def _settle_clone(self, ctx: MinionContext, now: Now, local: Mapping[str, Any]) -> None:
        call, sha = ctx.functions.call, self._wanted(now.refs)
        if self.branch:
            if _parsed(ctx, self.target, "HEAD", local, "--abbrev-ref") != self.branch:
                words = ["-B", self.branch]
                call("git.checkout", self.target, rev=sha, opts=words, **local)
        elif sha != now.refs.get("HEAD"):
            call("git.reset", self.target, opts=["--hard", sha], **local)
            self._track(ctx, self._upstream(now))

    def _track(self, ctx: MinionContext, upstream: str) -> None:
        words = [f"--set-upstream-to={upstream}"] if upstream else ["--unset-upstream"]
        ctx.functions.call("git.branch", self.target, opts=words, **self.access.local())

    def _submodules(self, ctx: MinionContext) -> None:
        if self.submodules:
            words = ["--init", "--recursive"]
            given = self.access.remote()
            ctx.functions.call("git.submodule", self.target, "update", opts=words, **given)

    def _start(self, now: Now) -> bool:
        """Whether a branch is to be made or switched to first."""
        return bool(self.branch) and self.branch != now.branch

    def _refusal(self, now: Now) -> Verdict | None:
        sha = self._wanted(now.refs)
        if now.head == sha or not self.update_head or self._start(now):
            return None
        short = sha[:7]
        if now.dirty and not self.force_reset:
            said = (
                f"Repository would be updated from {(now.head or '')[:7]} to {short}, but there are"
                " uncommitted changes. Set 'force_reset' to True (or 'remote-changes') to force"
                " this update and discard these changes."
            )
            return _refused(said + self._hint(now))
        if now.known and not now.ahead and not self.force_reset:
            return _refused(self._not_forward(now))
        return None

    def _hint(self, now: Now) -> str:
        if self.rev == "HEAD" or self.branch or now.branch in ("", self.rev):
            return ""
        return (
            f" The desired rev ({self.rev}) differs from the name of the local branch"
            f" ({now.branch}), if the desired rev is a branch name then a forced update could"
            f" possibly be avoided by setting the 'branch' argument to '{self.rev}' instead."
        )

    def _not_forward(self, now: Now) -> str:
        return (
            f"Repository would be updated to {self._wanted(now.refs)[:7]}, but this is not a"
            " fast-forward merge. Set 'force_reset' to True to force this update."
        )

    def _updating(self, now: Now) -> list[Step]:
        moves = now.head != self._wanted(now.refs) and self.update_head
        steps = self._readdressing(now)
        if not now.known or now.tags:
            steps.append(self._fetching(now))
        if self._start(now):
            return [*steps, self._switching(now)]
        upstream = self._upstream(now)
        if moves and upstream and now.branch and now.upstream != upstream:
            how = "updated" if now.upstream else "set"
            steps.append(
                Step(
                    would=f"Tracking branch would be {how} to {upstream}",
                    did=f"Tracking branch was {how} to {upstream}",
                    run=lambda ctx: self._track(ctx, upstream),
                )
            )
        if now.dirty and self.force_reset is True:
            steps.append(self._discarding(now, moves))
        return [*steps, *([self._moving(now)] if moves else [])]

    def _readdressing(self, now: Now) -> list[Step]:
        from saltlite.providers.git import with_login

        wanted = with_login(self.name, self.access.https_user, self.access.https_pass)
        if now.address == wanted:
            return []
        if now.address is None:
            would = did = f"Remote '{self.remote}' set to {self.name}"
            changes = {"new": f"{self.name} => {self.remote}"}
        else:
            did = f"Remote '{self.remote}' changed from {now.address} to {self.name}"
            would = f"Remote '{self.remote}' would be changed from {now.address} to {self.name}"
            changes = {}
        given = {**self.access.local(), **self.access.login()}

        def run(ctx: MinionContext) -> None:
            ctx.functions.call("git.remote_set", self.target, self.name, self.remote, **given)

        return [Step(would=would, did=did, run=run, changes=changes)]

    def _fetching(self, now: Now) -> Step:
        did = f"{self.name} was fetched, resulting in updated refs"
        refspecs = None
        if self.bare or self.mirror:
            did = f"Bare repository at {self.target} was fetched, resulting in updated refs"
            refspecs = ["+refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"]

        def run(ctx: MinionContext) -> None:
            words = ["--tags"] if self.fetch_tags and refspecs is None else []
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

    def _switching(self, now: Now) -> Step:
        there = self.branch in now.branches
        start = "" if there else f", with {self._described(now)} as a starting point"
        words = [] if there else ["-b"]
        words += ["--force"] if self.force_checkout else []

        def run(ctx: MinionContext) -> None:
            call, local = ctx.functions.call, self.access.local()
            name = str(self.branch)
            if there:
                call("git.checkout", self.target, rev=name, opts=words, **local)
            else:
                sha = self._wanted(now.refs)
                call("git.checkout", self.target, rev=sha, opts=[*words, name], **local)

        return Step(
            would=f"Branch '{self.branch}' would be checked out{start}",
            did=f"Branch '{self.branch}' checked out{start}",
            run=run,
            changes={} if there else self._revision(now),
        )

    def _discarding(self, now: Now, moves: bool) -> Step:
        local = self.access.local()
        reset = "" if moves else f". Repository was hard-reset to {self._described(now)}."

        def run(ctx: MinionContext) -> None:
            ctx.functions.call("git.reset", self.target, opts=["--hard", "HEAD"], **local)

        return Step(
            would="Uncommitted changes would be discarded",
            did=f"Uncommitted changes were discarded{reset}",
            run=run,
            changes={} if moves else {"forced update": True},
        )

    def _revision(self, now: Now) -> dict[str, Any]:
        sha = self._wanted(now.refs)
        return {} if now.head == sha else {"revision": {"old": now.head, "new": sha}}

    def _moving(self, now: Now) -> Step:
        sha = self._wanted(now.refs)
        forced = now.known and not now.ahead
        to = self._described(now)
        old, new = (now.head or "")[:7], sha[:7]
        would = f"Repository would be updated from {old} to {new}"
        did = f"Repository was fast-forwarded to {to}"
        if forced:
            would = f"Repository would be hard-reset from {old} to {new}"
            did = f"Repository was hard-reset to {to}"
        changes = {**({"forced update": True} if forced else {}), **self._revision(now)}

        def run(ctx: MinionContext) -> None:
            self._move(ctx, now, sha)
            self._submodules(ctx)

        return Step(would=would, did=did, run=run, changes=changes)

    def _move(self, ctx: MinionContext, now: Now, sha: str) -> None:
        call, local = ctx.functions.call, self.access.local()
        if now.head and self._is_behind(ctx, now.head, sha) and not now.dirty:
            call("git.merge", self.target, rev=sha, opts=["--ff-only"], **local)
        elif self.force_reset or now.head is None or (now.known and now.ahead):
            call("git.reset", self.target, opts=["--hard", sha], **local)
        else:
            made = f"Changes already made: {self.name} was fetched, resulting in updated refs"
            raise FunctionError(f"{self._not_forward(now)}\n\n{made}")

    # telling

    def settled(self, now: Now) -> str:
        """It is at the wanted revision, or shall not be moved."""
        sha = self._wanted(now.refs)
        if now.exists and not (self.bare or self.mirror) and now.head != sha:
            return (
                f"Remote head ({sha[:7]}) is already present and local HEAD"
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

    def would(self, now: Now, steps: Sequence[Step]) -> str:
        """The remarks of all steps, below the news that there is none where HEAD stays."""
        said = [step.would for step in steps]
        if not now.exists:
            return said[0]
        if self._stays(now):
            return f"{self._calm()}\n\nChanges that would be made: {_sentences(said)}"
        return _sentences(said)

    def done(self, before: Now, after: Now, steps: Sequence[Step]) -> str:
        """As :meth:`would`, afterwards."""
        said = [step.did for step in steps]
        if not before.exists:
            return said[0]
        if not self.update_head and not self._stays(before):
            return self.settled(before)
        if self._stays(before):
            return f"{self._calm()}\n\nChanges made: {_sentences(said)}"
        return _sentences(said)

    def _stays(self, now: Now) -> bool:
        return now.head == self._wanted(now.refs) and not self._start(now)

    def _calm(self) -> str:
        return f"Repository {self.target} is up-to-date"


def _tags(refs: Mapping[str, str]) -> set[str]:
    names = (name[10:] for name in refs if name.startswith("refs/tags/"))
    return {name for name in names if not name.endswith("^{}")}


def _is_repository(ctx: MinionContext, path: str) -> bool:
    if ctx.host.exists(os.path.join(path, ".git")):
        return True
    return all(ctx.host.exists(os.path.join(path, each)) for each in ("HEAD", "objects", "refs"))


def _parsed(
    ctx: MinionContext, cwd: str, rev: str, given: Mapping[str, Any], *words: str
) -> str | None:
    """What ``rev-parse`` makes of it, ``None`` if there is no such thing."""
    call = ctx.functions.call
    try:
        return str(call("git.rev_parse", cwd, rev, opts=["--verify", "--quiet", *words], **given))
    except FunctionError:
        return None


def _emptied(path: str) -> None:
    """Remove what is in a directory, and the directory."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise FunctionError(f"Unable to remove {path}: {error.strerror}") from error


def _last(error: FunctionError) -> str:
    return str(error).partition(" failed: ")[2] or str(error)


def latest(
    name: str,
    target: str | None = None,
    rev: Any = "HEAD",
    branch: str | None = None,
    user: str | None = None,
    password: str | None = None,
    update_head: bool = True,
    force_checkout: bool = False,
    force_clone: bool = False,
    force_fetch: bool = False,
    force_reset: Any = False,
    submodules: bool = False,
    bare: bool = False,
    mirror: bool = False,
    remote: str = "origin",
    fetch_tags: bool = True,
    sync_tags: bool = True,
    depth: int | None = None,
    identity: Any = None,
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
    directory instead.
    """
    if not target:
        return _refused("'target' argument is required")
    if not os.path.isabs(str(target)):
        return _refused(f"target '{target}' is not an absolute path")
    if depth and str(rev) == "HEAD":
        return _refused(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote"
            " repository"
        )
    return Latest(
        name=str(name),
        target=str(target),
        rev=str(rev),
        branch=branch,
        access=Access(user, password, identity, https_user, https_pass),
        remote=remote,
        bare=bool(bare),
        mirror=bool(mirror),
        update_head=bool(update_head),
        submodules=bool(submodules),
        fetch_tags=bool(fetch_tags),
        force_clone=bool(force_clone),
        force_checkout=bool(force_checkout),
        force_fetch=bool(force_fetch),
        force_reset=force_reset,
        depth=depth,
    )


@dataclass(frozen=True, kw_only=True)
class Setting(Resource[list[str] | None]):
    """A setting of a repository or of a user, with one value or several."""

    name: str
    values: tuple[str, ...]
    single: bool
    repo: str | None
    everywhere: bool
    user: str | None

    def _where(self) -> dict[str, Any]:
        where: dict[str, Any] = {"user": self.user} if self.user else {}
        return {**where, "global": True} if self.everywhere else {**where, "cwd": self.repo}

    @property
    def _what(self) -> str:
        return f"Global key '{self.name}'" if self.everywhere else f"'{self.name}'"

    @property
    def _value(self) -> str:
        return f"'{self.values[0]}'" if self.single else str(list(self.values))

    def read(self, ctx: MinionContext) -> list[str] | None:
        """Its values now, ``None`` without any."""
        found = ctx.functions.call("git.config_get", self.name, all=True, **self._where())
        return None if found is None else [str(each) for each in found]

    def plan(self, now: list[str] | None) -> Sequence[Step] | Verdict:
        """Set it."""
        if now == list(self.values):
            return []
        how = f"added as {self._value}" if now is None else f"set to {self._value}"
        return [
            Step(
                would=f"{self._what} would be {how}",
                did=f"{self._what} was {how}",
                run=self._set,
                changes={self.name: {"old": now, "new": list(self.values)}},
            )
        ]

    def _set(self, ctx: MinionContext) -> None:
        given = {"value": self.values[0]} if self.single else {"multivar": list(self.values)}
        try:
            ctx.functions.call("git.config_set", self.name, **given, **self._where())
        except FunctionError as error:
            raise FunctionError(
                f"Failed to set {self._what} to {self._value}: {_last(error)}"
            ) from error

    def settled(self, now: list[str] | None) -> str:
        """It has these values."""
        return f"{self._what} is already set to {self._value}"


def config_set(
    name: str,
    value: Any = None,
    multivar: Any = None,
    repo: str | None = None,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Declared:
    """A setting of the repository ``repo`` has a value, or with ``multivar`` several.

    With ``global`` it is one of the user's.
    """
    everywhere = bool(kwargs.get("global"))
    if value is not None and multivar is not None:
        return _refused("Only one of 'value' and 'multivar' is permitted")
    if value is None and multivar is None:
        return _refused("One of 'value' and 'multivar' is required")
    if not everywhere and repo is None:
        return _refused("Non-global config options require the 'repo' argument to be set")
    several = multivar if isinstance(multivar, (list, tuple)) else [multivar]
    values = [value] if multivar is None else several
    return Setting(
        name=name,
        values=tuple(str(each) for each in values),
        single=multivar is None,
        repo=repo,
        everywhere=everywhere,
        user=user,
    )
