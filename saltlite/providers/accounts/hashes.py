"""Password hashes as ``/etc/shadow`` holds them, made by the machine's own libcrypt.

Python had a module for this until 3.13. The library is called directly, so that a hash is always
one that this machine can check.
"""

from __future__ import annotations

import ctypes
import secrets

from saltlite.errors import FunctionError, UsageError

ALGORITHMS = {
    "sha512": ("$6$", 16),
    "sha256": ("$5$", 16),
    "blowfish": ("$2b$12$", 22),
    "md5": ("$1$", 8),
    "crypt": ("", 2),
}
"""What a hash begins with, and how long a salt made here is."""

_LIBRARIES = ("libcrypt.so.1", "libcrypt.so.2", "libc.so.6", "libc.musl-x86_64.so.1", "libc.so")
_SALT_LETTERS = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def hash_password(password: str, salt: str | None, algorithm: str) -> str:
    """The hash of a password. Without a ``salt`` one is made; ``*0`` for a salt that is none.

    Raises:
        UsageError: the algorithm is not known.
        FunctionError: this machine has no libcrypt.
    """
    if algorithm not in ALGORITHMS:
        raise UsageError(_unknown_algorithm(algorithm))
    prefix, length = ALGORITHMS[algorithm]
    if salt is None:
        salt = "".join(secrets.choice(_SALT_LETTERS) for _ in range(length))
    elif algorithm == "blowfish":
        prefix = "$2b$"  # who gives a salt gives the cost with it: 12$...
    return crypt(password, prefix + salt)


def _unknown_algorithm(algorithm: str) -> str:
    names = list(ALGORITHMS)
    return (
        f"Cannot hash using '{algorithm}' hash algorithm. Natively supported algorithms are: "
        f"{names}. If passlib is installed (False), the supported algorithms are: {names}."
    )


def crypt(password: str, setting: str) -> str:
    """What libcrypt makes of a password with a hash or a setting; ``*0`` for one that is none."""
    crypt_of = _load_library().crypt
    crypt_of.restype = ctypes.c_char_p
    crypt_of.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
    found = crypt_of(
        password.encode("utf-8", "surrogateescape"), setting.encode("utf-8", "surrogateescape")
    )
    return found.decode() if found else "*0"


def _load_library() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "crypt"):
            return library
    raise FunctionError("This machine has no libcrypt to make password hashes with")
