"""Keep in the file bucket what a state replaces, and tell of it in the state's return.

Nothing here ever fails a state: what cannot be kept is a warning. A state that replaces nothing
pays for one small object; the bucket itself is loaded with the first file.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.openat import Keeper, Spot

if TYPE_CHECKING:
    from saltlite.highstate.chunk import Chunk
    from saltlite.highstate.state_return import StateReturn
    from saltlite.providers.file.bucket import FileBucket

TREE_FILES = 1000
"""So many files are kept of a directory that is removed; of the others a warning tells."""

WARNINGS = 3
SCRATCH = "__salt.tmp."
MASTER_FOLDER = "bucket"
"""Where copies on the master are, below what the minion has pushed."""


class ReplacedFiles:
    """Hears what one state replaces; ``kept`` has the digest of each path as it was at first."""

    __slots__ = ("_bucket", "_chunk", "_ctx", "_new", "kept", "warnings")

    def __init__(self, ctx: MinionContext, chunk: Chunk) -> None:
        self._ctx, self._chunk = ctx, chunk
        self._bucket: FileBucket | None = None
        self._new: list[str] = []
        self.kept: dict[str, str] = {}
        self.warnings: list[str] = []

    def keep(self, spot: Spot) -> None:
        """Keep what is there, of a directory the files in it."""
        try:
            found = spot.lstat()
            if found is None:
                return
            path = _real_path(spot)
            if stat.S_ISDIR(found.st_mode):
                self._keep_tree(spot, path)
            elif stat.S_ISREG(found.st_mode):
                self._keep_file(spot, path)
        except (OSError, SaltliteError, ValueError) as error:
            self._add_warning(f"{spot.path} was not kept in the file bucket: {error}")

    def _keep_file(self, spot: Spot, path: str) -> None:
        if path in self.kept or os.path.basename(path).startswith(SCRATCH):
            return
        if path.startswith(os.path.join(os.path.realpath(self._cachedir), "")):
            return  # copies of the master's files can be had again
        entry = self._open_once().put(
            spot, path=path, jid=self._ctx.jid, state=f"{self._chunk.function} {self._chunk.ident}"
        )
        if entry is not None:
            self.kept[path] = entry.digest
            self._new.append(entry.digest)

    def _keep_tree(self, spot: Spot, top: str) -> None:
        fd = spot.open(os.O_RDONLY | os.O_DIRECTORY)
        left = TREE_FILES
        try:
            # By descriptors: a directory may be exchanged for a link while it is walked through.
            for folder, _names, files, inner in os.fwalk(".", dir_fd=fd, follow_symlinks=False):
                for name in files:
                    if left == 0:
                        self._add_warning(
                            f"{top}: of its files {TREE_FILES} are kept in the file bucket"
                        )
                        return
                    left -= 1
                    path = os.path.normpath(os.path.join(top, folder, name))
                    self._keep_file(Spot(inner, name, path), path)
        finally:
            os.close(fd)

    def _open_once(self) -> FileBucket:
        if self._bucket is None:
            self._bucket = open_bucket(self._ctx)
        return self._bucket

    @property
    def _cachedir(self) -> str:
        return self._ctx.config.paths.cachedir

    def _add_warning(self, text: str) -> None:
        if len(self.warnings) < WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def note(self, answer: StateReturn) -> None:
        """Tell in the state's return what was kept, and what could not be."""
        if self._new and self._ctx.config.files.file_bucket_master:
            self._copy_to_master()
        # Of a short secret a digest tells enough; the bucket's index, which is private, has it.
        arguments = self._chunk.arguments
        is_secret = arguments.get("contents_pillar") or arguments.get("show_changes") is False
        answer.note_replaced({} if is_secret else self.kept, self.warnings)

    def _copy_to_master(self) -> None:
        """Push what was kept; one failure is enough to know that no other will be taken."""
        if self._ctx.master is None or self._bucket is None:
            return
        for digest in dict.fromkeys(self._new):
            path = str(self._bucket.content_path(digest))
            target = f"/{MASTER_FOLDER}/{digest[:2]}/{digest[2:]}"
            try:
                taken = self._ctx.functions.call("cp.push", path, upload_path=target)
            except SaltliteError as error:
                self._add_warning(f"the file bucket was not copied to the master: {error}")
                return
            if not taken:
                self._add_warning(
                    "the file bucket was not copied to the master: it takes files with file_recv:"
                    " True, up to file_recv_max_size"
                )
                return


def open_bucket(ctx: MinionContext) -> FileBucket:
    """The minion's bucket, within the bounds of its options."""
    from saltlite.providers.file.bucket import BucketLimits, FileBucket

    files = ctx.config.files
    limits = BucketLimits(
        max_bytes=files.file_bucket_max_bytes,
        file_max_bytes=files.file_bucket_file_max_bytes,
        keep_days=files.file_bucket_keep_days,
    )
    return FileBucket(ctx.config.paths.cachedir, limits)


def keeper_for(ctx: MinionContext, chunk: Chunk, *, test: bool) -> ReplacedFiles | None:
    """Who keeps what a state replaces; nobody in a test run, or with ``file_bucket: False``."""
    return None if test or not ctx.config.files.file_bucket else ReplacedFiles(ctx, chunk)


def hear(keeper: ReplacedFiles | None) -> Keeper | None:
    """What :func:`saltlite.openat.keep_with` takes."""
    return None if keeper is None else keeper.keep


def _real_path(spot: Spot) -> str:
    """Where a place is, whatever links led there."""
    try:
        folder = os.readlink(spot.folder)
    except OSError:
        folder = os.path.realpath(os.path.dirname(spot.path))
    return os.path.normpath(os.path.join(folder, spot.name))
