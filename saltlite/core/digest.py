"""Digests, signatures and base64 of text, as modules and template filters give them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
from collections.abc import Sequence
from typing import Any


def as_bytes(value: object) -> bytes:
    """Text in UTF-8; bytes as they are.

    Raises:
        TypeError: it is neither; Salt's sentence.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"expected str, bytes, or bytearray not {type(value)}")


def digest(value: object, algorithm: str) -> str:
    """The digest in hexadecimal. Raises ValueError for an unknown algorithm."""
    # Where FIPS is on, MD5 is refused unless this says that nothing depends on it.
    return hashlib.new(algorithm, as_bytes(value), usedforsecurity=False).hexdigest()


def base64_encode(value: object) -> str:
    """Base64 without line feeds."""
    return base64.b64encode(as_bytes(value)).decode()


def base64_decode(value: object) -> Any:
    """What base64 stands for: text if it is UTF-8, else bytes."""
    decoded = base64.b64decode(as_bytes(value))
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return decoded


def hmac_compute(value: object, shared_secret: object) -> str:
    """HMAC-SHA256 in hexadecimal."""
    return hmac.new(as_bytes(shared_secret), as_bytes(value), hashlib.sha256).hexdigest()


def hmac_matches(value: object, shared_secret: object, challenge_hmac: object) -> bool:
    """Whether ``challenge_hmac`` is the base64 of the HMAC-SHA256."""
    made = hmac.new(as_bytes(shared_secret), as_bytes(value), hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(made), as_bytes(challenge_hmac))


def github_matches(value: object, shared_secret: object, challenge_hmac: str) -> bool:
    """Whether ``challenge_hmac`` is ``<algorithm>=<HMAC in hexadecimal>``, as GitHub signs."""
    algorithm, _, expected = challenge_hmac.partition("=")
    made = hmac.new(as_bytes(shared_secret), as_bytes(value), algorithm).hexdigest()
    # As bytes: text that is not ASCII makes ``compare_digest`` raise.
    return hmac.compare_digest(made.encode(), expected.encode())


def sample(values: Sequence[object], size: int, seed: object = None) -> list[Any]:
    """Some of ``values``, each at most once; the same ones for the same ``seed``."""
    if seed is None:
        return random.SystemRandom().sample(values, size)
    return random.Random(digest(seed, "sha512")).sample(values, size)  # noqa: S311 - on purpose


def shuffle(values: Sequence[object], seed: object = None) -> list[Any]:
    """All of ``values`` in another order; in the same one for the same ``seed``."""
    return sample(values, len(values), seed)
