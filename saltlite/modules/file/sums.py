"""Hashes of files."""

from __future__ import annotations

import os

from saltlite.context import MinionContext
from saltlite.core.fields import read_fields
from saltlite.providers.file import hashes, sources
from saltlite.providers.file.paths import home


def get_hash(path: str, form: str = "sha256", chunk_size: int = hashes.CHUNK_BYTES) -> str:
    """The hash of a file.

    CLI Example:

        salt '*' file.get_hash /etc/shadow
    """
    return hashes.file_hash(home(path), form, chunk_size)


def get_sum(path: str, form: str = "sha256") -> str:
    """The hash of a file; a sentence if there is no file.

    CLI Example:

        salt '*' file.get_sum /etc/passwd sha512
    """
    path = home(path)
    return hashes.file_hash(path, form) if os.path.isfile(path) else "File not found"


def check_hash(path: str, file_hash: str) -> bool:
    """Whether a file has this hash: a bare one, or ``type=hash``.

    CLI Example:

        salt '*' file.check_hash /etc/fstab e138491e9d5b97023cea823fe17bac22
        salt '*' file.check_hash /etc/fstab md5=e138491e9d5b97023cea823fe17bac22
    """
    form, hsum = hashes.parse_expected(file_hash)
    return hashes.file_hash(home(path), form) == hsum


def extract_hash(
    hash_fn: str,
    hash_type: object = "sha256",
    file_name: str = "",
    source: str = "",
    source_hash_name: object = None,
) -> dict[str, str] | None:
    """The hash that a file with hashes has for another file, else its first one.

    CLI Example:

        salt '*' file.extract_hash /path/to/hash/file sha512 /etc/foo
    """
    return sources.extract(hash_fn, hash_type, file_name, source, source_hash_name)


def get_source_sum(
    ctx: MinionContext,
    file_name: str = "",
    source: str = "",
    source_hash: object = None,
    source_hash_name: object = None,
    saltenv: str = "base",
    verify_ssl: bool = True,
) -> dict[str, str]:
    """Hash type and hash that a ``source_hash`` stands for: an expression, or a file with hashes.

    CLI Example:

        salt '*' file.get_source_sum /tmp/foo.tar.gz source_hash=499ae16dcae71eeb7c3a30c75ea7a1a6
    """
    source_of_hash = read_fields(sources.Source, locals())
    return sources.find_sum(ctx, source_of_hash, file_name)
