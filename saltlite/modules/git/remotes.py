"""Repositories elsewhere: their addresses and references, fetching and sending."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.git._command import GitOptions, outcome_of, text_of
from saltlite.providers import git


@takes_options(GitOptions)
def fetch(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    remote: str | None = None,
    force: bool = False,
    refspecs: Any = None,
) -> dict[str, Any]:
    """Get what a remote has; new and updated branches and tags.

    CLI Example:

        salt myminion git.fetch /path/to/repo upstream
    """
    words = ["--force"] if force else []
    words += git.option_words(options.opts)
    words += [str(remote)] if remote else []
    if refspecs is not None:
        given = [refspecs] if isinstance(refspecs, str) else list(refspecs)
        words += [str(each) for each in given]
    outcome = outcome_of(ctx, options, cwd, "fetch", *words)
    return git.parse_fetched(outcome.stderr)


@takes_options(
    GitOptions,
    "opts git_opts user password identity https_user https_pass ignore_retcode output_encoding"
    " saltenv",
)
def ls_remote(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str | None = None,
    remote: str = "origin",
    ref: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
) -> dict[str, str]:
    """The references of a remote, and the revisions they stand for.

    CLI Example:

        salt myminion git.ls_remote /path/to/repo origin master
        salt myminion git.ls_remote remote=https://mydomain.tld/repo.git opts='--tags'
    """
    address = git.with_login(str(remote), https_user, https_pass)
    words = [*git.option_words(options.opts), address, *([str(ref)] if ref else [])]
    return git.parse_refs(text_of(ctx, options, cwd, "ls-remote", *words))


@takes_options(GitOptions)
def pull(ctx: MinionContext, options: GitOptions, /, cwd: str) -> str:
    """Fetch and merge.

    CLI Example:

        salt myminion git.pull /path/to/repo opts='--rebase origin master'
    """
    return text_of(ctx, options, cwd, "pull", *git.option_words(options.opts))


@takes_options(GitOptions)
def push(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    remote: str | None = None,
    ref: str | None = None,
    **kwargs: Any,
) -> str:
    """Send revisions to a remote.

    CLI Example:

        salt myminion git.push /path/to/repo origin issue21
    """
    git.own(kwargs)
    if not (remote and ref):
        raise UsageError("Both 'remote' and 'ref' are required")
    return text_of(
        ctx, options, cwd, "push", *git.option_words(options.opts), str(remote), str(ref)
    )


@takes_options(GitOptions, "user password redact_auth ignore_retcode output_encoding")
def remote_get(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    remote: str = "origin",
    redact_auth: bool = True,
) -> dict[str, str]:
    """The addresses of a remote; passwords are hidden unless ``redact_auth`` is off.

    CLI Example:

        salt myminion git.remote_get /path/to/repo upstream
    """
    return _find_remote(ctx, options, cwd, remote, redact_auth)


@takes_options(
    GitOptions,
    "user password identity https_user https_pass ignore_retcode output_encoding saltenv",
)
def remote_refs(
    ctx: MinionContext,
    options: GitOptions,
    /,
    url: str,
    heads: bool = False,
    tags: bool = False,
    https_user: str | None = None,
    https_pass: str | None = None,
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
    return git.parse_refs(text_of(ctx, options, None, "ls-remote", *words, address, *wanted))


@takes_options(
    GitOptions,
    "user password https_user https_pass push_url push_https_user push_https_pass ignore_retcode"
    " output_encoding",
)
def remote_set(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    url: str,
    remote: str = "origin",
    https_user: str | None = None,
    https_pass: str | None = None,
    push_url: str | None = None,
    push_https_user: str | None = None,
    push_https_pass: str | None = None,
) -> dict[str, str]:
    """Set the addresses of a remote, which is made if it is not there.

    CLI Example:

        salt myminion git.remote_set /path/to/repo git@github.com:user/repo.git remote=upstream
    """
    address = git.with_login(str(url), https_user, https_pass)
    pushed = git.with_login(push_url, push_https_user, push_https_pass) if push_url else None
    if remote in _read_remotes(ctx, options, cwd):
        text_of(ctx, options, cwd, "remote", "rm", str(remote))
    text_of(ctx, options, cwd, "remote", "add", str(remote), address)
    if pushed:
        text_of(ctx, options, cwd, "remote", "set-url", "--push", str(remote), pushed)
    return _find_remote(ctx, options, cwd, remote)


@takes_options(GitOptions, "user password redact_auth ignore_retcode output_encoding")
def remotes(
    ctx: MinionContext, options: GitOptions, /, cwd: str, redact_auth: bool = True
) -> dict[str, dict[str, str]]:
    """The addresses of all remotes; passwords are hidden unless ``redact_auth`` is off.

    CLI Example:

        salt myminion git.remotes /path/to/repo
    """
    return _read_remotes(ctx, options, cwd, redact_auth)


def _read_remotes(
    ctx: MinionContext, options: GitOptions, cwd: str, redact_auth: bool = True
) -> dict[str, dict[str, str]]:
    text = text_of(ctx, options, cwd, "remote", "--verbose")
    return git.parse_remotes(text, hide=redact_auth)


def _find_remote(
    ctx: MinionContext, options: GitOptions, cwd: str, remote: str, redact_auth: bool = True
) -> dict[str, str]:
    found = _read_remotes(ctx, options, cwd, redact_auth)
    if remote not in found:
        raise FunctionError(
            f"Remote '{remote}' not present in git checkout located at {git.directory(cwd)}"
        )
    return found[remote]
