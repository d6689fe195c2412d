"""Tokens of external authentication on disk, as Salt keeps them.

A token is 64 hex digits. Its file has the SHA-256 of the token for its name, so that a look at the
directory gives nobody a token; those that real Salt made are named by the token itself, and are
good as well. A token is dead from the second that it expires in, and what is no token is removed.
There is a bound on their number, for each login makes one.
"""

from __future__ import annotations

import hashlib
import heapq
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.lazyregex import regex
from saltlite.core.plain import Plain
from saltlite.errors import StoreError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

TOKEN_BYTES: Final = 32
FILE_LIMIT_BYTES: Final = 1024 * 1024
TOKENS_MOST: Final = 10_000
"""Tokens of one master. Where there would be more, whoever has the most loses his oldest ones."""

ROOM_MADE: Final = TOKENS_MOST // 10
"""How many are removed then, so that not each login has to look at all of them."""

_NAME = regex(r"[0-9a-f]{32,128}")


class LoginTokens:
    """The tokens below ``directory``; times are seconds since 1970."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def make(self, record: Mapping[str, Plain]) -> str:
        """A new token for ``record``: ``name``, ``eauth``, ``start``, ``expire`` and more.

        ``start`` is taken for the time that it is now.

        Raises:
            StoreError: it cannot be kept.
        """
        token = os.urandom(TOKEN_BYTES).hex()
        packed = pack_bin(dict(record))
        disk.make_dir(self._directory)
        with disk.hold_dir_lock(self._directory):  # two at once must not both find the last place
            if sum(1 for _ in self._names()) >= TOKENS_MOST:
                self._make_room(float(record["start"]))  # type: ignore[arg-type]  # a number
            disk.write_file(self._directory / hash_token(token), packed)
        return token

    def _make_room(self, now_s: float) -> None:
        """Remove what is dead, then the oldest of whoever has the most, until there is room."""
        owned: dict[tuple[str, str], list[tuple[float, str]]] = {}
        for file_name, record in self.records(now_s):
            owner = (record["eauth"], record["name"])
            owned.setdefault(owner, []).append((record["start"], file_name))
        # heapq has the smallest first, so numbers are negative; the oldest token is the last one.
        largest = [(-len(tokens), sorted(tokens, reverse=True)) for tokens in owned.values()]
        heapq.heapify(largest)
        too_many = sum(map(len, owned.values())) - (TOKENS_MOST - ROOM_MADE)
        for _ in range(too_many):
            _number, tokens = largest[0]
            disk.remove(self._directory / tokens.pop()[1])
            heapq.heapreplace(largest, (-len(tokens), tokens))
        if too_many > 0:
            log.warning("There were %d tokens; %d old ones are removed", TOKENS_MOST, too_many)

    def find(self, token: object, now_s: float) -> dict[str, Any] | None:
        """What is on record of a token; ``None`` if it is none, or dead.

        Raises:
            StoreError: it cannot be read now.
        """
        if not isinstance(token, str) or not _NAME.fullmatch(token):
            return None
        for name in (hash_token(token), token):
            record = self._read(name, now_s)
            # A file of ours must not be opened by its own name.
            if record is not None and record.pop("token", None) == (
                token if name == token else None
            ):
                return record
        return None

    def forget(self, token: object) -> bool:
        """Remove a token; whether there was one.

        Raises:
            StoreError: it cannot be removed.
        """
        if not isinstance(token, str) or not _NAME.fullmatch(token):
            return False
        # At the time 0 none is dead: one that has expired is removed as well.
        if self.find(token, 0.0) is None:
            return False
        removed = [disk.remove(self._directory / name) for name in (hash_token(token), token)]
        return any(removed)

    def records(self, now_s: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """File name and record of each token that lives; what is dead or damaged is removed."""
        for name in self._names():
            record = self._read(name, now_s)
            if record is not None:
                yield name, record

    def sweep(self, now_s: float) -> int:
        """Remove what is dead or damaged; how many live."""
        return sum(1 for _ in self.records(now_s))

    def _names(self) -> Iterator[str]:
        # One at a time and without a Path: there may be ten thousand, and each login counts them.
        try:
            entries = os.scandir(self._directory)
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield entry.name

    def _read(self, name: str, now_s: float) -> dict[str, Any] | None:
        path = os.path.join(self._directory, name)
        try:
            data = disk.read_regular(path, limit_bytes=FILE_LIMIT_BYTES)
        except OSError as error:
            raise StoreError(f"a token cannot be read: {error.strerror}") from error
        if data is None:
            return None
        record = _parse(data)
        if record is not None and now_s < record["expire"]:
            return record
        if record is None:
            log.warning("A damaged token is removed")
        disk.remove(Path(path))
        return None


def hash_token(token: str) -> str:
    """The name of a token's file."""
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def _parse(data: bytes) -> dict[str, Any] | None:
    try:
        record: Any = unpack_bin(data)
    except WireError:
        return None
    if not isinstance(record, dict):
        return None
    texts = all(isinstance(record.get(name), str) for name in ("name", "eauth"))
    times = all(type(record.get(name)) in (int, float) for name in ("start", "expire"))
    groups = record.get("groups") or []
    listed = isinstance(groups, (list, tuple)) and all(isinstance(one, str) for one in groups)
    return record if texts and times and listed else None
