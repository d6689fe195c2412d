"""The file server: the back ends together, hashes, and pieces of files.

Used by the master's ``_file_*`` commands, by minions with ``file_client: local`` and by the
``fileserver`` runner. Never writes; what it keeps is in memory and checked against the disk.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.hashers import make_hasher
from saltlite.fileserver.hashes import HashTakesLong, LargeHashes
from saltlite.fileserver.roots import Listing, OpenFile, Roots

if TYPE_CHECKING:
    from collections.abc import Callable

    from saltlite.fileserver.roots import FileOptions

log = logging.getLogger(__name__)

HASHES_KEPT = 50_000
READ_BYTES = 1024 * 1024
LARGE_BYTES = 16 * 1024 * 1024
"""From here on a hash is worth a file of its own."""

NOT_HASHED = "-"
"""In place of a hash: there is such a file, ask for it alone."""


class Backend(Protocol):
    """Where files come from."""

    name: str

    def envs(self) -> list[str]:
        """The environments it knows."""

    def open(self, path: object, saltenv: object) -> OpenFile | None:
        """A file for reading, ``None`` if it has none of that name; hostile values are none."""

    def listing(self, saltenv: object) -> Listing:
        """All that an environment holds."""

    def forget(self) -> None:
        """Forget cached lists."""

    def update(self) -> bool:
        """Fetch what lies elsewhere; whether anything is another now."""

    def clear(self) -> bool:
        """Remove copies of what lies elsewhere; whether it keeps any at all."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What back ends need besides the options of files: where to keep copies, other options."""

    cachedir: Path
    extra: Mapping[str, Any]


def _make_roots(options: FileOptions, _around: Surroundings | None) -> Backend:
    return Roots(options)


def _make_gitfs(options: FileOptions, around: Surroundings | None) -> Backend | None:
    from saltlite.fileserver.gitfs import Gitfs

    return None if around is None else Gitfs(options, around.cachedir, around.extra)


def _make_minionfs(options: FileOptions, around: Surroundings | None) -> Backend | None:
    from saltlite.fileserver.minionfs import Minionfs

    return None if around is None else Minionfs(options, around.cachedir, around.extra)


