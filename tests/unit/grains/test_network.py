"""Grains of the network from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

import pytest
from ip_addr import links_of

from saltlite.grains import network

IP_ADDR = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet 10.0.0.1/8 scope global lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host 
       valid_lft forever preferred_lft forever
2: br0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UNKNOWN group default
    link/ether 0a:62:96:d5:d7:f9 brd ff:ff:ff:ff:ff:ff
    inet 192.0.2.10/24 scope global br0
       valid_lft forever preferred_lft forever
    inet 9.1.1.1/8 scope global br0
       valid_lft forever preferred_lft forever
    inet 192.0.2.2/24 scope global secondary br0:alias
       valid_lft forever preferred_lft forever
    inet6 2001:db8::5/64 scope global 
       valid_lft forever preferred_lft forever
    inet6 fe80::862:96ff:fed5:d7f9/64 scope link tentative 
       valid_lft forever preferred_lft forever
3: br1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UNKNOWN group default
    link/ether 8a:66:18:80:70:1d brd ff:ff:ff:ff:ff:ff
    inet 100.64.0.1 peer 100.64.0.2/32 scope global br1
       valid_lft forever preferred_lft forever
4: v1@v0: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default qlen 1000
    link/ether 86:8d:4f:61:31:d4 brd ff:ff:ff:ff:ff:ff
5: t0: <POINTOPOINT,MULTICAST,NOARP> mtu 1500 qdisc noop state DOWN group default qlen 500
    link/none 
"""  # noqa: W291 - as the program writes it


def test_interfaces():
    grains = network.interface_grains(links_of(IP_ADDR))
    assert grains["ip_interfaces"] == {
        "lo": ["127.0.0.1", "10.0.0.1", "::1"],
        "br0": ["192.0.2.10", "9.1.1.1", "2001:db8::5", "fe80::862:96ff:fed5:d7f9", "192.0.2.2"],
        "br1": ["100.64.0.1"],
        "v1": [],
        "t0": [],
    }
    assert grains["ip4_interfaces"]["br0"] == ["192.0.2.10", "9.1.1.1", "192.0.2.2"]
    assert grains["ip6_interfaces"]["br0"] == ["2001:db8::5", "fe80::862:96ff:fed5:d7f9"]
    assert grains["hwaddr_interfaces"] == {
        "lo": "00:00:00:00:00:00",
        "br0": "0a:62:96:d5:d7:f9",
        "br1": "8a:66:18:80:70:1d",
        "v1": "86:8d:4f:61:31:d4",
    }
    assert grains["ipv4"] == [
        "9.1.1.1", "10.0.0.1", "100.64.0.1", "127.0.0.1", "192.0.2.2", "192.0.2.10",
    ]  # fmt: skip
    assert grains["ipv6"] == ["::1", "2001:db8::5", "fe80::862:96ff:fed5:d7f9"]


def test_no_interfaces():
    assert network.interface_grains([])["ip_interfaces"] == {}


HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
LOCAL = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


@pytest.mark.parametrize(
    ("lines", "gateway"),
    [
        ("", False),
        (LOCAL, False),
        (LOCAL + "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "192.0.2.1"),
        ("br0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", True),
        (
            "br0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
            "br0\t00000000\t630200C0\t0003\t0\t0\t50\t00000000\t0\t0\t0\n",
            "192.0.2.99",
        ),
    ],
)
def test_gateway(lines, gateway):
    assert network.parse_route(HEAD + lines) == gateway


ZERO = "0" * 32


@pytest.mark.parametrize(
    ("text", "gateway"),
    [
        ("", False),
        (f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200       lo\n", False),
        (f"{ZERO} 00 {ZERO} 00 {ZERO} 00000400 1 0 00000003      br0\n", True),
        (
            f"{ZERO} 00 {ZERO} 00 20010db8000000000000000000000099 00000400 1 0 3      br0\n",
            "2001:db8::99",
        ),
    ],
)
def test_ipv6_gateway(text, gateway):
    assert network.parse_ipv6_route(text) == gateway


def test_gateways_together():
    assert network.gateway_grains("", "") == {"ip_gw": False, "ip4_gw": False, "ip6_gw": False}


def test_resolv_conf():
    text = (
        "nameserver 1.1.1.1\nnameserver 2001:db8::1%eth0\nsearch a.example b.example\n"
        "domain d.example\noptions ndots:2 rotate\noptions timeout:3\n"
        "sortlist 130.155.160.0/255.255.240.0 130.155.0.0\n# c\n; d\nnameserver\n"
    )
    assert network.parse_resolv_conf(text) == {
        "nameservers": ["1.1.1.1", "2001:db8::1%eth0"],
        "ip4_nameservers": ["1.1.1.1"],
        "ip6_nameservers": ["2001:db8::1%eth0"],
        "sortlist": ["130.155.160.0/255.255.240.0", "130.155.0.0/255.255.0.0"],
        "domain": "d.example",
        "search": ["a.example", "b.example"],
        "options": ["ndots:2", "timeout:3"],
    }
