"""Crypticle beyond the vectors: what must fail, and how."""

from __future__ import annotations

import base64
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.errors import CryptoError

KEY = base64.b64encode(bytes(range(56))).decode()
RAW = bytes(range(56))


def forged(padded: bytes) -> bytes:
    """A message with a proper MAC around whatever padding."""
    body = bytes(16) + Cipher(AES(RAW[:24]), CBC(bytes(16))).encryptor().update(padded)
    return body + hmac.digest(RAW[24:], body, "sha256")


def test_key_strings_are_76_characters_and_differ():
    one, other = new_key_string(), new_key_string()
    assert len(one) == len(other) == 76
    assert one != other
    assert Crypticle(one).decrypt(Crypticle(one).encrypt(b"x")) == b"x"


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000])
def test_round_trip(size):
    crypticle = Crypticle(KEY)
    assert crypticle.decrypt(crypticle.encrypt(b"a" * size)) == b"a" * size


LARGE = 64 * 1024
"""From here on a message is written in place."""


@pytest.mark.parametrize("size", [LARGE + more for more in (-33, -32, -17, -16, -1, 0, 1, 15, 16)])
def test_large_messages_are_made_as_small_ones_are(size):
    plain, iv = bytes(range(256)) * (size // 256 + 1), bytes(range(16))
    plain = plain[:size]
    pad = 16 - size % 16
    encryptor = Cipher(AES(RAW[:24]), CBC(iv)).encryptor()
    body = iv + encryptor.update(plain + bytes((pad,)) * pad)
    message = body + hmac.digest(RAW[24:], body, "sha256")
    assert Crypticle(KEY).encrypt(plain, iv=iv) == message
    assert Crypticle(KEY).decrypt(message) == plain


@pytest.mark.parametrize("place", [0, 16, LARGE, -48, -33, -32, -1])
def test_a_changed_bit_of_a_large_message_is_noticed(place):
    changed = bytearray(Crypticle(KEY).encrypt(bytes(LARGE)))
    changed[place] ^= 1
    with pytest.raises(CryptoError):
        Crypticle(KEY).decrypt(bytes(changed))


def test_every_message_has_an_iv_of_its_own():
    assert Crypticle(KEY).encrypt(b"x") != Crypticle(KEY).encrypt(b"x")


@pytest.mark.parametrize("text", ["", "x", KEY[:-4], KEY + "AAAA", KEY + "\n", "ü" * 76, "-" * 76])
def test_a_wrong_key_string_is_refused(text):
    with pytest.raises(CryptoError):
        Crypticle(text)


def test_another_key_does_not_open_it():
    with pytest.raises(CryptoError):
        Crypticle(new_key_string()).decrypt(Crypticle(KEY).encrypt(b"x"))


def test_any_changed_bit_is_noticed():
    message = Crypticle(KEY).encrypt(b"hello")
    for place in range(len(message)):
        changed = bytearray(message)
        changed[place] ^= 1
        with pytest.raises(CryptoError):
            Crypticle(KEY).decrypt(bytes(changed))


@pytest.mark.parametrize("message", [b"", b"bad load", b"x" * 31, b"x" * 32, b"x" * 200])
def test_what_is_no_message_is_refused(message):
    with pytest.raises(CryptoError):
        Crypticle(KEY).decrypt(message)


@pytest.mark.parametrize(
    "padded",
    [
        b"x" * 15 + b"\x00",
        b"x" * 15 + b"\x11",
        b"x" * 15 + b"\xff",
        b"x" * 14 + b"\x01\x02",
        b"x" * 13 + b"\x03\x02\x03",
        b"x" * (LARGE + 15) + b"\x00",
        b"x" * (LARGE + 13) + b"\x03\x02\x03",
    ],
)
def test_padding_is_checked_in_full_although_the_mac_holds(padded):
    with pytest.raises(CryptoError):
        Crypticle(KEY).decrypt(forged(padded))


def test_no_block_at_all_is_refused_although_the_mac_holds():
    for body in (b"", bytes(16), bytes(17)):
        with pytest.raises(CryptoError):
            Crypticle(KEY).decrypt(body + hmac.digest(RAW[24:], body, "sha256"))


def test_the_key_does_not_show():
    assert KEY not in repr(Crypticle(KEY))
