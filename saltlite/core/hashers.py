"""SHA-256 of what is little, without OpenSSL.

``hashlib`` loads it, which takes a command 2 ms and a megabyte. Python's own code is slower, by
those 2 ms for all that is left to it, and is there in every build that has not been told to leave
it out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final, Protocol

OWN_BYTES: Final = 512 * 1024
"""So much of a process is left to Python's own code; for more OpenSSL is worth its loading."""

# Of Python up to 3.11, and since then.
_OWN_MODULES: Final = ("_sha256", "_sha2")


class Hasher(Protocol):
    """A hash that is being taken."""

    def update(self, data: bytes, /) -> None:
        """Add data."""

    def digest(self) -> bytes:
        """Return the hash of what has been added."""

    def hexdigest(self) -> str:
        """Return the same in hexadecimal."""


def make_hasher(hash_type: str, size_bytes: int) -> Hasher:
    """Return what takes the hash of data that will have about so many bytes.

    Raises:
        ValueError: there is no such hash type.
    """
    if hash_type == "sha256" and "_hashlib" not in sys.modules:
        _taken[0] += size_bytes
        own = _find_own() if _taken[0] <= OWN_BYTES else None
        if own is not None:
            return own()
    import hashlib

    return hashlib.new(hash_type, usedforsecurity=False)


def hash_small(data: bytes) -> Hasher:
    """Return the SHA-256 of data that is small, as most is that names a file."""
    hasher = make_hasher("sha256", len(data))
    hasher.update(data)
    return hasher


_taken = [0]
"""Bytes of this process so far."""


@cache
def _find_own() -> Callable[[], Hasher] | None:
    """Python's own SHA-256; ``None`` in a build without it."""
    for name in _OWN_MODULES:
        try:
            found: Callable[[], Hasher] = import_module(name).sha256
        except ImportError:
            continue
        return found
    return None
