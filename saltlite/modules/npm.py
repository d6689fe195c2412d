"""Packages of Node.js: install, remove and list them with npm.

``dir`` is the directory of a project; without it packages are for the whole machine. Source:
answers observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.openat import refuse_misleading
from saltlite.providers import command
from saltlite.providers import npm as _npm
from saltlite.providers.command import CommandOptions


def _run_npm(
    ctx: MinionContext,
    words: Sequence[str],
    cwd: str | None = None,
    runas: str | None = None,
    env: object = None,
) -> command.Outcome:
    if ctx.host.which("npm") is None:
        raise FunctionError("'npm' is not available: it is not in the search path")
    if cwd and not runas:
        refuse_misleading(cwd)
    return command.run(
        ctx, list(words), CommandOptions(cwd=cwd, runas=runas, env=env, python_shell=False)
    )


def install(
    ctx: MinionContext,
    pkg: str | None = None,
    pkgs: Any = None,
    dir: str | None = None,
    runas: str | None = None,
    registry: str | None = None,
    env: object = None,
    dry_run: bool = False,
    silent: bool = True,
) -> Any:
    """Install packages, or what the ``package.json`` of ``dir`` asks for; what npm said.

    CLI Example:

        salt '*' npm.install coffee-script
        salt '*' npm.install pkg=coffee-script@1.0.1 dir=/path/to/project
    """
    packages = [str(each) for each in pkgs] if pkgs else [str(pkg)] if pkg else []
    words = _npm.installing(packages, dir, registry=registry, dry_run=dry_run, silent=silent)
    done = _run_npm(ctx, words, dir, runas, env)
    if done.retcode != 0:
        raise FunctionError(done.stderr or done.stdout)
    return _npm.parse_done(done.stdout)


def uninstall(
    ctx: MinionContext,
    pkg: str,
    dir: str | None = None,
    runas: str | None = None,
    env: object = None,
) -> bool:
    """Remove a package; whether npm could.

    CLI Example:

        salt '*' npm.uninstall coffee-script
    """
    words = ["npm", "uninstall", str(pkg), *([] if dir else ["--global"])]
    return _run_npm(ctx, words, dir, runas, env).retcode == 0


def list_(
    ctx: MinionContext,
    pkg: str | None = None,
    dir: str | None = None,
    runas: str | None = None,
    env: object = None,
    depth: object = None,
) -> dict[str, dict[str, Any]]:
    """The installed packages by name, each as npm describes it.

    CLI Example:

        salt '*' npm.list
    """
    done = _run_npm(ctx, _npm.listing(dir, depth, pkg), dir, runas, env)
    try:
        return _npm.parse_listed(done.stdout)  # unmet wishes of packages are a failure to npm
    except ValueError:
        raise FunctionError(done.stderr or f"npm list said: {done.stdout}") from None


def cache_clean(
    ctx: MinionContext,
    path: str | None = None,
    runas: str | None = None,
    env: object = None,
    force: bool = False,
) -> bool:
    """Empty npm's cache, or take ``path`` out of it; whether npm could.

    CLI Example:

        salt '*' npm.cache_clean force=True
    """
    words = ["npm", "cache", "clean", *([path] if path else []), *(["--force"] if force else [])]
    return _run_npm(ctx, words, runas=runas, env=env).retcode == 0


def cache_list(
    ctx: MinionContext, path: str | None = None, runas: str | None = None, env: object = None
) -> str:
    """What is in npm's cache.

    CLI Example:

        salt '*' npm.cache_list
    """
    done = _run_npm(ctx, ["npm", "cache", "ls", *([path] if path else [])], runas=runas, env=env)
    if done.retcode != 0 and done.stderr:
        raise FunctionError(done.stderr)
    return done.stdout


def cache_path(ctx: MinionContext, runas: str | None = None, env: object = None) -> str:
    """Where npm's cache is.

    CLI Example:

        salt '*' npm.cache_path
    """
    done = _run_npm(ctx, ["npm", "config", "get", "cache"], runas=runas, env=env)
    return done.stdout or done.stderr
