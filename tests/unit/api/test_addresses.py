"""Which addresses a list covers."""

from __future__ import annotations

from saltlite.api.addresses import covers


def test_what_a_list_of_addresses_covers() -> None:
    assert covers("*", "10.0.0.1")
    assert covers("10.0.0.0/8", "10.0.0.1")
    assert covers("10.0.0.1", "10.0.0.1")
    assert not covers("10.0.0.1", "10.0.0.11")
    assert not covers("10.0.0.0/8", "::1")
    assert not covers("10", "10.0.0.1")
