"""The driver ``env``: the environment of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def get(key: str, profile: Mapping[str, object]) -> str | None:
    """The value of a variable, ``None`` without it."""
    return os.environ.get(key)


def set_(key: str, value: object, profile: Mapping[str, object]) -> Any:
    """Set a variable."""
    os.environ[key] = str(value)
    return value
