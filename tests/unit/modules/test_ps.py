"""``ps`` on this machine."""

from __future__ import annotations

import pytest
from recorded_host import caller

from saltlite.host import Host


def test_processes():
    pytest.importorskip("psutil")
    call = caller(Host())
    (busiest,) = call("ps.top", 1, 0)
    assert set(busiest) == {"cmd", "user", "status", "pid", "create_time", "cpu", "mem"}
    assert 1 in call("ps.get_pid_list")
    assert call("ps.pgrep", "no such process at all") is None
    assert call("ps.pkill", "no such process at all") is None
    assert call("ps.kill_pid", 99999999) is False
    assert call("ps.network_io_counters", "nosuch") is False
    assert call("ps.disk_io_counters", "nosuch") is False
    assert call("ps.virtual_memory")["total"] == call("ps.total_physical_memory")
