"""``fileserver.*``: what the master's file server has. Source: docs/cli.md#salt-run; Salt 3006.30.

The server reads directories again when they change, in every process for itself; only ``gitfs``
keeps something on disk. There are no locks to hold, and the functions for these say so as Salt
does.
"""

from __future__ import annotations

from typing import Any

from saltlite.config.load import BACKENDS
from saltlite.fileserver.server import file_server
from saltlite.runner_context import RunnerContext


def envs(ctx: RunnerContext, backend: object = None, sources: bool = False) -> list[str]:
    """Return the environments; with ``sources`` the back ends that have any.

    CLI Example:

        salt-run fileserver.envs
        salt-run fileserver.envs backend=roots
    """
    server = file_server(ctx.config)
    if sources:
        return [name for name in server.backends if server.envs([name])]
    return server.envs(_split_backends(backend))


def file_list(
    ctx: RunnerContext, saltenv: str = "base", backend: object = None, prefix: str = ""
) -> list[str]:
    """Return the files of an environment.

    CLI Example:

        salt-run fileserver.file_list
        salt-run fileserver.file_list saltenv=prod prefix=http
    """
    return file_server(ctx.config).files(saltenv, prefix, _split_backends(backend))


def dir_list(ctx: RunnerContext, saltenv: str = "base", backend: object = None) -> list[str]:
    """Return the directories of an environment.

    CLI Example:

        salt-run fileserver.dir_list saltenv=prod
    """
    return file_server(ctx.config).dirs(saltenv, only=_split_backends(backend))


def empty_dir_list(ctx: RunnerContext, saltenv: str = "base", backend: object = None) -> list[str]:
    """Return the empty directories of an environment.

    CLI Example:

        salt-run fileserver.empty_dir_list
    """
    return file_server(ctx.config).empty_dirs(saltenv, only=_split_backends(backend))


def symlink_list(
    ctx: RunnerContext, saltenv: str = "base", backend: object = None, prefix: str = ""
) -> dict[str, str]:
    """Return the links of an environment and where they lead.

    CLI Example:

        salt-run fileserver.symlink_list
    """
    return file_server(ctx.config).symlinks(saltenv, prefix, _split_backends(backend))


def update(ctx: RunnerContext, backend: object = None, **_kwargs: Any) -> bool:
    """Fetch what back ends serve from elsewhere; the directories of this machine are up to date.

    CLI Example:

        salt-run fileserver.update
    """
    file_server(ctx.config).update(_split_backends(backend))
    return True


def clear_cache(ctx: RunnerContext, backend: object = None) -> dict[str, list[str]] | str:
    """Remove what back ends have fetched from elsewhere; it is fetched again when it is needed.

    CLI Example:

        salt-run fileserver.clear_cache
        salt-run fileserver.clear_cache backend=gitfs
    """
    asked = dict(zip(_split_backends(backend), _names_as_given(backend), strict=True))
    cleared, errors = file_server(ctx.config).clear(list(asked))
    told = {
        "cleared": [
            f"The {asked.get(name, name)} fileserver cache was successfully cleared"
            for name in cleared
        ],
        "errors": errors,
    }
    return {kind: lines for kind, lines in told.items() if lines} or "No cache was cleared"


def clear_file_list_cache(
    ctx: RunnerContext, saltenv: object = None, backend: object = None
) -> dict[str, list[str]]:
    """Forget lists of files, by back end; there are none that do not follow the disk.

    CLI Example:

        salt-run fileserver.clear_file_list_cache saltenv=base
    """
    return {}


def lock(ctx: RunnerContext, backend: object = None, remote: object = None) -> str:
    """Keep back ends from updating.

    CLI Example:

        salt-run fileserver.lock
    """
    return "No locks were set"


def clear_lock(ctx: RunnerContext, backend: object = None, remote: object = None) -> str:
    """Let them update again.

    CLI Example:

        salt-run fileserver.clear_lock
    """
    return "No locks were removed"


def _split_backends(wanted: object) -> list[str]:
    """Names of back ends, in a list or with commas; none for all."""
    return [BACKENDS.get(name, name) for name in _names_as_given(wanted)]


def _names_as_given(wanted: Any) -> list[str]:
    """The names as they were given."""
    names = wanted.split(",") if isinstance(wanted, str) else wanted or ()
    return [str(name).strip() for name in names if str(name).strip()]
