"""Grains of virtual machines and containers; the values are those of Salt 3006.30."""

from __future__ import annotations

import pytest

from saltlite.grains import virtual


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
