"""Repositories elsewhere: their addresses and references, fetching and sending."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.git._command import outcome_of, text_of
from saltlite.providers import git


def fetch(
    ctx: MinionContext,
    cwd: str,
    remote: str | None = None,
    force: bool = False,
    refspecs: Any = None,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
) -> dict[str, Any]:
    """Get what a remote has; new and updated branches and tags.

    CLI Example:

        salt myminion git.fetch /path/to/repo upstream
    """
    words = ["--force"] if force else []
    words += git.option_words(opts)
    words += [str(remote)] if remote else []
    if refspecs is not None:
        given = [refspecs] if isinstance(refspecs, str) else list(refspecs)
        words += [str(each) for each in given]
    outcome = outcome_of(ctx, locals(), "fetch", *words)
    return git.parse_fetched(outcome.stderr)


def ls_remote(
    ctx: MinionContext,
    cwd: str | None = None,
    remote: str = "origin",
    ref: str | None = None,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
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
    address = git.with_login(str(remote), https_user, https_pass)
    words = [*git.option_words(opts), address, *([str(ref)] if ref else [])]
    return git.parse_refs(text_of(ctx, locals(), "ls-remote", *words))


def pull(
    ctx: MinionContext,
    cwd: str,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
) -> str:
    """Fetch and merge.

    CLI Example:

        salt myminion git.pull /path/to/repo opts='--rebase origin master'
    """
    return text_of(ctx, locals(), "pull", *git.option_words(opts))


def push(
    ctx: MinionContext,
    cwd: str,
    remote: str | None = None,
    ref: str | None = None,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
    ignore_retcode: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
    **kwargs: Any,
) -> str:
    """Send revisions to a remote.

    CLI Example:

        salt myminion git.push /path/to/repo origin issue21
    """
    git.own(kwargs)
    if not (remote and ref):
        raise UsageError("Both 'remote' and 'ref' are required")
    return text_of(ctx, locals(), "push", *git.option_words(opts), str(remote), str(ref))


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
            f"Remote '{remote}' not present in git checkout located at {git.directory(cwd)}"
        )
    return found[remote]


def remote_refs(
    ctx: MinionContext,
    url: str,
    heads: bool = False,
    tags: bool = False,
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
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
    given = git.own(kwargs, "filter")
    address = git.with_login(str(url), https_user, https_pass)
    words = ["--heads"] * bool(heads) + ["--tags"] * bool(tags)
    wanted = [str(given["filter"])] if given.get("filter") else []
    return git.parse_refs(text_of(ctx, locals(), "ls-remote", *words, address, *wanted))


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
    address = git.with_login(str(url), https_user, https_pass)
    pushed = git.with_login(push_url, push_https_user, push_https_pass) if push_url else None
    if remote in remotes(ctx, cwd, user):
        text_of(ctx, arguments, "remote", "rm", str(remote))
    text_of(ctx, arguments, "remote", "add", str(remote), address)
    if pushed:
        text_of(ctx, arguments, "remote", "set-url", "--push", str(remote), pushed)
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
    text = text_of(ctx, locals(), "remote", "--verbose")
    return git.parse_remotes(text, hide=redact_auth)
