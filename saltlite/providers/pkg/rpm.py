"""What rpm knows: the order of versions, what is installed, files. For dnf, yum and zypper.

Source: rpm-version(7), rpm(8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.protocol import Versions
from saltlite.providers.pkg.tools import ask, output

if TYPE_CHECKING:
    from saltlite.context import MinionContext

_SEPARATOR = "\x1f"
QUERY_FORMAT = "%{NAME}\x1f%{EPOCH}\x1f%{VERSION}\x1f%{RELEASE}\x1f%{ARCH}\n"

INFO_FIELDS = {
    "name": "NAME",
    "epoch": "EPOCH",
    "version": "VERSION",
    "release": "RELEASE",
    "arch": "ARCH",
    "build_date_time_t": "BUILDTIME",
    "install_date_time_t": "INSTALLTIME",
    "build_host": "BUILDHOST",
    "group": "GROUP",
    "source_rpm": "SOURCERPM",
    "size": "SIZE",
    "license": "LICENSE",
    "packager": "PACKAGER",
    "vendor": "VENDOR",
    "url": "URL",
    "summary": "SUMMARY",
    "description": "DESCRIPTION",
}
INFO_FORMAT = _SEPARATOR.join(f"%{{{tag}}}" for tag in INFO_FIELDS.values()) + "\x1e"

_PIECE = regex(r"[0-9]+|[A-Za-z]+|~|\^")


def compare_parts(first: str, second: str) -> int:
    """-1, 0 or 1: rpm's order of two versions or two releases."""
    ours, theirs = _PIECE.findall(first), _PIECE.findall(second)
    for index in range(max(len(ours), len(theirs))):
        one = ours[index] if index < len(ours) else ""
        two = theirs[index] if index < len(theirs) else ""
        if one != two:
            order = _compare_pieces(one, two)
            if order:
                return order
    return 0


def _compare_pieces(first: str, second: str) -> int:
    """A tilde is before the end, the end before a caret, that before all else; text < number."""
    if "~" in (first, second):
        return -1 if first == "~" else 1
    if "^" in (first, second):
        other = second if first == "^" else first
        after_end = other == ""
        return (1 if after_end else -1) * (1 if first == "^" else -1)
    if not (first and second):
        return 1 if first else -1
    if is_digits(first) and is_digits(second):
        return (int(first) > int(second)) - (int(first) < int(second))
    if is_digits(first) or is_digits(second):
        return 1 if is_digits(first) else -1
    return (first > second) - (first < second)


