"""What is inside an encrypted message.

``pickle::`` (historic; nothing is pickled), in replies the 32 characters of the request's nonce,
then one packed value. Source: docs/wire.md#crypticle.
"""

from __future__ import annotations

import hmac
from typing import Final

from saltlite.core.messages import NONCE_LENGTH
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import Crypticle
from saltlite.errors import CryptoError, WireError
from saltlite.transport.codec import pack, unpack, unpack_bytes

PREFIX: Final = b"pickle::"


def seal(crypticle: Crypticle, value: object, nonce: str = "", *, iv: bytes | None = None) -> bytes:
    """Pack and encrypt ``value``; a reply puts its request's ``nonce`` in front.

    Raises:
        WireError: the value cannot be packed.
    """
    return crypticle.encrypt(PREFIX + nonce.encode("ascii") + pack(value), iv=iv)


def open_sealed(
    crypticle: Crypticle, message: bytes, nonce: str | None = None, *, text: bool = True
) -> Plain:
    """Decrypt and unpack; ``text=False`` leaves all strings bytes, for file chunks.

    Args:
        crypticle: the key both sides have.
        message: what :func:`seal` made.
        nonce: the nonce the reply must begin with; ``None`` for requests and publications.
        text: whether byte strings that are UTF-8 become text.

    Raises:
        CryptoError: it does not decrypt, or answers another request, or what is inside is not
            an object.
    """
    plain = crypticle.decrypt(message)
    if not plain.startswith(PREFIX):
        raise CryptoError("message holds no object")
    start = len(PREFIX)
    # Below the MAC with the value, so nobody can put the nonce of another request in front.
    if nonce is not None:
        start += NONCE_LENGTH
        if not hmac.compare_digest(plain[len(PREFIX) : start], nonce.encode("ascii", "replace")):
            raise CryptoError("reply does not belong to the request")
    try:
        return unpack(plain[start:]) if text else unpack_bytes(plain[start:])
    except WireError as error:
        raise CryptoError(f"message does not decode: {error}") from error
