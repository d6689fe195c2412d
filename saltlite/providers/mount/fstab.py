"""``/etc/fstab`` as text in, text out. Pure.

Lines that are not touched stay as they are. A blank in a path is written as a backslash and
``040``, as fstab(5) asks for; a line is found under either spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError

MATCHED_BY_NAME = frozenset(
    {
        "btrfs",
        "cgroup",
        "debugfs",
        "devtmpfs",
        "fusectl",
        "glusterfs",
        "nfs",
        "nfs4",
        "none",
        "proc",
        "securityfs",
        "sysfs",
        "tmpfs",
    }
)
"""Kinds of which a device may be mounted in many places. Source: observed on Salt 3006.30."""

FIELDS = ("name", "device", "fstype", "opts", "dump", "pass_num")


@dataclass(frozen=True, slots=True)
class FstabLine:
    """A line of the file, as it is spelt there."""

    device: str
    name: str
    fstype: str
    opts: str
    dump: str = "0"
    pass_num: str = "0"  # noqa: S105 - the order of checks at the start, no secret

    def line(self) -> str:
        """The line in Salt's layout."""
        return (
            f"{self.device}\t\t{self.name}\t{self.fstype}\t{self.opts}"
            f"\t{self.dump} {self.pass_num}\n"
        )

    def same(self, other: FstabLine) -> bool:
        """Whether both say the same; options count without their order."""
        mine = (self.device, self.name, self.fstype, self.dump, self.pass_num)
        others = (other.device, other.name, other.fstype, other.dump, other.pass_num)
        return mine == others and _sort_options(self.opts) == _sort_options(other.opts)

    def field(self, name: str) -> str:
        """A value by Salt's name of it."""
        values = (self.name, self.device, self.fstype, self.opts, self.dump, self.pass_num)
        return dict(zip(FIELDS, values, strict=True))[name]


def _sort_options(text: str) -> list[str]:
    return sorted(text.split(","))


def escape_path(path: str) -> str:
    """A path as the file spells it."""
    return path.replace("\\040", " ").replace(" ", "\\040").replace("\t", "\\011")


def parse_line(line: str) -> FstabLine | None:
    """A line; ``None`` for comments and what has not four to six words."""
    words = line.split()
    if not words or words[0].startswith("#") or not 4 <= len(words) <= 6:
        return None
    return FstabLine(*words)


def parse(text: str) -> dict[str, dict[str, Any]]:
    """Where what is to be mounted; a place that stands there again has ``_`` behind its name."""
    found: dict[str, dict[str, Any]] = {}
    for entry in _parse_entries(text):
        name = entry.name
        while name in found:
            name += "_"
        found[name] = {
            "device": entry.device,
            "fstype": entry.fstype,
            "opts": entry.opts.split(","),
            "dump": entry.dump,
            "pass": entry.pass_num,
        }
    return found


def _parse_entries(text: str) -> Iterator[FstabLine]:
    for line in text.splitlines():
        entry = parse_line(line)
        if entry is not None:
            yield entry


def criteria(match_on: Any, fstype: str) -> list[str]:
    """By which values a line is found.

    Raises:
        FunctionError: ``match_on`` has other names than those of the columns.
    """
    if match_on == "auto":
        return ["name" if fstype in MATCHED_BY_NAME else "device"]
    wanted: Sequence[str] = match_on if isinstance(match_on, list) else [match_on]
    unknown = [name for name in wanted if name not in FIELDS]
    if unknown:
        raise FunctionError(f'Unrecognized keys in match_on: "{unknown}"')
    return list(wanted)


def with_entry(
    text: str, wanted: FstabLine, keys: Collection[str], *, not_change: bool
) -> tuple[str, str]:
    """The file with an entry, and what that means: ``new``, ``change`` or ``present``.

    A line that agrees in all ``keys`` is the one; ``not_change`` leaves it as it is.
    """
    lines = text.splitlines(keepends=True)
    found = [
        (index, entry)
        for index, entry in enumerate(map(parse_line, lines))
        if entry is not None and all(entry.field(key) == wanted.field(key) for key in keys)
    ]
    if any(not_change or entry.same(wanted) for _, entry in found):
        return text, "present"
    if found:
        lines[found[0][0]] = wanted.line()
        return "".join(lines), "change"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, wanted.line()]), "new"


def without_entry(text: str, name: str, device: str | None) -> str:
    """The file without the lines of a place; with ``device`` only those that mount it there."""
    return "".join(
        line for line in text.splitlines(keepends=True) if not _is_of(line, name, device)
    )


def _is_of(line: str, name: str, device: str | None) -> bool:
    entry = parse_line(line)
    if entry is None or escape_path(entry.name) != escape_path(name):
        return False
    return not device or entry.device == device
