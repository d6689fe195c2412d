"""The store below the file bucket: contents once, bounds, many writers, lost notes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from pathlib import Path

import pytest

from saltlite.openat import reach
from saltlite.providers.file import bucket as bucket_module
from saltlite.providers.file.bucket import BucketEntry, BucketLimits, FileBucket, choose_entry


def put(bucket: FileBucket, path: Path, data: bytes) -> BucketEntry | None:
    path.write_bytes(data)
    with reach(str(path)) as spot:
        return bucket.put(spot, path=str(path), jid="1", state="file.managed x")


def contents(bucket: FileBucket) -> list[str]:
    return sorted(
        path.parent.name + path.name
        for path in (bucket.root / "content").rglob("*") if path.is_file()
    )  # fmt: skip


def make(tmp_path: Path, **limits: float) -> FileBucket:
    return FileBucket(str(tmp_path / "cache"), BucketLimits(**limits))  # type: ignore[arg-type]


def test_a_content_is_stored_once(tmp_path: Path) -> None:
    bucket = make(tmp_path)
    for name in ("a", "b", "a"):
        put(bucket, tmp_path / name, b"same")
    assert contents(bucket) == [hashlib.sha256(b"same").hexdigest()]
    assert [os.path.basename(entry.path) for entry in bucket.entries()] == ["a", "b", "a"]
    assert int((bucket.root / "usage").read_text().split()[0]) == 4


def test_the_oldest_goes_first(tmp_path: Path) -> None:
    bucket = make(tmp_path, max_bytes=100, file_max_bytes=100)
    for number in range(30):
        put(bucket, tmp_path / "file", b"%010d" % number)
    kept = bucket.entries()
    assert 80 <= sum(entry.size_bytes for entry in kept) <= 100
    assert kept[0].digest == hashlib.sha256(b"%010d" % 29).hexdigest()
    assert contents(bucket) == sorted(entry.digest for entry in kept)


def test_a_file_as_large_as_the_bucket_has_it_for_itself(tmp_path: Path) -> None:
    bucket = make(tmp_path, max_bytes=100, file_max_bytes=100)
    put(bucket, tmp_path / "small", b"small")
    put(bucket, tmp_path / "large", b"x" * 99)
    assert [entry.size_bytes for entry in bucket.entries()] == [99]
    assert put(bucket, tmp_path / "larger", b"x" * 101) is None


def test_what_is_too_old_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = make(tmp_path, keep_days=1)
    put(bucket, tmp_path / "old", b"old")
    later = bucket_module.time.time() + 2 * 86400
    monkeypatch.setattr(bucket_module.time, "time", lambda: later)
    put(bucket, tmp_path / "new", b"new")
    assert [os.path.basename(entry.path) for entry in bucket.entries()] == ["new"]
    assert len(contents(bucket)) == 1


def test_the_index_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "INDEX_BYTES", 2000)
    bucket = make(tmp_path)
    for _ in range(50):
        put(bucket, tmp_path / "file", b"same")
    assert (bucket.root / "index").stat().st_size <= 2000
    assert len(bucket.entries()) >= 5


def test_lost_and_torn_notes(tmp_path: Path) -> None:
    bucket = make(tmp_path)
    put(bucket, tmp_path / "a", b"first")
    (bucket.root / "usage").write_text("no number\n")
    with (bucket.root / "index").open("ab") as index:
        index.write(b'[1.0,"/torn","../../../../etc/passwd",0,0,0,0,"",""]\n[1.0,"/to\n')
    put(bucket, tmp_path / "b", b"second")
    assert [os.path.basename(entry.path) for entry in bucket.entries()] == ["b", "a"]
    assert int((bucket.root / "usage").read_text().split()[0]) == 11


def test_links_and_pipes_are_not_kept(tmp_path: Path) -> None:
    bucket = make(tmp_path)
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        with reach(str(tmp_path / name)) as spot:
            assert bucket.put(spot, path=spot.path) is None
    assert bucket.entries() == []


def write_many(root: str, number: int) -> None:
    bucket = FileBucket(root, BucketLimits(max_bytes=400, file_max_bytes=400))
    for turn in range(25):
        put(bucket, Path(root) / f"file{number}", b"%d of %d" % (turn, number))


def test_many_writers_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(str(tmp_path), n)) for n in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60)
        assert one.exitcode == 0
    bucket = FileBucket(str(tmp_path), BucketLimits(max_bytes=400, file_max_bytes=400))
    entries = bucket.entries()
    assert contents(bucket) == sorted({entry.digest for entry in entries})
    assert sum({e.digest: e.size_bytes for e in entries}.values()) <= 400
    for entry in entries:
        bucket.read(entry.digest)


def entry(time_s: float, letter: str) -> BucketEntry:
    return BucketEntry(
        time_s=time_s, path="/f", digest=letter * 64, size_bytes=1, mode=0, uid=0, gid=0
    )


def test_a_moment_means_the_file_as_it_was_then() -> None:
    kept = [entry(30, "c"), entry(20, "b"), entry(10, "a")]
    chosen = {
        when: choose_entry(kept, when, float).digest[0]
        for when in (None, 0, 2, "b" * 8, "sha256:" + "a" * 64, "25.0", "15.0", "1.0")
    }
    assert chosen == {
        None: "c", 0: "c", 2: "a", "b" * 8: "b", "sha256:" + "a" * 64: "a",
        "25.0": "c", "15.0": "b", "1.0": "a",
    }  # fmt: skip
