"""Random texts and numbers, and those that follow from a seed."""

from __future__ import annotations

import base64
import hashlib
import secrets
import string
from random import Random, SystemRandom
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import digest
from saltlite.errors import FunctionError, SaltliteError, UsageError

_ENCODERS = {"base64": base64.b64encode}


def hash(value: object, algorithm: str = "sha512") -> str:
    """The digest of a text.

    CLI Example:

        salt '*' random.hash 'I am a string' md5
    """
    if algorithm not in hashlib.algorithms_guaranteed:
        raise SaltliteError("You must specify a valid algorithm.")
    if not isinstance(value, (str, bytes)):
        raise TypeError("object supporting the buffer API required")
    return digest.digest(value, algorithm)


def str_encode(value: object, encoder: str = "base64") -> str:
    """A text in base64.

    CLI Example:

        salt '*' random.str_encode 'I am a new string' base64
    """
    encode = _ENCODERS.get(encoder)
    if encode is None or not isinstance(value, (str, bytes)):
        raise UsageError("Value must be an encode-able string")
    return encode(digest.as_bytes(value)).decode()


def get_str(
    length: Any = 20,
    chars: str | None = None,
    lowercase: bool = True,
    uppercase: bool = True,
    digits: bool = True,
    punctuation: bool = True,
    whitespace: bool = False,
    printable: bool = False,
) -> str:
    """A random text of these kinds of characters, or of ``chars`` alone.

    CLI Example:

        salt '*' random.get_str 128
    """
    try:
        count = int(length)
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from error
    kinds = (
        (printable, string.printable),
        (lowercase, string.ascii_lowercase),
        (uppercase, string.ascii_uppercase),
        (digits, string.digits),
        (punctuation, string.punctuation),
        (whitespace, string.whitespace),
    )
    pool = chars or "".join(kind for wanted, kind in kinds if wanted)
    if not pool:
        raise FunctionError("no kind of characters is left to choose from")
    return "".join(secrets.choice(pool) for _ in range(count))


def shadow_hash(
    crypt_salt: str | None = None, password: str | None = None, algorithm: str = "sha512"
) -> str:
    """A password's hash as in ``/etc/shadow``; a random password's without one.

    CLI Example:

        salt '*' random.shadow_hash 'My5alT' 'MyP@asswd' md5
    """
    from saltlite.providers.accounts import hashes

    return hashes.hash_password(password or secrets.token_urlsafe(20), crypt_salt, algorithm)


def rand_int(start: Any = 1, end: Any = 10, seed: Any = None) -> int:
    """A random whole number from ``start`` to ``end``; the same one for the same ``seed``.

    CLI Example:

        salt '*' random.rand_int 1 10
    """
    return _make_generator(seed).randint(start, end)


def seed(ctx: MinionContext, range: Any = 10, hash: Any = None) -> int:
    """A number below ``range`` that follows from the minion's id, or from ``hash``.

    CLI Example:

        salt '*' random.seed 10 hash=None
    """
    from_text = ctx.config.identity.id if hash is None else hash
    return Random(from_text).randrange(range)  # noqa: S311 - has to be the same each time


def _make_generator(seed: Any) -> Random:
    if seed in (None, ""):
        return SystemRandom()
    return Random(seed)  # noqa: S311 - has to be the same each time


def sample(value: Any, size: int, seed: Any = None) -> list[Any]:
    """Some of a list's values, each at most once; the same ones for the same ``seed``.

    CLI Example:

        salt '*' random.sample '["one", "two"]' 1 seed="something"
    """
    return digest.sample(value, size, seed)


def shuffle(value: Any, seed: Any = None) -> list[Any]:
    """A list's values in another order; in the same one for the same ``seed``.

    CLI Example:

        salt '*' random.shuffle '["one", "two"]' seed="something"
    """
    return digest.shuffle(value, seed)
