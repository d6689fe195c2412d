"""Hashes of large files: known to all processes, taken once, refused where they take long."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from saltlite import disk
from saltlite.config.master import FileOptions
from saltlite.fileserver import bundle, hashes, server
from saltlite.fileserver.hashes import HashTakesLong, LargeHashes
from saltlite.fileserver.server import FileServer

IDENTITY = (1, 2, 3, 4, 5)
DIGEST = "a" * 64


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(server, "LARGE_BYTES", 1000)
    folder = tmp_path / "srv"
    folder.mkdir()
    for name, size in (("large", 5000), ("small", 10)):
        (folder / name).write_bytes(os.urandom(size))
        os.utime(folder / name, (0, 0))
    return folder


def serve(tree: Path, here: int | None = None, *, known: bool = True) -> FileServer:
    options = FileOptions(file_roots={"base": [str(tree)]})
    large = LargeHashes(tree.parent / "cache") if known else None
    return FileServer(options, large=large, hash_here_bytes=here)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def settle() -> None:
    """Until a change would show in a file's times."""
    time.sleep(disk.TICK_NS / 1e9 + 0.01)


def test_a_worker_does_not_hash_what_is_large(tree: Path) -> None:
    settle()
    worker = serve(tree, here=2000)
    with pytest.raises(HashTakesLong):
        worker.hash("large", "base")
    with pytest.raises(HashTakesLong):
        worker.hash_and_status("large", "base")
    assert worker.hash("small", "base") == digest_of(tree / "small")
    assert serve(tree).hash("large", "base") == digest_of(tree / "large")  # elsewhere
    assert worker.hash("large", "base") == digest_of(tree / "large")
    assert serve(tree, here=2000).hash("large", "base") == digest_of(tree / "large")


def test_another_content_is_another_file(tree: Path) -> None:
    settle()
    serve(tree).hash("large", "base")
    (tree / "large").write_bytes(b"x" * 5000)
    os.utime(tree / "large", (0, 0))
    settle()
    with pytest.raises(HashTakesLong):
        serve(tree, here=2000).hash("large", "base")
    assert serve(tree).hash("large", "base") == digest_of(tree / "large")


def test_what_may_still_change_is_not_kept(tree: Path) -> None:
    os.utime(tree / "large", (time.time() + 999,) * 2)
    assert serve(tree).hash("large", "base") == digest_of(tree / "large")
    with pytest.raises(HashTakesLong):
        serve(tree, here=2000).hash("large", "base")


def test_a_bundle_hashes_nothing_large(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "FILE_LIMIT_BYTES", 100)
    settle()
    worker = serve(tree, here=2000)
    asked = ["large", "small"], ["", ""]
    reply = bundle.pack(worker, "base", *asked)
    assert reply["files"] == [[server.NOT_HASHED, -1], [digest_of(tree / "small"), 10]]
    told = bundle.unpack(reply, 2)[1]
    assert (told[0].hsum, told[0].content) == (server.NOT_HASHED, None)
    serve(tree).hash("large", "base")
    reply = bundle.pack(worker, "base", *asked)
    assert reply["files"][0] == [digest_of(tree / "large"), -1]


def test_it_is_taken_once_for_all(tmp_path: Path) -> None:
    store = LargeHashes(tmp_path)
    pids = []

    def take() -> str:
        for _ in range(3):
            pid = os.fork()
            if not pid:
                taken = store.get_or_take("sha256", IDENTITY, lambda: "b" * 64)
                os._exit(taken != DIGEST)
            pids.append(pid)
        return DIGEST

    assert store.get_or_take("sha256", IDENTITY, take) == DIGEST
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 3
    assert store.get("sha256", (*IDENTITY[:-1], 6)) is None
    assert store.get("sha512", IDENTITY) is None


def test_a_damaged_one_is_none(tmp_path: Path) -> None:
    store = LargeHashes(tmp_path)
    store.get_or_take("sha256", IDENTITY, lambda: DIGEST)
    (file,) = (tmp_path / hashes.FOLDER).iterdir()
    file.write_text(DIGEST[:10])
    assert store.get("sha256", IDENTITY) is None
    assert store.get_or_take("sha256", IDENTITY, lambda: None) is None


def test_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "MOST", 3)
    store = LargeHashes(tmp_path)
    for number in range(6):
        store.get_or_take("sha256", (number,), lambda: DIGEST)
    assert len(list((tmp_path / hashes.FOLDER).iterdir())) == 3
