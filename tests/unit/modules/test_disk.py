"""``disk``: file systems are made and wiped."""

from __future__ import annotations

from recorded_host import Recorded, caller


def test_file_systems_are_made_and_wiped():
    host = Recorded({"mkfs -t ext4 /dev/bad": ("", 1)})
    call = caller(host)
    assert call("disk.format", "/dev/x", "ext4", 256, True, force=True) is True
    assert call("disk.format", "/dev/y", "xfs", 512, force=True) is True
    assert call("disk.format", "/dev/bad") is False
    assert call("disk.wipe", "/dev/x") is True
    assert call("disk.resize2fs", "/dev/x") is True
    assert host.ran == [
        "mkfs -t ext4 -i 256 -E lazy_itable_init=True -F /dev/x",
        "sync",
        "mkfs -t xfs -i size=512 -f /dev/y",
        "sync",
        "mkfs -t ext4 /dev/bad",
        "wipefs -a /dev/x",
        "resize2fs /dev/x",
    ]
