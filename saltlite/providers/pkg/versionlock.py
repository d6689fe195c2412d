"""Packages that are locked at a version, as yum, dnf and dnf5 list them.

Pure. Source: yum-versionlock(1), dnf-versionlock(8) (plug-ins), dnf5-versionlock(8) and the words
that its command writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex

_LINE = regex(
    r"^(?:(?P<first>\d+):)?(?P<name>[^\s:!]+?)-(?:(?P<epoch>\d+):)?(?P<rest>[^-\s:]+-[^-\s:]+)\.\*$"
)
"""A lock of yum, which has the epoch first, or of dnf, which has it before the version."""

_NAME = regex(r"^Package name: (?P<name>\S+)$")
_EXACT = regex(r"^evr = (?:(?P<epoch>\d+):)?(?P<rest>\S+)$")
"""The lines of a block of dnf5. One that is not valid goes on with ``#``."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A package and the version that it stays at, without an epoch that is zero."""

    name: str
    version: str
    told: str
    """As yum and dnf write it; that of dnf5 as dnf would: ``bash-0:5.1.8-9.el9.*``."""


def parse(text: str) -> list[Lock]:
    """The locks in ``versionlock list``. Exclusions and ranges hold no package as it is."""
    return [*_parse_lines(text), *_parse_blocks(text)]


def versions(text: str) -> dict[str, list[str]]:
    """The versions that each package is locked at."""
    found: dict[str, list[str]] = {}
    for lock in parse(text):
        found.setdefault(lock.name, []).append(lock.version)
    return found


def _parse_lines(text: str) -> Iterator[Lock]:
    for line in map(str.strip, text.splitlines()):
        match = _LINE.match(line if line.endswith(".*") else f"{line}.*")
        if match:
            epoch = match["first"] or match["epoch"]
            yield Lock(match["name"], _join_version(epoch, match["rest"]), line)


def _parse_blocks(text: str) -> Iterator[Lock]:
    """Those of dnf5: the name of a package, and conditions that its versions have to meet."""
    name = ""
    for line in map(str.strip, text.splitlines()):
        head, exact = _NAME.match(line), _EXACT.match(line)
        if head or line.startswith("Package name:"):
            name = head["name"] if head else ""
        elif exact and name:
            epoch, rest = exact["epoch"] or "0", exact["rest"]
            yield Lock(name, _join_version(epoch, rest), f"{name}-{epoch}:{rest}.*")


def _join_version(epoch: str | None, rest: str) -> str:
    return rest if epoch in (None, "0") else f"{epoch}:{rest}"
