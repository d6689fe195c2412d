"""Hashes of files, and hashes that others wrote down for them."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import Any

from saltlite.core.hashers import make_hasher
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError

LENGTHS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}
"""The hash types that are known and how many hexadecimal digits each has."""

TYPE_OF_LENGTH = {length: name for name, length in LENGTHS.items()}
PROTOCOLS = ("salt", "file", "http", "https", "ftp", "swift", "s3")
CHUNK_BYTES = 65536

_HASH = regex(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,128}(?![0-9A-Za-z])")


def file_hash(path: str, form: object = "sha256", chunk_bytes: Any = CHUNK_BYTES) -> str:
    """The hash of a file, read in pieces.

    Raises:
        ValueError: there is no such hash type.
        OSError: the file cannot be read, or has no end.
    """
    if form not in LENGTHS:
        raise ValueError(f"Invalid hash type: {form}")
    # Without a file object: a run of states asks for thousands, most of them one piece. And
    # without waiting: a pipe that nobody writes to would keep us.
    most = chunk_bytes if chunk_bytes > 0 else CHUNK_BYTES
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        summer = make_hasher(str(form), status.st_size)
        while piece := os.read(fd, most):
            summer.update(piece)
        return summer.hexdigest()
    finally:
        os.close(fd)


def parse_expected(text: object) -> tuple[str, str]:
    """Hash type and hash of ``type=hash``, ``type:hash`` or a bare hash.

    Raises:
        UsageError: it is none of them.
    """
    if not isinstance(text, str):
        raise UsageError("hash must be a string")
    match = re.match(r"([^:=]+)[:=](.*)", text)
    if match:
        return match[1], match[2]
    form = TYPE_OF_LENGTH.get(len(text))
    if form is None:
        raise UsageError(
            f"Hash {text} (length: {len(text)}) could not be matched to a supported hash type. The"
            f" supported hash types and lengths are: {_say_lengths()}"
        )
    return form, text


def _say_lengths() -> str:
    return ", ".join(f"{name} ({length})" for name, length in LENGTHS.items())


def is_location(text: str) -> bool:
    """Whether a source hash is the place of a file with hashes."""
    scheme, found, _ = text.partition("://")
    return text.startswith("/") or bool(found and scheme in PROTOCOLS)


def invalid(source_hash: str) -> FunctionError:
    """Salt's long sentence about a source hash."""
    return FunctionError(
        f"Source hash {source_hash} format is invalid. The supported formats are: 1) a hash, 2) an"
        " expression in the format <hash_type>=<hash>, or 3) either a path to a local file"
        " containing hashes, or a URI of a remote hash file. Supported protocols for remote hash"
        f" files are: {', '.join(PROTOCOLS)}. The hash may also not be of a valid length, the"
        f" following are supported hash types and lengths: {_say_lengths()}."
    )


def from_expression(source_hash: str) -> dict[str, str]:
    """``{"hash_type", "hsum"}`` of ``type=hash`` or a bare hash.

    Raises:
        FunctionError: it is neither.
    """
    form, found, hsum = (part.strip() for part in source_hash.partition("="))
    if not found:
        form, hsum = TYPE_OF_LENGTH.get(len(form), ""), form
        if not form:
            raise invalid(source_hash)
    if form not in LENGTHS:
        raise FunctionError(
            f"Invalid hash type '{form}'. Supported hash types are:"
            f" {', '.join(reversed(LENGTHS))}. Either remove the hash type and simply use '{hsum}'"
            " as the source_hash, or change the hash type to a supported type."
        )
    hsum = hsum.lower()
    if len(hsum) != LENGTHS[form] or not re.fullmatch(r"[0-9a-f]+", hsum):
        raise invalid(source_hash)
    return {"hash_type": form, "hsum": hsum}


def extract_hash(
    lines: Iterable[str], hash_type: object, file_name: str, source: str, source_hash_name: object
) -> dict[str, str] | None:
    """The hash that a list of hashes has for a file, else its first one; ``None`` without any.

    ``source_hash_name`` is looked for first, then the last part of ``file_name``, then that of
    ``source``. The layout of the lines does not matter: a hash is what looks like one.
    """
    lengths = [LENGTHS[hash_type]] if hash_type in LENGTHS else list(TYPE_OF_LENGTH)
    rows = [(hsum, line) for line in lines for hsum in _find_hashes(line, lengths)]
    if not rows:
        return None
    for name, whole in ((source_hash_name, True), (file_name, False), (source, False)):
        chosen = next((row for row in rows if name and _is_about(row[1], str(name), whole)), None)
        if chosen:
            return _hash_record(chosen[0])
    return _hash_record(rows[0][0])


def _find_hashes(line: str, lengths: Sequence[int]) -> list[str]:
    return [hsum for hsum in _HASH.findall(line) if len(hsum) in lengths]


def _hash_record(hsum: str) -> dict[str, str]:
    return {"hsum": hsum, "hash_type": TYPE_OF_LENGTH[len(hsum)]}


def _is_about(line: str, name: str, whole: bool) -> bool:
    """Whether a line of a list of hashes is about a file."""
    if not whole:
        name = name.rstrip("/").rpartition("/")[2]
    escaped = re.escape(name.removeprefix("./"))
    before = r"(?:^|[\s*(]|\./)" if whole else r"(?:^|[\s*(/])"
    return bool(name) and re.search(rf"{before}{escaped}(?:\)\s*=|\s*$)", line) is not None
