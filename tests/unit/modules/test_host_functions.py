"""Functions that look at the machine, on a host that answers from text; what they refuse."""

from __future__ import annotations

import socket

import pytest
from ip_addr import links_of
from programs import need

from saltlite.config.minion import MinionConfig, NetworkOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, ProgramMissing, UsageError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.modules import status

ADDRESSES = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
    inet6 ::1/128 scope host
2: eth0@if5: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    inet 10.0.0.2/24 brd 10.0.0.255 scope global eth0
    inet 8.8.4.4/32 scope global secondary eth0
    inet6 fd00::2/64 scope global
3: down0: <BROADCAST> mtu 1500 state DOWN
"""


class Recorded(Host):
    """Commands answer from ``said``, files from ``files``; both are kept."""

    def __init__(self, said=None, files=None, missing=(), links=()):
        self.said, self.files, self.missing = said or {}, files or {}, missing
        self.told_links = list(links)
        self.ran = []

    def run(self, command, **options):
        line = " ".join(command)
        self.ran.append(line)
        out, code = self.said.get(line, ("", 0)) if line in self.said else ("", 0)
        return Completed(1, code, out, "")

    def links(self):
        return self.told_links

    def which(self, name):
        return None if name in self.missing else f"/bin/{name}"

    def read_bytes(self, path, **options):
        text = self.files.get(path)
        return text if isinstance(text, bytes) or text is None else text.encode()

    def read_link(self, path):
        return self.files.get(f"link {path}")

    def is_dir(self, path):
        return False

    def exists(self, path):
        return path in self.files


def caller(host, grains=None):
    ctx = MinionContext(config=MinionConfig(), host=host, grains=grains or {}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


@pytest.fixture
def network():
    return caller(Recorded(links=links_of(ADDRESSES)))


@pytest.mark.parametrize(
    ("fun", "args", "gives"),
    [
        ("interface_ip", ["eth0"], "10.0.0.2"),
        ("interface_ip", ["down0"], ""),
        ("hw_addr", ["eth0"], "02:00:00:00:00:01"),
        ("hwaddr", ["down0"], ""),
        (
            "interface",
            ["x"],
            'Interface "x" not in available interfaces: "lo", "eth0", "down0"',
        ),
        ("ifacestartswith", ["10."], ["eth0"]),
        ("ip_addrs", [], ["8.8.4.4", "10.0.0.2"]),
        ("ip_addrs", [None, True, "127.0.0.0/8"], ["127.0.0.1"]),
        ("ip_addrs", [None, False, None, "public"], ["8.8.4.4"]),
        ("ipaddrs", ["eth0", False, None, "private"], ["10.0.0.2"]),
        ("ip_addrs6", [], ["fd00::2"]),
        ("ipaddrs6", [None, True], ["::1", "fd00::2"]),
        ("subnets", [["eth0"]], ["8.8.4.4/32", "10.0.0.0/24"]),
        ("subnets6", [], ["fd00::/64"]),
        ("in_subnet", ["10.0.0.0/16"], True),
        ("in_subnet", ["fd00::/8"], True),
        ("in_subnet", ["nonsense"], False),
    ],
)
def test_addresses(network, fun, args, gives):
    assert network(f"network.{fun}", *args) == gives


def test_interfaces_tell_parent_and_secondary_addresses(network):
    found = network("network.interfaces")["eth0"]
    assert found["parent"] == "if5"
    assert [entry["address"] for entry in found["secondary"]] == ["8.8.4.4"]
    assert network("network.ip_networks", "lo", True, True) == {
        "127.0.0.0/8": {
            "address": "127.0.0.0",
            "netmask": "255.0.0.0",
            "num_addresses": 16777216,
            "prefixlen": 8,
        }
    }


def test_connect_for_real():
    call = caller(Host())
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        found = call("network.connect", "127.0.0.1", port)
        assert found["result"] is True
        numbers = [each["local_port"] for each in call("network.active_tcp").values()]
        places = [each["local-address"] for each in call("network.netstat")]
        assert f"127.0.0.1:{port}" in places
        assert all(isinstance(number, int) for number in numbers)
    found = call("network.connect", "127.0.0.1", port, timeout=1)
    assert found == {
        "result": False,
        "comment": f"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port {port}",
    }


def test_wake_a_machine():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sleeper:
        sleeper.bind(("127.0.0.1", 0))
        sleeper.settimeout(5)
        port = sleeper.getsockname()[1]
        assert caller(Host())("network.wol", "08:00:27:13:69:77", "127.0.0.1", port) is True
        packet = sleeper.recv(200)
    assert packet == b"\xff" * 6 + bytes.fromhex("080027136977") * 16
    with pytest.raises(ValueError, match="Invalid MAC address"):
        caller(Host())("network.wol", "08:00")


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


@pytest.mark.parametrize(
    ("files", "zone"),
    [
        ({"link /etc/localtime": "/usr/share/zoneinfo/Europe/Berlin"}, "Europe/Berlin"),
        ({"link /etc/localtime": "../usr/share/zoneinfo/UTC"}, "UTC"),
        ({"/etc/timezone": "America/Denver\n"}, "America/Denver"),
    ],
)
def test_time_zone_of_the_machine(files, zone):
    assert caller(Recorded(files=files))("timezone.get_zone") == zone


def test_hardware_clock():
    assert caller(Recorded())("timezone.get_hwclock") == "UTC"
    local = caller(Recorded(files={"/etc/adjtime": "0\n0\nLOCAL\n"}))
    assert local("timezone.get_hwclock") == "localtime"


def test_modules_are_loaded_and_told():
    host = Recorded({"modprobe bad": ("", 1)}, {"/proc/modules": "lone 12 0 - Live 0x0\n"})
    call = caller(host)
    assert call("kmod.is_loaded", "lone") is True
    assert call("kmod.mod_list") == ["lone"]
    assert call("kmod.load", "bad") == "Error loading module bad: "
    assert call("kmod.load", "good") == []
    assert call("kmod.remove", "lone") == []
    assert host.ran == ["modprobe bad", "modprobe good", "rmmod lone"]


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


def test_processes_where_ps_knows_little():
    import os

    known = caller(Host())("status.procs")
    assert {"user", "cmd"} == set(known[str(os.getpid())])

    class Busybox(Host):
        def which(self, name):
            return None if name == "ps" else super().which(name)

    call = caller(Busybox())
    found = call("status.procs")
    assert found[str(os.getpid())] == known[str(os.getpid())]
    assert call("status.pid", "no such process anywhere [x]y") == ""
    assert "1" in call("status.pid", r"\b1 ").splitlines()


def test_connected_to_the_master():
    fired = []

    class Bus:
        def fire(self, tag, data):
            fired.append((tag, data))

    tcp = "head\n 0: 0100007F:D903 0100007F:{port:04X} 01 0:0 0:0 0 0 0 77\n"
    for port, connected in ((4505, True), (4506, False)):
        host = Recorded(files={"/proc/net/tcp": tcp.format(port=port), "/proc/net/tcp6": "head\n"})
        config = MinionConfig(network=NetworkOptions(master="127.0.0.1:4506"))
        ctx = MinionContext(config=config, host=host, grains={}, pillar={}, events=Bus())
        ctx.functions, ctx.master = Registry(ctx), object()
        assert ctx.functions.call("status.master") is connected
        assert ctx.functions.call("status.master", "nosuch.invalid") is None
    assert fired == [("__master_disconnected", {"master": "127.0.0.1:4506"})]


@pytest.mark.parametrize(
    ("master", "host"),
    [
        ("salt", "salt"),
        ("salt:4506", "salt"),
        ("10.0.0.1:1", "10.0.0.1"),
        ("[::1]:4506", "::1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
    ],
)
def test_a_masters_name_without_its_port(master, host):
    assert status._host_of(master) == host


def test_custom_status(monkeypatch):
    config = MinionConfig(extra={"status.meminfo.custom": ["MemTotal"], "status.x": 1})
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    assert set(ctx.functions.call("status.custom")) == {"MemTotal"}
