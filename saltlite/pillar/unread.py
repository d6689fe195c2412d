"""Keys of pillars that no file reads, and those whose name is one letter from one that is read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from saltlite.config.known import OTHER_OPTIONS
from saltlite.config.minion import SECTIONS
from saltlite.config.schema import option_name, options
from saltlite.core.data import DELIMITER
from saltlite.pillar.compiler import ERRORS
from saltlite.pillar.origins import file_of_key
from saltlite.pillar.reading import Path, Read, Readings, list_named, read_pillars, read_states

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.pillar.compiler import Layer

FILES_AT_MOST: Final = 10_000
BYTES_AT_MOST: Final = 512 * 1024
"""Of a file; a larger one may read what is not known then."""

TOLD_AT_MOST: Final = 100
"""Keys of either kind."""

_SHORTEST_NAME: Final = 4
"""Shorter names that differ in a letter are often both meant: ``uid``, ``gid``."""

_READ_BY_SALT: Final = frozenset(
    (
        ERRORS, "beacons", "cloud", "docker-registries", "engines", "file_bucket", "gpgkeys",
        "grains", "master", "mine_functions", "mine_interval", "noop", "proxy", "resources",
        "saltenv", "schedule", "sdb", "ssh_roster", "vault", "x509_signing_policies",
    )
)  # fmt: skip
"""Keys that no file of states needs to read. Those with a dot (``mysql.host``) are options too."""


class Unread(NamedTuple):
    """A key that is read nowhere, and the one that was probably meant."""

    path: Path
    meant: Read | None = None


class Findings:
    """What all minions' pillars have of them, each once."""

    def __init__(self, config: MasterConfig) -> None:
        self._readings = scan(config)
        self._options = _list_options()
        self._found: dict[Unread, str] = {}

    def add(self, pillar: Mapping[str, Any], layers: Sequence[Layer]) -> None:
        """Note those of one minion that are from files: sources know no better place."""
        if self._readings is None:
            return
        for unread in find_unread(pillar, self._readings, self._options):
            if not self._found.get(unread):
                self._found[unread] = file_of_key(layers, unread.path)

    @property
    def unknown(self) -> str:
        """Why no key is called unused; empty where that can be told."""
        return self._readings.unknown if self._readings else ""

    def lines(self) -> Iterator[str]:
        """As ``check.pillar`` tells them."""
        placed = [(unread, place) for unread, place in self._found.items() if place]
        misspelt = [each for each in placed if each[0].meant]
        # of a minion that has the right key as well, it is the same mistake
        told = {unread.path for unread, _place in misspelt}
        unused = [each for each in placed if each[0].path not in told]
        for kind, found in (("misspelt", misspelt), ("unused", unused)):
            for unread, place in found[:TOLD_AT_MOST]:
                yield _tell(unread, place)
            if len(found) > TOLD_AT_MOST:
                yield f"{kind}: {len(found) - TOLD_AT_MOST} keys more"


def _tell(unread: Unread, place: str) -> str:
    key = DELIMITER.join(unread.path)
    if unread.meant is None:
        return f"unused: {key} ({place})"
    meant = DELIMITER.join(unread.meant.path)
    return f"misspelt: {key} ({place}) is read nowhere; {unread.meant.place} reads {meant}"


def find_unread(
    pillar: Mapping[str, Any], readings: Readings, options: frozenset[str] = frozenset()
) -> Iterator[Unread]:
    """The keys of a pillar that nothing reads; of a map that is not read, the map alone.

    ``options`` are keys that Salt itself reads.
    """
    named = list_named(pillar)
    is_whole = bool(readings.unknown)
    waiting: list[tuple[Path, Mapping[Any, Any]]] = [((), pillar)]
    while waiting:
        way, here = waiting.pop()
        for key, value in here.items():
            path = (*way, str(key))
            if not way and (str(key) in options or "." in str(key)):
                continue
            meant = None if path in named else _find_meant(path, here, readings)
            if meant is not None:
                yield Unread(path, meant)
            elif is_whole or path in named or readings.is_read(path) or _is_no_path(key):
                if isinstance(value, Mapping):
                    waiting.append((path, value))
            else:
                yield Unread(path)


