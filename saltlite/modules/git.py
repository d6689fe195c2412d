"""git: clone, look at and change repositories.

``opts`` are words for the subcommand, ``git_opts`` for git itself; ``user`` is who runs it,
``identity`` a file with a key for ssh (or several, or on the master: ``salt://``), ``password`` is
for systems where a user cannot be changed without one. Source: modules.md 10; answers observed on
Salt 3006.30.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import git as _git
from saltlite.providers.git import Run

_RUN = ("cwd", "user", "identity", "ignore_retcode", "output_encoding", "saltenv")


def _run(ctx: MinionContext, arguments: Mapping[str, Any], *words: str, fail: bool = True) -> str:
    """Run a subcommand with what a function was given; its output, or else its other output."""
    outcome = _outcome(ctx, arguments, *words, fail=fail)
    return str(outcome.stdout.rstrip() or outcome.stderr.rstrip())


def _outcome(
    ctx: MinionContext, arguments: Mapping[str, Any], *words: str, fail: bool = True
) -> Any:
    given = {name: arguments[name] for name in _RUN if arguments.get(name) is not None}
    if "cwd" in given:
        given["cwd"] = _git.directory(given["cwd"])
    before = _git.option_words(arguments.get("git_opts"))
    return _git.git(ctx, ["git", *before, *words], Run(**given, fail=fail))


def _text(ctx: MinionContext, arguments: Mapping[str, Any], *words: str) -> str:
    return str(_outcome(ctx, arguments, *words).stdout).rstrip()


def add(
    ctx: MinionContext,
    cwd: str,
    filename: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put files into the index; what was added.

    CLI Example:

        salt myminion git.add /path/to/repo foo/bar.py
    """
    words = _git.option_words(opts)
    verbose = [] if {"-v", "--verbose"} & set(words) else ["--verbose"]
    return _text(ctx, locals(), "add", *verbose, *words, "--", str(filename))


