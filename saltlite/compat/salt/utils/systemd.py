"""``salt.utils.systemd``."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any

from saltlite.core.numbers import is_digits
from saltlite.loader.surroundings import CURRENT


def booted(context: MutableMapping[str, Any] | None = None) -> bool:
    """Whether systemd runs this machine."""
    return os.path.isdir("/run/systemd/system")


def offline(context: MutableMapping[str, Any] | None = None) -> bool:
    """Whether systemd says that it is off line."""
    return not booted() and bool(os.environ.get("SYSTEMD_OFFLINE"))


def version(context: MutableMapping[str, Any] | None = None) -> int | None:
    """The number of systemd's release, ``None`` without it."""
    around = CURRENT.get(None)
    if around is None:
        return None
    words = str(around.salt["cmd.run_stdout"]("systemctl --version")).split()
    numbers = [word for word in words[1:2] if is_digits(word)]
    return int(numbers[0]) if numbers else None


def has_scope(context: MutableMapping[str, Any] | None = None) -> bool:
    """Whether ``systemd-run --scope`` is there."""
    number = version(context)
    return number is not None and number >= 205