def _is_no_path(key: object) -> bool:
    return not isinstance(key, str) or DELIMITER in key or not key


def _find_meant(path: Path, here: Mapping[Any, Any], readings: Readings) -> Read | None:
    """What is read beside a key that is not, and not there, and one letter apart."""
    *above, name = path
    beside = readings.exact.get(tuple(above), {})
    if not beside or readings.is_named(path) or name in readings.words:
        return None
    for other, place in beside.items():
        if other not in here and _is_one_edit(name, other):
            return Read((*above, other), place)
    return None


def _is_one_edit(one: str, other: str) -> bool:
    """Whether a letter more, less, or another, or two that changed places, makes the difference."""
    if min(len(one), len(other)) < _SHORTEST_NAME or abs(len(one) - len(other)) > 1:
        return False
    start = _count_same(one, other)
    end = _count_same(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    if any(letter.isdigit() for letter in left + right):
        return False  # web1 and web2 are two
    swapped = len(left) == 2 and left == right[::-1]
    return swapped or max(len(left), len(right)) == 1


def _count_same(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _list_options() -> frozenset[str]:
    own = {option_name(each) for section in SECTIONS.values() for each in options(section)}
    return frozenset(own | OTHER_OPTIONS | _READ_BY_SALT)


def scan(config: MasterConfig) -> Readings | None:
    """What all files of the master read of pillars; ``None`` if there are no files of states."""
    readings = Readings()
    count = 0
    for root, file in _list_files(config.files.file_roots):
        count += 1
        text = _read_text(file, readings)
        if text and count <= FILES_AT_MOST:
            below = file.relative_to(root).parts
            read_states(readings, text, str(file), below[0] if len(below) > 1 else "")
    if not count:
        return None
    for _root, file in _list_files(config.pillar.pillar_roots):
        count += 1
        text = _read_text(file, readings)
        if text and count <= FILES_AT_MOST:
            read_pillars(readings, text, str(file))
    # what other back ends serve is not looked at
    others = sorted(set(config.files.fileserver_backend) - {"roots", "minion", "minionfs"})
    if others:
        readings.doubt(f"files of {', '.join(others)} are not looked at")
    if count > FILES_AT_MOST:
        readings.doubt(f"there are more than {FILES_AT_MOST} files")
    return readings


def _list_files(
    roots: Mapping[str, Sequence[str]],
) -> Iterator[tuple[FilePath, FilePath]]:
    """Each directory with each file below it. Links are followed: formulas are often links."""
    seen: set[str] = set()
    count = 0
    for root in dict.fromkeys(path for paths in roots.values() for path in paths):
        for directory, inner, names in os.walk(root, followlinks=True):
            real = os.path.realpath(directory)
            inner[:] = [] if real in seen else sorted(set(inner) - {".git", "__pycache__"})
            if real in seen:
                continue
            seen.add(real)
            for name in sorted(names):
                yield FilePath(root), FilePath(directory, name)
                count += 1
                if count > FILES_AT_MOST:
                    return


def _read_text(file: FilePath, readings: Readings) -> str:
    """Its text; nothing of what is none. One that is too large leaves it open what is read."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            data = opened.read(BYTES_AT_MOST + 1)
        if b"\0" in data:
            return ""
        if len(data) > BYTES_AT_MOST:
            if b"pillar" in data:
                readings.doubt(f"{file} is larger than {BYTES_AT_MOST // 1024} KiB")
            return ""
        return data.decode("utf-8", "replace")
    except OSError as error:
        readings.doubt(f"{file}: {error.strerror}")
        return ""