def archive(
    ctx: MinionContext,
    cwd: str,
    output: str,
    rev: str = "HEAD",
    prefix: str | None = None,
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> bool:
    """Write an archive of a revision; ``format`` if the name does not tell.

    Without ``prefix`` everything is below the name of the directory.

    CLI Example:

        salt myminion git.archive /path/to/repo /path/to/archive.tar
    """
    given = _git.own(kwargs, "format", "fmt")
    kind = given.get("format") or given.get("fmt")
    if prefix is None:
        prefix = f"{os.path.basename(_git.directory(cwd))}/"
    words = ["--prefix", prefix] if prefix else []
    words += ["--format", str(kind)] if kind else []
    _text(ctx, locals(), "archive", *words, "--output", output, str(rev))
    return True


def branch(
    ctx: MinionContext,
    cwd: str,
    name: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> bool:
    """Make, rename or delete a branch, as ``opts`` say.

    CLI Example:

        salt myminion git.branch /path/to/repo newbranch
        salt myminion git.branch /path/to/repo newbranch opts='-D'
    """
    words = [] if name is None else [str(name)]
    _text(ctx, locals(), "branch", *_git.option_words(opts), *words)
    return True


def checkout(
    ctx: MinionContext,
    cwd: str,
    rev: str | None = None,
    force: bool = False,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Switch to a branch or revision; what git says about it.

    CLI Example:

        salt myminion git.checkout /path/to/repo somebranch user=jeff
        salt myminion git.checkout /path/to/repo opts='-b newbranch'
    """
    words = _git.option_words(opts)
    if rev is None and not {"-b", "-B"} & set(words):
        raise UsageError("'rev' argument is required unless -b or -B in opts")
    forced = ["--force"] if force else []
    wanted = [] if rev is None else [str(rev)]
    outcome = _outcome(ctx, locals(), "checkout", *forced, *words, *wanted)
    said = (outcome.stderr.rstrip(), outcome.stdout.rstrip())
    return "\n".join(part for part in said if part)


def clone(
    ctx: MinionContext,
    cwd: str,
    url: str | None = None,
    name: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
) -> bool:
    """Clone a repository to ``cwd``, or to the directory ``name`` in it.

    CLI Example:

        salt myminion git.clone /path/to/repo_parent_dir https://github.com/saltstack/salt.git
    """
    if url is None:
        raise UsageError("Missing 'url' argument")
    address = _git.with_login(str(url), https_user, https_pass)
    target = _git.directory(cwd)
    if name:
        target = os.path.join(target, str(name))
    arguments = {**locals(), "cwd": _nearest(ctx, target)}
    _text(ctx, arguments, "clone", *_git.option_words(opts), "--", address, target)
    return True


def _nearest(ctx: MinionContext, path: str) -> str | None:
    """A directory to start in: none is needed, but the user's home may be closed to it."""
    parent = os.path.dirname(path)
    return parent if ctx.host.is_dir(parent) else None


def commit(
    ctx: MinionContext,
    cwd: str,
    message: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    filename: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Commit what is in the index, or one file.

    CLI Example:

        salt myminion git.commit /path/to/repo 'The commit message'
    """
    words = _git.option_words(opts)
    files = ["--", str(filename)] if filename else []
    return _text(ctx, locals(), "commit", "-m", str(message), *words, *files)


def config_get(
    ctx: MinionContext,
    key: str,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Any:
    """The value of a setting, ``None`` for none; with ``all`` a list of all its values.

    ``global`` is the user's setting, not the repository's.

    CLI Example:

        salt myminion git.config_get user.name cwd=/path/to/repo
        salt myminion git.config_get user.email global=True
    """
    given = _git.own(kwargs, "global", "all")
    values = _config_values(ctx, key, locals(), bool(given.get("global")))
    if values is None:
        return None
    return values if given.get("all") else values[-1]


def _place(arguments: Mapping[str, Any], everywhere: bool) -> tuple[dict[str, Any], list[str]]:
    """Where a setting is: in a repository, or the user's own."""
    if not everywhere and not arguments.get("cwd"):
        raise UsageError("'cwd' argument required unless global=True")
    own = dict(arguments)
    if everywhere:
        own["cwd"] = None
    return own, ["--global" if everywhere else "--local"]


def _config_values(
    ctx: MinionContext, key: str, arguments: Mapping[str, Any], everywhere: bool
) -> list[str] | None:
    own, where = _place(arguments, everywhere)
    outcome = _outcome(ctx, own, "config", *where, "--null", "--get-all", str(key), fail=False)
    if outcome.retcode != 0:
        if outcome.stderr.strip() and outcome.retcode != 1:
            raise FunctionError(_git.redacted(outcome.stderr.strip()))
        return None
    return list(outcome.stdout.removesuffix("\0").split("\0"))


def config_get_regexp(
    ctx: MinionContext,
    key: str,
    value_regex: str | None = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> dict[str, list[str]]:
    """The settings whose names match a regular expression, and their values.

    CLI Example:

        salt myminion git.config_get_regexp 'user.*' cwd=/path/to/repo
    """
    given = _git.own(kwargs, "global")
    own, where = _place(locals(), bool(given.get("global")))
    value = [] if value_regex is None else [str(value_regex)]
    words = ["config", *where, "--null", "--get-regexp", str(key), *value]
    outcome = _outcome(ctx, own, *words, fail=False)
    return _git.parse_config(outcome.stdout) if outcome.retcode == 0 else {}


def config_get_regex(
    ctx: MinionContext,
    key: str,
    value_regex: str | None = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> dict[str, list[str]]:
    """The same as ``git.config_get_regexp``."""
    return config_get_regexp(
        ctx, key, value_regex, cwd, user, password, ignore_retcode, output_encoding, **kwargs
    )


def config_set(
    ctx: MinionContext,
    key: str,
    value: Any = None,
    multivar: Any = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> list[str] | None:
    """Set a setting to one value or several; its values then.

    ``add`` keeps the values that are there.

    CLI Example:

        salt myminion git.config_set user.email me@foo.tld cwd=/path/to/repo
        salt myminion git.config_set mysection.x multivar='["a", "b"]' cwd=/path/to/repo
    """
    given = _git.own(kwargs, "global", "add")
    if value is not None and multivar is not None:
        raise UsageError("Only one of 'value' and 'multivar' is permitted")
    if value is None and multivar is None:
        raise UsageError("One of 'value' or 'multivar' is required")
    everywhere = bool(given.get("global"))
    own, where = _place(locals(), everywhere)
    place = where if everywhere else []
    values = [value] if multivar is None else _values(multivar)
    for index, each in enumerate(values):
        adds = index > 0 or bool(given.get("add"))
        flag = "--add" if adds else "--replace-all"
        _text(ctx, own, "config", *place, flag, str(key), str(each))
    return _config_values(ctx, key, own, everywhere)


def _values(multivar: Any) -> list[Any]:
    if isinstance(multivar, str):
        return multivar.split(",")
    return list(multivar) if isinstance(multivar, (list, tuple)) else [multivar]


def config_unset(
    ctx: MinionContext,
    key: str,
    value_regex: str | None = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> bool:
    """Remove a setting; with ``all`` all its values.

    CLI Example:

        salt myminion git.config_unset /path/to/repo foo.bar
    """
    given = _git.own(kwargs, "global", "all")
    everywhere = bool(given.get("global"))
    own, where = _place(locals(), everywhere)
    if _config_values(ctx, key, own, everywhere) is None:
        raise FunctionError(f"Key '{key}' does not exist")
    flag = "--unset-all" if given.get("all") else "--unset"
    value = [] if value_regex is None else [str(value_regex)]
    outcome = _outcome(ctx, own, "config", *where, flag, str(key), *value, fail=False)
    if outcome.retcode == 5:
        raise FunctionError(
            f"Multiple values for key '{key}' match value_regex: {value_regex}"
            if value_regex
            else f"Multiple values exist for key '{key}'"
        )
    if outcome.retcode != 0:
        raise FunctionError(outcome.stderr.strip() or f"Key '{key}' could not be unset")
    return True


def current_branch(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """The branch that is checked out, ``HEAD`` for none.

    CLI Example:

        salt myminion git.current_branch /path/to/repo
    """
    return _text(ctx, locals(), "rev-parse", "--abbrev-ref", "HEAD")


def describe(
    ctx: MinionContext,
    cwd: str,
    rev: str = "HEAD",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """A revision by the newest tag before it, by its hash without one.

    CLI Example:

        salt myminion git.describe /path/to/repo
    """
    return _text(ctx, locals(), "describe", "--always", str(rev))


def diff(
    ctx: MinionContext,
    cwd: str,
    item1: str | None = None,
    item2: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    no_index: bool = False,
    cached: bool = False,
    paths: Any = None,
    output_encoding: str | None = None,
) -> str:
    """The difference of two revisions, or of files that are in no repository (``no_index``).

    CLI Example:

        salt myminion git.diff /path/to/repo branch1 branch2
    """
    if no_index and cached:
        raise UsageError("The 'no_index' and 'cached' options cannot be used together")
    flags = ["--no-index"] if no_index else ["--cached"] if cached else []
    items = [str(item) for item in (item1, item2) if item]
    words = ["diff", *_git.option_words(opts), *flags, *items]
    if paths:
        words += ["--", *([paths] if isinstance(paths, str) else map(str, paths))]
    # with --no-index an exit code of 1 says that there is a difference
    outcome = _outcome(ctx, locals(), *words, fail=not no_index)
    return str(outcome.stdout).rstrip()


def discard_local_changes(
    ctx: MinionContext,
    cwd: str,
    path: str = ".",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put files back to what the index has.

    CLI Example:

        salt myminion git.discard_local_changes /path/to/repo foo.py
    """
    return _text(ctx, locals(), "checkout", "--", str(path))


def fetch(
    ctx: MinionContext,
    cwd: str,
    remote: str | None = None,
    force: bool = False,
    refspecs: Any = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
) -> dict[str, Any]:
    """Get what a remote has; new and updated branches and tags.

    CLI Example:

        salt myminion git.fetch /path/to/repo upstream
    """
    words = ["--force"] if force else []
    words += _git.option_words(opts)
    words += [str(remote)] if remote else []
    if refspecs is not None:
        given = [refspecs] if isinstance(refspecs, str) else list(refspecs)
        words += [str(each) for each in given]
    outcome = _outcome(ctx, locals(), "fetch", *words)
    return _git.parse_fetched(outcome.stderr)


def init(
    ctx: MinionContext,
    cwd: str,
    bare: bool = False,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: Any = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Make a repository.

    ``shared`` is as git takes it (``group``, ``world``, ``0640``).

    CLI Example:

        salt myminion git.init /path/to/repo
        salt myminion git.init /path/to/bare/repo.git bare=True
    """
    words = ["--bare"] if bare else []
    words += [] if template is None else [f"--template={template}"]
    words += [] if separate_git_dir is None else [f"--separate-git-dir={separate_git_dir}"]
    if shared is not None:
        mode = f"{shared:04o}" if isinstance(shared, int) and not isinstance(shared, bool) else ""
        words.append(f"--shared={mode or str(shared).lower()}")
    target = _git.directory(cwd)
    arguments = {**locals(), "cwd": None}
    return _text(ctx, arguments, "init", *words, *_git.option_words(opts), target)


def is_worktree(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
) -> bool:
    """Whether a directory is a work tree besides the main one.

    CLI Example:

        salt myminion git.is_worktree /path/to/repo
    """
    path = _git.directory(cwd)
    if not ctx.host.is_dir(path):
        return False
    outcome = _outcome(ctx, locals(), "rev-parse", "--show-toplevel", fail=False)
    if outcome.retcode != 0:
        return False
    link = os.path.join(outcome.stdout.rstrip("\n"), ".git")
    text = None if ctx.host.is_dir(link) else ctx.host.read_text(link)
    return text is not None and "/worktrees/" in text


def list_branches(
    ctx: MinionContext,
    cwd: str,
    remote: bool = False,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> list[str]:
    """The branches, or those of remotes.

    CLI Example:

        salt myminion git.list_branches /path/to/repo remote=True
    """
    below = "refs/remotes/" if remote else "refs/heads/"
    text = _text(ctx, locals(), "for-each-ref", "--format", "%(refname)", below)
    return [line.removeprefix(below) for line in text.splitlines()]


def list_tags(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> list[str]:
    """The tags.

    CLI Example:

        salt myminion git.list_tags /path/to/repo
    """
    text = _text(ctx, locals(), "for-each-ref", "--format", "%(refname)", "refs/tags/")
    return [line.removeprefix("refs/tags/") for line in text.splitlines()]


def list_worktrees(
    ctx: MinionContext,
    cwd: str,
    stale: bool = False,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """The work trees of a repository; ``stale`` are those that are gone, ``all`` both.

    CLI Example:

        salt myminion git.list_worktrees /path/to/repo all=True
    """
    given = _git.own(kwargs, "all")
    trees = _git.parse_worktrees(_text(ctx, locals(), "worktree", "list", "--porcelain"))
    for path, tree in trees.items():
        tree["stale"] = not ctx.host.is_dir(path)
        if tree["detached"] and "HEAD" in tree:
            text = _text(ctx, locals(), "tag", "--points-at", tree["HEAD"])
            tree |= {"tags": text.splitlines()} if text else {}
    if given.get("all"):
        return trees
    return {path: tree for path, tree in trees.items() if tree["stale"] == bool(stale)}


def ls_remote(
    ctx: MinionContext,
    cwd: str | None = None,
    remote: str = "origin",
    ref: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    saltenv: str = "base",
) -> dict[str, str]:
    """The references of a remote, and the revisions they stand for.

    CLI Example:

        salt myminion git.ls_remote /path/to/repo origin master
        salt myminion git.ls_remote remote=https://mydomain.tld/repo.git opts='--tags'
    """
    address = _git.with_login(str(remote), https_user, https_pass)
    words = [*_git.option_words(opts), address, *([str(ref)] if ref else [])]
    return _git.parse_refs(_text(ctx, locals(), "ls-remote", *words))


def merge(
    ctx: MinionContext,
    cwd: str,
    rev: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> str:
    """Merge a revision into the current branch; without one what it follows.

    CLI Example:

        salt myminion git.merge /path/to/repo branchname
    """
    _git.own(kwargs)
    words = [*_git.option_words(opts), *([str(rev)] if rev else [])]
    return _text(ctx, locals(), "merge", *words)


def merge_base(
    ctx: MinionContext,
    cwd: str,
    refs: Any = None,
    octopus: bool = False,
    is_ancestor: bool = False,
    independent: bool = False,
    fork_point: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Any:
    """The best common ancestor of revisions; with ``is_ancestor`` whether the first is one.

    ``all`` tells all of them, one in a line.

    CLI Example:

        salt myminion git.merge_base /path/to/repo refs=origin/master,foo
    """
    given = _git.own(kwargs, "all")
    chosen = [bool(each) for each in (octopus, independent, is_ancestor, fork_point)]
    if sum(chosen) > 1:
        raise UsageError(
            "Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted"
        )
    names = refs.split(",") if isinstance(refs, str) else [str(each) for each in refs or []]
    if is_ancestor and len(names) != 2:
        raise UsageError("Two refs/commits are required if 'is_ancestor' is True")
    words = ["--octopus"] * octopus + ["--independent"] * independent
    words += ["--is-ancestor"] * is_ancestor
    words += ["--all"] if given.get("all") else []
    words += ["--fork-point", str(fork_point)] if fork_point else []
    words = ["merge-base", *_git.option_words(opts), *words, *names]
    if is_ancestor:
        return bool(_outcome(ctx, locals(), *words, fail=False).retcode == 0)
    return _text(ctx, locals(), *words)


def merge_tree(
    ctx: MinionContext,
    cwd: str,
    ref1: str,
    ref2: str,
    base: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """What a merge of two revisions would change, without touching anything.

    CLI Example:

        salt myminion git.merge_tree /path/to/repo HEAD upstream/dev
    """
    arguments = dict(locals())
    if base is None:
        base = _text(ctx, arguments, "merge-base", str(ref1), str(ref2))
    return _text(ctx, arguments, "merge-tree", str(base), str(ref1), str(ref2))


def pull(
    ctx: MinionContext,
    cwd: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
) -> str:
    """Fetch and merge.

    CLI Example:

        salt myminion git.pull /path/to/repo opts='--rebase origin master'
    """
    return _text(ctx, locals(), "pull", *_git.option_words(opts))


def push(
    ctx: MinionContext,
    cwd: str,
    remote: str | None = None,
    ref: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
    **kwargs: Any,
) -> str:
    """Send revisions to a remote.

    CLI Example:

        salt myminion git.push /path/to/repo origin issue21
    """
    _git.own(kwargs)
    if not (remote and ref):
        raise UsageError("Both 'remote' and 'ref' are required")
    return _text(ctx, locals(), "push", *_git.option_words(opts), str(remote), str(ref))


def rebase(
    ctx: MinionContext,
    cwd: str,
    rev: str = "master",
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put the current branch on top of a revision.

    CLI Example:

        salt myminion git.rebase /path/to/repo master
    """
    words = [*_git.option_words(opts), str(rev)]
    return _text(ctx, locals(), "rebase", *words)


def remote_get(
    ctx: MinionContext,
    cwd: str,
    remote: str = "origin",
    user: str | None = None,
    password: str | None = None,
    redact_auth: bool = True,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> dict[str, str]:
    """The addresses of a remote; passwords are hidden unless ``redact_auth`` is off.

    CLI Example:

        salt myminion git.remote_get /path/to/repo upstream
    """
    found = remotes(ctx, cwd, user, password, redact_auth, ignore_retcode, output_encoding)
    if remote not in found:
        raise FunctionError(
            f"Remote '{remote}' not present in git checkout located at {_git.directory(cwd)}"
        )
    return found[remote]


def remote_refs(
    ctx: MinionContext,
    url: str,
    heads: bool = False,
    tags: bool = False,
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    saltenv: str = "base",
    **kwargs: Any,
) -> dict[str, str]:
    """The references of a repository elsewhere; ``filter`` is a glob for them.

    CLI Example:

        salt myminion git.remote_refs https://github.com/saltstack/salt.git heads=True
    """
    given = _git.own(kwargs, "filter")
    address = _git.with_login(str(url), https_user, https_pass)
    words = ["--heads"] * bool(heads) + ["--tags"] * bool(tags)
    wanted = [str(given["filter"])] if given.get("filter") else []
    return _git.parse_refs(_text(ctx, locals(), "ls-remote", *words, address, *wanted))


def remote_set(
    ctx: MinionContext,
    cwd: str,
    url: str,
    remote: str = "origin",
    user: str | None = None,
    password: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    push_url: str | None = None,
    push_https_user: str | None = None,
    push_https_pass: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> dict[str, str]:
    """Set the addresses of a remote, which is made if it is not there.

    CLI Example:

        salt myminion git.remote_set /path/to/repo git@github.com:user/repo.git remote=upstream
    """
    arguments = dict(locals())
    address = _git.with_login(str(url), https_user, https_pass)
    pushed = _git.with_login(push_url, push_https_user, push_https_pass) if push_url else None
    if remote in remotes(ctx, cwd, user):
        _text(ctx, arguments, "remote", "rm", str(remote))
    _text(ctx, arguments, "remote", "add", str(remote), address)
    if pushed:
        _text(ctx, arguments, "remote", "set-url", "--push", str(remote), pushed)
    return remote_get(ctx, cwd, remote, user)


def remotes(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    redact_auth: bool = True,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> dict[str, dict[str, str]]:
    """The addresses of all remotes; passwords are hidden unless ``redact_auth`` is off.

    CLI Example:

        salt myminion git.remotes /path/to/repo
    """
    text = _text(ctx, locals(), "remote", "--verbose", "show")
    return _git.parse_remotes(text, hide=redact_auth)


def reset(
    ctx: MinionContext,
    cwd: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Reset the index or the work tree, as ``opts`` say.

    CLI Example:

        salt myminion git.reset /path/to/repo opts='--hard origin/master'
    """
    return _text(ctx, locals(), "reset", *_git.option_words(opts))


def rev_parse(
    ctx: MinionContext,
    cwd: str,
    rev: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """What ``git rev-parse`` makes of a revision or of ``opts``.

    CLI Example:

        salt myminion git.rev_parse /path/to/repo develop opts='--abbrev-ref'
    """
    words = [*_git.option_words(opts), *([str(rev)] if rev is not None else [])]
    return _text(ctx, locals(), "rev-parse", *words)


def revision(
    ctx: MinionContext,
    cwd: str,
    rev: str = "HEAD",
    short: bool = False,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """The hash of a revision.

    CLI Example:

        salt myminion git.revision /path/to/repo mybranch short=True
    """
    return _text(ctx, locals(), "rev-parse", *(["--short"] if short else []), str(rev))


def rm(
    ctx: MinionContext,
    cwd: str,
    filename: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Remove files from the work tree and the index.

    CLI Example:

        salt myminion git.rm /path/to/repo foo/bar.py opts='--dry-run'
    """
    return _text(ctx, locals(), "rm", *_git.option_words(opts), "--", str(filename))


def stash(
    ctx: MinionContext,
    cwd: str,
    action: str = "save",
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put changes aside, or what ``action`` says.

    CLI Example:

        salt myminion git.stash /path/to/repo save opts='work in progress'
    """
    return _text(ctx, locals(), "stash", str(action), *_git.option_words(opts))


def status(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> dict[str, list[str]]:
    """The changed files by what happened to them: modified, new, deleted, untracked.

    CLI Example:

        salt myminion git.status /path/to/repo
    """
    outcome = _outcome(ctx, locals(), "status", "-z", "--porcelain")
    return _git.parse_status(outcome.stdout)


def submodule(
    ctx: MinionContext,
    cwd: str,
    command: str,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
    **kwargs: Any,
) -> str:
    """Run a command of ``git submodule``.

    CLI Example:

        salt myminion git.submodule /path/to/repo update opts='--init --recursive'
    """
    if "init" in kwargs:
        raise UsageError(
            "The 'init' argument is no longer supported. Either set 'command' to 'init', or"
            " include '--init' in the 'opts' argument and set 'command' to 'update'."
        )
    _git.own(kwargs)
    return _text(ctx, locals(), "submodule", str(command), *_git.option_words(opts))


def symbolic_ref(
    ctx: MinionContext,
    cwd: str,
    ref: str,
    value: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """What a symbolic reference stands for, or set it.

    CLI Example:

        salt myminion git.symbolic_ref /path/to/repo HEAD
    """
    words = [*_git.option_words(opts), str(ref), *([str(value)] if value else [])]
    return _text(ctx, locals(), "symbolic-ref", *words)


def tag(
    ctx: MinionContext,
    cwd: str,
    name: str,
    ref: str = "HEAD",
    message: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Make a tag; with ``message`` an annotated one.

    CLI Example:

        salt myminion git.tag /path/to/repo v1.2 message='Version 1.2'
    """
    words = [] if message is None else ["-m", str(message)]
    words += [*_git.option_words(opts), str(name), str(ref)]
    return _text(ctx, locals(), "tag", *words)


def version(ctx: MinionContext, versioninfo: bool = False) -> Any:
    """The version of git; with ``versioninfo`` as a list of numbers.

    CLI Example:

        salt myminion git.version
    """
    words = _text(ctx, {}, "--version").split()
    found = words[2] if len(words) > 2 else ""
    if not versioninfo:
        return found
    return [int(part) if part.isdigit() else part for part in found.split(".")]


def worktree_add(
    ctx: MinionContext,
    cwd: str,
    worktree_path: str,
    ref: str | None = None,
    reset_branch: bool | None = None,
    force: bool | None = None,
    detach: bool = False,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> str:
    """Make another work tree; ``branch`` names a new branch for it, without which it is its name.

    CLI Example:

        salt myminion git.worktree_add /path/to/repo ../hotfix ref=origin/master
        salt myminion git.worktree_add /path/to/repo ../hotfix branch=hotfix21 ref=v2.1.9.3
    """
    given = _git.own(kwargs, "branch")
    name = given.get("branch")
    if name and detach:
        raise UsageError("Only one of 'branch' and 'detach' is allowed")
    words = ["--detach"] * bool(detach) + ["--force"] * bool(force)
    if not (name or detach):
        name = os.path.basename(str(worktree_path).rstrip("/"))
    if name:
        words += ["-B" if reset_branch else "-b", str(name)]
    words += [*_git.option_words(opts), str(worktree_path), *([str(ref)] if ref else [])]
    outcome = _outcome(ctx, locals(), "worktree", "add", *words)
    said = (outcome.stderr.rstrip(), outcome.stdout.rstrip())
    return "\n".join(part for part in said if part)


def worktree_prune(
    ctx: MinionContext,
    cwd: str,
    dry_run: bool = False,
    verbose: bool = True,
    expire: str | None = None,
    opts: Any = "",
    git_opts: Any = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Forget work trees that are gone.

    CLI Example:

        salt myminion git.worktree_prune /path/to/repo dry_run=True
    """
    words = ["--dry-run"] * bool(dry_run) + ["--verbose"] * bool(verbose)
    words += ["--expire", str(expire)] if expire else []
    return _run(ctx, locals(), "worktree", "prune", *words, *_git.option_words(opts))


def worktree_rm(
    ctx: MinionContext, cwd: str, user: str | None = None, output_encoding: str | None = None
) -> bool:
    """Remove the directory of a work tree; ``git.worktree_prune`` then forgets it.

    CLI Example:

        salt myminion git.worktree_rm /path/to/worktree
    """
    import shutil

    path = _git.directory(cwd)
    if not ctx.host.exists(path):
        raise FunctionError(f"{path} does not exist")
    if not is_worktree(ctx, path, user=user, output_encoding=output_encoding):
        raise FunctionError(f"{path} is not a git worktree")
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise FunctionError(f"Unable to remove {path}: {error.strerror}") from error
    return True
