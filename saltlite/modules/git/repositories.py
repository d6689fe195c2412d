"""Make repositories, and what is of a whole one."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.numbers import is_digits
from saltlite.errors import UsageError
from saltlite.host import Host
from saltlite.modules.git._command import LOCAL, GitOptions, text_of
from saltlite.providers import git


@takes_options(GitOptions, "git_opts user password ignore_retcode output_encoding")
def archive(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    output: str,
    rev: str = "HEAD",
    prefix: str | None = None,
    **kwargs: Any,
) -> bool:
    """Write an archive of a revision; ``format`` if the name does not tell.

    Without ``prefix`` everything is below the name of the directory.

    CLI Example:

        salt myminion git.archive /path/to/repo /path/to/archive.tar
    """
    given = git.own(kwargs, "format", "fmt")
    kind = given.get("format") or given.get("fmt")
    if prefix is None:
        prefix = f"{os.path.basename(git.directory(cwd))}/"
    words = ["--prefix", prefix] if prefix else []
    words += ["--format", str(kind)] if kind else []
    text_of(ctx, options, cwd, "archive", *words, "--output", output, str(rev))
    return True


@takes_options(
    GitOptions,
    "opts git_opts user password identity https_user https_pass ignore_retcode saltenv"
    " output_encoding",
)
def clone(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    url: str | None = None,
    name: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
) -> bool:
    """Clone a repository to ``cwd``, or to the directory ``name`` in it.

    CLI Example:

        salt myminion git.clone /path/to/repo_parent_dir https://github.com/saltstack/salt.git
    """
    if url is None:
        raise UsageError("Missing 'url' argument")
    address = git.with_login(str(url), https_user, https_pass)
    target = git.directory(cwd)
    if name:
        target = os.path.join(target, str(name))
    git.refuse_misleading(target, options.user)
    words = ["clone", *git.option_words(options.opts), "--", address, target]
    text_of(ctx, options, _find_start(ctx.host, target), *words)
    return True


def _find_start(host: Host, path: str) -> str | None:
    """A directory to start in: none is needed, but the user's home may be closed to it."""
    parent = os.path.dirname(path)
    return parent if host.is_dir(parent) else None


@takes_options(GitOptions, LOCAL)
def init(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    bare: bool = False,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: object = None,
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
        # YAML gives 0660 as the number 660, as Salt reads it.
        mode = f"{shared:04d}" if isinstance(shared, int) and not isinstance(shared, bool) else ""
        words.append(f"--shared={mode or str(shared).lower()}")
    target = git.directory(cwd)
    git.refuse_misleading(target, options.user)
    return text_of(ctx, options, None, "init", *words, *git.option_words(options.opts), target)


@takes_options(GitOptions)
def submodule(
    ctx: MinionContext, options: GitOptions, /, cwd: str, command: str, **kwargs: Any
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
    git.own(kwargs)
    return text_of(ctx, options, cwd, "submodule", str(command), *git.option_words(options.opts))


def version(ctx: MinionContext, versioninfo: bool = False) -> Any:
    """The version of git; with ``versioninfo`` as a list of numbers.

    CLI Example:

        salt myminion git.version
    """
    words = text_of(ctx, GitOptions(), None, "--version").split()
    found = words[2] if len(words) > 2 else ""
    if not versioninfo:
        return found
    return [int(part) if is_digits(part) else part for part in found.split(".")]
