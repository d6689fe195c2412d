"""Patches: advisories of dnf and yum, patches of zypper. Source: dnf(8), zypper(8).

Commands and shapes observed on Salt 3006.30 with recorded answers of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.tools import act, ask, complaint

if TYPE_CHECKING:
    from saltlite.context import MinionContext

_ROW = regex(r"^(?P<id>\S+)\s.*?(?P<package>\S+)\s+\d{4}-\d\d-\d\d\b")
"""A row of dnf5's table: advisory, type, severity, package, date; the severity may be empty."""

_COLUMNS = regex(r"^Name\s+Type\s+Severity\s+Package\s+Issued\s*$", re.MULTILINE)
_ADVISORY = regex(r"^(?P<there>[i*]?)\s*(?P<id>\S+-\S+)\s+(?P<kind>\S+)\s+(?P<package>\S+)")
_PACKAGE = regex(
    r"^(?P<name>.+)-(?:(?P<epoch>\d+):)?(?P<version>[^-]+)-(?P<release>[^-]+)\.(?P<arch>[^.]+)$"
)


class Patches(Protocol):
    """What a package manager knows of patches."""

    def list_patches(self) -> dict[str, Any]:
        """``{id: {"installed", "summary"}}``."""

    def coming(self, ids: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The packages that these patches would change, and their new versions."""

    def install(self, ids: Sequence[str], options: PackageOptions) -> list[str]:
        """Install them, or with ``downloadonly`` get their files; complaints."""


def patches(ctx: MinionContext, function: str) -> Patches:
    """The patches of this machine's package manager.

    Raises:
        FunctionUnavailable: it has none.
    """
    from saltlite.providers.pkg.dnf import Dnf
    from saltlite.providers.pkg.zypper import Zypper

    found = provider(ctx)
    if isinstance(found, Dnf):
        return Advisories(ctx)
    if isinstance(found, Zypper):
        return ZypperPatches(ctx)
    raise FunctionUnavailable(f"pkg.{function}")


def check(known: Mapping[str, object], ids: Sequence[str]) -> None:
    """Raise FunctionError if one of the patches is not known."""
    for each in ids:
        if each not in known:
            raise FunctionError(f'Advisory id "{each}" not found')


class Advisories:
    """Advisories of dnf and yum."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx
        self.program = next((name for name in ("dnf", "yum") if ctx.host.which(name)), "dnf")

    def list_patches(self) -> dict[str, Any]:
        """The summary of an advisory are its packages."""
        text = self._ask_updateinfo("all" if self.program == "yum" else "--all")
        if _COLUMNS.search(text):
            return parse_tables(text, self._ask_updateinfo("--available"))
        return parse_advisories(text)

    def _ask_updateinfo(self, which: str) -> str:
        done = ask(self.ctx, [self.program, "--quiet", "updateinfo", "list", which])
        if done.exit_code != 0:
            raise FunctionError(complaint(done)[0])
        return done.stdout

    def coming(self, ids: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """Those of its packages that are installed in an older version."""
        from saltlite.providers.pkg import rpm
        from saltlite.providers.pkg.dnf import newest_first

        back_end = provider(self.ctx)
        there, known = back_end.list_installed(), self.list_patches()
        native = str(self.ctx.grains.get("osarch") or "")
        found: dict[str, str] = {}
        for package in (one for each in ids for one in known[each]["summary"]):
            match = _PACKAGE.match(package)
            if match is None:
                continue
            plain, arch, *numbers = match.group("name", "arch", "epoch", "version", "release")
            name = rpm.qualify_name(plain, arch, native)
            new = rpm.join_version(numbers[0] or "", *numbers[1:])
            if name in there and all(rpm.compare(new, old) > 0 for old in there[name]):
                found[name] = newest_first([new, found.get(name, new)])[0]
        return found

    def install(self, ids: Sequence[str], options: PackageOptions) -> list[str]:
        """An update that is limited to these advisories."""
        from saltlite.providers.pkg.dnf import BEST, flags_of, repo_flags

        best = BEST if self.program == "dnf" else ()
        flags = [*best, *repo_flags(options), *flags_of(options, self.program)]
        argv = [self.program, "-y", "update", *flags, *(f"--advisory={each}" for each in ids)]
        return complaint(act(self.ctx, argv))


class ZypperPatches:
    """Patches of zypper."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_patches(self) -> dict[str, Any]:
        """As ``zypper search`` finds them."""
        from saltlite.providers.pkg.zypper import ASK, FINE, NOTHING_FOUND

        done = ask(self.ctx, [*ASK, "se", "-t", "patch"])
        if done.exit_code not in (*FINE, NOTHING_FOUND):
            raise FunctionError(f"Zypper command failure: {'; '.join(complaint(done))}")
        return parse_patches(done.stdout)

    def coming(self, ids: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """What a dry run would install or upgrade."""
        from saltlite.providers.pkg.zypper import ASK, FINE

        argv = [*ASK, *self._option_words(ids, options), "--dry-run"]
        done = ask(self.ctx, argv)
        return parse_summary(done.stdout) if done.exit_code in FINE else {}

    def install(self, ids: Sequence[str], options: PackageOptions) -> list[str]:
        """Install the patches, and what they need."""
        from saltlite.providers.pkg.zypper import ACT, FINE

        checks = ["--no-gpg-checks"] if options.skip_verify else []
        done = act(self.ctx, [*ACT[:2], *checks, *ACT[2:], *self._option_words(ids, options)])
        return [] if done.exit_code in FINE else complaint(done)

    @staticmethod
    def _option_words(ids: Sequence[str], options: PackageOptions) -> list[str]:
        from saltlite.providers.pkg.zypper import flags_of

        return ["install", *flags_of(options, False), *(f"patch:{each}" for each in ids)]


@dataclass(slots=True)
class Advisory:
    """A patch of dnf: its packages, and whether all of them are installed."""

    installed: bool = True
    summary: list[str] = field(default_factory=list)

    def add(self, package: str, *, is_there: bool) -> None:
        """One more package of it."""
        self.installed = self.installed and is_there
        self.summary.append(package)

    def as_map(self) -> dict[str, Any]:
        """As Salt shows it."""
        return {"installed": self.installed, "summary": self.summary}


def parse_advisories(text: str) -> dict[str, Any]:
    """``updateinfo list all``: one that has a package left to update is not installed."""
    found: dict[str, Advisory] = {}
    for line in text.splitlines():
        match = _ADVISORY.match(line)
        if match is None:
            continue
        mark, name, package = match.group("there", "id", "package")
        found.setdefault(name, Advisory()).add(package, is_there=bool(mark))
    return {name: each.as_map() for name, each in found.items()}


def parse_tables(every: str, left: str) -> dict[str, Any]:
    """``updateinfo list`` of dnf5: all, and those that are available, which are not installed."""
    missing = set(_parse_rows(left))
    found: dict[str, Advisory] = {}
    for name, package in dict.fromkeys(_parse_rows(every)):
        is_there = (name, package) not in missing
        found.setdefault(name, Advisory()).add(package, is_there=is_there)
    return {name: each.as_map() for name, each in found.items()}


def _parse_rows(text: str) -> list[tuple[str, str]]:
    matches = (_ROW.match(line) for line in text.splitlines())
    pairs = (match.group("id", "package") for match in matches if match)
    return [(str(name), str(package)) for name, package in pairs]


def parse_patches(text: str) -> dict[str, Any]:
    """``search -t patch``: one that is not needed counts as one that is not installed."""
    from saltlite.providers.pkg.zypper import elements

    return {
        each["name"]: {
            "installed": each.get("status") == "installed",
            "summary": each.get("summary", ""),
        }
        for each in elements(text, "solvable")
        if "name" in each and each.get("kind", "patch") == "patch"
    }


def parse_summary(text: str) -> dict[str, str]:
    """The summary of an installation: packages and the versions they would have."""
    from saltlite.providers.pkg.zypper import elements

    found: dict[str, str] = {}
    for part in ("to-install", "to-upgrade", "to-downgrade"):
        for inside in re.findall(rf"<{part}>(.*?)</{part}>", text, re.DOTALL):
            for each in elements(inside, "solvable"):
                if each.get("type") == "package" and "name" in each:
                    found[each["name"]] = each.get("edition", "")
    return found
