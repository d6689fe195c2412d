"""The systemd units install where they are told to, and systemd understands them."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).parents[2] / "scripts" / "systemd"
UNITS = (
    "salt-master.service", "salt-minion.service", "salt-api.service", "salt-syndic.service",
)  # fmt: skip


def install(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SYSTEMD / "install"), *args], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in ("salt-master", "salt-minion", "salt-api", "salt-syndic"):
        (bin_dir / name).write_text("#!/bin/sh\n")
        (bin_dir / name).chmod(0o755)
    names = ("master", "minion", "api", "syndic")
    done = install("--prefix", str(tmp_path), "--bin-dir", str(bin_dir), *names)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("wrote ") == 4
    return tmp_path


def unit(root: Path, name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(root / "etc" / "systemd" / "system" / name)
    return parser


@pytest.mark.parametrize("name", UNITS)
def test_unit_starts_the_installed_daemon_and_waits_for_its_word(
    installed: Path, name: str
) -> None:
    service = unit(installed, name)["Service"]
    assert service["ExecStart"] == f"{installed}/bin/{name.removesuffix('.service')}"
    assert service["Type"] == "notify"
    assert service["LimitNOFILE"] == "100000"


def test_running_jobs_survive_a_restart_of_the_minion(installed: Path) -> None:
    assert unit(installed, "salt-minion.service")["Service"]["KillMode"] == "process"
    assert unit(installed, "salt-master.service")["Service"]["KillMode"] == "mixed"


def test_a_reload_is_only_there_where_it_does_something(installed: Path) -> None:
    """SIGHUP has master and salt-api open their logs anew; to the others it is nothing."""
    with_reload = {name for name in UNITS if "ExecReload" in unit(installed, name)["Service"]}
    assert with_reload == {"salt-master.service", "salt-api.service"}
    for name in with_reload:  # the smallest Debian has no /bin/kill
        assert unit(installed, name)["Service"]["ExecReload"] == "/bin/sh -c 'kill -HUP $MAINPID'"


def test_the_minion_may_do_everything_and_the_others_no_more_than_they_need(
    installed: Path,
) -> None:
    for name in UNITS:
        service = unit(installed, name)["Service"]
        limits = {key for key in service if key.startswith(("Protect", "Restrict", "Private"))}
        if name == "salt-minion.service":
            assert limits - {"Restart", "RestartSec"} == set()
        else:
            assert {"ProtectKernelModules", "ProtectClock", "RestrictNamespaces"} <= limits
    master = unit(installed, "salt-master.service")["Service"]
    assert (master["ProtectSystem"], master["ReadWritePaths"]) == ("full", "-/etc/salt")


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is in the package systemd"
)
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit(installed: Path, name: str) -> None:
    path = installed / "etc" / "systemd" / "system" / name
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if str(path) in line or name in line]
    assert (done.returncode, ours) == (0, [])


def test_one_unit_alone(tmp_path: Path) -> None:
    (tmp_path / "salt-minion").write_text("#!/bin/sh\n")
    (tmp_path / "salt-minion").chmod(0o755)
    done = install("--prefix", str(tmp_path / "root"), "--bin-dir", str(tmp_path), "minion")
    assert done.returncode == 0
    found = [path.name for path in (tmp_path / "root/etc/systemd/system").iterdir()]
    assert found == ["salt-minion.service"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--bogus"], "unknown argument: --bogus"),
        (["--prefix"], "--prefix needs a directory"),
        (["--prefix", "/nowhere", "--bin-dir", "/nowhere"], "no such directory: /nowhere"),
        (["--prefix", "/nowhere", "--bin-dir", "/proc"], "salt-master is not there"),
    ],
)
def test_what_is_wrong_is_one_line(args: list[str], says: str) -> None:
    done = install(*args)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
