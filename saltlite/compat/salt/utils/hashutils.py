"""``salt.utils.hashutils``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from typing import Any

from saltlite.compat.salt.utils import stringutils


def _as_bytes(value: object) -> bytes:
    return stringutils.to_bytes(value)


def base64_b64encode(instr: object) -> str:
    """Base64, in one line."""
    return base64.b64encode(_as_bytes(instr)).decode("ascii")


def base64_b64decode(instr: object) -> Any:
    """What base64 stands for; bytes if it is no text."""
    return _as_text(base64.b64decode(_as_bytes(instr)))


def base64_encodestring(instr: object) -> str:
    """Base64, in lines."""
    return base64.encodebytes(_as_bytes(instr)).decode("ascii")


def base64_decodestring(instr: object) -> Any:
    """What base64 in lines stands for; bytes if it is no text."""
    return _as_text(base64.decodebytes(_as_bytes(instr)))


def _as_text(data: bytes) -> Any:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def md5_digest(instr: object) -> str:
    """The MD5 sum."""
    return hashlib.md5(_as_bytes(instr), usedforsecurity=False).hexdigest()


def sha1_digest(instr: object) -> str:
    """The SHA-1 sum."""
    return hashlib.sha1(_as_bytes(instr), usedforsecurity=False).hexdigest()


def sha256_digest(instr: object) -> str:
    """The SHA-256 sum."""
    return hashlib.sha256(_as_bytes(instr)).hexdigest()


def sha512_digest(instr: object) -> str:
    """The SHA-512 sum."""
    return hashlib.sha512(_as_bytes(instr)).hexdigest()


def hmac_signature(string: object, shared_secret: object, challenge_hmac: object) -> bool:
    """Whether this is the signature (base64 of HMAC-SHA256) of the text."""
    made = hmac.new(_as_bytes(shared_secret), _as_bytes(string), hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(made), _as_bytes(challenge_hmac))


def hmac_compute(string: object, shared_secret: object) -> str:
    """The HMAC-SHA256 of the text, in hexadecimal."""
    return hmac.new(_as_bytes(shared_secret), _as_bytes(string), hashlib.sha256).hexdigest()


def random_hash(size: int = 9999999999, hash_type: str | None = None) -> str:
    """The sum of something that nobody can guess."""
    return hashlib.new(hash_type or "md5", secrets.token_bytes(32)).hexdigest()


def get_hash(path: str, form: str = "sha256", chunk_size: int = 65536) -> str:
    """The sum of a file.

    Raises:
        ValueError: there is no such sum.
    """
    if form not in hashlib.algorithms_available:
        raise ValueError(f"Invalid hash type: {form}")
    digest = hashlib.new(form)
    with open(os.fspath(path), "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()
