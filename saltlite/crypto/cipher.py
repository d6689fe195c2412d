"""Crypticle, the symmetric cipher of every encrypted message: AES-192-CBC, then HMAC-SHA256.

A key travels and is stored as text (the *key string*). What is inside the plaintext is the business
of ``channel/payload.py``. Source: docs/wire.md#crypticle.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from saltlite.errors import CryptoError

AES_KEY_BYTES: Final = 24
HMAC_KEY_BYTES: Final = 32

_BLOCK = 16
_MAC = 32
_SHORTEST = _BLOCK + _BLOCK + _MAC

_LARGE_BYTES: Final = 64 * 1024
"""From here on each copy costs fresh pages of memory: more than the cipher itself at 1 MiB."""


def new_key_string() -> str:
    """A fresh key, as the text in which it travels."""
    return base64.b64encode(os.urandom(AES_KEY_BYTES + HMAC_KEY_BYTES)).decode("ascii")


class Crypticle:
    """One symmetric key. Keeps no state between messages; may be shared by threads."""

    __slots__ = ("_aes", "_hmac_key")

    def __init__(self, key_string: str) -> None:
        """Take a key string.

        Raises:
            CryptoError: it is not base64 of 56 bytes.
        """
        try:
            key = base64.b64decode(key_string, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise CryptoError("not a key string") from error
        if len(key) != AES_KEY_BYTES + HMAC_KEY_BYTES:
            raise CryptoError("not a key string")
        self._aes = AES(key[:AES_KEY_BYTES])
        self._hmac_key = key[AES_KEY_BYTES:]

    def __repr__(self) -> str:
        return "Crypticle(***)"

    def encrypt(self, plain: bytes, *, iv: bytes | None = None) -> bytes:
        """``iv``, ciphertext and MAC. ``iv`` (16 bytes) is random unless a test fixes it."""
        iv = os.urandom(_BLOCK) if iv is None else iv
        pad = _BLOCK - len(plain) % _BLOCK
        encryptor = Cipher(self._aes, CBC(iv)).encryptor()
        if len(plain) >= _LARGE_BYTES:
            return self._encrypt_in_place(encryptor, iv, plain, pad)
        body = iv + encryptor.update(plain + bytes((pad,)) * pad)
        return body + hmac.digest(self._hmac_key, body, "sha256")

    def decrypt(self, message: bytes) -> bytes:
        """The plaintext of :meth:`encrypt`'s result.

        Nothing is decrypted, and no padding looked at, before the MAC holds.

        Raises:
            CryptoError: made with another key, changed, or not such a message at all.
        """
        body, mac = memoryview(message)[:-_MAC], message[-_MAC:]
        expected = hmac.digest(self._hmac_key, body, "sha256")
        if not hmac.compare_digest(mac, expected):
            raise CryptoError("message does not authenticate")
        if len(message) < _SHORTEST or len(body) % _BLOCK:
            raise CryptoError("message has no whole blocks")
        decryptor = Cipher(self._aes, CBC(bytes(body[:_BLOCK]))).decryptor()
        if len(body) < _LARGE_BYTES:
            return _without_padding(memoryview(decryptor.update(body[_BLOCK:])))
        padded = bytearray(len(body) - 1)  # update_into asks for a block less a byte too much
        size = decryptor.update_into(body[_BLOCK:], padded)
        return _without_padding(memoryview(padded)[:size])

    def _encrypt_in_place(
        self, encryptor: CipherContext, iv: bytes, plain: bytes, pad: int
    ) -> bytes:
        """As :meth:`encrypt`, written into one buffer from the start."""
        whole = len(plain) - len(plain) % _BLOCK
        end = _BLOCK + whole
        message = bytearray(end + 2 * _BLOCK - 1 + _MAC)
        message[:_BLOCK] = iv
        with memoryview(message) as view:
            encryptor.update_into(memoryview(plain)[:whole], view[_BLOCK:])
            view[end : end + _BLOCK] = encryptor.update(plain[whole:] + bytes((pad,)) * pad)
            body = view[: end + _BLOCK]
            view[end + _BLOCK : end + _BLOCK + _MAC] = hmac.digest(self._hmac_key, body, "sha256")
            return bytes(view[: end + _BLOCK + _MAC])


def _without_padding(padded: memoryview) -> bytes:
    """Strip PKCS#7 padding, checked in full: Salt looks at the last byte only."""
    pad = padded[-1]
    if not 1 <= pad <= _BLOCK or padded[-pad:] != bytes((pad,)) * pad:
        raise CryptoError("message has no proper padding")
    return bytes(padded[:-pad])
