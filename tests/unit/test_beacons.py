"""Beacons one by one: what they tell of a machine made for it, and which configurations pass."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.host import Completed, Host
from saltlite.loader.catalogue import BEACONS
from saltlite.loader.registry import with_functions


class Machine(Host):
    """A machine with these files, and these answers of commands."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(files or {})
        self.active: set[str] = set()
        self.stamps: dict[str, int] = {}

    def read_bytes(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes | None:
        text = self.files.get(path)
        return None if text is None else text.encode()

    def names(self, path: str) -> list[str]:
        below = f"{path.rstrip('/')}/"
        return sorted(
            {
                each.removeprefix(below).split("/")[0]
                for each in self.files
                if each.startswith(below)
            }
        )

    def exists(self, path: str) -> bool:
        return path in self.files

    def mtime_ns(self, path: str) -> int | None:
        return self.stamps.get(path)

    def which(self, name: str) -> str | None:
        return f"/bin/{name}"

    def run(self, command: Any, **options: Any) -> Completed:
        code = 0 if command[-1].removesuffix(".service") in self.active else 3
        return Completed(pid=1, exit_code=code, stdout="", stderr="", timed_out=False)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def context(host: Host | None = None, clock: Clock | None = None, **grains: Any) -> BeaconContext:
    minion = with_functions(
        MinionContext(
            config=MinionConfig(),
            host=host or Machine(),
            grains={"init": "systemd", "os_family": "Debian", **grains},
            pillar={},
        )
    )
    return BeaconContext(minion, "name", clock or Clock())


def run(name: str, ctx: BeaconContext, **config: Any) -> list[dict[str, Any]]:
    module = BEACONS.load(name)
    assert module is not None
    assert module.validate(config)[0], module.validate(config)
    found: list[dict[str, Any]] = list(module.beacon(ctx, config))
    return found


# --- what is configured ----------------------------------------------------------------------

BOUNDS = {"1m": [0, 1], "5m": [0, 1], "15m": [0, 1]}

WRONG: list[tuple[str, Any, str]] = [
    ("cert_info", {}, "must contain files"),
    ("cert_info", {"files": [5]}, "is no path"),
    ("cert_info", {"files": ["/a"], "notify_days": "soon"}, "must be a number"),
    ("diskusage", {"(": "5%"}, "missing"),
    ("diskusage", {"/": "full"}, "no percentage"),
    ("inotify", {}, "must include files"),
    ("inotify", {"files": ["/a"]}, "to be a map"),
    ("inotify", {"files": {"/a": {"mask": ["nonsense"]}}}, "is none of"),
    ("inotify", {"files": {"/a": {"mask": 5}}}, "must be a list"),
    ("inotify", {"files": {"/a": {"exclude": [{"(": {"regex": True}}]}}}, "missing"),
    ("inotify", {"files": {"/a": {"recurse": "yes"}}}, "True or False"),
    ("load", {}, "requires averages"),
    ("load", {"averages": {"1m": [0, 1]}}, "5m must be a list of two numbers"),
    ("load", {"averages": {**BOUNDS, "1m": [0, "1"]}}, "1m must be a list of two numbers"),
    ("load", {"averages": BOUNDS, "onchangeonly": "yes"}, "True or False"),
    ("log", {"tags": {}}, "must contain file"),
    ("log", {"file": "/a"}, "must contain tags"),
    ("log", {"file": "/a", "tags": {"t": "x"}}, "must be a map with a regex"),
    ("memusage", {}, "requires percent"),
    ("memusage", {"percent": True}, "no percentage"),
    ("memusage", {"percent": "nan"}, "no percentage"),
    ("swapusage", {}, "requires percent"),
    ("network_info", {"interfaces": {"lo": {}}}, "must be a map with one of"),
    ("network_info", {"interfaces": {"lo": {"bytes_sent": "x"}}}, "must be a number"),
    ("network_info", {"interfaces": {"lo": {"type": "less", "errin": 1}}}, "equal or greater"),
    ("pkg", {}, "requires list of pkgs"),
    ("pkg", {"pkgs": "bash"}, "to be a list of names"),
    ("ps", {}, "requires processes"),
    ("ps", {"processes": {"sh": "up"}}, "must be running or stopped"),
    ("salt_monitor", {}, "requires salt_fun"),
    ("salt_monitor", {"salt_fun": ["nofunction"]}, "is no function"),
    ("salt_monitor", {"salt_fun": [{"test.arg": {"arg": []}}]}, "only args and kwargs"),
    ("service", {}, "requires services"),
    ("service", {"services": {"a": {"delay": -1}}}, "must be seconds"),
    ("service", {"services": {"a": {"onchangeonly": 1}}}, "True or False"),
    ("status", {"loadavg": "some"}, "must be all or a list"),
    ("watchdog", {"directories": {"/a": {"mask": ["open"]}}}, "must be a list of"),
]


@pytest.mark.parametrize(("name", "config", "words"), WRONG)
def test_a_wrong_configuration_is_refused_with_a_sentence(
    name: str, config: Any, words: str
) -> None:
    module = BEACONS.load(name)
    assert module is not None
    valid, text = module.validate(config)
    assert valid is False
    assert words in text


def test_every_beacon_of_ours_has_what_one_needs() -> None:
    for name in BEACONS:
        module = BEACONS.load(name)
        assert module is not None
        assert callable(module.validate), name
        assert callable(module.beacon), name
        assert module.__doc__, name


# --- memory, load, network -------------------------------------------------------------------

MEMINFO = (
    "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 300 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
)


@pytest.mark.parametrize(
    ("name", "percent", "told"),
    [
        ("memusage", "70%", [{"memusage": 70.0}]),
        ("memusage", 70.1, []),
        ("memusage", "5", [{"memusage": 70.0}]),
        ("swapusage", "0%", [{"swapusage": 0.0}]),
        ("swapusage", "1%", []),
    ],
)
def test_memory(name: str, percent: Any, told: Any) -> None:
    ctx = context(Machine({"/proc/meminfo": MEMINFO}))
    assert run(name, ctx, percent=percent) == told


def load_of(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (value, 0.5, 0.5))


@pytest.mark.parametrize(
    ("options", "values", "told"),
    [
        ({}, [0.5, 2.0, 2.0, 0.5], [False, True, True, False]),
        ({"onchangeonly": True}, [0.5, 2.0, 2.0, 0.5], [False, True, False, True]),
        ({"onchangeonly": True}, [2.0, 2.0], [True, False]),
        ({"onchangeonly": True, "emitatstartup": False}, [2.0, 2.0, 0.5], [False, False, True]),
        ({"emitatstartup": False}, [2.0], [True]),
    ],
)
def test_load(monkeypatch: pytest.MonkeyPatch, options: Any, values: Any, told: Any) -> None:
    ctx = context()
    found = []
    for value in values:
        load_of(monkeypatch, value)
        found.append(run("load", ctx, averages=BOUNDS, **options))
    told_values = [
        [{"1m": value, "5m": 0.5, "15m": 0.5}] if is_told else []
        for value, is_told in zip(values, told, strict=True)
    ]
    assert found == told_values


NETDEV = "head\nhead\n  lo: 10 1 0 0 0 0 0 0 20 2 0 3 0 0 0 0\n"
COUNTERS = {
    "bytes_sent": 20, "bytes_recv": 10, "packets_sent": 2, "packets_recv": 1,
    "errin": 0, "errout": 0, "dropin": 0, "dropout": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("interfaces", "is_told"),
    [
        ({"lo": {"bytes_sent": 20}}, True),
        ({"lo": {"bytes_sent": 19}}, False),
        ({"lo": {"type": "greater", "bytes_sent": 19}}, True),
        ({"lo": {"type": "greater", "bytes_sent": 20, "dropout": 2}}, True),
        ({"eth7": {"type": "greater", "bytes_sent": -1}}, False),
    ],
)
def test_network_info(interfaces: Any, is_told: bool) -> None:
    told = run("network_info", context(Machine({"/proc/net/dev": NETDEV})), interfaces=interfaces)
    assert told == ([{"interface": "lo", "network_info": COUNTERS}] if is_told else [])


# --- processes, services, packages -----------------------------------------------------------


def test_ps_knows_names_that_the_kernel_cuts() -> None:
    files = {
        "/proc/1/comm": "init\n",
        "/proc/7/comm": "a-rather-long-n\n",
        "/proc/7/cmdline": "/usr/bin/a-rather-long-name\0-x\0",
        "/proc/8/comm": "fifteen_letters\n",
        "/proc/8/cmdline": "",
    }
    wanted = {
        "init": "running", "a-rather-long-name": "running", "fifteen_letters": "running",
        "none": "stopped", "no": "running",
    }  # fmt: skip
    assert run("ps", context(Machine(files)), processes=wanted) == [
        {"init": "Running"},
        {"a-rather-long-name": "Running"},
        {"fifteen_letters": "Running"},
        {"none": "Stopped"},
    ]


def services(options: Any, states: list[bool], step_s: float = 1.0) -> list[Any]:
    """Whether each look told something, and what."""
    machine, clock = Machine({"/run/pid": ""}), Clock()
    ctx = context(machine, clock)
    found = []
    for running in states:
        machine.active = {"nginx"} if running else set()
        found.append([each["nginx"] for each in run("service", ctx, services={"nginx": options})])
        clock.s += step_s
    return found


UP, DOWN = [{"running": True}], [{"running": False}]


@pytest.mark.parametrize(
    ("options", "states", "told"),
    [
        ({}, [True, True, False], [UP, UP, DOWN]),
        (None, [True], [UP]),
        ({"onchangeonly": True}, [True, True, False, False, True], [UP, [], DOWN, [], UP]),
        ({"onchangeonly": True, "emitatstartup": False}, [True, True, False], [[], [], DOWN]),
        ({"emitatstartup": False}, [True], [UP]),
        ({"onchangeonly": True, "delay": 2}, [True, True, True, True], [[], [], UP, []]),
        ({"onchangeonly": True, "delay": 2}, [True, False, True, True, True], [[], [], [], [], UP]),
        (
            {"uncleanshutdown": "/run/pid"},
            [True, False],
            [UP, [{"running": False, "uncleanshutdown": True}]],
        ),
        ({"uncleanshutdown": "/run/x"}, [False], [[{"running": False, "uncleanshutdown": False}]]),
    ],
)
def test_service(options: Any, states: Any, told: Any) -> None:
    assert services(options, states) == told


class Packages:
    """A package manager of which one may say what is there."""

    def __init__(self) -> None:
        self.there: dict[str, list[str]] = {}
        self.newer: dict[str, str] = {}
        self.asked = 0

    def list_installed(self) -> dict[str, list[str]]:
        self.asked += 1
        return self.there

    def available(self, names: Any, options: Any) -> dict[str, str]:
        return {name: self.newer.get(name, "") for name in names}

    def refresh(self, options: Any) -> None:
        self.newer["up"] = "3"


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Packages:
    made = Packages()
    monkeypatch.setattr("saltlite.providers.pkg.provider", lambda ctx: made)
    return made


def test_pkg_tells_what_became_another_one(packages: Packages) -> None:
    """The changes and answers observed on Salt 3006.30."""
    ctx = context(os_family="None")
    packages.there, packages.newer = {"bash": ["1"], "up": ["1"]}, {"up": "2"}
    names = ["bash", "x", "up"]
    found = [run("pkg", ctx, pkgs=names)]
    packages.there, packages.newer = {"bash": ["1"], "up": ["2"]}, {}
    found.append(run("pkg", ctx, pkgs=names))
    packages.there = {"bash": ["1"], "up": ["2"], "x": ["5"]}
    found.append(run("pkg", ctx, pkgs=names))
    del packages.there["bash"]
    found.append(run("pkg", ctx, pkgs=names))
    packages.newer = {"bash": "9"}
    found.append(run("pkg", ctx, pkgs=names))
    packages.there["bash"] = ["8"]
    found.append(run("pkg", ctx, pkgs=names))
    found.append(run("pkg", ctx, pkgs=names))
    assert found == [
        [],
        [{"pkg": "up", "version": "2", "status": "installed"}],
        [{"pkg": "x", "version": "5", "status": "installed"}],
        [{"pkg": "bash", "version": None, "status": "not-installed"}],
        [],
        [{"pkg": "bash", "version": "9", "status": "upgrade"}],
        [],
    ]


def test_pkg_asks_only_when_something_was_written(packages: Packages) -> None:
    machine = Machine()
    machine.stamps = {"/var/lib/dpkg/status": 1}
    ctx = context(machine)
    for _ in range(3):
        run("pkg", ctx, pkgs=["up"])
    assert packages.asked == 1
    machine.stamps = {"/var/lib/dpkg/status": 2}
    run("pkg", ctx, pkgs=["up"])
    assert packages.asked == 2
    packages.there = {"up": ["1"]}
    assert run("pkg", ctx, pkgs=["up"], refresh=True) == [
        {"pkg": "up", "version": "3", "status": "upgrade"}
    ]


# --- file systems, certificates, functions ---------------------------------------------------

MOUNTS = "a / ext4 rw 0 0\nb /srv ext4 rw 0 0\nc /srv/deep ext4 rw 0 0\nd /gone nfs rw 0 0\n"


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"/": "50%"}, ["/"]),
        ({"/$": "50%"}, ["/"]),
        ({"/": "51%"}, []),
        ({"/srv.*": "50%"}, ["/srv", "/srv/deep"]),
        ({"/srv": "50%", "/srv/.*": "99%"}, ["/srv"]),
        ({".*": "99%", "/srv": "1%"}, ["/srv"]),
        ({"/srv": "1%", ".*": "99%"}, []),
        ({"/nowhere": "1%", "interval": 5}, []),
    ],
)
def test_diskusage(monkeypatch: pytest.MonkeyPatch, limits: Any, told: list[str]) -> None:
    def room(path: str) -> Any:
        if path == "/gone":
            raise OSError("stale")
        return os.statvfs_result((4096, 4096, 100, 60, 40, 0, 0, 0, 0, 255))

    monkeypatch.setattr(os, "statvfs", room)
    found = run("diskusage", context(Machine({"/proc/self/mounts": MOUNTS})), **limits)
    assert found == [{"diskusage": 50.0, "mount": mount} for mount in told]


