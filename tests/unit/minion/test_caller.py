"""How ``salt-call`` finds its master."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from saltlite.errors import AuthError
from saltlite.minion.caller import _resolve_master
from saltlite.minion.masters import MasterAddress


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the resolver is asked for; it knows one address."""
    hosts: list[Any] = []

    def getaddrinfo(host: Any, port: int, **_: Any) -> list[Any]:
        hosts.append(host)
        return [(0, 0, 0, "", ("192.0.2.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return hosts


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_needs_no_resolver(asked: list[Any], address: str) -> None:
    assert _resolve_master(MasterAddress(address, 4506)) == address
    assert asked == []


def test_only_an_international_name_is_left_to_python_to_encode(asked: list[Any]) -> None:
    assert _resolve_master(MasterAddress("salt.example", 4506)) == "192.0.2.1"
    assert _resolve_master(MasterAddress("sälz.example", 4506)) == "192.0.2.1"
    assert asked == [b"salt.example", "sälz.example"]


@pytest.mark.parametrize("name", ["a" * 64 + ".invalid", "a..invalid", "ä" * 64, "-"])
def test_what_is_no_name_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(AuthError, match=f"{name} does not resolve"):
        _resolve_master(MasterAddress(name, 4506))
