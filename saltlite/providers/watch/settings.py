"""Reads what several beacons' configurations have in common. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

VALID = (True, "Valid beacon configuration")


def percent(value: object) -> float:
    """``"63%"``, ``"63"`` or ``63``.

    Raises:
        ValueError: it is none of them.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no percentage")
    try:
        number = float(str(value).strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"{value!r:.80} is no percentage") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no percentage")
    return number


def check_percent(name: str, config: Mapping[str, object]) -> tuple[bool, str]:
    """Whether a configuration has a ``percent``, and the sentence about it."""
    if "percent" not in config:
        return False, f"Configuration for {name} beacon requires percent."
    try:
        percent(config["percent"])
    except ValueError as error:
        return False, f"Configuration for {name} beacon: percent: {error}."
    return VALID


def check_map(name: str, config: Mapping[str, object], option: str) -> tuple[bool, str]:
    """Whether a configuration has a map ``option``, and the sentence about it."""
    if option not in config:
        return False, f"Configuration for {name} beacon requires {option}."
    if not isinstance(config[option], Mapping):
        return False, f"Configuration for {name} beacon requires {option} to be a map."
    return VALID


def check_switches(
    name: str, of: str, options: Mapping[str, object], switches: Collection[str]
) -> str:
    """A sentence about the first of ``switches`` that is neither True nor False; empty if none."""
    for switch in switches:
        if not isinstance(options.get(switch, False), bool):
            return f"Configuration for {name} beacon: {switch} of {of} must be True or False."
    return ""


def map_of(value: object) -> dict[str, Any]:
    """A map, or a list of maps as one; empty for nothing.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return {}
    parts = [value] if isinstance(value, Mapping) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(p, Mapping) for p in parts):
        raise ValueError(f"{value!r:.80} is no map")
    return {str(key): each for part in parts for key, each in part.items()}
