"""``network`` on a host that answers from text."""

from __future__ import annotations

import socket

import pytest
from ip_addr import links_of
from recorded_host import Recorded, caller

from saltlite.host import Host

ADDRESSES = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
    inet6 ::1/128 scope host
2: eth0@if5: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    inet 10.0.0.2/24 brd 10.0.0.255 scope global eth0
    inet 8.8.4.4/32 scope global secondary eth0
    inet6 fd00::2/64 scope global
3: down0: <BROADCAST> mtu 1500 state DOWN
"""


@pytest.fixture
def network():
    return caller(Recorded(links=links_of(ADDRESSES)))


@pytest.mark.parametrize(
    ("fun", "args", "gives"),
    [
        ("interface_ip", ["eth0"], "10.0.0.2"),
        ("interface_ip", ["down0"], ""),
        ("hw_addr", ["eth0"], "02:00:00:00:00:01"),
        ("hwaddr", ["down0"], ""),
        (
            "interface",
            ["x"],
            'Interface "x" not in available interfaces: "lo", "eth0", "down0"',
        ),
        ("ifacestartswith", ["10."], ["eth0"]),
        ("ip_addrs", [], ["8.8.4.4", "10.0.0.2"]),
        ("ip_addrs", [None, True, "127.0.0.0/8"], ["127.0.0.1"]),
        ("ip_addrs", [None, False, None, "public"], ["8.8.4.4"]),
        ("ipaddrs", ["eth0", False, None, "private"], ["10.0.0.2"]),
        ("ip_addrs6", [], ["fd00::2"]),
        ("ipaddrs6", [None, True], ["::1", "fd00::2"]),
        ("subnets", [["eth0"]], ["8.8.4.4/32", "10.0.0.0/24"]),
        ("subnets6", [], ["fd00::/64"]),
        ("in_subnet", ["10.0.0.0/16"], True),
        ("in_subnet", ["fd00::/8"], True),
        ("in_subnet", ["nonsense"], False),
    ],
)
def test_addresses(network, fun, args, gives):
    assert network(f"network.{fun}", *args) == gives


def test_interfaces_tell_parent_and_secondary_addresses(network):
    found = network("network.interfaces")["eth0"]
    assert found["parent"] == "if5"
    assert [entry["address"] for entry in found["secondary"]] == ["8.8.4.4"]
    assert network("network.ip_networks", "lo", True, True) == {
        "127.0.0.0/8": {
            "address": "127.0.0.0",
            "netmask": "255.0.0.0",
            "num_addresses": 16777216,
            "prefixlen": 8,
        }
    }


def test_connect_for_real():
    call = caller(Host())
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        found = call("network.connect", "127.0.0.1", port)
        assert found["result"] is True
        numbers = [each["local_port"] for each in call("network.active_tcp").values()]
        places = [each["local-address"] for each in call("network.netstat")]
        assert f"127.0.0.1:{port}" in places
        assert all(isinstance(number, int) for number in numbers)
    found = call("network.connect", "127.0.0.1", port, timeout=1)
    assert found == {
        "result": False,
        "comment": f"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port {port}",
    }


def test_wake_a_machine():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sleeper:
        sleeper.bind(("127.0.0.1", 0))
        sleeper.settimeout(5)
        port = sleeper.getsockname()[1]
        assert caller(Host())("network.wol", "08:00:27:13:69:77", "127.0.0.1", port) is True
        packet = sleeper.recv(200)
    assert packet == b"\xff" * 6 + bytes.fromhex("080027136977") * 16
    with pytest.raises(ValueError, match="Invalid MAC address"):
        caller(Host())("network.wol", "08:00")
