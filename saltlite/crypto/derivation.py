"""Keys made of another key, each for one purpose: HKDF with SHA-256. Source: RFC 5869."""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def derive_key(secret: bytes, purpose: str, size_bytes: int) -> bytes:
    """A key that tells nothing of ``secret`` nor of the keys for other purposes."""
    return HKDF(SHA256(), size_bytes, salt=None, info=purpose.encode()).derive(secret)
