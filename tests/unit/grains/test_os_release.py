"""Every os-release file against what real Salt makes of it (tests/cases/record/os_grains)."""

from __future__ import annotations

import json

import pytest
from repository import DATA

from saltlite.grains import os_release
from saltlite.host import Completed, Host

CASES = DATA / "grains"
RECORDED = json.loads((CASES / "os.json").read_text())
RECORDED_ETC = json.loads((CASES / "etc.json").read_text())
"""Of directories with os-release and lsb-release (tests/cases/record/lsb_grains)."""

NOT_OURS = {"lsb_distrib_description"}  # only lsb-release has one; grains.item shows it empty


class RecordedHost(Host):
    def __init__(self, files=(), commands=()):
        self.files = dict(files)
        self.commands = dict(commands)

    def read_bytes(self, path, *, limit_bytes=0):
        text = self.files.get(path)
        return None if text is None else text.encode()

    def which(self, name):
        return f"/usr/bin/{name}" if name in {argv[0] for argv in self.commands} else None

    def run(self, command, **options):
        return Completed(pid=1, exit_code=0, stdout=self.commands[tuple(command)], stderr="")


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_as_real_salt(name):
    files = {
        "/etc/os-release": (CASES / "os-release" / name).read_text(),
        "/etc/debian_version": "12.11\n",  # of the machine that recorded
    }
    host = RecordedHost(files, {("dpkg", "--print-architecture"): "amd64\n"})
    grains = os_release.read(host)
    grains["osarch"] = os_release.architecture(host, grains["os_family"], "x86_64")
    expected = {key: value for key, value in RECORDED[name].items() if key not in NOT_OURS}
    assert grains == expected


@pytest.mark.parametrize("name", sorted(RECORDED_ETC))
def test_lsb_release_goes_before_os_release_as_in_real_salt(name):
    directory = CASES / "etc" / name
    files = {f"/etc/{path.name}": path.read_text() for path in directory.iterdir()}
    host = RecordedHost(files, {("dpkg", "--print-architecture"): "amd64\n"})
    grains = os_release.read(host)
    grains["osarch"] = os_release.architecture(host, grains["os_family"], "x86_64")
    absent = {key: "" for key in RECORDED_ETC[name] if key not in grains}  # as grains.item shows it
    assert {**grains, **absent} == RECORDED_ETC[name]


def test_there_are_recordings_of_every_family():
    assert {row["os_family"] for row in RECORDED.values()} >= {
        "Debian", "RedHat", "Suse", "Arch", "Alpine", "Gentoo",
    }  # fmt: skip


def test_centos_tells_its_minor_release_elsewhere():
    release = (CASES / "os-release" / "centos-7").read_text()
    host = RecordedHost(
        {
            "/etc/os-release": release,
            "/etc/centos-release": "CentOS Linux release 7.9.2009 (Core)\n",
        }
    )
    grains = os_release.read(host)
    assert grains["osrelease"] == "7.9.2009"
    assert grains["osfinger"] == "CentOS Linux-7"


def test_architecture_of_packages():
    rpm = RecordedHost(commands={("rpm", "--eval", "%{_host_cpu}"): "aarch64\n"})
    assert os_release.architecture(rpm, "RedHat", "x") == "aarch64"
    assert os_release.architecture(RecordedHost(), "Debian", "x86_64") == "x86_64"


def test_odd_lines_are_passed_over():
    text = "# c\n\nNAME='A B'\nBROKEN=\"x\nnothing\nID = y\n"
    assert os_release.parse_os_release(text) == os_release.OsRelease(name="A B", id="y")
