"""Grains of disks from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

from saltlite.grains import disks
from saltlite.host import Host


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
