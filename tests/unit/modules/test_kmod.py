"""``kmod``: modules are loaded and told."""

from __future__ import annotations

from recorded_host import Recorded, caller


def test_modules_are_loaded_and_told():
    host = Recorded({"modprobe bad": ("", 1)}, {"/proc/modules": "lone 12 0 - Live 0x0\n"})
    call = caller(host)
    assert call("kmod.is_loaded", "lone") is True
    assert call("kmod.mod_list") == ["lone"]
    assert call("kmod.load", "bad") == "Error loading module bad: "
    assert call("kmod.load", "good") == []
    assert call("kmod.remove", "lone") == []
    assert host.ran == ["modprobe bad", "modprobe good", "rmmod lone"]
