"""What dpkg knows: versions and their order, and its tools' output taken apart.

Pure. Used by the apt provider. Source: deb-version(7), dpkg-query(1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex

QUERY_FORMAT = "${Status}\t${Package}\t${Version}\t${Architecture}\n"
"""For ``dpkg-query -W``: what :func:`parse_packages` reads."""

GREATEST_EPOCH = 2**31 - 1
_EPOCH = regex(r"[+-]?[0-9]+")  # dpkg takes a sign, too

INFO_FIELDS = {
    "name": "Package",
    "architecture": "Architecture",
    "packager": "Maintainer",
    "source": "source:Package",
    "version": "Version",
    "group": "Section",
    "url": "Homepage",
    "description": "Description",
}
"""Salt's names in ``info_installed``, in its order, and dpkg-query's fields."""

_RECORD_END = "\x1e"
_FIELD_END = "\x1f"
INFO_FORMAT = (
    _FIELD_END.join(f"${{{field}}}" for field in INFO_FIELDS.values())
    + f"{_FIELD_END}${{Status}}{_RECORD_END}"
)


@dataclass(frozen=True, slots=True)
class Package:
    """One line of dpkg's list. ``wanted`` and ``state`` are the first and last word of Status."""

    name: str
    version: str
    architecture: str
    wanted: str
    state: str


def compare(first: str, second: str) -> int | None:
    """-1, 0 or 1 as dpkg orders two versions; ``None`` for what dpkg refuses to read.

    An empty version is older than all others.
    """
    if not (_is_readable(first) and _is_readable(second)):
        return None
    if not (first and second):
        return (first > second) - (first < second)
    ours, theirs = _split_version(first), _split_version(second)
    if ours[0] != theirs[0]:
        return 1 if ours[0] > theirs[0] else -1
    return _compare_part(ours[1], theirs[1]) or _compare_part(ours[2], theirs[2])


def _is_readable(version: str) -> bool:
    text = version.strip()
    if not text:
        return True
    epoch, colon, rest = text.partition(":")
    upstream, dash, revision = (rest if colon else text).rpartition("-")
    if any(character.isspace() for character in text) or (dash and not (upstream and revision)):
        return False
    if not colon:
        return True
    return bool(rest and _EPOCH.fullmatch(epoch)) and 0 <= int(epoch) <= GREATEST_EPOCH


def _split_version(version: str) -> tuple[int, str, str]:
    """Epoch, upstream version, revision."""
    epoch, colon, rest = version.strip().partition(":")
    if not colon:
        epoch, rest = "0", epoch
    upstream, dash, revision = rest.rpartition("-")
    return int(epoch), upstream if dash else rest, revision if dash else ""


def _compare_part(first: str, second: str) -> int:
    """Text and number take turns; text first, which may be empty."""
    for ours, theirs in zip_longest(
        _version_pieces(first), _version_pieces(second), fillvalue=("", 0)
    ):
        if ours[0] != theirs[0]:
            return _compare_text(ours[0], theirs[0])
        if ours[1] != theirs[1]:
            return 1 if ours[1] > theirs[1] else -1
    return 0


def _version_pieces(part: str) -> Iterator[tuple[str, int]]:
    index = 0
    while index < len(part):
        start = index
        while index < len(part) and not _is_digit(part[index]):
            index += 1
        text, start = part[start:index], index
        while index < len(part) and _is_digit(part[index]):
            index += 1
        yield text, int(part[start:index] or 0)


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def _compare_text(first: str, second: str) -> int:
    for ours, theirs in zip_longest(map(_weight_of, first), map(_weight_of, second), fillvalue=0):
        if ours != theirs:
            return 1 if ours > theirs else -1
    return 0


def _weight_of(character: str) -> int:
    """A tilde is before the end, letters before all other signs."""
    if character == "~":
        return -1
    if character.isascii() and character.isalpha():
        return ord(character)
    return ord(character) + 256


def parse_packages(text: str) -> list[Package]:
    """The output of ``dpkg-query -W`` with :data:`QUERY_FORMAT`."""
    packages = []
    for line in text.splitlines():
        fields = line.split("\t")
        status = fields[0].split()
        if len(fields) == 4 and len(status) == 3:
            packages.append(Package(fields[1], fields[2], fields[3], status[0], status[2]))
    return packages


def by_name(packages: Sequence[Package], native: str) -> dict[str, list[str]]:
    """Versions by Salt's name of a package: with its architecture if that is a foreign one."""
    versions: dict[str, list[str]] = {}
    for package in packages:
        foreign = package.architecture not in (native, "all", "")
        name = f"{package.name}:{package.architecture}" if foreign else package.name
        versions.setdefault(name, []).append(package.version)
    return versions


def parse_selections(text: str) -> dict[str, list[str]]:
    """``dpkg --get-selections``: the packages of each state, in its order."""
    selections: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, state = line.rpartition("\t")
        if name.strip():
            selections.setdefault(state.strip(), []).append(name.strip())
    return selections


def parse_info(text: str) -> list[tuple[dict[str, str], str]]:
    """The output of ``dpkg-query -W`` with :data:`INFO_FORMAT`: fields and state of each package.

    Empty fields are left out.
    """
    found = []
    for record in text.split(_RECORD_END):
        values = record.split(_FIELD_END)
        if len(values) == len(INFO_FIELDS) + 1:
            named = dict(zip(INFO_FIELDS, values[:-1], strict=True))
            fields = {name: value for name, value in named.items() if value}
            found.append((fields, values[-1].rpartition(" ")[2]))
    return found


def parse_file_lists(text: str) -> list[str]:
    """The paths of ``dpkg-query -L``, without its remarks about diversions."""
    return [line for line in text.splitlines() if line.startswith("/")]


def parse_owner(text: str) -> str:
    """The package in the first line of ``dpkg-query -S``, ``""`` without one.

    Of several packages it is the first.
    """
    for line in text.splitlines():
        names, colon, _ = line.partition(": ")
        if colon and not names.startswith(("diversion by", "local diversion")):
            return names.split(",")[0].strip()
    return ""


def license_names(text: str) -> list[str]:
    """The names of the licences in a machine-readable copyright file, sorted."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("Format"):
        return []
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("License:")}
    return sorted(name for name in names if name)


def parse_fields(text: str) -> list[dict[str, str]]:
    """Paragraphs of ``Name: value`` lines, in order; continued lines are left out."""
    paragraphs: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        if not line.strip():
            paragraphs.append({})
        elif not line[0].isspace():
            name, _, value = line.partition(":")
            paragraphs[-1][name.strip()] = value.strip()
    return [paragraph for paragraph in paragraphs if paragraph]


def native_name(name: str, architectures: Mapping[str, object] | Sequence[str]) -> str:
    """A package name without the architecture, if that is one of these."""
    plain, colon, architecture = name.rpartition(":")
    return plain if colon and architecture in architectures else name
