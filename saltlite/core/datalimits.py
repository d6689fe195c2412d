"""How large the data of one minion may be: grains, mine, what it passes to its pillar.

Both ends use the same limits: the minion says which of its data are too large, before it sends
them; the master refuses what comes all the same. Pure. Source: docs/security.md#limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """What a value takes: bytes as msgpack, keys of all maps in it, and levels."""

    bytes: int = 0
    keys: int = 0
    depth: int = 0


GRAINS_LIMIT: Final = Size(bytes=1024 * 1024, keys=10_000, depth=32)
MINE_LIMIT: Final = Size(bytes=10 * 1024 * 1024, keys=100_000, depth=64)
MINE_NAMES_LIMIT: Final = 1_000


def grains_problem(grains: Mapping[str, object]) -> str | None:
    """One line that names the limit that grains exceed and the grain that is large, or ``None``."""
    return _find_problem(grains, GRAINS_LIMIT, "grains", "grain")


def extra_data_problem(data: Mapping[str, object]) -> str | None:
    """As :func:`grains_problem`, for what a minion passes to the sources of its pillar."""
    return _find_problem(data, GRAINS_LIMIT, "pass_to_ext_pillars", "option")


def mine_problem(data: Mapping[str, object]) -> str | None:
    """As :func:`grains_problem`, for what is to be in the mine of one minion."""
    if len(data) > MINE_NAMES_LIMIT:
        return f"the mine has {len(data):,} names; {MINE_NAMES_LIMIT:,} are allowed"
    return _find_problem(data, MINE_LIMIT, "the mine", "entry")


def measure(value: object, most: Size) -> Size:
    """How large a value is; counting ends soon after it exceeds ``most``."""
    size = keys = deepest = 0
    # A list and no recursion: how deep a value nests is what is to be found out.
    left: list[tuple[Any, int]] = [(value, 1)]
    while left and size <= most.bytes and keys <= most.keys and deepest <= most.depth:
        one, depth = left.pop()
        size += _own_bytes(one)
        if isinstance(one, Mapping):
            keys += len(one)
            deepest = max(deepest, depth)
            # What is too much already is not even listed.
            if keys <= most.keys:
                left += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, (list, tuple, set, frozenset)):
            deepest = max(deepest, depth)
            # Each item takes a byte at least, so that a longer list need not be looked at.
            if len(one) <= most.bytes - size:
                left += [(part, depth + 1) for part in one]
            else:
                size += len(one)
    return Size(size, keys, deepest)


def _own_bytes(value: object) -> int:
    """What a value takes in msgpack without what it contains, to within a few bytes."""
    if isinstance(value, str):
        return 3 + (len(value) if value.isascii() else len(value.encode("utf-8", "replace")))
    if isinstance(value, (bytes, bytearray)):
        return 3 + len(value)
    return 9 if isinstance(value, float) else 3 if isinstance(value, int) else 1


def _find_problem(data: Mapping[str, object], most: Size, what: str, part: str) -> str | None:
    whole = measure(data, most)
    for unit, of in _UNITS.items():
        if of(whole) > of(most):
            name, size = _largest_part(data, most, of)
            return (
                f"{what}: more than {of(most):,} {unit} are not allowed; "
                f"the largest {part} is {name!r:.80} ({size:,} {unit} or more)"
            )
    return None


_UNITS: Final[Mapping[str, Callable[[Size], int]]] = {
    "bytes": lambda size: size.bytes,
    "keys": lambda size: size.keys,
    "levels": lambda size: size.depth,
}


def _largest_part(
    data: Mapping[str, object], most: Size, of: Callable[[Size], int]
) -> tuple[Any, int]:
    sizes = [(name, of(measure(value, most))) for name, value in data.items()]
    return max(sizes, key=lambda pair: pair[1])
