"""Parsers on recorded text; the expected values are what Salt 3006.30 made of the same text."""

from __future__ import annotations

import pytest
from ip_addr import links_of

from saltlite.grains import (
    cpu,
    disks,
    hardware,
    init,
    kernel,
    memory,
    names,
    network,
    process,
    virtual,
)
from saltlite.host import CommandError, Completed, Host

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


@pytest.mark.parametrize(
    ("text", "count", "model", "flags"),
    [
        (
            "processor\t: 0\nmodel name\t: X\nFeatures\t: a b\n\nprocessor\t: 1\nmodel name\t: Y\n",
            2, "Y", ["a", "b"],
        ),
        (
            "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n\nprocessor\t: 1\n",
            2, "Unknown", ["fp", "asimd"],
        ),
        (
            "vendor_id       : IBM/S390\n# processors    : 4\nfeatures\t: esan3 zarch \n"
            "processor 0: version = FF,  identification = 2733E8,  machine = 2964\n",
            4, "IBM/S390", [],
        ),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec\n", 1, "POWER9, altivec", []),
        ("", 0, "Unknown", []),
    ],
)  # fmt: skip
def test_cpu(text, count, model, flags):
    assert cpu.parse_cpuinfo(text) == {"num_cpus": count, "cpu_model": model, "cpu_flags": flags}


def test_memory():
    text = "MemTotal:       24684096 kB\nMemFree: 1 kB\nSwapTotal:  99999 kB\nBad: x\n"
    assert memory.parse_meminfo(text) == {"mem_total": 24105, "swap_total": 97}
    assert memory.parse_meminfo("") == {"mem_total": 0, "swap_total": 0}


@pytest.mark.parametrize(
    ("detected", "kind", "subtype"),
    [
        ("none", "physical", None), ("kvm", "kvm", None), ("qemu", "qemu", None),
        ("vmware", "VMware", None), ("microsoft", "VirtualPC", None), ("oracle", "oracle", None),
        ("xen", "xen", None), ("bochs", "bochs", None), ("docker", "container", "Docker"),
        ("lxc", "container", "LXC"), ("lxc-libvirt", "container", "LXC"),
        ("systemd-nspawn", "systemd-nspawn", None), ("openvz", "physical", None),
        ("podman", "container", "Podman"), ("wsl", "physical", None),
        ("amazon", "Nitro", "Amazon EC2"), ("google", "physical", None), ("uml", "uml", None),
        ("nonsense", "physical", None),
    ],
)  # fmt: skip
def test_virtual(detected, kind, subtype):
    grains = virtual.virtual_grains(detected)
    assert (grains["virtual"], grains.get("virtual_subtype")) == (kind, subtype)


def test_container_without_systemd():
    assert virtual.container_kind("", docker=True) == "Docker"
    assert virtual.container_kind("1:cpu:/docker/abc\n", docker=False) == "Docker"
    assert virtual.container_kind("1:cpu:/lxc/abc\n", docker=False) == "LXC"
    assert virtual.container_kind("0::/init.scope\n", docker=False) is None


LSPCI = """\
Slot:\t00:00.0
Class:\tHost bridge
Vendor:\tIntel Corporation
Device:\t440FX

Slot:\t00:02.0
Class:\tVGA compatible controller
Vendor:\tNVIDIA Corporation
Device:\tGP104 [GeForce GTX 1080]

Slot:\t00:03.0
Class:\t3D controller
Vendor:\tAdvanced Micro Devices, Inc. [AMD/ATI]
Device:\tVega 10

Slot:\t00:04.0
Class:\tDisplay controller
Vendor:\tWeird Vendor
Device:\tThing
"""


def test_gpus():
    assert hardware.parse_lspci(LSPCI) == [
        {"vendor": "nvidia", "model": "GP104 [GeForce GTX 1080]"},
        {"vendor": "amd", "model": "Vega 10"},
        {"vendor": "unknown", "model": "Thing"},
    ]


def test_firmware():
    values = {"uuid": "4C4C4544\n", "serialnumber": "SER\n", "boardname": None, "biosvendor": " \n"}
    assert hardware.dmi_grains(values) == {"uuid": "4c4c4544", "serialnumber": "SER"}


def test_disks():
    found = [("sda", "1\n"), ("nvme0n1", "0\n"), ("odd", "")]
    assert disks.disk_grains(found) == {"disks": ["sda"], "ssds": ["nvme0n1"]}


def test_devices_without_hardware_are_left_out():
    class Block(Host):
        def names(self, path):
            return ["loop0", "vda"]

        def read_link(self, path):
            kind = "virtual" if path.endswith("loop0") else "pci0"
            return f"../devices/{kind}/block/x"

        def read_bytes(self, path, *, limit_bytes=0):
            return b"1\n"

    assert disks.read(Block()) == {"disks": ["vda"], "ssds": []}


def test_kernel_parameters():
    assert kernel.parse_cmdline('a=b quiet "c d=e f" x="q r" a=b=c --\n') == [
        ["a", "b"], ["quiet", None], ["c d", "e f"], ["x", "q r"], ["a", "b=c"], ["--", None],
    ]  # fmt: skip
    assert kernel.parse_cmdline("it's=1") == [["it's", "1"]]


def test_secure_boot():
    assert kernel.is_secure(b"\x06\x00\x00\x00\x01")
    assert not kernel.is_secure(b"\x06\x00\x00\x00\x00")
    assert not kernel.is_secure(None)


def test_systemd_version():
    assert init.parse_version("systemd 252 (252.38-1)\n+PAM +AUDIT\n") == {
        "version": "252",
        "features": "+PAM +AUDIT",
    }
    assert init.parse_version("") is None


def test_kinds_of_init():
    assert init.kind_of_init(b"..upstart..") == "upstart"
    assert init.kind_of_init(b"..sysvinit..") == "sysvinit"
    assert init.kind_of_init(b"") == "unknown"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LC_ALL": "fr_FR.UTF-8"}, ("fr_FR", "UTF-8")),
        ({"LANG": "de_DE.ISO-8859-1"}, ("de_DE", "ISO8859-1")),
        ({}, (None, None)),
        ({"LANG": "C"}, (None, None)),
    ],
)
def test_default_locale(environ, expected):
    assert process.default_locale(environ) == expected


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
