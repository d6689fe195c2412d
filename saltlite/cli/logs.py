"""Logging as the options of docs/config.md#log say, from a command's first record on.

Commands call :func:`early` before they read their configuration and :func:`setup` after it. Most
log nothing, and then do not load ``logging`` (``cli/deferred_imports.py``), which is a tenth of
their time: what is asked for here is done when it is loaded, with the first record at the latest.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.cli.deferred_imports import LaterLogger, is_loaded, load_now, when_loaded
from saltlite.config.display import LOG_FILE_MODE, LOG_LEVELS
from saltlite.errors import StoreError

if TYPE_CHECKING:
    from saltlite.config.display import LogOptions

_FREQUENT = {"debug": LOG_LEVELS["debug"], "info": LOG_LEVELS["info"]}
"""Records that commands make wherever they are; most are not asked for."""


def early(level: str = "warning") -> None:
    """Log to the console until the configuration says more; keep warnings for the log file."""

    def install() -> None:
        from saltlite.cli import log_handlers

        log_handlers.install_early(level)

    _want([level, "warning"])
    when_loaded("logging", install)


def early_records() -> list[dict[str, Any]]:
    """What was logged since :func:`early`, as plain values that another process can take over."""
    if not is_loaded("logging"):
        return []
    from saltlite.cli import log_handlers

    return log_handlers.early_records()


def write_kept(records: Iterable[Mapping[str, object]]) -> None:
    """Log what was kept where the console is not: there it has been seen already."""
    load_now("logging")
    from saltlite.cli import log_handlers

    log_handlers.write_kept(records)


def setup(
    options: LogOptions,
    *,
    console: bool = True,
    log_file: str | None = None,
    at_once: bool = False,
    colour: bool = False,
) -> None:
    """Log as ``options`` say. Called again (SIGHUP), it replaces what it set up before.

    ``console`` is off for a daemon in the background. ``log_file`` replaces the option's (salt-key
    has its own). ``at_once`` opens the file now, so that a daemon says at its start if it cannot;
    commands open it with the first record. A syslog is connected to now, since Salt says at the
    start that it is not there.
    """

    def install() -> None:
        from saltlite.cli import log_handlers

        log_handlers.install(
            options, console=console, log_file=log_file, at_once=at_once, colour=colour
        )

    granular = [str(level).lower() for level in options.log_granular_levels.values()]
    _want([options.log_level, options.log_level_logfile or options.log_level, *granular])
    when_loaded("logging", install)
    if at_once or "://" in (options.log_file if log_file is None else log_file):
        load_now("logging")


def prepare_for(user: str, target: str) -> None:
    """As root, make a log file that is not there for the user that a daemon is going to be.

    Its directory is given to that user too if it is made here. A file that is there is left alone:
    who owns the directory may have put a link to another one there.
    """
    if os.geteuid() != 0 or not user or not target or "://" in target:
        return
    import pwd

    from saltlite import disk

    with contextlib.suppress(KeyError, OSError, StoreError):
        account = pwd.getpwnam(user)
        path = Path(target)
        with disk.with_umask(0o022):
            if not path.parent.is_dir():
                disk.make_dir(path.parent, 0o755)
                os.chown(path.parent, account.pw_uid, account.pw_gid)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, LOG_FILE_MODE)
        os.fchown(fd, account.pw_uid, account.pw_gid)
        os.close(fd)


def reopen() -> None:
    """Open the log files anew if they were moved away, without waiting for the next record."""
    load_now("logging")
    from saltlite.cli import log_handlers

    log_handlers.reopen()


def close() -> None:
    """Take down what :func:`early` or :func:`setup` put up, or asked for."""

    def remove() -> None:
        from saltlite.cli import log_handlers

        log_handlers.close()

    when_loaded("logging", remove)


def _want(levels: Iterable[str]) -> None:
    """Records of the lowest of these levels are worth loading ``logging``; others are not."""
    lowest = min(LOG_LEVELS.get(level, 0) for level in levels)
    LaterLogger.unwanted = frozenset(name for name, each in _FREQUENT.items() if each < lowest)
