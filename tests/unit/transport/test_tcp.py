"""What every socket gets, and by whom an address is counted."""

from __future__ import annotations

import pytest

from saltlite.transport.tcp import origin_of


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::1", "::/64"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unknown", "unknown"),
        ("not:an:address", "not:an:address"),
        ("::1\0", "::1\0"),
    ],
)
def test_one_host_is_one_origin(host: str, origin: str) -> None:
    assert origin_of(host) == origin
