"""Services: systemctl itself on unit files in a root directory, the rest from recorded answers."""

from __future__ import annotations

import os
import shutil

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.service import systemd
from saltlite.providers.service.openrc import OpenRc
from saltlite.providers.service.systemd import Systemd, canonical
from saltlite.providers.service.sysv import SysV

UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
STATIC = "[Service]\nExecStart=/bin/true\n"

needs_systemctl = pytest.mark.skipif(
    shutil.which("systemctl") is None, reason="no systemctl to ask"
)


class RecordedHost(Host):
    """Answers commands from a map, and remembers them."""

    def __init__(self, answers=None, files=None, links=None, names=None, programs=True):
        self.answers = answers or {}
        self.files = files or {}
        self.links = links or {}
        self.listed = names or {}
        self.programs = programs
        self.done = []

    def run(self, command, **how):
        line = " ".join(command)
        self.done.append(line)
        answer = next((each for name, each in self.answers.items() if line.startswith(name)), "")
        code, out = (answer, "") if isinstance(answer, int) else (0, answer)
        return Completed(pid=1, exit_code=code, stdout=out, stderr="refused" if code else "")

    def which(self, name):
        return f"/bin/{name}" if self.programs is True or name in self.programs else None

    def is_dir(self, path):
        return path in self.listed

    def names(self, path):
        return self.listed.get(path, [])

    def read_link(self, path):
        return self.links.get(path)


def make(host, grains=None, providers=None):
    config = MinionConfig(modules=ModuleOptions(providers=providers or {}))
    ctx = MinionContext(config=config, host=host, grains=grains or {}, pillar={})
    ctx.functions = Registry(ctx)

    def call(function, *args, **kwargs):
        return ctx.functions.call(f"service.{function}", *args, **kwargs)

    call.ctx = ctx
    return call


@pytest.mark.parametrize(
    ("grains", "providers", "expected"),
    [
        ({"init": "systemd", "os_family": "Debian"}, {}, Systemd),
        ({"init": "systemd", "os_family": "Alpine"}, {}, Systemd),
        ({"init": "openrc", "os_family": "Gentoo"}, {}, OpenRc),
        ({"init": "busybox", "os_family": "Alpine"}, {}, OpenRc),
        ({"init": "sysvinit", "os_family": "Debian"}, {}, SysV),
        ({"init": "unknown", "os_family": "Debian"}, {}, SysV),
        ({"init": "systemd"}, {"service": "debian_service"}, SysV),
    ],
)
def test_which_manager(grains, providers, expected):
    from saltlite.providers.service import provider

    assert isinstance(provider(make(RecordedHost(), grains, providers).ctx), expected)


def test_an_unknown_manager_is_said():
    with pytest.raises(FunctionUnavailable, match="no service manager is called x"):
        make(RecordedHost(), {}, {"service": "x"})("get_all")


@pytest.mark.parametrize(
    ("name", "unit"),
    [("ssh", "ssh.service"), ("ssh.socket", "ssh.socket"), ("a.b", "a.b.service"),
     ("getty@tty1", "getty@tty1.service"), ("user.slice", "user.slice")],
)  # fmt: skip
def test_names_of_units(name, unit):
    assert canonical(name) == unit


SYSTEMD = {"init": "systemd"}


@pytest.mark.parametrize(
    ("function", "kwargs", "command"),
    [
        ("start", {}, "systemctl start a.service"),
        ("stop", {"no_block": True}, "systemctl --no-block stop a.service"),
        ("restart", {}, "systemctl restart a.service"),
        ("reload", {}, "systemctl reload a.service"),
        ("force_reload", {}, "systemctl --no-block force-reload a.service"),
        ("enable", {}, "systemctl enable a.service"),
        ("disable", {}, "systemctl disable a.service"),
        ("mask", {"runtime": True}, "systemctl mask --runtime a.service"),
    ],
)
def test_systemd_is_told(function, kwargs, command):
    host = RecordedHost()
    assert make(host, SYSTEMD)(function, "a", **kwargs) is True
    assert host.done[-1] == command


def test_a_restart_survives_the_minion():
    host = RecordedHost(names={systemd.BOOTED: []})
    make(host, SYSTEMD)("restart", "salt-minion")
    assert host.done[-1] == "systemd-run --scope systemctl restart salt-minion.service"


