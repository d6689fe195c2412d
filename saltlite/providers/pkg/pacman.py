"""Arch's package manager. Source: pacman(8), vercmp(8)."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.providers.pkg import rpm
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import Change, PackageRequest, Versions
from saltlite.providers.pkg.tools import act, ask, complaint, output

if TYPE_CHECKING:
    from saltlite.context import MinionContext

QUIET = ("--noprogressbar", "--noconfirm")

_FRESH = regex(r"^\s*(\S+) is up to date")
_GOT = regex(r"^\s*(\S+)\s+(?:downloading|\d)|^downloading (\S+)\.db")
_SYNC_FAILED = regex(r"failed (?:to (?:update|synchronize)|retrieving file '([^'.]+)\.db)")


class Pacman:
    """pacman on this machine."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_installed(self, *, removed: bool = False, purge_desired: bool = False) -> Versions:
        """What ``pacman -Q`` lists; nothing is left over of a removed package."""
        if removed or purge_desired:
            return {}
        return parse_pairs(output(self.ctx, ["pacman", "-Q"]))

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The version in the first repository that has it."""
        found = {}
        for name in names:
            argv = ["pacman", "-Sp", "--print-format", "%n %v", name]
            known = parse_pairs(output(self.ctx, argv))
            found[name] = known.get(name, [""])[0]
        return found

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """What the repositories have; there is one version of each."""
        found = parse_repositories(output(self.ctx, ["pacman", "-Sl"]))
        return {
            name: versions
            for name, versions in found.items()
            if not names or any(fnmatch.fnmatch(name, glob) for glob in names)
        }

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """What ``pacman -Su`` would install."""
        argv = ["pacman", "-S", "-p", "-u", "--print-format", "%n %v"]
        done = ask(self.ctx, argv)
        if done.exit_code != 0:
            raise FunctionError(complaint(done)[0])
        return {name: versions[0] for name, versions in parse_pairs(done.stdout).items()}

    def refresh(self, options: PackageOptions) -> dict[str, bool]:
        """Get the lists: ``True`` for a repository that was got, ``False`` for an unchanged one."""
        done = ask(self.ctx, ["pacman", "-Sy"])
        if done.exit_code != 0:
            raise FunctionError(f"Error refreshing repo(s): {complaint(done)[0]}")
        return parse_refresh(done.stdout)

    def change(self, change: Change) -> list[str]:
        """Install, remove, upgrade."""
        errors: list[str] = []
        for argv in commands(change):
            errors += complaint(act(self.ctx, argv))
        return errors

    def compare(self, first: str, second: str) -> int | None:
        """As ``vercmp``, whose rules are rpm's."""
        return rpm.compare(first, second)

    def normalize(self, name: str) -> str:
        """Names have no architecture."""
        return name

    def parse_arch(self, name: str) -> dict[str, str | None]:
        """Names have no architecture."""
        return {"name": name, "arch": None}

    def file_version(self, path: str) -> str:
        """As ``pacman -Qp`` knows."""
        found = parse_pairs(output(self.ctx, ["pacman", "-Qp", path]))
        return next((versions[0] for versions in found.values()), "")

    def files(self, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]] | str:
        """As ``pacman -Ql`` lists them."""
        done = ask(self.ctx, ["pacman", "-Ql", *names])
        errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
        return parse_files(done.stdout), errors

    def owners(self, paths: Sequence[str]) -> dict[str, str]:
        """As ``pacman -Qqo`` knows."""
        return {path: output(self.ctx, ["pacman", "-Qqo", path]).strip() for path in paths}

    def info(self, names: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        """Details of installed packages, by pacman's names of fields."""
        return parse_info(output(self.ctx, ["pacman", "-Qi", *names]))

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """Details of the versions in the repositories."""
        return parse_info(output(self.ctx, ["pacman", "-Si", *names]))


def commands(change: Change) -> list[list[str]]:
    """The command lines of a change."""
    names = [one.name for one in change.targets]
    if change.action == "upgrade":
        some = ["pacman", "-S", *QUIET, "--needed", *names]
        return [some if names else ["pacman", "-Su", *QUIET]]
    if change.action == "remove":
        return [["pacman", "-R", *QUIET, *names]]
    if change.action == "purge":
        return [["pacman", "-Rsc", *QUIET, *names]]
    files = [one.file for one in change.targets if one.file]
    rest = [target_word(one) for one in change.targets if not one.file]
    needed = [] if change.options.reinstall else ["--needed"]
    only = ["--downloadonly"] if change.options.downloadonly else []
    system = ["-u"] if change.options.sysupgrade else []
    argv = []
    if files:
        argv.append(["pacman", "-U", *QUIET, *files])
    if rest:
        argv.append(["pacman", "-S", *system, *QUIET, *needed, *only, *rest])
    return argv


def target_word(wanted: PackageRequest) -> str:
    """One package as pacman takes it."""
    return wanted.name if wanted.version is None else f"{wanted.name}={wanted.version}"


def parse_pairs(text: str) -> Versions:
    """Lines of a name and a version."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: [pair[1]] for pair in pairs if len(pair) == 2}


def parse_refresh(text: str) -> dict[str, bool]:
    """``pacman -Sy``: whether the list of each repository was got anew."""
    outcomes: dict[str, bool] = {}
    for line in text.splitlines():
        if line.startswith("::") or not line.strip():
            continue
        fresh = _FRESH.match(line)
        got = _GOT.match(line)
        if fresh:
            outcomes[fresh.group(1)] = False
        elif got and not _SYNC_FAILED.search(line):
            outcomes[got.group(1) or got.group(2)] = True
    return outcomes


def parse_files(text: str) -> dict[str, list[str]]:
    """Lines of a package and a path."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, path = line.partition(" ")
        if path:
            found.setdefault(name, []).append(path)
    return found


def parse_info(text: str) -> dict[str, Any]:
    """Blocks of ``Name : value``; a continued value goes on in the same line."""
    found: dict[str, Any] = {}
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        last = ""
        for line in block.splitlines():
            key, colon, value = line.partition(" : ")
            if colon and not line[0].isspace():
                last = key.strip()
                fields[last] = value.strip()
            elif last and line.strip():
                fields[last] = f"{fields[last]} {line.strip()}"
        if fields.get("Name"):
            found[fields["Name"]] = fields
    return found


def parse_repositories(text: str) -> Versions:
    """``pacman -Sl``: lines of repository, name, version; the first repository comes first."""
    found: Versions = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[2] not in found.setdefault(words[1], []):
            found[words[1]].append(words[2])
    return found
