"""Keys made of another key."""

from __future__ import annotations

from saltlite.crypto.derivation import derive_key


def test_a_vector_of_the_standard() -> None:
    """RFC 5869, A.3: no salt, no purpose."""
    expected = (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    )
    assert derive_key(b"\x0b" * 22, "", 42).hex() == expected


def test_each_purpose_has_its_own() -> None:
    found = {derive_key(secret, purpose, 32) for secret in (b"a", b"b") for purpose in ("x", "y")}
    assert len(found) == 4