CERTIFICATE = DATA / "beacons/certificate.pem"


@pytest.mark.parametrize(
    ("files", "days", "count"),
    [
        ([str(CERTIFICATE)], 45, 0),
        ([str(CERTIFICATE)], -1, 1),
        ([str(CERTIFICATE)], 100_000, 1),
        ([{str(CERTIFICATE): {"notify_days": -1}}], 45, 1),
        ([str(CERTIFICATE), {str(CERTIFICATE): {"notify_days": 45}}], -1, 1),
        (["/nowhere.pem"], -1, 0),
    ],
)
def test_cert_info(files: Any, days: int, count: int) -> None:
    told = run("cert_info", context(Host()), files=files, notify_days=days)
    assert [len(each["certificates"]) for each in told] == ([count] if count else [])


def test_cert_info_reads_a_file_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "c.pem"
    path.write_text("nothing")
    ctx = context(Host())
    assert run("cert_info", ctx, files=[str(path)], notify_days=-1) == []
    path.write_bytes(CERTIFICATE.read_bytes())
    os.utime(path, (1, 1))
    assert len(run("cert_info", ctx, files=[str(path)], notify_days=-1)) == 1


def test_status_gives_items_or_all() -> None:
    ctx = context(Host())
    (told,) = run("status", ctx, loadavg=["1-min", "nosuch"], uptime="all", interval=5)
    assert set(told["data"]) == {"loadavg", "uptime"}
    assert set(told["data"]["loadavg"]) == {"1-min"}
    assert "seconds" in told["data"]["uptime"]
    (told,) = run("status", ctx)
    assert set(told["data"]) == {"loadavg", "cpustats", "meminfo", "vmstats", "time"}


