"""Where a client's files come from: the directories of this machine, or the master.

Used by :mod:`saltlite.fileserver.client` only, which knows addresses, copies and hashes.
"""

from __future__ import annotations

import contextlib
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.context import MasterLink, TwoWays
from saltlite.errors import WireError
from saltlite.fileserver import bundle as bundles
from saltlite.fileserver.bundle import Arrived

if TYPE_CHECKING:
    from saltlite.fileserver.server import FileServer

PIECE_LIMIT_BYTES = 64 * 1024 * 1024
READ_BYTES = 1024 * 1024
COMPARED_BYTES = 256 * 1024


class FileSource(Protocol):
    """Where files come from: this machine, or the master."""

    def envs(self) -> list[str]:
        """The environments."""

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """``files``, ``dirs`` or ``empty_dirs`` of an environment, sorted."""

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """Its links and their targets."""

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status (as ``os.stat`` has it) of a file, ``None`` without one."""

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file that has ``size`` bytes."""


class LocalSource:
    """The directories of this machine."""

    def __init__(self, server: FileServer) -> None:
        self._server = server

    def envs(self) -> list[str]:
        """The names of ``file_roots``."""
        return self._server.envs()

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """One of the lists of the file server."""
        lists = {
            "files": self._server.files,
            "dirs": self._server.dirs,
            "empty_dirs": self._server.empty_dirs,
        }
        return lists[kind](saltenv, prefix)

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """Links and their targets."""
        return self._server.symlinks(saltenv, prefix)

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status of a file."""
        found = self._server.hash_and_status(path, saltenv)
        if found is None:
            return None
        return self._server.hash_type, found[0], list(found[1])

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file; there is nothing to compress."""
        begin = 0
        while piece := self._server.piece(path, saltenv, begin, READ_BYTES):
            yield piece
            begin += len(piece)

    def small(self, path: str, saltenv: str) -> bytes | None:
        """All of a file that is compared sooner than hashed; ``None`` for others, and without."""
        return self._server.read_small(path, saltenv, COMPARED_BYTES)

    def whole(self, path: str, saltenv: str) -> bytes | None:
        """All of a file, ``None`` if there is no such file."""
        found = self._server.read(path, saltenv)
        return None if found is None else found[1]


class MasterSource:
    """The master's file server, one request for each question. Source: docs/wire.md#files."""

    _COMMANDS: Mapping[str, str] = {
        "files": "_file_list",
        "dirs": "_dir_list",
        "empty_dirs": "_file_list_emptydirs",
    }

    def __init__(self, master: MasterLink) -> None:
        self._master = master
        self._most: int | None = None

    def envs(self) -> list[str]:
        """The master's environments."""
        return _read_texts(self._master.request({"cmd": "_file_envs"}))

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """One of the master's lists."""
        load = {"cmd": self._COMMANDS[kind], "saltenv": saltenv, "prefix": prefix}
        return _read_texts(self._master.request(load))

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """The master's links and their targets."""
        load = {"cmd": "_symlink_list", "saltenv": saltenv, "prefix": prefix}
        reply = self._master.request(load)
        if not isinstance(reply, Mapping):
            raise WireError("the master's list of links is no map")
        return {str(path): str(target) for path, target in reply.items()}

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status of a file."""
        load = {"cmd": "_file_hash_and_stat", "path": path, "saltenv": saltenv}
        reply = self._master.request(load)
        if not isinstance(reply, (list, tuple)) or len(reply) != 2:
            raise WireError("the master's reply about a file is not a pair")
        hashed, status = reply
        if not isinstance(hashed, Mapping) or not hashed.get("hsum"):
            return None
        status = list(status) if isinstance(status, (list, tuple)) else []
        return str(hashed.get("hash_type", "")), str(hashed["hsum"]), status

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file, piece by piece; ``size`` saves the last, empty one.

        While the caller works on a piece, threads ask for the next ones: nobody else may ask the
        master then. They have ended when the last piece is out, or the iterator is closed.
        """
        load: dict[str, Any] = {"cmd": "_serve_file", "path": path, "saltenv": saltenv}
        if gzip:
            load["gzip"] = gzip
        piece = _ask_piece(self._master, load, 0) if size > 0 else b""
        if not piece or len(piece) >= size:  # most files are small, and need no thread
            yield from (piece,) if piece else ()
            return
        with contextlib.ExitStack() as until_the_end:
            ways = [self._master]
            if isinstance(self._master, TwoWays):
                ways.append(until_the_end.enter_context(self._master.beside()))
            yield from _ask_ahead(ways, load, piece, size)

    def bundle(
        self, paths: Sequence[str], saltenv: str, hashes: Sequence[str]
    ) -> tuple[str, list[Arrived]]:
        """The hash type and what the master tells of the first of these paths, many at once.

        ``hashes`` are those of the copies that are there. Nothing comes of a master that does not
        know bundles; it is never asked for one.
        """
        if self._most is None:
            opts = self._master.request({"cmd": "_master_opts", "env_only": True})
            self._most = bundles.most_paths(opts)
        most = self._most
        if not most or not paths:
            return "", []
        load = {
            "cmd": bundles.COMMAND,
            "saltenv": saltenv,
            "paths": list(paths[:most]),
            "hashes": list(hashes[:most]),
        }
        return bundles.unpack(self._master.request(load), len(load["paths"]))


def _ask_ahead(
    ways: Sequence[MasterLink], load: Mapping[str, Any], first: bytes, size: int
) -> Iterator[bytes]:
    """``first`` and all pieces after it, one of them asked for on each way to the master.

    Pieces are as long as the first one. Where one is not, the file or the master's options have
    changed, and what was asked for beyond it is asked for anew.
    """
    from concurrent import futures

    step = begin = asked = len(first)
    coming: deque[tuple[MasterLink, futures.Future[bytes]]] = deque()
    with futures.ThreadPoolExecutor(max_workers=len(ways)) as pool:
        free, piece = list(ways), first
        while piece:
            for way in free:
                if asked < size:
                    coming.append((way, pool.submit(_ask_piece, way, load, asked)))
                    asked += step
            yield piece
            if not coming:
                return
            way, answer = coming.popleft()
            piece, free = answer.result(), [way]
            begin += len(piece)
            if len(piece) != step:
                futures.wait([useless for _way, useless in coming])
                coming.clear()
                free, asked = list(ways), begin


def _ask_piece(master: MasterLink, load: Mapping[str, Any], begin: int) -> bytes:
    return _read_piece(master.request({**load, "loc": begin}))


def _read_texts(reply: object) -> list[str]:
    if not isinstance(reply, (list, tuple)):
        raise WireError("the master's list is no list")
    return [str(item) for item in reply]


def _read_piece(reply: object) -> bytes:
    """The bytes in a reply; a daemon's connection leaves all of its texts bytes."""
    if not isinstance(reply, Mapping):
        raise WireError("the master's piece of a file is no map")
    data = reply.get("data") or reply.get(b"data") or b""
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
    packed = reply.get("gzip") or reply.get(b"gzip")
    if not packed or not data:
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        piece = unpacker.decompress(data, PIECE_LIMIT_BYTES)
    except zlib.error as error:
        raise WireError(f"a piece of a file does not unpack: {error}") from error
    if unpacker.unconsumed_tail:
        raise WireError("a piece of a file is too large")
    return piece
