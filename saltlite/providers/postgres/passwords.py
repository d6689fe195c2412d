"""Passwords of roles as PostgreSQL keeps them.

The server gets the hash and never the password, so that neither its log nor its list of running
statements has it. Source: PostgreSQL 15, "Password Authentication"; RFC 5802.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

from saltlite.core.lazyregex import regex

SCRAM = "scram-sha-256"
MD5 = "md5"

_MD5_HASH = regex(r"md5[0-9a-f]{32}")
_SCRAM_HASH = regex(r"SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)")
_ITERATIONS = 4096
_SALT_BYTES = 16


def is_hash(password: str) -> bool:
    """Whether this is no password but what the server keeps of one."""
    return bool(_MD5_HASH.fullmatch(password) or _SCRAM_HASH.fullmatch(password))


def hash_password(role: str, password: str, kind: str | None) -> str:
    """What the server is to keep; ``None`` leaves it to the server, a hash stays as it is."""
    if kind is None or not password or is_hash(password):
        return password
    if kind == MD5:
        return _md5_hash(role, password)
    salt = os.urandom(_SALT_BYTES)
    return _scram_hash(password, salt, _ITERATIONS)


def fits(role: str, password: str, kind: str | None, kept: str) -> bool:
    """Whether the server keeps this password, and as a hash of that kind; ``None`` is any."""
    if is_hash(password) or not password:
        return hmac.compare_digest(password.encode(), kept.encode())
    if _MD5_HASH.fullmatch(kept):
        same = hmac.compare_digest(kept, _md5_hash(role, password))
        return same and kind != SCRAM
    found = _SCRAM_HASH.fullmatch(kept)
    if found is None or kind == MD5:
        return False
    iterations, salt = int(found[1]), base64.b64decode(found[2])
    return hmac.compare_digest(kept, _scram_hash(password, salt, iterations))


def _md5_hash(role: str, password: str) -> str:
    return "md5" + hashlib.md5((password + role).encode(), usedforsecurity=False).hexdigest()


def _scram_hash(password: str, salt: bytes, iterations: int) -> str:
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(iterations, *parts)
