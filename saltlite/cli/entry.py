"""Where the installed commands begin: a version is said at once, all else loads the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from saltlite.cli.process_start import DAEMONS
from saltlite.cli.version import answer_version


def salt() -> int:
    """``salt``."""
    return _run_command("salt")


def salt_api() -> int:
    """``salt-api``."""
    return _run_command("salt-api")


def salt_call() -> int:
    """``salt-call``."""
    return _run_command("salt-call")


def salt_cp() -> int:
    """``salt-cp``."""
    return _run_command("salt-cp")


def salt_key() -> int:
    """``salt-key``."""
    return _run_command("salt-key")


def salt_master() -> int:
    """``salt-master``."""
    return _run_command("salt-master")


def salt_minion() -> int:
    """``salt-minion``."""
    return _run_command("salt-minion")


def salt_run() -> int:
    """``salt-run``."""
    return _run_command("salt-run")


def salt_syndic() -> int:
    """``salt-syndic``."""
    return _run_command("salt-syndic")


def _run_command(name: str) -> int:
    try:
        if answer_version(name, sys.argv[1:]):
            sys.stdout.flush()
            return 0
    except OSError as error:
        if name in DAEMONS:
            from saltlite.cli.command import give_up_output

            return give_up_output(name, error)
        # another command says it again, and that it cannot
    import importlib

    command = importlib.import_module(f"saltlite.cli.{name.replace('-', '_')}")
    code: int = command.main()
    if name in DAEMONS:
        _drop_unwritten(sys.stdout.flush, 1)
        _drop_unwritten(sys.stderr.flush, 2)
    return code


def _drop_unwritten(flush: Callable[[], None], number: int) -> None:
    """Keep a daemon's exit code: what a full disk has not taken, Python would try again."""
    try:
        flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(null, number)
