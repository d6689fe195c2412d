"""Private keys: read with and without their passphrase."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.serialization import load_der_private_key

from saltlite.providers.x509 import keys

SEEMS_DECRYPTED = base64.b64decode(
    "MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBATkTQPApf23KrqKJMav26yAgIIADAMBggqhkiG9w0C"
    "CQUAMB0GCWCGSAFlAwQBKgQQhb/RXVawvw7VXk8mmnHM5wSBkGrNOvdbwD785MfUE4ADsE6eisXtGM8K1u7FglxI"
    "yMZ1cDy5OxCoSOqFrugpOvd1Nn21LCabGu1E2DLOE2uahNtjgJUxllhClX+ltK534b24WnlQIA8DB53FKOzDt8RV"
    "QOdYCuJVwjal7+Y0dI2E37XUjaBKvpqnZrCylWi3bqozUzoUgWcfZRJ5aR2JpN/SCw=="
)
"""Its passphrase is ``other``; what comes out with ``pw`` has by chance the padding of a key."""


@pytest.fixture(scope="module")
def key() -> keys.PrivateKey:
    return keys.generate("ec", None)


@pytest.mark.parametrize("encoding", ["pem", "der", "pkcs12"])
def test_a_wrong_passphrase_is_known_for_one(key: keys.PrivateKey, encoding: str) -> None:
    data = keys.encode_private(key, "other", encoding)
    assert keys.read_private(data, "other").key is not None
    for passphrase, why in (("pw", keys.NOT_DECRYPTED), (None, keys.ENCRYPTED)):
        found = keys.read_private(data, passphrase)
        assert (found.key, found.encrypted, found.complaint) == (None, True, why)


def test_it_is_even_if_what_comes_out_seems_to_be_decrypted() -> None:
    with pytest.raises(ValueError, match="Could not deserialize"):  # the library's own words
        load_der_private_key(SEEMS_DECRYPTED, b"pw")
    found = keys.read_private(SEEMS_DECRYPTED, "pw")
    assert (found.key, found.encrypted, found.complaint) == (None, True, keys.NOT_DECRYPTED)
    assert keys.read_private(SEEMS_DECRYPTED, "other").key is not None


@pytest.mark.parametrize("data", [b"", b"junk", b"-----BEGIN PRIVATE KEY-----\nx\n"])
def test_what_is_no_key_is_not_encrypted(data: bytes) -> None:
    for passphrase in ("pw", None):
        found = keys.read_private(data, passphrase)
        assert (found.key, found.encrypted, found.complaint) == (None, False, keys.NO_KEY)
