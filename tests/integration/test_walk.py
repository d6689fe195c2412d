"""README's lines for real machines, typed on bare root file systems.

``SALTLITE_ROOTFS`` names them, with colons between: directories made by ``debootstrap
--variant=minbase``. They stay as they are. Needs root, and the network as pip and apt need it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from isolated import unshare
from walk import lines, script, walk

ROOTS = [Path(name) for name in os.environ.get("SALTLITE_ROOTFS", "").split(":") if name]


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not ROOTS, reason="SALTLITE_ROOTFS names no bare root file system")
@pytest.mark.parametrize("rootfs", ROOTS, ids=lambda path: path.name)
def test_from_a_bare_machine_to_an_answered_job(rootfs: Path) -> None:
    unshare()
    done = walk(rootfs, None)
    assert done.returncode == 0, done.stdout
    assert re.search(r"# salt '\*' test\.ping .*exit code 0\)\n[\w.-]+:\n    True\n", done.stdout)


def test_the_walk_types_what_the_readme_says() -> None:
    typed = lines(packages=False)
    assert typed[0] == "apt-get update"
    assert [line.split()[0] for line in typed[-3:]] == ["salt-key", "salt", "salt"]
    assert any(line.startswith("scripts/install --master ") for line in typed)
    assert any(line.startswith("systemctl enable --now salt-master") for line in typed)


def test_with_packages_only_the_installation_is_another() -> None:
    typed = lines(packages=True, offline=True)
    assert typed[0] == "apt-get install -y /root/packages/*.deb"
    assert typed[-3:] == lines(packages=False)[-3:]


def test_a_line_that_fails_ends_the_walk() -> None:
    text = script(["false", "true"])
    assert text.count("[ $code = 0 ] || exit $code") == 2