def test_salt_monitor_tells_what_gives_something() -> None:
    ctx = context(Host())
    assert run("salt_monitor", ctx, salt_fun=["test.ping", "test.false"]) == [
        {"salt_fun": "test.ping", "ret": True}
    ]
    assert run("salt_monitor", ctx, salt_fun="test.false") == [
        {"salt_fun": "test.false", "ret": False}
    ]
    (told,) = run("salt_monitor", ctx, salt_fun=[{"test.echo": ["hello"]}])
    assert told == {"salt_fun": "test.echo", "ret": "hello", "args": ["hello"]}


# --- files -----------------------------------------------------------------------------------


def test_log_keeps_its_place_for_each_beacon(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("old error\n")
    config = {"file": str(path), "tags": {"e": {"regex": ".*error"}, "bad": {"regex": "("}}}
    first, second = context(Host()), context(Host())
    bad = {"tag": "bad", "match": "no", "raw": "", "error": "bad regex"}
    assert run("log", first, **config) == [bad]
    assert run("log", second, **config) == [bad]
    path.write_text("old error\nan error\nno\nan error too\n")
    for ctx in (first, second):
        assert run("log", ctx, **config) == [
            {"tag": "e", "match": "yes", "raw": "an error", "error": ""},
            {"tag": "e", "match": "yes", "raw": "an error too", "error": ""},
            bad,
        ]


def test_inotify_does_not_see_what_happens_while_it_is_closed(tmp_path: Path) -> None:
    module = BEACONS.load("inotify")
    assert module is not None
    ctx, config = context(Host()), {"files": {str(tmp_path): {}}}
    run("inotify", ctx, **config)
    module.close(ctx, config)
    (tmp_path / "a").write_text("")
    assert run("inotify", ctx, **config) == []
    (tmp_path / "b").write_text("")
    assert [each["path"] for each in run("inotify", ctx, **config)] == [str(tmp_path / "b")]


def test_inotify_tells_the_same_change_once_with_coalesce(tmp_path: Path) -> None:
    found = {}
    for coalesce in (True, False):
        ctx, config = context(Host()), {"files": {str(tmp_path): {}}, "coalesce": coalesce}
        run("inotify", ctx, **config)
        for name in ("a", "b", "a"):
            (tmp_path / name).write_text(name)
        found[coalesce] = run("inotify", ctx, **config)
        for name in ("a", "b"):
            (tmp_path / name).unlink()
    assert [(os.path.basename(e["path"]), e["change"]) for e in found[True]] == [
        ("a", "IN_CREATE"), ("a", "IN_MODIFY"), ("b", "IN_CREATE"), ("b", "IN_MODIFY"),
    ]  # fmt: skip
    assert len(found[False]) > len(found[True])


@pytest.mark.parametrize(
    ("exclude", "told"),
    [
        ([], {"out", "a.swp", "keep"}),
        (["out"], {"a.swp", "keep", "out"}),
        (["*/out"], {"a.swp", "keep"}),
        ([{r"\.swp$": {"regex": True}}], {"out", "keep"}),
        (["*.swp", "*/out"], {"keep"}),
    ],
)
def test_inotify_leaves_out(tmp_path: Path, exclude: Any, told: set[str]) -> None:
    ctx, config = context(Host()), {"files": {str(tmp_path): {"exclude": exclude}}}
    run("inotify", ctx, **config)
    for name in ("out", "a.swp", "keep"):
        (tmp_path / name).write_text("")
    assert {os.path.basename(e["path"]) for e in run("inotify", ctx, **config)} == told


def test_watchdog_pairs_the_halves_of_a_move(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a").write_text("")
    (outside / "b").write_text("")
    ctx, config = context(Host()), {"directories": {str(inside): {}}}
    run("watchdog", ctx, **config)
    (inside / "a").rename(inside / "c")
    (outside / "b").rename(inside / "b")
    (inside / "c").rename(outside / "c")
    told = [(os.path.basename(e["path"]), e["change"]) for e in run("watchdog", ctx, **config)]
    assert [each for each in told if each != ("in", "modified")] == [
        ("a", "moved"),
        ("b", "created"),
        ("c", "deleted"),
    ]
