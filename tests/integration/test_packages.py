"""``scripts/build-packages``: what is in the packages, and a walk from them to an answered job.

``SALTLITE_PACKAGES`` names a directory with packages that are built already.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolated import unshare
from programs import need
from repository import ROOT
from walk import walk

NO_INDEX = re.compile(r"No matching distribution|Could not find a version|Connection|resolve")
PYTHON = Path("/usr/bin/python3")
FILES = {
    "saltlite-common": (
        "./usr/lib/saltlite/pyvenv.cfg", "./usr/lib/saltlite/bin/salt",
        "./usr/share/man/man1/salt.1.gz", "./usr/share/man/man1/salt-minion.1.gz",
        "./usr/share/bash-completion/completions/salt",
        "./usr/share/bash-completion/completions/salt-key",
        "./usr/share/zsh/vendor-completions/_salt", "./usr/share/doc/saltlite-common/copyright",
    ),
    "saltlite-master": (
        "./etc/salt/master", "./lib/systemd/system/salt-master.service",
        "./lib/systemd/system/salt-api.service", "./lib/systemd/system/salt-syndic.service",
        "./usr/bin/salt", "./usr/bin/salt-key", "./usr/bin/salt-run", "./usr/bin/salt-master",
    ),
    "saltlite-minion": (
        "./etc/salt/minion", "./lib/systemd/system/salt-minion.service", "./usr/bin/salt-call",
        "./usr/bin/salt-minion",
    ),
}  # fmt: skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    need("dpkg-deb", "dpkg")
    if "SALTLITE_PACKAGES" in os.environ:
        yield Path(os.environ["SALTLITE_PACKAGES"])
        return
    probe = [str(PYTHON), "-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 10))"]
    if not PYTHON.exists() or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip(f"{PYTHON} is not there, too old, or without venv")
    folder = tmp_path_factory.mktemp("packages")
    done = subprocess.run(
        [str(ROOT / "scripts/build-packages"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if NO_INDEX.search(done.stderr):
        pytest.skip(f"no package index: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    yield folder


def package(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}_*.deb")
    return found


def field(folder: Path, name: str, which: str) -> str:
    argv = ["dpkg-deb", "--field", str(package(folder, name)), which]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", FILES)
def test_what_is_in_it(packages: Path, name: str) -> None:
    argv = ["dpkg-deb", "--contents", str(package(packages, name))]
    rows = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {row.split()[1] for row in rows} == {"root/root"}
    there = {row.split()[5] for row in rows}
    assert [path for path in FILES[name] if path not in there] == []
    writable = [row for row in rows if row[0] != "l" and "w" in (row[5], row[8])]
    assert writable == []


def test_who_needs_whom(packages: Path) -> None:
    version = field(packages, "saltlite-common", "Version")
    for name in ("saltlite-master", "saltlite-minion"):
        assert field(packages, name, "Depends") == f"saltlite-common (= {version})"
        assert name.replace("saltlite", "salt") in field(packages, name, "Conflicts")
    assert re.fullmatch(
        r"python3 \(>= 3\.\d+\), python3 \(<< 3\.\d+\)",
        field(packages, "saltlite-common", "Depends"),
    )


def test_nothing_in_it_knows_where_it_was_built(packages: Path, tmp_path: Path) -> None:
    subprocess.run(
        ["dpkg-deb", "--extract", str(package(packages, "saltlite-common")), str(tmp_path)],
        check=True,
    )
    home = tmp_path / "usr/lib/saltlite"
    for command in (home / "bin").glob("salt*"):
        assert command.read_text().startswith("#!/usr/lib/saltlite/bin/python\n"), command
    (code,) = home.glob("lib/python3*/site-packages/saltlite/version.py")
    (compiled,) = code.parent.glob("__pycache__/version.*.pyc")
    assert b"/usr/lib/saltlite/lib/" in compiled.read_bytes()
    assert "/tmp/" not in (home / "pyvenv.cfg").read_text()


@pytest.mark.root
@pytest.mark.parametrize("name", ["saltlite-master", "saltlite-minion"])
def test_a_purge_says_what_stays(packages: Path, tmp_path: Path, name: str) -> None:
    subprocess.run(
        ["dpkg-deb", "--control", str(package(packages, name)), str(tmp_path / "control")],
        check=True,
    )
    said = {
        word: subprocess.run(
            ["/bin/sh", str(tmp_path / "control" / "postrm"), word],
            env={"PATH": "/nonexistent"},  # so that nothing of this machine is changed
            capture_output=True, text=True, check=True,
        ).stdout
        for word in ("remove", "purge")
    }  # fmt: skip
    unit = name.replace("saltlite", "salt")
    stays = "what it kept stays in /etc/salt/pki, /var/cache/salt and /var/log/salt"
    assert said == {"remove": "", "purge": f"{unit}: {stays}\n"}


def test_from_the_packages_to_an_answered_job(packages: Path) -> None:
    """README's lines, typed on an overlay of this machine, without a network."""
    if os.geteuid() != 0:
        pytest.skip("needs root: packages are installed on an overlay of this machine")
    need("git")  # brings the checkout
    unshare()
    done = walk(Path("/"), packages)
    assert done.returncode == 0, done.stdout
    assert re.search(r"# salt '\*' test\.ping .*exit code 0\)\n[\w.-]+:\n    True\n", done.stdout)
    assert "Key for minion " in done.stdout
