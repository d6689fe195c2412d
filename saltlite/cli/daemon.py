"""What the commands of daemons share: one line and an exit code where a daemon cannot start.

Source: docs/command-line.md#exit-codes.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from saltlite.errors import NoSuchUser, SaltliteError

log = logging.getLogger(__name__)

EX_CANNOT_START = 1
EX_NO_USER = 67


def run_privately(name: str, run: Callable[[], int], *, in_background: bool) -> int:
    """Run a daemon that goes to the background first if asked to; its files are its own."""
    if in_background:
        from saltlite import process

        process.go_background()
    os.umask(0o077)
    return run_or_explain(name, run, is_heard=not in_background)


def run_or_explain(name: str, run: Callable[[], int], *, is_heard: bool = True) -> int:
    """Run a daemon; if it cannot start, say why in one line and return 1, or 67 without its user.

    ``is_heard``: somebody may see standard error; else the line is logged, too.
    """
    try:
        return run()
    except SaltliteError as error:
        if not is_heard:
            log.critical("%s", error)
        sys.stderr.write(f"{name}: {error}\n")
        return EX_NO_USER if isinstance(error, NoSuchUser) else EX_CANNOT_START
