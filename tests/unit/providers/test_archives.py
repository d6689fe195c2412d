"""What is in an archive, read once for who asks again, and anew for every change."""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from saltlite import disk
from saltlite.providers import archives


def pack(path: Path, *names: str) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    path.write_bytes(data.getvalue())


def settle(path: Path) -> None:
    """Wait until a further change would show."""
    while not disk.is_settled(path.stat()):
        time.sleep(0.01)


def test_the_same_archive_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tar.gz"
    pack(path, "one", "two/three")
    os.link(path, tmp_path / "same.tar.gz")
    settle(path)
    first = archives.tar_contents(str(path))
    assert first is not None
    assert first.files == {"one", "two/three"}
    monkeypatch.setattr(archives, "_read_tar", None)
    assert archives.tar_contents(str(path)) == first
    assert archives.tar_contents(str(tmp_path / "same.tar.gz")) == first


@pytest.mark.parametrize("settled", [True, False])
def test_every_change_is_seen(tmp_path: Path, settled: bool) -> None:
    """Also where the file stays as large, and as old by the time that can be set."""
    path = tmp_path / "a.tar"
    for number in range(100, 105):
        pack(path, str(number))
        os.utime(path, (0, 0))
        if settled:
            settle(path)
        for _ in range(2):
            found = archives.tar_contents(str(path))
            assert found is not None
            assert found.files == {str(number)}


def test_what_is_no_archive_is_asked_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(b"no archive")
    settle(path)
    for _ in range(2):
        assert archives.tar_contents(str(path)) is None
    path.unlink()
    with pytest.raises(FileNotFoundError):
        archives.tar_contents(str(path))