def test_changed_unit_files_are_read_first():
    host = RecordedHost({"systemctl show a.service --property=Need": "NeedDaemonReload=yes\n"})
    make(host, SYSTEMD)("start", "a")
    assert host.done[-2:] == ["systemctl --system daemon-reload", "systemctl start a.service"]


def test_what_systemd_refuses_is_an_error():
    with pytest.raises(FunctionError, match="refused"):
        make(RecordedHost({"systemctl start": 1}), SYSTEMD)("start", "a")
    with pytest.raises(FunctionError, match="refused"):
        make(RecordedHost({"systemctl enable": 1}), SYSTEMD)("enable", "a")
    call = make(RecordedHost({"systemctl stop": 1, "systemctl disable": 1}), SYSTEMD)
    assert call("stop", "a") is False
    assert call("disable", "a") is False
    assert call.ctx.state["retcode"] == 1
    with pytest.raises(FunctionError, match="Failed to mask service 'a'"):
        make(RecordedHost({"systemctl mask": 1}), SYSTEMD)("mask", "a")


def test_an_init_script_is_enabled_in_its_own_way(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    host = RecordedHost(names={"/etc/init.d": ["old", "both"],
                               "/lib/systemd/system": ["both.service"]})  # fmt: skip
    call = make(host, SYSTEMD)
    call("enable", "old")
    call("disable", "old")
    call("enable", "both")
    assert host.done == ["update-rc.d -f old defaults 99", "systemctl daemon-reload",
                         "update-rc.d -f old remove", "systemctl daemon-reload",
                         "systemctl enable both.service"]  # fmt: skip


def test_unmask_before_the_start():
    host = RecordedHost(links={"/etc/systemd/system/a.service": "/dev/null"})
    make(host, SYSTEMD)("start", "a", unmask=True)
    assert host.done[-2:] == ["systemctl unmask a.service", "systemctl start a.service"]


def test_status_of_one_and_of_a_glob():
    host = RecordedHost(
        {"systemctl is-active b.service": 3},
        names={"/lib/systemd/system": ["a.service", "b.service", "x.socket"]},
    )
    call = make(host, SYSTEMD)
    assert call("status", "a") is True
    assert call("status", "b") is False
    assert call("status", "[ab]") == {"a": True, "b": False}


def test_availability():
    host = RecordedHost({"systemctl show nosuch": "LoadState=not-found\n",
                         "systemctl show more": "LoadState=not-found\nActiveState=inactive\n",
                         "systemctl show a": "LoadState=loaded\n"})  # fmt: skip
    call = make(host, SYSTEMD)
    assert call("available", "more") is False
    assert (call("available", "a"), call("missing", "a")) == (True, False)
    assert (call("available", "nosuch"), call("missing", "nosuch")) == (False, True)


def test_sysv_is_told(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    listed = {
        "/etc/init.d": ["README", "cron", "dbus", "x11-common"],
        "/etc/rcS.d": ["S01x11-common"],
        "/etc/rc2.d": ["S01dbus", "K01cron"],
    }
    host = RecordedHost({"service cron status": 3}, names=listed)
    call = make(host, {"init": "sysvinit"})
    assert call("get_all") == ["cron", "dbus", "x11-common"]
    assert call("get_enabled") == ["dbus", "x11-common"]
    assert call("get_disabled") == ["cron"]
    assert (call("enabled", "dbus"), call("disabled", "dbus")) == (True, False)
    assert (call("enabled", "nosuch"), call("disabled", "nosuch")) == (False, False)
    assert (call("status", "dbus"), call("status", "cron")) == (True, False)
    host.done.clear()
    assert call("enable", "cron") is True
    assert call("disable", "cron") is True
    assert call("force_reload", "cron") is True
    assert host.done == ["update-rc.d cron defaults", "update-rc.d cron enable",
                         "update-rc.d cron disable", "service cron force-reload"]  # fmt: skip


def test_red_hat_without_systemd():
    host = RecordedHost(programs=("chkconfig",))
    call = make(host, {"init": "sysvinit"})
    call("enable", "x")
    call("disable", "x")
    assert host.done == ["chkconfig x on", "chkconfig x off"]


def test_openrc_is_told():
    host = RecordedHost({"rc-update -v show": " sshd | default\n crond |\n"})
    call = make(host, {"init": "openrc"})
    assert call("get_enabled") == {"sshd": ["default"]}
    assert call("get_disabled") == ["crond"]
    assert call("get_all") == ["crond", "sshd"]
    assert (call("enabled", "sshd"), call("enabled", "sshd", runlevels="boot")) == (True, False)
    host.done.clear()
    call("enable", "crond")
    call("enable", "crond", runlevels=["boot", "default"])
    call("restart", "sshd")
    call("available", "sshd")
    assert host.done == ["rc-update add crond default", "rc-update add crond boot default",
                         "rc-service sshd restart", "rc-service -e sshd"]  # fmt: skip


def test_openrc_takes_out_of_the_run_levels_it_is_in():
    host = RecordedHost({"rc-update -v show": " sshd | boot default\n crond |\n"})
    call = make(host, {"init": "openrc"})
    call("disable", "sshd", runlevels=["default", "sysinit"])
    call("disable", "crond", runlevels="boot")
    told = [line for line in host.done if "delete" in line]
    assert told == ["rc-update delete sshd default", "rc-update delete crond boot"]


def test_openrc_restarts_what_cannot_reload():
    host = RecordedHost({"rc-service sshd reload": 1})
    assert make(host, {"init": "openrc"})("force_reload", "sshd") is True
    assert host.done == ["rc-service sshd reload", "rc-service sshd restart"]


@pytest.mark.parametrize(
    ("wish", "levels", "told"),
    [
        ("enabled", "boot", ["rc-update add sshd boot"]),
        ("enabled", ["default", "boot"], ["rc-update add sshd default boot"]),
        ("enabled", "default", []),
        ("disabled", "boot", []),
        ("disabled", ["default", "boot"], ["rc-update delete sshd default"]),
    ],
)
def test_states_ask_about_the_run_levels_they_are_about(wish, levels, told):
    host = RecordedHost({"rc-update -v show": " sshd | default\n"})
    ctx = make(host, {"init": "openrc"}).ctx
    declared = resolve(f"service.{wish}", ctx).call(name="sshd", runlevels=levels)
    steps = declared.plan(declared.read(ctx))
    for step in steps:
        step.run(ctx)
    assert [line for line in host.done if not line.endswith(("show", "status", "-e sshd"))] == told


def test_without_systemctl_there_is_no_mask():
    with pytest.raises(FunctionUnavailable):
        make(RecordedHost(programs=()), {"init": "openrc"})("mask", "x")


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "usr/lib/systemd/system"
    place.mkdir(parents=True)
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (place / "sl-a.service").write_text(UNIT)
    (place / "sl-b.service").write_text(STATIC)
    (place / "sl-c.timer").write_text("[Timer]\nOnBootSec=1\n[Install]\nWantedBy=timers.target\n")
    return str(tmp_path)


@needs_systemctl
def test_unit_files_for_real(root):
    call = make(Host(), SYSTEMD)
    assert call("get_all", root=root) == ["sl-a", "sl-b", "sl-c.timer"]
    assert call("get_static", root=root) == ["sl-b"]
    assert call("enabled", "sl-a", root=root) is False
    assert call("enable", "sl-a", root=root) is True
    assert os.path.islink(f"{root}/etc/systemd/system/multi-user.target.wants/sl-a.service")
    assert call("enabled", "sl-a", root=root) is True
    assert call("get_enabled", root=root) == ["sl-a"]
    assert call("get_disabled", root=root) == ["sl-c.timer"]
    assert call("disable", "sl-a", root=root) is True
    assert call("disabled", "sl-a", root=root) is True


@needs_systemctl
def test_masks_for_real(root):
    call = make(Host(), SYSTEMD)
    assert call("masked", "sl-a", root=root) is False
    assert call("mask", "sl-a", root=root) is True
    assert call("masked", "sl-a", root=root) is True
    assert call("unmask", "sl-a", root=root) is True
    assert call("unmask", "sl-a", root=root) is True
    assert call("masked", "sl-a", root=root) is False
    assert call("mask", "sl-a", root=root, runtime=True) is True
    assert call("masked", "sl-a", root=root, runtime=True) is True
