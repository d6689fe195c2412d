"""Bundles: many small files in one reply, which Salt does not have.

A saltlite master says in its answer to ``_master_opts``, a request that every master of Salt knows,
that it has them, and how large a request may be (:data:`OFFER`). Only then does a saltlite minion
send ``_file_bundle``; to another master it never does, and a minion that never does misses nothing.

    {"cmd": "_file_bundle", "saltenv": "base", "paths": [...], "hashes": [...]}
    {"hash_type": "sha256", "files": [[hash, size], ...], "data": <gzip of the contents, joined>}

``hashes`` are those of the copies that the minion has, ``""`` without one. ``files`` tells of as
many of the paths, in their order, as went into the reply: hash ``""`` is no such file, ``"-"`` a
large one whose hash is not known yet; a size of :data:`NOT_HERE` is a file without content in
``data``, since the minion has it, or has to fetch it alone. Who receives it checks everything
against its hash.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from saltlite.core.dataclasses import dataclass
from saltlite.errors import WireError

if TYPE_CHECKING:
    from saltlite.fileserver.server import FileServer

COMMAND = "_file_bundle"
OFFER = "saltlite_file_bundle"
"""The field of ``_master_opts`` that holds the most paths of one request."""

FILES_LIMIT = 500
FILE_LIMIT_BYTES = 256 * 1024
"""Larger files are fetched alone, in pieces."""

DATA_LIMIT_BYTES = 8 * 1024 * 1024
"""Contents of one reply, not packed."""

NOT_HERE = -1
NOTHING: Mapping[str, Any] = {"hash_type": "", "files": [], "data": b""}
"""The answer to what is malformed."""

_LEVEL = 1
_GZIP = 31


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a reply tells of one path. ``hsum`` is ``""`` without such a file.

    ``content`` is ``None`` where none was sent, or what was sent does not fit the hash.
    """

    hsum: str
    content: bytes | None


def pack(server: FileServer, saltenv: object, paths: object, hashes: object) -> dict[str, Any]:
    """The reply for what a minion asks for; paths meet the same gate as those of single files."""
    if not _is_texts(paths) or not _is_texts(hashes) or len(paths) != len(hashes):
        return dict(NOTHING)
    files: list[list[Any]] = []
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    data, room = [], DATA_LIMIT_BYTES
    for path, known in zip(paths, hashes, strict=True):
        found = server.small(path, saltenv, FILE_LIMIT_BYTES)
        if found is None:
            files.append(["", NOT_HERE])
            continue
        hsum, content = found
        if content is None or hsum == known:
            files.append([hsum, NOT_HERE])
            continue
        if len(content) > room:
            break
        room -= len(content)
        files.append([hsum, len(content)])
        data.append(packer.compress(content))
    packed = b"".join(data) + packer.flush()
    return {"hash_type": server.hash_type, "files": files, "data": packed}


def _is_texts(value: object) -> TypeGuard[list[str]]:
    if not isinstance(value, (list, tuple)) or len(value) > FILES_LIMIT:
        return False
    return all(isinstance(item, str) for item in value)


def most_paths(master_opts: object) -> int:
    """The most paths that a master takes in one request; 0 if it knows no bundles."""
    most = master_opts.get(OFFER) if isinstance(master_opts, Mapping) else None
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        return 0
    return min(most, FILES_LIMIT)


def unpack(reply: object, asked: int) -> tuple[str, list[Arrived]]:
    """The hash type and what a reply tells, of ``asked`` paths at most.

    Raises:
        WireError: it is no bundle, or larger than one may be.
    """
    if not isinstance(reply, Mapping):
        raise WireError("the master's bundle of files is no map")
    hash_type, files, data = (reply.get(name) for name in ("hash_type", "files", "data"))
    if not isinstance(hash_type, str) or not isinstance(files, (list, tuple)):
        raise WireError("the master's bundle of files is malformed")
    if len(files) > asked or not isinstance(data, bytes):
        raise WireError("the master's bundle of files is not what was asked for")
    contents = memoryview(_read_contents(data)) if files else memoryview(b"")
    arrived, begin = [], 0
    for file in files:
        hsum, size = _read_hash(file)
        content = None
        if size != NOT_HERE:
            content = bytes(contents[begin : begin + size])
            begin += size
            if not _has_hash(content, hash_type, hsum):
                content = None
        arrived.append(Arrived(hsum, content))
    return hash_type, arrived


def _read_contents(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=_GZIP)
    try:
        contents = unpacker.decompress(data, DATA_LIMIT_BYTES)
    except zlib.error as error:
        raise WireError(f"the master's bundle of files does not unpack: {error}") from error
    if unpacker.unconsumed_tail:
        raise WireError("the master's bundle of files is too large")
    return contents


def _read_hash(file: object) -> tuple[str, int]:
    if not isinstance(file, (list, tuple)) or len(file) != 2:
        raise WireError("the master's bundle of files is malformed")
    hsum, size = file
    if not isinstance(hsum, str) or type(size) is not int or size < NOT_HERE:
        raise WireError("the master's bundle of files is malformed")
    return hsum, size


def _has_hash(content: bytes, hash_type: str, hsum: str) -> bool:
    try:
        return hashlib.new(hash_type, content, usedforsecurity=False).hexdigest() == hsum
    except ValueError as error:
        raise WireError(f"the master hashes with {hash_type!r}, which is not known here") from error
