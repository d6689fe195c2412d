"""Files that are replaced as a whole."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from saltlite.disk import may_write, write_file


def test_two_threads_that_write_one_file_do_not_mix(tmp_path: Path) -> None:
    """As two jobs may with ``multiprocessing: False``; the one that ends last has it."""
    path = tmp_path / "file"

    def pieces() -> Iterator[bytes]:
        yield b"first "
        other = threading.Thread(target=write_file, args=(path, b"second"))
        other.start()
        other.join()
        assert path.read_bytes() == b"second"
        yield b"first"

    write_file(path, pieces())
    assert path.read_bytes() == b"first first"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o644, 0o4755, 0o2770, 0o1777, 0])
def test_the_mode_is_the_one_asked_for_whatever_the_umask(
    tmp_path: Path, mode: int, umask: int
) -> None:
    before = os.umask(umask)
    try:
        status = write_file(tmp_path / "file", b"content", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert stat.S_IMODE(status.st_mode) == mode


def test_the_status_is_that_of_the_file_that_has_the_name_then(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"first", b"second", b""):
        status, found = write_file(path, content, flush=False), path.stat()
        assert (status.st_ino, status.st_size) == (found.st_ino, len(content))
        assert status.st_mtime_ns == found.st_mtime_ns


def test_what_a_killed_writer_left_is_in_nobodys_way(tmp_path: Path) -> None:
    """Nor is its content, its mode, or where it leads to."""
    left = tmp_path / f".file.{threading.get_native_id()}.tmp"
    other = tmp_path / "other"
    other.write_bytes(b"other")
    for make in (
        lambda: left.write_bytes(b"half of a longer text"),
        lambda: left.symlink_to(other),
    ):
        make()
        write_file(tmp_path / "file", b"whole")
        assert (tmp_path / "file").read_bytes() == b"whole"
        assert stat.S_IMODE((tmp_path / "file").lstat().st_mode) == 0o600
        assert other.read_bytes() == b"other"
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]


def test_a_zombie_writes_nothing_any_more():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not taken away
    try:
        os.kill(pid, 0)
        assert not may_write(pid)
    finally:
        os.waitpid(pid, 0)
    assert not may_write(pid)


def test_who_may_still_write():
    assert may_write(os.getpid())
    with ThreadPoolExecutor(1) as pool:
        thread = pool.submit(threading.get_native_id).result()
        assert may_write(thread)
    assert may_write(1)
    assert may_write(10**30)  # no number of a process: nothing is known of it
