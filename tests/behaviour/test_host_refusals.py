"""What functions that look at the machine refuse, and what they say without a program."""

from __future__ import annotations

import pytest
from programs import need
from recorded_host import Recorded, caller

from saltlite.errors import FunctionError, FunctionUnavailable, ProgramMissing, UsageError
from saltlite.host import Host


def test_a_host_is_no_option():
    host = Recorded()
    call = caller(host)
    call("network.ping", "-f", return_boolean=True)
    call("network.dig", "-x")
    call("network.traceroute", "--help")
    call("ssh.recv_known_host_entries", "-oProxyCommand=x")
    assert host.ran == [
        "ping -c 4 f",
        "dig x",
        "traceroute help",
        "ssh-keyscan -H -T 5 oProxyCommand=x",
    ]


@pytest.mark.parametrize(
    ("fun", "args", "program"),
    [
        ("network.dig", ["x"], "dig"),
        ("network.traceroute", ["x"], "traceroute"),
        ("disk.iostat", [], "iostat"),
        ("ps.lsof", ["x"], "lsof"),
        ("ps.ss", ["x"], "ss"),
    ],
)
def test_programs_that_are_missing(fun, args, program):
    with pytest.raises(ProgramMissing, match=f"The '{program}' binary was not found"):
        caller(Recorded(missing=(program,)))(fun, *args)


def test_no_crontab():
    with pytest.raises(FunctionUnavailable, match="crontab command not found"):
        caller(Recorded(missing=("crontab",)))("cron.list_tab", "root")


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        ("system.get_system_date", ["bogus"]),
        ("system.set_system_date", ["bogus"]),
        ("timezone.zone_compare", ["../etc/passwd"]),
        ("disk.tune", ["/dev/x"]),
    ],
)
def test_calls_that_make_no_sense(fun, args):
    keywords = {"bogus": 1} if fun == "disk.tune" else {}
    with pytest.raises(UsageError):
        caller(Recorded())(fun, *args, **keywords)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        ("disk.usage", ["-x"]),
        ("disk.inodeusage", ["/"]),
        ("network.routes", ["ipx"]),
        ("network.get_route", ["x"]),
        ("status.meminfo", []),
        ("sysctl.assign", ["../../etc/passwd", 1]),
        ("locale.set_locale", ["x\nLD_PRELOAD=y"]),
        ("cron.set_job", ["root", 1, 1, 1, 1, 1, "a\nb"]),
        ("ssh.set_auth_key", ["root", "K", "rot13"]),
        ("mount.rm_fstab", ["/", None]),
        ("system.set_system_date_time", [2020, 13]),
        ("ps.disk_usage", ["/nosuch"]),
        ("ps.proc_info", [99999999]),
    ],
)
def test_refusals(fun, args):
    with pytest.raises(FunctionError):
        caller(Recorded())(fun, *args)


def test_what_the_kernel_tells_of_this_machine():
    need("w")
    call = caller(Host())
    everything = call("status.all_status")
    assert sorted(everything) == [
        "cpuinfo", "cpustats", "diskstats", "diskusage", "loadavg", "meminfo", "netdev",
        "netstats", "uptime", "vmstats", "w",
    ]  # fmt: skip
    assert everything["meminfo"]["MemTotal"]["unit"] == "kB"
    assert call("status.nproc") >= 1
    assert call("status.version").startswith("Linux version")
    assert call("status.master") is None
    assert call("mount.is_mounted", "/proc") is True
    assert call("mount.get_device_from_path", "/proc/self/status") == "proc"
    assert set(call("disk.percent")) == set(call("disk.usage"))
