"""``network_settings``: what it tells of attributes that have changed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from saltlite.beacons import network_settings
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.host import Completed, Host


def context(host: Host) -> BeaconContext:
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(minion, "name", time.monotonic)


class Network(Host):
    """Interfaces with attributes that a test sets."""

    def __init__(self) -> None:
        self.files = {"eth0": {"mtu": "1500", "flags": "0x1003", "operstate": "up"}, "lo": {}}
        self.addresses: list[dict[str, Any]] = [
            {"family": "inet", "local": "10.0.0.1", "prefixlen": 24}
        ]

    def names(self, path: str) -> list[str]:
        return sorted(self.files)

    def read_bytes(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes | None:
        _, interface, name = path.rsplit("/", 2)
        text = self.files[interface].get(name)
        return None if text is None else f"{text}\n".encode()

    def run(self, command: Any, **options: Any) -> Completed:
        text = json.dumps([{"addr_info": self.addresses}])
        return Completed(pid=1, exit_code=0, stdout=text, stderr="", timed_out=False)


def look(ctx: BeaconContext, **config: Any) -> list[dict[str, Any]]:
    assert network_settings.validate(config)[0], network_settings.validate(config)
    return network_settings.beacon(ctx, config)


def test_network_settings_tell_changed_attributes() -> None:
    """The form observed on Salt 3006.30."""
    network = Network()
    ctx, wanted = context(network), {"mtu": None, "promiscuity": {"onvalue": 1}, "ipaddr": None}
    assert look(ctx, interfaces={"eth*": wanted}) == []
    network.files["eth0"] |= {"mtu": "1400", "flags": "0x1103", "operstate": "down"}
    network.addresses += [{"family": "inet6", "local": "fe80::1", "prefixlen": 64}]
    change = {"mtu": 1400, "promiscuity": 1, "ipaddr": [["10.0.0.1", 24], ["fe80::1", 64]]}
    assert look(ctx, interfaces={"eth*": wanted}) == [
        {"tag": "eth0", "interface": "eth0", "change": change}
    ]
    network.files["eth0"]["flags"] = "0x1003"
    assert look(ctx, interfaces={"eth*": wanted}) == [], "not the value that is asked about"


def test_network_settings_coalesce() -> None:
    network = Network()
    ctx = context(network)
    config: dict[str, Any] = {"interfaces": {"*": {"operstate": None}}, "coalesce": True}
    assert look(ctx, **config) == []
    network.files["eth0"]["operstate"] = "down"
    assert look(ctx, **config) == [{"tag": "result", "changes": {"eth0": {"operstate": "DOWN"}}}]
    del network.files["eth0"]
    assert look(ctx, **config) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "requires interfaces"),
        ({"interfaces": {"lo": {"nonsense": None}}}, "nonsense of lo is none of"),
        ({"interfaces": {"lo": ["mtu"]}}, "must be a map"),
        ({"interfaces": {"lo": {}}, "coalesce": 1}, "True or False"),
    ],
)
def test_wrong_network_settings(config: Any, words: str) -> None:
    valid, text = network_settings.validate(config)
    assert not valid
    assert words in text


def test_the_real_loopback_can_be_read() -> None:
    ctx = context(Host())
    if "lo" not in Host().names("/sys/class/net"):
        pytest.skip("there is no /sys/class/net/lo")
    look(ctx, interfaces={"lo": {"mtu": None, "flags": None, "operstate": None, "index": None}})
    assert ctx.kept["interfaces"]["lo"]["mtu"] > 0
