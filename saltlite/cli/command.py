"""How the commands that are no daemons begin and end: version, signals, errors as exit codes.

Used by ``salt``, ``salt-cp``, ``salt-key`` and ``salt-run``. Imports little, since ``--version`` is
answered here. Source: docs/command-line.md#exit-codes.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from saltlite.cli.version import answer_version
from saltlite.core.terminal import sanitize
from saltlite.errors import (
    AccessDenied,
    MasterAbsent,
    MasterRefused,
    RequestTimeout,
    SaltliteError,
)

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
    return printing(name, lambda: _run_command(name, argv, make_parser, work))


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
        return give_up_output(name, error)


def read_words(parser: CommandParser, argv: Sequence[str]) -> tuple[optparse.Values, list[str]]:
    """A daemon's options; help and versions that cannot be written end it with one line.

    Raises:
        SystemExit: the parser answered, or could not.
    """
    try:
        try:
            return parser.parse_command(argv)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _LOST_OUTPUT or error.filename is not None:
            raise
        raise SystemExit(give_up_output(parser.command, error)) from None


def give_up_output(name: str, error: OSError) -> int:
    """Say so, and let what is still buffered go nowhere: Python would try it again at its end."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    try:
        return complain(f"{name}: the output cannot be written: {error.strerror}")
    except OSError:  # standard error is the one that cannot be written
        os.dup2(null, 2)
        return EX_FAILED


def _run_command(
    name: str, argv: Sequence[str] | None, make_parser: Callable[[], CommandParser], work: Work
) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if answer_version(name, words):
        return EX_OK
    parser = make_parser()
    options, arguments = parser.parse_command(words)
    try:
        return work(parser, options, arguments)
    except KeyboardInterrupt:
        return complain(INTERRUPTED)
    except AccessDenied as error:
        if options.hard_crash:
            raise
        return complain(explain_denial(name, error.path))
    except SaltliteError as error:
        if options.hard_crash:
            raise
        return end_of(error)
    except PermissionError as error:
        if options.hard_crash or error.filename is None:
            raise
        return complain(explain_denial(name, os.fsdecode(error.filename)))


def master_config(options: optparse.Values, *, own_files: bool = False) -> MasterConfig:
    """The master's configuration under the command line's options, with logging as it says.

    With ``own_files`` the command works on the master's files itself.

    Raises:
        AccessDenied: they are not open to this user.
    """
    from saltlite.cli import logs
    from saltlite.cli.options import load_config
    from saltlite.config.load import load_master

    config = load_config(load_master, options)
    if own_files:
        check_access(config.paths.pki_dir, config.paths.cachedir)
    logs.setup(config.log)
    return config


def check_access(*directories: str) -> None:
    """Ensure that this process may work in directories, as far as they are there.

    Raises:
        AccessDenied: it may not; the error names the first one.
    """
    for path in directories:
        try:
            os.stat(path)
        except FileNotFoundError:
            continue
        except PermissionError:
            raise AccessDenied(path) from None
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise AccessDenied(path)


def explain_denial(name: str, path: str) -> str:
    """One line: which file is closed, who may run the command, and what to do."""
    daemon = "minion" if name == "salt-call" else "master"
    may, more = f"root and the {daemon}'s user", ""
    if name in ("salt", "salt-cp"):
        from saltlite.client.identity import process_user

        may = "root, the master's user and the users that publisher_acl names"
        more = f", or name {process_user()} in publisher_acl and start the master anew"
    elif name == "salt-call":
        more = ", or --local for what needs no master"
    return f"{name}: no permission to use {path}. It is for {may}: use sudo{more}."


def end_of(error: SaltliteError) -> int:
    """Print Salt's sentence for an error; the exit code, 69 where no master answers."""
    if isinstance(error, MasterRefused):
        from saltlite.core.messages import LOGINS_BUSY

        if error.name == LOGINS_BUSY:
            return complain(f"ERROR: {error.message}", EX_UNAVAILABLE)
        # Salt's own refusals of who asks have names, and 0; what has none could not be done.
        return _print_and_return(error.message, EX_OK if error.name else EX_FAILED)
    if isinstance(error, RequestTimeout):
        from saltlite.client.jobs import TIMED_OUT

        return hint_at_doctor("salt-run", _print_and_return(TIMED_OUT, EX_UNAVAILABLE))
    if isinstance(error, MasterAbsent):
        return hint_at_doctor("salt-run", _print_and_return(str(error), EX_UNAVAILABLE))
    return complain(str(error))


def hint_at_doctor(command: str, code: int) -> int:
    """Say on a terminal what finds the cause; gives ``code`` back. Scripts read as before."""
    if sys.stderr.isatty():
        complain(f"{command} doctor looks for the cause, and names what mends it")
    return code


def complain(text: object, code: int = EX_FAILED) -> int:
    """One line on stderr, after what was printed before; gives ``code`` back."""
    sys.stdout.flush()
    sys.stderr.write(f"{sanitize(str(text))}\n")
    sys.stderr.flush()
    return code


def _print_and_return(text: str, code: int) -> int:
    sys.stdout.write(f"{sanitize(text)}\n")
    return code
