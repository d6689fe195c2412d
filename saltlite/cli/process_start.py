"""What a command makes sure of before it loads anything: whose modules it imports, and its streams.

Called by the package of the commands, so that it comes before PyYAML and all else that is not
Python's own. Python has looked at ``PYTHONPATH`` and ``sitecustomize`` by then: who may set a
command's environment has its rights. What this is against are entries that were never meant to
bring code: the working directory (an empty entry, ``python -m``), the directory of the script, and
directories that others may write.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence

COMMANDS = frozenset(
    (
        "salt", "salt-api", "salt-call", "salt-cp", "salt-key", "salt-master", "salt-minion",
        "salt-run",
    )
)  # fmt: skip
DAEMONS = frozenset(("salt-api", "salt-master", "salt-minion", "salt-syndic"))
_RUN_AS_MODULE = "-m"
"""``sys.argv[0]`` while ``python -m`` looks for the module."""

PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def prepare() -> None:
    """Mend ``sys.path`` and the standard streams, if this process is one of our commands."""
    command = os.path.basename(sys.argv[0]) if sys.argv else ""
    if command not in COMMANDS and command != _RUN_AS_MODULE:
        return
    open_missing_streams(is_daemon=command in DAEMONS)
    sys.path[:] = build_trusted_path(sys.path, _own_directory(command), _from_user())


def build_trusted_path(path: Sequence[str], own: str | None, from_user: Sequence[str]) -> list[str]:
    """``path`` without what others may have filled; what the user added comes last.

    ``own`` is the entry that Python made of the script or the working directory. So neither can
    put its modules in the place of Python's or of our own packages.
    """
    # Python has made relative entries absolute by now: "" has become the working directory
    added = {
        absolute: entry
        for absolute, entry in ((_make_absolute(entry), entry) for entry in from_user)
        if absolute in path and absolute != PACKAGE_PARENT
    }
    kept = [entry for entry in path if entry not in added]
    if kept and kept[0] == own and own != PACKAGE_PARENT:
        del kept[0]
    kept = [entry for entry in kept if os.path.isabs(entry)]
    return [*kept, *(entry for entry in added.values() if _is_trusted(entry))]


def _make_absolute(entry: str) -> str:
    try:
        return os.path.abspath(entry)
    except OSError:  # the working directory is gone
        return entry


def _own_directory(command: str) -> str | None:
    if command != _RUN_AS_MODULE:
        return os.path.dirname(os.path.realpath(sys.argv[0]))
    try:
        return os.getcwd()
    except OSError:
        return None


def _from_user() -> list[str]:
    """The entries of ``PYTHONPATH``, and the user's own directory: under sudo it is another's."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    site = sys.modules.get("site")
    return [*entries, *filter(None, [getattr(site, "USER_SITE", None)])]


def _is_trusted(directory: str) -> bool:
    reason = next(_find_doubts(directory), None)
    if reason is not None and directory:
        sys.stderr.write(f"WARNING: no modules are loaded from {directory}: {reason}\n")
    return reason is None


def _find_doubts(directory: str) -> Iterator[str]:
    if not os.path.isabs(directory):
        yield "it depends on the working directory"
        return
    try:
        status = os.stat(directory)
    except OSError as error:
        yield error.strerror or str(error)
        return
    if status.st_uid not in (0, os.geteuid()):
        yield f"it belongs to user {status.st_uid}"
    if status.st_mode & stat.S_IWOTH:
        yield "everybody may write there"


def open_missing_streams(*, is_daemon: bool) -> None:
    """Put ``/dev/null`` in the place of standard streams that the caller has closed.

    Else the next file that is opened would be standard output. Output of a command is not lost
    silently: writing it fails, as it does with a closed one.
    """
    modes = (os.O_RDONLY, os.O_RDWR if is_daemon else os.O_RDONLY, os.O_RDWR)
    for number, mode in enumerate(modes):
        if not _is_open(number):  # the lowest free number is this one
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, "r", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
