"""Names and their addresses where there is no network, as real Salt 3006.30 gave them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from isolated import unshare
from programs import need

from saltlite.grains import names
from saltlite.host import CommandError, Completed, Host

HOSTS = {
    "bare": "127.0.0.1 localhost\n",
    "debian": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 vm.example.org vm\n",
    "static": "127.0.0.1 localhost\n10.1.2.3 vm.example.org vm\nfd00::1 vm.example.org vm\n",
    "loopback": "127.0.0.1 localhost vm\n::1 localhost vm\n",
}
IN_NAMESPACE = """
set -e
hostname vm
echo 'hosts: files' > "$1/nsswitch.conf"
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
[ "$2" = down ] || ip link set lo up
ip addr add 127.0.0.1/8 dev lo 2> /dev/null || true
exec "$3" -c "$4" "$1"
"""
PROGRAM = """
import json, pathlib, sys
from saltlite.config.load import load_minion
from saltlite.grains.collect import collect
from saltlite.host import Host
grains = collect(load_minion(pathlib.Path(sys.argv[1])), Host())
print(json.dumps([grains[name] for name in ("fqdn", "fqdn_ip4", "fqdn_ip6")]))
"""


@pytest.mark.parametrize(
    ("link", "hosts", "fqdn", "ip4", "ip6"),
    [
        ("up", "bare", "vm", [], []),
        ("up", "debian", "vm.example.org", ["127.0.1.1"], []),
        ("up", "static", "vm.example.org", ["10.1.2.3"], ["fd00::1"]),
        ("up", "loopback", "localhost", ["127.0.0.1"], ["::1"]),
        ("down", "bare", "vm", [], []),
        ("down", "debian", "vm.example.org", ["127.0.1.1"], []),
        ("down", "static", "vm.example.org", ["10.1.2.3"], []),
        ("down", "loopback", "localhost", ["127.0.0.1"], []),
    ],
)
def test_a_name_has_its_addresses_without_a_network(
    tmp_path: Path, link: str, hosts: str, fqdn: str, ip4: list[str], ip6: list[str]
) -> None:
    need("ip")
    tmp_path.joinpath("hosts").write_text(HOSTS[hosts])
    tmp_path.joinpath("minion").write_text(f"root_dir: {tmp_path}\nid: m1\n")
    argv = [*unshare(mapped=True), "-u", "sh", "-c", IN_NAMESPACE, "sh", str(tmp_path), link]
    done = subprocess.run(
        [*argv, sys.executable, PROGRAM], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [fqdn, ip4, ip6]


@pytest.mark.parametrize(
    ("own", "ip4", "ip6"),
    [
        ({"ipv4": ["10.0.0.1"], "ipv6": ["::1"]}, ["10.1.2.3"], ["fd00::1"]),
        ({"ipv4": ["10.0.0.1"], "ipv6": []}, ["10.1.2.3"], []),
        ({"ipv4": [], "ipv6": []}, [], []),
    ],
)
def test_a_kind_of_address_that_the_machine_does_not_have_is_left_out(
    own: dict[str, Any], ip4: list[str], ip6: list[str]
) -> None:
    resolved = {"fqdn": "vm", "fqdn_ip4": ["10.1.2.3"], "fqdn_ip6": ["fd00::1"]}
    wanted = {"fqdn": "vm", "fqdn_ip4": ip4, "fqdn_ip6": ip6}
    assert names.without_unused(resolved, own) == wanted


# Names and their addresses from recorded text; the values are those of Salt 3006.30.

AHOSTS = "192.0.2.2       STREAM VM.Example.COM\n192.0.2.2       DGRAM\n192.0.2.2       RAW\n"


def test_names():
    assert names.parse_canonical_name(AHOSTS) == "VM.Example.COM"
    assert names.parse_canonical_name("") is None
    assert names.name_grains("VM.Example.COM") == {
        "fqdn": "VM.Example.COM", "host": "VM", "domain": "Example.COM",
    }  # fmt: skip
    assert names.parse_addresses("::ffff:127.0.0.1 STREAM vm\n::1 DGRAM\n::1 RAW\n") == ["::1"]


def test_a_dead_name_server_costs_one_wait():
    asked = []

    class Dead(Host):
        def run(self, command, **options):
            asked.append(options["timeout_s"])
            return Completed(pid=1, exit_code=-9, stdout="", stderr="", timed_out=True)

    grains = names.read(Dead(), "web1.corp.example")
    assert grains["fqdn"] == "web1.corp.example"
    assert (grains["fqdn_ip4"], grains["fqdn_ip6"]) == ([], [])
    assert asked == [names.RESOLVE_TIMEOUT_S]


def test_no_resolver_at_all():
    class Bare(Host):
        def run(self, command, **options):
            raise CommandError(command, None, "no such file")

    assert names.read(Bare(), "vm")["fqdn"] == "vm"
