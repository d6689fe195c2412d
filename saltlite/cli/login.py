"""Who the user of a command says that he is: ``--eauth``, ``--username``, ``-T`` and stored tokens.

Used by ``salt``, ``salt-run`` and ``salt-key``. Who asks by a login is judged by that login alone:
nothing else that this user could show goes along. Source: docs/access.md,
docs/command-line.md#exit-codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from saltlite.cli.command import complain
from saltlite.core.messages import LOGIN_UNKNOWN, LOGINS_BUSY, NOT_AUTHENTICATED, TOKEN_UNKNOWN
from saltlite.errors import AccessDenied, MasterRefused, StoreError

if TYPE_CHECKING:
    import optparse
    from pathlib import Path

    from saltlite.cli.options import CommandParser
    from saltlite.config.master import MasterConfig

EX_LOGIN: Final = 2
FAILED: Final = "ERROR: Authentication failed"
REFUSED: Final = "Authentication error occurred."
TOKEN_FILE: Final = "salt_token"  # noqa: S105 - a file's name
TOKEN_LIMIT_BYTES: Final = 4096

LOGIN_TIMEOUT_S: Final = 60.0
"""How long a login may take: others may be before it, and each failure delays the next."""

UNAVAILABLE: Final = (
    'The specified external authentication system "{}" is not available\nAvailable eauth types: {}'
)
"""Salt's words."""

_NOT_KNOWN: Final = frozenset((NOT_AUTHENTICATED, LOGIN_UNKNOWN, TOKEN_UNKNOWN))


class LoginFailed(Exception):
    """The command is over: who runs it is not let in. What to print where was printed."""


def check_options(parser: CommandParser, options: optparse.Values) -> None:
    """End with 64 where options of a login contradict each other."""
    if options.mktoken and not options.eauth:
        parser.error("-T, --make-token: say by --eauth which module is to check the login")


def credentials(config: MasterConfig, options: optparse.Values) -> dict[str, str]:
    """What is shown to the master besides the local key; empty where that key is to count.

    Raises:
        LoginFailed: the module is not there, or no token was given for the login.
    """
    if not options.eauth:
        return _read_stored_token(config)
    _check_module(config, options.eauth)
    username = options.username if options.username is not None else _read_line("username: ")
    shown = {
        "eauth": options.eauth,
        "username": username or _process_user(),
        "password": options.password if options.password is not None else _ask_secretly(),
    }
    return _make_token(config, shown) if options.mktoken else shown


def end_refused(
    error: MasterRefused,
    shown: Mapping[str, str],
    config: MasterConfig,
    options: optparse.Values,
) -> int:
    """Print, by the user's outputter, that the master refused what was shown; the exit code.

    Raises:
        MasterRefused: it is about something else.
    """
    if not shown or error.name not in _NOT_KNOWN:
        raise error
    from saltlite.cli.show import Screen

    Screen.of(config, options).show(error.message)
    return EX_LOGIN


# --- logging in ----------------------------------------------------------------------------------


def _check_module(config: MasterConfig, name: str) -> None:
    from saltlite.loader.auth import module_names

    known = module_names(config)
    if name not in known:
        sys.stdout.write(UNAVAILABLE.format(name, ", ".join(known)) + "\n")
        complain(FAILED)
        raise LoginFailed


def _read_line(words: str) -> str:
    sys.stdout.write(words)
    sys.stdout.flush()
    return sys.stdin.readline().rstrip("\n")


def _ask_secretly() -> str:
    if not sys.stdin.isatty():
        return _read_line("password: ")
    from getpass import getpass

    return getpass("password: ")


def _process_user() -> str:
    from saltlite.client.identity import process_user

    return process_user()


# --- tokens --------------------------------------------------------------------------------------


def token_path(config: MasterConfig) -> Path:
    """Where the user's token is: ``token_file``, or beside his own configuration."""
    from pathlib import Path

    if config.access.token_file:
        return Path(config.access.token_file).expanduser()
    home = Path("~").expanduser()
    own = home / ".config" / "salt"
    # Not own.is_dir(), which raises where HOME is still that of somebody else, as after sudo.
    return (own if os.path.isdir(own) else home) / TOKEN_FILE


def _read_stored_token(config: MasterConfig) -> dict[str, str]:
    """A token of before, for who has no key of his own on this machine."""
    path = token_path(config)
    if not os.path.exists(path) or _has_key(config):
        return {}
    import time

    from saltlite import disk

    try:
        age_s = time.time() - path.stat().st_mtime
        data = disk.read_regular(path, limit_bytes=TOKEN_LIMIT_BYTES)
    except (OSError, StoreError):
        return {}
    if data is None or age_s >= config.access.token_expire:
        return {}
    token = data.decode("ascii", "replace").strip()
    return {"token": token} if token else {}


def _has_key(config: MasterConfig) -> bool:
    from pathlib import Path

    from saltlite.client.identity import local_key

    try:
        return bool(local_key(Path(config.paths.cachedir)))
    except AccessDenied:
        return False


def _make_token(config: MasterConfig, shown: Mapping[str, str]) -> dict[str, str]:
    """Log in, keep the token, and show it from now on."""
    from saltlite import disk
    from saltlite.client.jobs import JobClient

    found: Any = None
    with JobClient(config) as client:
        try:
            found = client.send({"cmd": "mk_token", **shown}, timeout_s=LOGIN_TIMEOUT_S)
        except MasterRefused as error:
            if error.name == LOGINS_BUSY:
                raise
    if not isinstance(found, Mapping) or not isinstance(found.get("token"), str):
        sys.stdout.write(f"{REFUSED}\n")
        sys.stdout.flush()
        raise LoginFailed
    path = token_path(config)
    try:
        disk.write_file(path, f"{found['token']}\n".encode())
    except StoreError as error:
        complain(f"The token is not kept: {error}")
    return {"token": found["token"]}
