"""Whether a password fits a hash of Apache's ``htpasswd`` and ``htdigest``.

bcrypt and SHA-crypt are left to the machine's libcrypt, which may take as long as the hash says: a
caller has to be a process that can be ended. Plain text and DES count as no hash.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from saltlite.providers.accounts.hashes import crypt

APR1: Final = "$apr1$"
SHA1: Final = "{SHA}"
LIBCRYPT: Final = ("$2y$", "$2b$", "$2a$", "$5$", "$6$")

_LETTERS: Final = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_APR1_ROUNDS: Final = 1000
_APR1_ORDER: Final = ((0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5))


def fits_htpasswd(password: str, known: str) -> bool:
    """Whether ``password`` is that of a line of ``htpasswd``; never for a hash of another kind."""
    if known.startswith(SHA1):
        digest = hashlib.sha1(_encode_text(password), usedforsecurity=False).digest()
        return same_text(SHA1 + base64.b64encode(digest).decode("ascii"), known)
    if known.startswith(APR1):
        salt = known.removeprefix(APR1).partition("$")[0]
        return same_text(hash_apr1(password, salt), known)
    if known.startswith(LIBCRYPT):
        # Not every libcrypt knows $2y$, which is $2b$ by another name.
        setting = known.replace("$2y$", "$2b$", 1)
        return same_text(crypt(password, setting), setting)
    return False


def fits_htdigest(username: str, realm: str, password: str, known: str) -> bool:
    """Whether ``password`` is that of a line of ``htdigest``."""
    text = f"{username}:{realm}:{password}"
    return same_text(
        hashlib.md5(_encode_text(text), usedforsecurity=False).hexdigest(), known.lower()
    )


def same_text(one: str, other: str) -> bool:
    """Whether two secrets are equal; the time tells nothing of where they differ."""
    return hmac.compare_digest(_encode_text(one), _encode_text(other))


def hash_apr1(password: str, salt: str) -> str:
    """Apache's MD5 hash: a thousand rounds, in an order of its own.

    Source: Apache's page "Password Formats"; checked against ``openssl passwd -apr1``.
    """
    word, salted = _encode_text(password), _encode_text(salt[:8])
    final = _md5_digest(word + salted + word)
    start = word + APR1.encode() + salted + (final * (len(word) // 16 + 1))[: len(word)]
    length = len(word)
    while length:
        start += b"\0" if length & 1 else word[:1]
        length >>= 1
    final = _md5_digest(start)
    for number in range(_APR1_ROUNDS):
        text = word if number % 2 else final
        text += salted if number % 3 else b""
        text += word if number % 7 else b""
        final = _md5_digest(text + (final if number % 2 else word))
    return f"{APR1}{salt[:8]}${_encode_letters(final)}"


def _md5_digest(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _encode_letters(final: bytes) -> str:
    found = []
    for high, middle, low in _APR1_ORDER:
        value = final[high] << 16 | final[middle] << 8 | final[low]
        found += [_LETTERS[value >> shift & 63] for shift in (0, 6, 12, 18)]
    return "".join([*found, _LETTERS[final[11] & 63], _LETTERS[final[11] >> 6]])


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
