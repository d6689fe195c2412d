"""The file bucket: what states replaced, kept by content.

``cachedir/bucket/content/ab/cdef…`` has each content once, named by its sha256; ``index`` says in
one JSON line each what was replaced where and when, the oldest first; ``usage`` how many bytes of
content there are. All of it is ours alone (0700, 0600) and changed under one lock. What is too old
or too much goes when something is added, the oldest first.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.openat import Spot

PIECE_BYTES: Final = 1024 * 1024
INDEX_BYTES: Final = 8 * 1024 * 1024
"""The index is cut when it is larger; about 30,000 entries."""

ROOM_LEFT: Final = 0.9
"""To which part of its bounds it is cut, so that not every file that is added cuts it anew."""

PATIENCE_S: Final = 10.0
DAY_S: Final = 86400.0
SHORTEST_DIGEST: Final = 8
_DIGEST_LETTERS: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLimits:
    """How much is kept: bytes in all and of one file, and for how many days."""

    max_bytes: int = 100 * 1024 * 1024
    file_max_bytes: int = 10 * 1024 * 1024
    keep_days: float = 30.0

    @property
    def largest_bytes(self) -> int:
        """The largest content that is taken."""
        return min(self.file_max_bytes, self.max_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketEntry:
    """One replacement: what was at ``path`` until ``time_s``, and the state that replaced it."""

    time_s: float
    path: str
    digest: str
    size_bytes: int
    mode: int
    uid: int
    gid: int
    jid: str = ""
    state: str = ""

    def to_line(self) -> bytes:
        """The entry as a line of the index."""
        row = [
            self.time_s, self.path, self.digest, self.size_bytes, self.mode, self.uid, self.gid,
            self.jid, self.state,
        ]  # fmt: skip
        return json.dumps(row, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> BucketEntry | None:
        """The entry of a line; ``None`` if it is none, as after a power cut."""
        try:
            at, path, digest, size, mode, uid, gid, jid, state = json.loads(line)
            entry = cls(
                time_s=float(at), path=str(path), digest=str(digest), size_bytes=int(size),
                mode=int(mode), uid=int(uid), gid=int(gid), jid=str(jid), state=str(state),
            )  # fmt: skip
        except (ValueError, TypeError):
            return None
        return entry if _is_digest(entry.digest) else None


def _is_digest(text: str) -> bool:
    return len(text) == 64 and _DIGEST_LETTERS.issuperset(text)


@dataclass(frozen=True, slots=True)
class Usage:
    """What is in the bucket: bytes of content, and the time of the oldest entry."""

    content_bytes: int = 0
    oldest_s: float = 0.0


class FileBucket:
    """The bucket below a cache directory."""

    def __init__(self, cachedir: str, limits: BucketLimits) -> None:
        self.root = Path(cachedir) / "bucket"
        self.limits = limits

    # --- to put in -------------------------------------------------------------------------------

    def put(self, spot: Spot, *, path: str, jid: str = "", state: str = "") -> BucketEntry | None:
        """Keep what is there; ``None`` if it is no regular file, or too large.

        Raises:
            OSError: it cannot be read, or the bucket cannot be written.
            StoreError: the bucket cannot be written.
        """
        fd = _open_regular(spot)
        if fd is None:
            return None
        with open(fd, "rb", buffering=0) as file:
            found = os.fstat(fd)
            if found.st_size > self.limits.largest_bytes:
                return None
            self._make_dirs()
            draft = self.root / "content" / f".{os.getpid()}.{os.urandom(4).hex()}.tmp"
            try:
                copied = self._copy_content(file, draft)
                if copied is None:
                    return None
                digest, size = copied
                entry = BucketEntry(
                    time_s=time.time(), path=path, digest=digest, size_bytes=size,
                    mode=stat.S_IMODE(found.st_mode), uid=found.st_uid, gid=found.st_gid,
                    jid=jid, state=state,
                )  # fmt: skip
                self._add_entry(entry, draft)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft)
        return entry

    def _make_dirs(self) -> None:
        disk.make_dir(self.root)
        disk.make_dir(self.root / "content")

    def _copy_content(self, file: FileIO, draft: Path) -> tuple[str, int] | None:
        """Copy into a private file; digest and size, ``None`` if it grew beyond what is taken."""
        summer, size = hashlib.sha256(), 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, disk.PRIVATE_FILE), "wb", buffering=0) as copy:
            while piece := file.read(PIECE_BYTES):
                size += len(piece)
                if size > self.limits.largest_bytes:
                    return None
                summer.update(piece)
                view = memoryview(piece)
                while view:
                    view = view[copy.write(view) :]
        return summer.hexdigest(), size

    def _add_entry(self, entry: BucketEntry, draft: Path) -> None:
        with self._hold_lock():
            usage = self._read_usage()
            place = self.content_path(entry.digest)
            is_new = not os.path.exists(place)
            if is_new:
                disk.make_dir(place.parent)
                os.rename(draft, place)
            disk.append_whole(self._index, entry.to_line())
            added = entry.size_bytes if is_new else 0
            usage = Usage(usage.content_bytes + added, usage.oldest_s or entry.time_s)
            if self._is_over(usage, entry.time_s):
                self._cut_back(entry.time_s)
            else:
                self._write_usage(usage)

    # --- to look in ------------------------------------------------------------------------------

    def entries(self) -> list[BucketEntry]:
        """All entries, the newest first; none without a bucket.

        Raises:
            StoreError: the index cannot be read.
        """
        data = disk.read_regular(self._index, limit_bytes=4 * INDEX_BYTES) or b""
        found = [BucketEntry.from_line(line) for line in data.splitlines()]
        return [entry for entry in reversed(found) if entry is not None]

    def of(self, path: str) -> list[BucketEntry]:
        """The entries of one file, the newest first, also by a link that leads to it."""
        names = {os.path.normpath(path), os.path.realpath(path)}
        return [entry for entry in self.entries() if entry.path in names]

    def search(self, glob: str = "", since_s: float = 0.0) -> Iterator[BucketEntry]:
        """The entries whose paths match, since a moment, the newest first."""
        for entry in self.entries():
            if entry.time_s < since_s:
                continue
            if not glob or entry.path == glob or fnmatch.fnmatchcase(entry.path, glob):
                yield entry

    def find_digest(self, digest: str) -> str:
        """The whole digest of its first letters; raises FunctionError."""
        text = digest.lower().removeprefix("sha256:")
        if len(text) < SHORTEST_DIGEST or not _DIGEST_LETTERS.issuperset(text):
            raise FunctionError(
                f"{digest!r} is no digest: 64 hexadecimal digits, or the first {SHORTEST_DIGEST} or"
                " more of them"
            )
        folder = self.root / "content" / text[:2]
        names = os.listdir(folder) if folder.is_dir() else []
        found = [text[:2] + name for name in names if name.startswith(text[2:])]
        if len(found) != 1:
            several = "more than one content begins so" if found else "no such content is kept"
            raise FunctionError(f"{digest}: {several}")
        return found[0]

    def read(self, digest: str) -> bytes:
        """A content, checked.

        Raises:
            FunctionError: it is not there any more, or is damaged.
            StoreError: it cannot be read.
        """
        data = disk.read_regular(self.content_path(digest))
        if data is None:
            raise FunctionError(f"{digest}: the content is not kept any more")
        if hashlib.sha256(data).hexdigest() != digest:
            raise FunctionError(f"{digest}: the kept content is damaged")
        return data

    def content_path(self, digest: str) -> Path:
        """Where a content is or would be; raises ValueError for what is no digest."""
        if not _is_digest(digest):
            raise ValueError(f"no digest: {digest!r}")
        return self.root / "content" / digest[:2] / digest[2:]

    # --- bounds ----------------------------------------------------------------------------------

    def clean(self, *, everything: bool = False) -> tuple[int, int]:
        """Drop what is beyond the bounds, or everything; how many entries and bytes went.

        Raises:
            StoreError: it cannot be done.
        """
        if not self.root.is_dir():
            return 0, 0
        with self._hold_lock():
            return self._cut_back(time.time(), everything=everything)

    def _is_over(self, usage: Usage, now_s: float) -> bool:
        limits = self.limits
        return (
            usage.content_bytes > limits.max_bytes
            or usage.oldest_s < now_s - limits.keep_days * DAY_S
            or os.stat(self._index).st_size > INDEX_BYTES
        )

    def _cut_back(self, now_s: float, *, everything: bool = False) -> tuple[int, int]:
        before = self.entries()
        kept = [] if everything else _choose_kept(before, self.limits, now_s)
        sizes = {entry.digest: entry.size_bytes for entry in kept}
        # The index first: an entry without its content would promise what cannot be had.
        lines = [entry.to_line() for entry in reversed(kept)]
        disk.write_file(self._index, b"".join(lines), flush=False)
        gone_bytes = self._remove_contents(frozenset(sizes))
        oldest_s = kept[-1].time_s if kept else 0.0
        self._write_usage(Usage(sum(sizes.values()), oldest_s))
        return len(before) - len(kept), gone_bytes

    def _remove_contents(self, kept: frozenset[str]) -> int:
        """Remove all contents but these, and what writers left behind that were killed."""
        gone = 0
        now_s = time.time()
        top = self.root / "content"
        for entry, status in disk.entries_of(top) if top.is_dir() else ():
            if entry.name.endswith(".tmp"):
                if status.st_mtime < now_s - DAY_S:
                    os.unlink(entry.path)
                continue
            for one, found in disk.entries_of(Path(entry.path)):
                if entry.name + one.name not in kept:
                    os.unlink(one.path)
                    gone += found.st_size
        return gone

    @property
    def _index(self) -> Path:
        return self.root / "index"

    def _hold_lock(self) -> contextlib.AbstractContextManager[None]:
        return disk.hold_lock_slot(self.root / ".lock", 0, patience_s=PATIENCE_S)

    def _read_usage(self) -> Usage:
        """What was noted last; counted anew where that is lost."""
        data = disk.read_regular(self.root / "usage", limit_bytes=1024) or b""
        try:
            content_bytes, oldest_s = data.split()
            return Usage(int(content_bytes), float(oldest_s))
        except ValueError:
            entries = self.entries()
            sizes = {entry.digest: entry.size_bytes for entry in entries}
            return Usage(sum(sizes.values()), entries[-1].time_s if entries else 0.0)

    def _write_usage(self, usage: Usage) -> None:
        """Note it in place: a rename over a file may wait for the disk, and this can be counted."""
        line = f"{usage.content_bytes:020} {usage.oldest_s:020.6f}\n".encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.root / "usage", flags, disk.PRIVATE_FILE)
        try:
            os.pwrite(fd, line, 0)
            os.ftruncate(fd, len(line))
        finally:
            os.close(fd)


def _open_regular(spot: Spot) -> int | None:
    """A descriptor of a regular file; ``None`` for nothing, a link, or anything else."""
    found = spot.lstat()
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    fd, _status = spot.open_regular(os.O_RDONLY)
    return fd


def _choose_kept(
    newest_first: Sequence[BucketEntry], limits: BucketLimits, now_s: float
) -> list[BucketEntry]:
    """The entries that stay within the bounds, the newest first. Pure.

    A content counts once, however often it was replaced.
    """
    kept: list[BucketEntry] = []
    seen: set[str] = set()
    left_bytes = int(limits.max_bytes * ROOM_LEFT)
    if newest_first and newest_first[0].size_bytes > left_bytes:
        left_bytes = limits.max_bytes  # the newest one always has its place
    left_index = int(INDEX_BYTES * ROOM_LEFT)
    for entry in newest_first:
        left_index -= len(entry.to_line())
        if left_index < 0 or entry.time_s < now_s - limits.keep_days * DAY_S:
            break
        if entry.digest not in seen:
            if entry.size_bytes > left_bytes:
                break
            left_bytes -= entry.size_bytes
            seen.add(entry.digest)
        kept.append(entry)
    return kept


def choose_entry(
    entries: Sequence[BucketEntry], when: object, parse: Callable[[str], float]
) -> BucketEntry:
    """Which replacement of a file is meant, of those of one file, the newest first. Pure.

    ``when`` is a number (0 the newest), the first letters of a digest, or a moment: the file as it
    was then is what was replaced first after it. ``parse`` makes seconds of a text.

    Raises:
        FunctionError: there is none such.
    """
    text = "0" if when is None else str(when)
    if text.isascii() and text.isdigit() and len(text) < 6:
        if int(text) < len(entries):
            return entries[int(text)]
        raise FunctionError(f"{text}: only {len(entries)} are kept, 0 is the newest")
    letters = text.lower().removeprefix("sha256:")
    if len(letters) >= SHORTEST_DIGEST and _DIGEST_LETTERS.issuperset(letters):
        for entry in entries:
            if entry.digest.startswith(letters):
                return entry
        raise FunctionError(f"{text}: no such content of this file is kept")
    since_s = parse(text)
    later = [entry for entry in entries if entry.time_s >= since_s]
    if not later:
        raise FunctionError(f"{text}: the file was not replaced since; it is as it was then")
    return later[-1]
