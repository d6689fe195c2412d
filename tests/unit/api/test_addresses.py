"""Which addresses are one client, and which a list covers."""

from __future__ import annotations

import pytest

from saltlite.api.addresses import client_key, covers


@pytest.mark.parametrize(
    ("peer", "key"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::1", "::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_who_counts_as_one_client(peer: str, key: str) -> None:
    assert client_key(peer) == key


def test_what_a_list_of_addresses_covers() -> None:
    assert covers("*", "10.0.0.1")
    assert covers("10.0.0.0/8", "10.0.0.1")
    assert covers("10.0.0.1", "10.0.0.1")
    assert not covers("10.0.0.1", "10.0.0.11")
    assert not covers("10.0.0.0/8", "::1")
    assert not covers("10", "10.0.0.1")
