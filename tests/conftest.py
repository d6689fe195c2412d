"""What every test may use."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import setproctitle

# It finds where a process's title is through the environment, which tests change: so it looks now.
setproctitle.getproctitle()
sys.path.insert(0, str(Path(__file__).parent / "support"))
os.environ["SHELL"] = "/bin/bash"  # commands run in it, and the cases were recorded with it


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a name short enough for a Unix socket; ``tmp_path`` grows by the run."""
    path = Path(tempfile.mkdtemp(prefix="sl-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests that are marked ``alone`` run while no other test does, though workers are several.

    Outside pytest-timeout's own wrapper, so that waiting costs a test nothing.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    place = Path(item.config._tmp_path_factory.getbasetemp()).parent  # type: ignore[attr-defined]
    how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
    with (place / "room").open("w") as room:
        with (place / "door").open("w") as door:  # so that nobody passes one who waits
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, how)
        return (yield)
