"""``system``: clocks that are set, and restarts."""

from __future__ import annotations

from recorded_host import Recorded, caller


def test_clock_is_set_with_the_hardware_clock():
    host = Recorded()
    call = caller(host)
    assert call("system.set_system_date_time", 2020, 3, 4, 5, 6, 7) is True
    assert call("system.set_system_time", "11:12:13 PM", "+0000") is True
    assert call("system.set_system_time", "nonsense") is False
    assert host.ran[:3] == [
        "date 030405062020.07",
        "hwclock --test --systohc",
        "hwclock --systohc",
    ]
    assert host.ran[3].startswith("date -u ")
    assert host.ran[3].endswith(".13")


def test_restarts():
    host = Recorded()
    call = caller(host)
    for fun, *args in (("reboot",), ("shutdown", 5), ("halt",), ("poweroff",), ("init", 3)):
        assert call(f"system.{fun}", *args) == ""
    assert host.ran == ["shutdown -r now", "shutdown -h 5", "halt", "poweroff", "init 3"]
