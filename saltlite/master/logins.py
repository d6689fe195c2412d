"""A worker's way to LoginServer, and what of a load tells who asks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.errors import StoreError, WireError
from saltlite.master.handover import hand_over

CREDENTIALS: Final = ("token", "eauth", "username", "password", "key")
"""What a load shows of who asks; never kept, never told."""


class LoginQueue:
    """A worker's way to LoginServer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, ticket: bytes, load: Mapping[str, Any], login: Mapping[str, Any]) -> None:
        """Have a login checked. ``load`` is what to go on with, without the credentials.

        Raises:
            StoreError: there are too many already, or LoginServer is away.
        """
        try:
            taken = hand_over(self._path, {"ticket": ticket, "load": dict(load), **login})
        except (OSError, WireError) as error:
            raise StoreError(f"no login can be checked now: {error}") from error
        if not taken:
            raise StoreError("too many logins wait already")


def drop_credentials(load: Mapping[str, Any]) -> dict[str, Any]:
    """A load as it may be kept and handed on: without what was shown of who asks."""
    kept = {name: value for name, value in load.items() if name not in CREDENTIALS}
    kwargs = kept.get("kwargs")
    if load.get("cmd") == "publish" and isinstance(kwargs, Mapping):
        kept["kwargs"] = {k: v for k, v in kwargs.items() if k not in CREDENTIALS}
    return kept