def split_version(version: str) -> tuple[int, str, str]:
    """Epoch, version and release of ``epoch:version-release``."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    plain, dash, release = rest.partition("-")
    return int(epoch) if is_digits(epoch) else 0, plain, release if dash else ""


def compare(first: str, second: str) -> int:
    """-1, 0 or 1. A release counts only if both have one."""
    ours, theirs = split_version(first), split_version(second)
    if ours[0] != theirs[0]:
        return 1 if ours[0] > theirs[0] else -1
    order = compare_parts(ours[1], theirs[1])
    if order or not (ours[2] and theirs[2]):
        return order
    return compare_parts(ours[2], theirs[2])


def join_version(epoch: str, version: str, release: str) -> str:
    """``epoch:version-release``, without an epoch that is none or zero."""
    prefix = "" if epoch in ("", "0", "(none)") else f"{epoch}:"
    return f"{prefix}{version}-{release}" if release else f"{prefix}{version}"


def parse_packages(text: str, native: str) -> Versions:
    """``rpm -qa`` with :data:`QUERY_FORMAT`; foreign architectures are part of the name."""
    found: Versions = {}
    for line in text.splitlines():
        fields = line.split(_SEPARATOR)
        if len(fields) != 5:
            continue
        name, epoch, version, release, architecture = fields
        full = qualify_name(name, architecture, native)
        found.setdefault(full, []).append(join_version(epoch, version, release))
    return found


def qualify_name(name: str, architecture: str, native: str) -> str:
    """The name, with the architecture if that is a foreign one."""
    if architecture in (native, "noarch", "") or not native:
        return name
    return f"{name}.{architecture}"


def parse_info(text: str) -> dict[str, Any]:
    """``rpm -q`` with :data:`INFO_FORMAT`: the details of each package, numbers as numbers."""
    found: dict[str, Any] = {}
    for record in text.split("\x1e"):
        values = record.lstrip("\n").split(_SEPARATOR)
        if len(values) != len(INFO_FIELDS):
            continue
        fields = {
            name: value
            for name, value in zip(INFO_FIELDS, values, strict=True)
            if value != "(none)"
        }
        found[fields.pop("name")] = {
            name: int(value) if name.endswith("time_t") and is_digits(value) else value
            for name, value in fields.items()
        }
    return found


class Rpm:
    """The features that all package managers over rpm have."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_installed(self, *, removed: bool = False, purge_desired: bool = False) -> Versions:
        """What rpm has; nothing is ever left over of a removed package."""
        if removed or purge_desired:
            return {}
        text = output(self.ctx, ["rpm", "-qa", "--queryformat", QUERY_FORMAT])
        return parse_packages(text, self.architecture())

    def architecture(self) -> str:
        """This machine's, in rpm's words."""
        return str(self.ctx.grains.get("osarch") or self.ctx.grains.get("cpuarch") or "")

    def compare(self, first: str, second: str) -> int | None:
        """As rpm orders versions."""
        return compare(first, second)

    def normalize(self, name: str) -> str:
        """Without ``.noarch`` and without this machine's architecture."""
        plain, dot, architecture = name.rpartition(".")
        return plain if dot and architecture in ("noarch", self.architecture()) else name

    def parse_arch(self, name: str) -> dict[str, str | None]:
        """``{"name", "arch"}`` of ``name.arch``."""
        plain, dot, architecture = name.rpartition(".")
        known = ("noarch", "i686", "i586", "i386", "x86_64", "aarch64", "ppc64le", "s390x", "src")
        if dot and architecture in (*known, self.architecture()):
            return {"name": plain, "arch": architecture}
        return {"name": name, "arch": None}

    def file_version(self, path: str) -> str:
        """As ``rpm -qp`` knows."""
        text = output(self.ctx, ["rpm", "-qp", "--queryformat", QUERY_FORMAT, path])
        found = parse_packages(text, self.architecture())
        return next((versions[0] for versions in found.values()), "")

    def files(self, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]] | str:
        """The files of packages; of all packages in one list without names."""
        found: dict[str, list[str]] = {}
        errors: list[str] = []
        for name in names or list(self.list_installed()):
            done = ask(self.ctx, ["rpm", "-ql", name])
            if done.exit_code != 0:
                errors.append(done.stdout.strip())
                continue
            found[name] = [line for line in done.stdout.splitlines() if line.startswith("/")]
        return found, errors

    def owners(self, paths: Sequence[str]) -> dict[str, str]:
        """As ``rpm -qf`` knows."""
        found = {}
        for path in paths:
            done = ask(self.ctx, ["rpm", "-qf", "--queryformat", "%{name}\n", path])
            lines = done.stdout.splitlines() if done.exit_code == 0 else []
            found[path] = lines[0] if lines else ""
        return found

    def info(self, names: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        """Details of installed packages; ``attr`` names those wanted.

        Raises:
            FunctionError: one is not installed, unless ``failhard`` is off.
        """
        which = list(names) or ["-a"]
        done = ask(self.ctx, ["rpm", "-q", "--queryformat", INFO_FORMAT, *which])
        if done.exit_code != 0 and truth(options.get("failhard", True)):
            raise FunctionError(done.stdout.strip() or done.stderr.strip())
        wanted = [part.strip() for part in str(options.get("attr") or "").split(",") if part]
        return {
            name: {key: value for key, value in fields.items() if not wanted or key in wanted}
            for name, fields in parse_info(done.stdout).items()
        }