BACKENDS: Mapping[str, Callable[[FileOptions, Surroundings | None], Backend | None]] = {
    "roots": _make_roots,
    "gitfs": _make_gitfs,
    "minionfs": _make_minionfs,
}
"""``fileserver_backend``'s names. Those that keep copies are not there without surroundings."""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that is there: its path on the server, the path asked for, its status, its origin."""

    path: str
    rel: str
    status: os.stat_result
    backend: str


def _clear_backend(backend: Backend) -> tuple[bool, str]:
    """Whether a back end removed its copies, and what it could not remove."""
    try:
        return backend.clear(), ""
    except OSError as error:
        return False, f"{backend.name}: {error.filename}: {error.strerror}"


class FileServer:
    """All back ends of ``fileserver_backend``, asked in their order."""

    def __init__(
        self,
        options: FileOptions,
        around: Surroundings | None = None,
        backends: Sequence[Backend] | None = None,
        *,
        large: LargeHashes | None = None,
        hash_here_bytes: int | None = None,
    ) -> None:
        """``backends`` are in place of those that the options name.

        ``large`` keeps the hashes of large files for other processes too. Files of more than
        ``hash_here_bytes`` are not hashed here: HashTakesLong, unless their hash is known.
        """
        self._options = options
        self._large = large
        self._hash_here_bytes = hash_here_bytes
        self._backends = _make_backends(options, around) if backends is None else backends
        self._hashes: dict[tuple[int, ...], str] = {}

    @property
    def hash_type(self) -> str:
        """The algorithm of :meth:`hash`."""
        return self._options.hash_type

    @property
    def backends(self) -> list[str]:
        """The names of the back ends, in their order."""
        return [backend.name for backend in self._backends]

    def envs(self, only: Sequence[str] = ()) -> list[str]:
        """The names of all environments, each once."""
        return list(dict.fromkeys(env for one in self._choose_backends(only) for env in one.envs()))

    def find(self, path: object, saltenv: object) -> ServedFile | None:
        """Where a file is, ``None`` if there is none."""
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        backend, file = found
        with file:
            return ServedFile(file.path, file.rel, file.status, backend)

    def hash(self, path: object, saltenv: object) -> str | None:
        """The hash of a file in hexadecimal, ``None`` if there is none."""
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            return self._hash_of(file)

    def hash_and_status(self, path: object, saltenv: object) -> tuple[str, os.stat_result] | None:
        """The hash of a file and its status, ``None`` if there is none."""
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            return self._hash_of(file), file.status

    def piece(self, path: object, saltenv: object, begin: int, size: int = 0) -> bytes | None:
        """Up to ``size`` bytes (``file_buffer_size`` without it) of a file from ``begin`` on.

        Empty at or past the end, ``None`` if there is no such file.
        """
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            if begin >= file.status.st_size:
                return b""
            return os.pread(file.fd, size or self._options.file_buffer_size, begin)

    def read(self, path: object, saltenv: object) -> tuple[str, bytes] | None:
        """Where a file is on this machine, and all of it; ``None`` if there is none."""
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            pieces = iter(lambda: os.read(file.fd, READ_BYTES), b"")
            return file.path, b"".join(pieces)

    def read_small(self, path: object, saltenv: object, limit_bytes: int) -> bytes | None:
        """All of a file; ``None`` if it is larger, or there is none."""
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            size = file.status.st_size
            content = os.pread(file.fd, size + 1, 0) if size <= limit_bytes else b""
            return content if len(content) == size else None

    def small(
        self, path: object, saltenv: object, limit_bytes: int
    ) -> tuple[str, bytes | None] | None:
        """The hash of a file, and its content unless that is larger; ``None`` without a file.

        Of a larger one whose hash is not known it is :data:`NOT_HASHED`.
        """
        found = self._open_file(path, saltenv)
        if found is None:
            return None
        with found[1] as file:
            if file.status.st_size > limit_bytes:
                return self._find_hash(file) or NOT_HASHED, None
            digest = self._hash_of(file)
            content = os.pread(file.fd, limit_bytes + 1, 0)
            return digest, content if len(content) <= limit_bytes else None

    def files(self, saltenv: object, prefix: str = "", only: Sequence[str] = ()) -> list[str]:
        """The files and links of an environment whose paths begin with ``prefix``, sorted."""
        return self._list_names("files", saltenv, prefix, only)

    def dirs(self, saltenv: object, prefix: str = "", only: Sequence[str] = ()) -> list[str]:
        """Its directories."""
        return self._list_names("dirs", saltenv, prefix, only)

    def empty_dirs(self, saltenv: object, prefix: str = "", only: Sequence[str] = ()) -> list[str]:
        """Its directories with nothing in them."""
        return self._list_names("empty_dirs", saltenv, prefix, only)

    def symlinks(
        self, saltenv: object, prefix: str = "", only: Sequence[str] = ()
    ) -> dict[str, str]:
        """Its links and their targets."""
        begin = prefix.strip("/")
        links: dict[str, str] = {}
        for listing in self._list_all(saltenv, only):
            links = {**listing.links, **links}
        return {path: target for path, target in links.items() if path.startswith(begin)}

    def forget(self) -> None:
        """Read lists again and take hashes anew."""
        self._hashes.clear()
        for backend in self._backends:
            backend.forget()

    def update(self, only: Sequence[str] = ()) -> bool:
        """Fetch what back ends serve from elsewhere; whether anything is another now."""
        changed = [backend.update() for backend in self._choose_backends(only)]
        return any(changed)

    def clear(self, only: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Remove the copies that back ends keep: the names of those that did, and what failed."""
        done = {one.name: _clear_backend(one) for one in self._choose_backends(only)}
        cleared = [name for name, (did, _) in done.items() if did]
        return cleared, [error for _, error in done.values() if error]

    def _choose_backends(self, only: Sequence[str]) -> list[Backend]:
        return [one for one in self._backends if not only or one.name in only]

    def _list_all(self, saltenv: object, only: Sequence[str]) -> list[Listing]:
        return [backend.listing(saltenv) for backend in self._choose_backends(only)]

    def _list_names(
        self, kind: str, saltenv: object, prefix: str, only: Sequence[str]
    ) -> list[str]:
        begin = prefix.strip("/")
        lists = [_KINDS[kind](listing) for listing in self._list_all(saltenv, only)]
        names = lists[0] if len(lists) == 1 else sorted({name for one in lists for name in one})
        return [name for name in names if name.startswith(begin)] if begin else list(names)

    def _open_file(self, path: object, saltenv: object) -> tuple[str, OpenFile] | None:
        for backend in self._backends:
            file = backend.open(path, saltenv)
            if file is not None:
                return backend.name, file
        return None

    def _hash_of(self, file: OpenFile) -> str:
        """Taken again when the file has changed: its size, or the time of its last change.

        Raises:
            HashTakesLong: it is too large for that, here.
        """
        known = self._find_hash(file)
        if known is not None:
            return known
        if self._hash_here_bytes is not None and file.status.st_size > self._hash_here_bytes:
            raise HashTakesLong(file.path)
        if self._large is None or file.status.st_size < LARGE_BYTES:
            return self._take_hash(file)[0]
        unsettled: list[str] = []

        def take() -> str | None:
            digest, is_sure = self._take_hash(file)
            if not is_sure:
                unsettled.append(digest)
            return digest if is_sure else None

        found = self._large.get_or_take(self.hash_type, disk.identify_file(file.status), take)
        return unsettled[0] if found is None else found

    def _find_hash(self, file: OpenFile) -> str | None:
        key = disk.identify_file(file.status)
        known = self._hashes.get(key)
        if known is None and self._large is not None and file.status.st_size >= LARGE_BYTES:
            known = self._large.get(self.hash_type, key)
            if known is not None:
                self._keep_hash(key, known)
        return known

    def _take_hash(self, file: OpenFile) -> tuple[str, bool]:
        """The hash, and whether the file has not changed meanwhile, and will not unseen."""
        key = disk.identify_file(file.status)
        digest = make_hasher(self.hash_type, file.status.st_size)
        while piece := os.read(file.fd, READ_BYTES):
            digest.update(piece)
        is_sure = disk.is_settled(file.status) and disk.identify_file(os.fstat(file.fd)) == key
        if is_sure:
            self._keep_hash(key, digest.hexdigest())
        return digest.hexdigest(), is_sure

    def _keep_hash(self, key: tuple[int, ...], digest: str) -> None:
        if len(self._hashes) >= HASHES_KEPT:
            self._hashes.clear()
        self._hashes[key] = digest


_KINDS: Mapping[str, Callable[[Listing], list[str]]] = {
    "files": lambda listing: listing.files,
    "dirs": lambda listing: listing.dirs,
    "empty_dirs": lambda listing: listing.empty_dirs,
}


def file_server(
    config: Any, *, large: Path | None = None, hash_here_bytes: int | None = None
) -> FileServer:
    """The file server of a master's or minion's configuration.

    ``large`` is where hashes of large files are kept, for all processes.
    """
    return FileServer(
        config.files,
        Surroundings(Path(config.paths.cachedir), config.extra),
        large=None if large is None else LargeHashes(large),
        hash_here_bytes=hash_here_bytes,
    )


def _make_backends(options: FileOptions, around: Surroundings | None) -> list[Backend]:
    found = []
    for name in options.fileserver_backend:
        backend = BACKENDS[name](options, around) if name in BACKENDS else None
        if backend is None:
            log.warning("fileserver_backend: %s is not supported", name)
        else:
            found.append(backend)
    return found
