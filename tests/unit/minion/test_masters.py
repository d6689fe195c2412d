from __future__ import annotations

import asyncio
import binascii
from typing import Any

import pytest

from saltlite.config.minion import NetworkOptions
from saltlite.errors import ConfigError
from saltlite.minion.masters import MasterAddress, in_turn, masters_of, parse_master, resolve


@pytest.mark.parametrize(
    ("text", "host", "port", "name"),
    [
        ("salt", "salt", 4506, "salt:4506"),
        (" salt ", "salt", 4506, "salt:4506"),
        ("salt:1234", "salt", 1234, "salt:1234"),
        ("10.0.0.1:5", "10.0.0.1", 5, "10.0.0.1:5"),
        ("::1", "::1", 4506, "[::1]:4506"),
        ("[::1]", "::1", 4506, "[::1]:4506"),
        ("[::1]:7", "::1", 7, "[::1]:7"),
    ],
)
def test_the_forms_of_a_master(text: str, host: str, port: int, name: str) -> None:
    master = parse_master(text, NetworkOptions())
    assert (master.host, master.port, master.name) == (host, port, name)


@pytest.mark.parametrize("text", ["", "a b", "salt:x", "salt:0", "salt:65536", "[::1]:x"])
def test_what_is_no_master(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_master(text, NetworkOptions())


def test_ip_only_ignores_the_port() -> None:
    assert parse_master("salt:9", NetworkOptions(master_uri_format="ip_only")).port == 4506


def test_a_list_of_masters_without_doubles() -> None:
    network = NetworkOptions(master=["a", "b:1", "a"])
    assert [master.name for master in masters_of(network)] == ["a:4506", "b:1"]
    with pytest.raises(ConfigError):
        masters_of(NetworkOptions(master=[]))


def test_order_as_written_or_shuffled() -> None:
    masters = [MasterAddress(name, 1) for name in "abc"]
    assert in_turn(masters, NetworkOptions(), lambda: 0.5) == masters
    numbers = iter([3.0, 1.0, 2.0])
    shuffled = in_turn(masters, NetworkOptions(master_shuffle=True), lambda: next(numbers))
    assert [master.host for master in shuffled] == ["b", "c", "a"]


def test_where_to_go_back_to_is_not_shuffled() -> None:
    masters = [MasterAddress(name, 1) for name in "abc"]
    numbers = iter([3.0, 1.0])
    network = NetworkOptions(random_master=True, master_failback=True)
    order = in_turn(masters, network, lambda: next(numbers))
    assert [master.host for master in order] == ["a", "c", "b"]


def test_a_minions_id_chooses_its_first_master() -> None:
    masters = [MasterAddress(name, 1) for name in "abc"]
    network = NetworkOptions(master_type="distributed")
    orders = {
        name: "".join(one.host for one in in_turn(masters, network, lambda: 0.5, name))
        for name in ("web1", "web2", "web3", "web4", "web5", "web6")
    }
    assert orders == {name: in_turns(name) for name in orders}
    assert {order[0] for order in orders.values()} == {"a", "b", "c"}


def in_turns(name: str) -> str:
    """As Salt has it."""
    first = "abc"[binascii.crc32(name.encode()) % 3]
    return first + "abc".replace(first, "")


class FakeResolver:
    def __init__(self, *answers: list[str]) -> None:
        self.answers = iter(answers)

    async def getaddrinfo(self, host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, port)) for address in next(self.answers)]


def test_names_are_resolved_anew_and_the_preferred_family_comes_first() -> None:
    resolver: Any = FakeResolver(["::1", "127.0.0.1", "127.0.0.1"], ["127.0.0.2"])
    master = MasterAddress("salt", 4506)
    assert asyncio.run(resolve(master, resolver)) == ["127.0.0.1", "::1"]
    assert asyncio.run(resolve(master, resolver)) == ["127.0.0.2"]
    both: Any = FakeResolver(["127.0.0.1", "::1"])
    assert asyncio.run(resolve(master, both, ipv6_first=True)) == ["::1", "127.0.0.1"]


def test_an_address_needs_no_resolver() -> None:
    resolver: Any = FakeResolver()
    assert asyncio.run(resolve(MasterAddress("127.0.0.1", 1), resolver)) == ["127.0.0.1"]
