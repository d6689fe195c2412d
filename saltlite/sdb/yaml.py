"""The driver ``yaml``: YAML files that are laid on one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.yaml import load
from saltlite.core.data import merge, traverse
from saltlite.errors import ConfigError, FunctionError


def get(key: str, profile: Mapping[str, Any]) -> Any:
    """The value below ``a:b``."""
    joined: Any = {}
    for path in profile.get("files") or ():
        try:
            with open(path, encoding="utf-8") as file:
                values = load(file.read(), str(path))
        except (OSError, ConfigError) as error:
            raise FunctionError(f"cannot read {path}: {error}") from error
        if isinstance(values, Mapping):
            joined = merge(joined, values)
    return traverse(joined, key)
