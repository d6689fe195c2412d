"""A worker's way to LoginServer, and what of a load tells who asks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.core.access import NAME_LIMIT, valid_login_name
from saltlite.errors import LoginsBusy, WireError
from saltlite.master.handover import hand_over

CREDENTIALS: Final = ("token", "eauth", "username", "password", "key")
"""What a load shows of who asks; never kept, never told."""

PASSWORD_LIMIT: Final = 4096
"""Characters of a password; a longer one is wrong, whatever it is."""

LOAD_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Of a load that waits for the check of its login, with the reply to who is not let in."""

TOO_MANY: Final = "Too many logins wait to be checked; try again in a moment"
NOT_NOW: Final = "Logins cannot be checked now; try again in a moment"

NO_LOGIN: Final[Mapping[str, str]] = {"eauth": "", "username": "", "password": ""}
"""What is checked in place of what cannot be a login: it fails, and takes its time as any other."""


def read_login(shown: Mapping[str, object]) -> Mapping[str, str]:
    """The module, name and password that are shown; all empty where they cannot be a login."""
    eauth, username, password = (shown.get(name) for name in NO_LOGIN)
    if not isinstance(eauth, str) or len(eauth) > NAME_LIMIT:
        return NO_LOGIN
    if not isinstance(username, str) or not valid_login_name(username):
        return NO_LOGIN
    # A module in C would end the password at a NUL, and check less than was sent.
    if not isinstance(password, str) or len(password) > PASSWORD_LIMIT or "\0" in password:
        return NO_LOGIN
    return {"eauth": eauth, "username": username, "password": password}


class LoginQueue:
    """A worker's way to LoginServer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, ticket: bytes, load: Mapping[str, Any], login: Mapping[str, Any]) -> None:
        """Have a login checked. ``load`` is what to go on with, without the credentials.

        Raises:
            LoginsBusy: there are too many already, or LoginServer is away. Nothing that a stranger
                does not know decides which: names that nobody has wait as all others do.
        """
        try:
            taken = hand_over(self._path, {"ticket": ticket, "load": dict(load), **login})
        except (OSError, WireError) as error:
            raise LoginsBusy(NOT_NOW) from error
        if not taken:
            raise LoginsBusy(TOO_MANY)


def drop_credentials(load: Mapping[str, object]) -> dict[str, Any]:
    """A load as it may be kept and handed on: without what was shown of who asks."""
    kept = {name: value for name, value in load.items() if name not in CREDENTIALS}
    kwargs, loads = kept.get("kwargs"), kept.get("loads")
    # Only a publish shows credentials there.
    if load.get("cmd") == "publish" and isinstance(kwargs, Mapping):
        kept["kwargs"] = {k: v for k, v in kwargs.items() if k not in CREDENTIALS}
    # Whole commands that salt-api asks about; each may repeat the credentials.
    if load.get("cmd") == "authorize" and isinstance(loads, (list, tuple)):
        kept["loads"] = [drop_credentials(x) if isinstance(x, Mapping) else x for x in loads]
    return kept
