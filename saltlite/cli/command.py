"""How the commands that are no daemons begin and end: version, signals, errors as exit codes.

Used by ``salt``, ``salt-cp``, ``salt-key`` and ``salt-run``. Imports little, since ``--version`` is
answered here. Source: cli.md 2.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.cli.version import answered
from saltlite.core.terminal import sanitize
from saltlite.errors import MasterAbsent, MasterRefused, RequestTimeout, SaltliteError

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.options import CommandParser
    from saltlite.config.master import MasterConfig

EX_OK = 0
EX_FAILED = 1
EX_UNAVAILABLE = 69

_LOST_OUTPUT = frozenset(
    (errno.EBADF, errno.ENOSPC, errno.EIO, errno.EPIPE, errno.EDQUOT, errno.EFBIG)
)
"""What writing to a standard stream may fail with."""

INTERRUPTED = "\nExiting gracefully on Ctrl-c"

Work = Callable[["CommandParser", "optparse.Values", list[str]], int]
"""What a command does with its parser, its options and the other words; gives the exit code."""


def run(
    name: str, argv: Sequence[str] | None, make_parser: Callable[[], CommandParser], work: Work
) -> int:
    """One command from its words to its exit code; ``argv`` is ``None`` for the process's own.

    Raises:
        SystemExit: the parser or the configuration ended the command.
        SaltliteError: with ``--hard-crash``, instead of a line.
    """
    if argv is None:  # an end of output is no error: the reader of the pipe had enough
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return printing(name, lambda: _run(name, argv, make_parser, work))


def printing(name: str, command: Callable[[], int]) -> int:
    """The exit code of a command, 1 with one line on stderr where its output cannot be written."""
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _LOST_OUTPUT or error.filename is not None:
            raise
        return _give_up_output(name, error)


def _give_up_output(name: str, error: OSError) -> int:
    """Say so, and let what is still buffered go nowhere: Python would try it again at its end."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    try:
        return complain(f"{name}: the output cannot be written: {error.strerror}")
    except OSError:  # standard error is the one that cannot be written
        os.dup2(null, 2)
        return EX_FAILED


def _run(
    name: str, argv: Sequence[str] | None, make_parser: Callable[[], CommandParser], work: Work
) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if answered(name, words):
        return EX_OK
    parser = make_parser()
    options, arguments = parser.parse_command(words)
    try:
        return work(parser, options, arguments)
    except KeyboardInterrupt:
        return complain(INTERRUPTED)
    except SaltliteError as error:
        if options.hard_crash:
            raise
        return end_of(error)


def master_config(options: optparse.Values) -> MasterConfig:
    """The master's configuration under the command line's options, with logging as it says."""
    from saltlite.cli import logs
    from saltlite.cli.options import load_config
    from saltlite.config.load import load_master

    config = load_config(load_master, options)
    logs.setup(config.log)
    return config


def end_of(error: SaltliteError) -> int:
    """Print Salt's sentence for an error; the exit code, 69 where no master answers."""
    if isinstance(error, MasterRefused):
        return _say(error.message, EX_OK)
    if isinstance(error, RequestTimeout):
        from saltlite.client.local import TIMED_OUT

        return _say(TIMED_OUT, EX_UNAVAILABLE)
    if isinstance(error, MasterAbsent):
        return _say(str(error), EX_UNAVAILABLE)
    return complain(str(error))


def complain(text: Any, code: int = EX_FAILED) -> int:
    """One line on stderr, after what was printed before; gives ``code`` back."""
    sys.stdout.flush()
    sys.stderr.write(f"{sanitize(str(text))}\n")
    sys.stderr.flush()
    return code


def _say(text: str, code: int) -> int:
    sys.stdout.write(f"{sanitize(text)}\n")
    return code
