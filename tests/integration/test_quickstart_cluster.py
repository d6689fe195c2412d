"""``scripts/quickstart cluster``: three nodes, one of them killed, and nothing left again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import databases
import psutil
import pytest
from repository import ROOT

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(400),
]


def quickstart(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    return subprocess.run(
        [str(checkout / "scripts" / "quickstart"), "cluster", *words],
        env={**os.environ, "SALTLITE_QUICKSTART_BIN": programs},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    yield tmp_path
    private = Path((tmp_path / "quickstart" / "cluster" / "private").read_text())
    quickstart(tmp_path, "stop")
    left = [one for one in psutil.process_iter(["cmdline"]) if is_of(one, tmp_path, private)]
    assert left == []
    assert not private.exists()


def is_of(process: psutil.Process, *places: Path) -> bool:
    line = " ".join(process.info["cmdline"] or [])
    return process.pid != os.getpid() and any(str(place) in line for place in places)


def test_a_node_dies_and_every_job_is_answered_by_all_twice(checkout: Path) -> None:
    """Once as it is set up, and once more as it was stopped."""
    assert quickstart(checkout, "status").returncode == 1
    check_run(checkout)
    assert quickstart(checkout, "status").returncode == 0
    key = checkout / "quickstart" / "cluster" / "n2" / "pki" / "cluster.pem"
    made_ns = key.stat().st_ctime_ns
    stopped = quickstart(checkout, "stop")
    assert stopped.stdout.endswith("quickstart: nothing of it runs\n")
    assert quickstart(checkout, "status").returncode == 1
    check_run(checkout)
    assert key.stat().st_ctime_ns == made_ns  # who is not root could not write it again


def check_run(checkout: Path) -> None:
    begun = quickstart(checkout)
    assert begun.returncode == 0, begun
    assert "n3: killed" in begun.stdout
    pings = re.findall(r"test\.ping: (\d) of 6 in", begun.stdout)
    assert len(pings) >= 6
    assert set(pings) == {"6"}
    assert begun.stdout.count("alive:\n            True") == 3
