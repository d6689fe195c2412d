"""A file that a state writes is whole, whatever happens to the disk or the process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.highstate.resource import realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
cachedir, name, arguments = sys.argv[1], sys.argv[2], eval(sys.argv[3])
config = MinionConfig(
    paths=PathOptions(cachedir=cachedir), files=FileOptions(file_client="local")
)
ctx = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
ctx.functions = Registry(ctx)
said = realise(resolve("file.managed", ctx).call(name=name, **arguments), ctx, test=False)
print(said.result, said.comment)
"""
OLD = "old\n" * 10
LARGE = 1 << 20


def run(tmp_path: Path, arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", RUN, str(tmp_path), str(tmp_path / "etc/f"), repr(arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    path = tmp_path / "etc/f"
    path.parent.mkdir()
    path.write_text(OLD)
    path.chmod(0o640)
    (tmp_path / "new").write_text("n" * LARGE)
    return path


def no_more_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE // 2, LARGE // 2))


def test_a_disk_that_is_full_leaves_the_old_content(tmp_path: Path, there: Path) -> None:
    done = run(tmp_path, {"source": str(tmp_path / "new")}, preexec_fn=no_more_room)
    (line,) = done.stdout.splitlines()
    assert line.startswith("False Unable to manage file: ")
    assert line.endswith(f"File too large: {str(there)!r}")
    assert done.stderr == ""
    assert there.read_text() == OLD
    assert os.listdir(there.parent) == ["f"]


KILLED = RUN.replace(
    "said = realise",
    """
import os, signal
rename = os.rename
os.rename = lambda old, new: os.kill(os.getpid(), signal.SIGKILL)
said = realise""",
)


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path, there: Path) -> None:
    arguments = {"contents": "new", "mode": "0600"}
    argv = [sys.executable, "-c", KILLED, str(tmp_path), str(there), repr(arguments)]
    killed = subprocess.run(argv, capture_output=True, timeout=30, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert there.read_text() == OLD
    assert len(os.listdir(there.parent)) == 2
    mine = there.parent / f".f.{os.getpid()}.tmp"
    mine.write_text("is being written")
    assert run(tmp_path, arguments).stdout.startswith("True ")
    assert there.read_text() == "new\n"
    assert sorted(os.listdir(there.parent)) == sorted(["f", mine.name])


def test_a_check_that_fails_changes_nothing(tmp_path: Path, there: Path) -> None:
    done = run(tmp_path, {"contents": "new", "check_cmd": "grep -q old"})
    assert done.stdout.startswith("False ")
    assert there.read_text() == OLD
    assert os.listdir(there.parent) == ["f"]
