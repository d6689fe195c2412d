"""A master that root starts for another user, on a machine where nothing is prepared."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster import Cluster, eventually

USER = "nobody"

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: changes its user"),
]


def can_run_python() -> bool:
    command = [sys.executable, "-c", "import ctypes, saltlite"]
    try:
        done = subprocess.run(command, user=USER, capture_output=True, check=False)
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not can_run_python():
        pytest.skip(f"{USER} may not read this Python: {sys.prefix}")
    one = Cluster(minions=0, master_options={"user": USER})
    fresh = Path(tempfile.mkdtemp(prefix="sl-nobody-", dir="/tmp"))
    fresh.chmod(0o755)
    path = one.master_dir / "master"
    options = yaml.safe_load(path.read_text())
    placed = ("pki_dir", "cachedir", "sock_dir", "pidfile", "log_file")
    kept = {name: value for name, value in options.items() if name not in placed}
    path.write_text(yaml.safe_dump({**kept, "root_dir": str(fresh / "root")}))
    with one:
        yield one
    shutil.rmtree(fresh)


def test_a_fresh_root_dir_will_do(cluster: Cluster) -> None:
    """It starts, again after a stop, and what it writes is its user's."""
    root = Path(yaml.safe_load((cluster.master_dir / "master").read_text())["root_dir"])
    uid = pwd.getpwnam(USER).pw_uid
    for _ in range(2):
        cluster.start_master()
        eventually(lambda: "is ready on" in cluster.master.log(), what="ready")
        files = [path for path in root.rglob("*") if path.is_file()]
        assert not [path for path in files if path.stat().st_uid != uid]
        names = {path.name for path in files}
        assert {"master.pem", ".master.lock", "salt-master.pid", "master"} <= names
        pid_file = next(path for path in files if path.name == "salt-master.pid")
        assert pid_file.read_text() == f"{cluster.master.pid}\n"
        assert cluster.master.stop() == 0
        assert not pid_file.exists() or not pid_file.read_text()
