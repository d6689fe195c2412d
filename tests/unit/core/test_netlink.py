"""Interfaces and addresses as the kernel tells them: what ``ip addr show`` prints of the same."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from ip_addr import links_of
from programs import need
from repository import ROOT

from cluster import eventually
from saltlite.core import netlink
from saltlite.grains import network
from saltlite.host import Host

LAID_OUT = """
ip link set lo up
ip link add d0 type dummy 2>&- || ip link add d0 type bridge
ip addr add 10.1.0.1/24 brd + dev d0
ip addr add 10.1.0.2/24 dev d0
ip addr add 10.1.0.3/32 dev d0 label d0:al
ip addr add 10.9.0.1 peer 10.9.0.2/24 dev d0
ip addr add 10.5.0.1/16 scope link dev d0
ip addr add 10.6.0.1/16 scope 42 dev d0
ip -6 addr add fd00::5/64 dev d0 || true
ip -6 addr add fd00::7 peer fd00::8/128 dev d0 || true
ip link set d0 up
ip link add v0 type veth peer name v1 || true
ip link add v2 type veth peer name v3 || true
unshare -n sleep 60 &
ip link set v3 netns $! || true
ip tuntap add dev tun0 mode tun || true
ip link add link v0 name m0 type macvlan || true
ip link add link d0 name d0.5 type vlan id 5 || true
ip link add t0 type sit remote 192.0.2.1 local 192.0.2.2 || true
ip link add b0 type bridge || true
"""

COMPARE = """
import json, subprocess
from dataclasses import asdict
from saltlite.host import Host
text = subprocess.run(["ip", "addr", "show"], capture_output=True, text=True, check=True).stdout
print(json.dumps([text, [asdict(one) for one in Host().links()]]))
"""


def test_as_ip_addr_show_says_of_this_machine() -> None:
    need("ip")

    def agree() -> bool:
        ran = subprocess.run(["ip", "addr", "show"], capture_output=True, text=True, check=True)
        return Host().links() == links_of(ran.stdout)

    eventually(agree, within_s=10, what="the kernel and the program agree")
    assert [one.name for one in Host().links()]


def test_as_ip_addr_show_says_of_every_kind_of_address() -> None:
    need("ip", "unshare")
    namespace = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]
    probe = "ip link add d0 type dummy || ip link add d0 type bridge"
    if subprocess.run([*namespace, "sh", "-c", probe], capture_output=True).returncode:
        pytest.skip("needs a network namespace where interfaces can be made")
    script = f'set -e\n{LAID_OUT}\n"$@"; kill $!'
    ran = subprocess.run(
        [*namespace, "sh", "-c", script, "sh", sys.executable, "-c", COMPARE],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    text, told = json.loads(ran.stdout)
    assert told == [asdict(one) for one in links_of(text)]
    by_name = {one["name"]: one for one in told}
    ipv4 = [one for one in by_name["d0"]["addresses"] if one["version"] == 4]
    assert {one["label"] for one in ipv4} == {"d0", "d0:al"}
    assert [one["address"] for one in ipv4 if one["secondary"]] == ["10.1.0.2"]
    assert ("10.9.0.1", 24) in [(one["address"], one["prefix"]) for one in ipv4]


def test_grains_need_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "127.0.0.1" in network.read(Host())["ipv4"]


def test_without_an_answer_there_are_no_addresses() -> None:
    class Silent(Host):
        def links(self) -> list[netlink.Link]:
            raise PermissionError("not here")

    assert network.read(Silent())["ip_interfaces"] == {}


def message(kind: int, body: bytes, flags: int = 2) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 1) + body


def test_a_change_during_the_answer_is_noticed() -> None:
    broken = [message(16, bytes(16), flags=0x12), message(3, bytes(4))]
    with pytest.raises(netlink.Interrupted):
        netlink.links(broken, [])


def test_a_refusal_is_an_error() -> None:
    refused = message(2, struct.pack("=i", -1))
    assert netlink.is_last(refused)
    with pytest.raises(OSError, match="does not tell") as caught:
        netlink.links([refused], [])
    assert caught.value.errno == 1


def test_interfaces_that_change_all_the_time_end_in_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def changing(*_answers: object) -> None:
        raise netlink.Interrupted

    monkeypatch.setattr(netlink, "links", changing)
    with pytest.raises(OSError, match="change all the time"):
        Host().links()
