"""Alpine's package manager. Source: apk(8)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import NO_OPTIONS, Change, PackageRequest, Versions
from saltlite.providers.pkg.tools import act, ask, complaint, output

if TYPE_CHECKING:
    from saltlite.context import MinionContext

REPOSITORIES = "/etc/apk/repositories"

_PACKAGE = regex(r"^(?P<name>.+)-(?P<version>\d[^-\s]*-r\d+)$")
_UPGRADE = regex(r"^\(\d+/\d+\) Upgrading (\S+) \(\S+ -> ([^)\s]+)\)")
_OWNED = regex(r" is owned by (\S+)")
_SUFFIXES = ("alpha", "beta", "pre", "rc", "", "cvs", "svn", "git", "hg", "p")
_VERSION = regex(
    r"^(?P<numbers>\d+(?:\.\d+)*)(?P<letter>[a-z]?)"
    r"(?P<suffixes>(?:_(?:alpha|beta|pre|rc|cvs|svn|git|hg|p)\d*)*)"
    r"(?:~[0-9a-f]+)?(?:-r(?P<revision>\d+))?$"
)


class Apk:
    """apk on this machine."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_installed(self, *, removed: bool = False, purge_desired: bool = False) -> Versions:
        """What ``apk info -v`` lists; nothing is left over of a removed package."""
        if removed or purge_desired:
            return {}
        return parse_packages(output(self.ctx, ["apk", "info", "-v"]))

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The newest version in the repositories."""
        offered = self.list_offered(names, options) if names else {}
        return {name: offered.get(name, [""])[0] for name in names}

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """The versions in apk's policy, newest first."""
        return parse_policy(output(self.ctx, ["apk", "policy", *names]))

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """What a simulated upgrade would change."""
        done = ask(self.ctx, ["apk", "upgrade", "-s"])
        if done.exit_code != 0:
            raise FunctionError(complaint(done)[0])
        return parse_upgrades(done.stdout)

    def refresh(self, options: PackageOptions) -> bool:
        """Get the lists; whether that succeeded."""
        return ask(self.ctx, ["apk", "update"]).exit_code == 0

    def change(self, change: Change) -> list[str]:
        """Install, remove, upgrade."""
        return [each for argv in commands(change) for each in complaint(act(self.ctx, argv))]

    def compare(self, first: str, second: str) -> int | None:
        """As ``apk version -t``."""
        return compare(first, second)

    def normalize(self, name: str) -> str:
        """Names have no architecture."""
        return name

    def parse_arch(self, name: str) -> dict[str, str | None]:
        """Names have no architecture."""
        return {"name": name, "arch": None}

    def file_version(self, path: str) -> str:
        """As its ``.PKGINFO`` has it."""
        text = output(self.ctx, ["tar", "-xzOf", path, ".PKGINFO"])
        lines = (line.partition(" = ") for line in text.splitlines())
        return next((value.strip() for name, _, value in lines if name == "pkgver"), "")

    def files(self, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]] | str:
        """As ``apk info -L`` lists them."""
        found: dict[str, list[str]] = {}
        errors: list[str] = []
        for name in names:
            done = ask(self.ctx, ["apk", "info", "-L", name])
            paths = parse_files(done.stdout)
            if done.exit_code != 0 or not done.stdout.strip():
                errors.append(f"The package {name} is not installed.")
            else:
                found[name] = paths
        return found, errors

    def owners(self, paths: Sequence[str]) -> dict[str, str]:
        """As ``apk info -W`` knows."""
        return {path: parse_owner(output(self.ctx, ["apk", "info", "-W", path])) for path in paths}

    def info(self, names: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        """Name and version of installed packages."""
        there = self.list_installed()
        return {
            name: {"name": name, "version": ",".join(there[name])}
            for name in names or there
            if name in there
        }

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """The versions in the repositories."""
        return {
            name: {version: {} for version in versions}
            for name, versions in self.list_offered(names, NO_OPTIONS).items()
        }

    def list_repos(self, options: Mapping[str, object]) -> dict[str, Any]:
        """The addresses in apk's file."""
        return parse_repositories(self.ctx.host.read_text(REPOSITORIES) or "")

    def get_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """One of them."""
        return dict(self.list_repos(options).get(repo, {}))


def commands(change: Change) -> list[list[str]]:
    """The command lines of a change. ``fix`` leaves alone what apk keeps as wanted packages."""
    names = [target_word(one) for one in change.targets]
    if change.action == "upgrade":
        return [["apk", "fix", "--upgrade", *names] if names else ["apk", "upgrade"]]
    if change.action != "install":
        purges = change.action == "purge" or change.options.purge
        return [["apk", "del", *(["--purge"] if purges else []), *names]]
    again = _reinstalled_names(change)
    rest = [one for one in change.targets if one.name not in again]
    argv = [["apk", "fix", "--reinstall", *again]] if again else []
    return (
        [*argv, ["apk", "add", *_apk_flags(change, rest), *map(target_word, rest)]]
        if rest
        else argv
    )


def _reinstalled_names(change: Change) -> list[str]:
    """The names of what is to be put in place again."""
    if not change.options.reinstall:
        return []
    return [
        one.name
        for one in change.targets
        if one.file is None
        and one.name in change.installed
        and one.version in (None, *change.installed[one.name])
    ]


def _apk_flags(change: Change, targets: Sequence[PackageRequest]) -> list[str]:
    """What is installed stays as it is, unless apk is told otherwise."""
    newest = any(one.version is None and one.name in change.installed for one in targets)
    local = any(one.file for one in targets)
    return [*(["--upgrade"] if newest else []), *(["--allow-untrusted"] if local else [])]


def target_word(wanted: PackageRequest) -> str:
    """One package as apk takes it."""
    if wanted.file:
        return wanted.file
    return wanted.name if wanted.version is None else f"{wanted.name}={wanted.version}"


def compare(first: str, second: str) -> int | None:
    """-1, 0 or 1 by apk's rules; ``None`` for what is no version of apk's."""
    ours, theirs = _VERSION.match(first), _VERSION.match(second)
    if ours is None or theirs is None:
        return None
    left, right = _sort_key(ours), _sort_key(theirs)
    return (left > right) - (left < right)


def _sort_key(match: re.Match[str]) -> tuple[object, ...]:
    numbers = [int(part) for part in match["numbers"].split(".")]
    suffixes = [
        (_SUFFIXES.index(part.rstrip("0123456789")), int(re.sub(r"\D", "", part) or 0))
        for part in match["suffixes"].split("_")
        if part
    ]
    end = (_SUFFIXES.index(""), 0)
    return numbers, match["letter"], [*suffixes, end], int(match["revision"] or 0)


def parse_packages(text: str) -> Versions:
    """Lines ``name-version-rN``."""
    matches = (_PACKAGE.match(line.strip()) for line in text.splitlines())
    return {match["name"]: [match["version"]] for match in matches if match}


def parse_policy(text: str) -> Versions:
    """``apk policy``: the versions of each package that some repository has, newest first."""
    found: Versions = {}
    name, version = "", ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.endswith(" policy:") and not line[:1].isspace():
            name, version = stripped.removesuffix(" policy:"), ""
        elif stripped.endswith(":") and name:
            version = stripped.removesuffix(":")
        elif version and "://" in stripped and version not in found.get(name, []):
            found.setdefault(name, []).append(version)
    return {each: newest_first(versions) for each, versions in found.items()}


def newest_first(versions: Sequence[str]) -> list[str]:
    """Versions in apk's order, the newest first."""
    from functools import cmp_to_key

    return sorted(versions, key=cmp_to_key(_compare_names), reverse=True)


def _compare_names(first: str, second: str) -> int:
    return compare(first, second) or 0


def parse_upgrades(text: str) -> dict[str, str]:
    """``apk upgrade -s``: the packages and their new versions."""
    matches = map(_UPGRADE.match, text.splitlines())
    return {match.group(1): match.group(2) for match in matches if match}


def parse_files(text: str) -> list[str]:
    """The paths after ``name-version contains:``; apk leaves the first slash away."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [f"/{line}" for line in lines if not line.endswith(" contains:")]


def parse_owner(text: str) -> str:
    """The package in ``… is owned by name-version``, ``""`` without one."""
    match = _OWNED.search(text)
    package = _PACKAGE.match(match.group(1)) if match else None
    return package["name"] if package else ""


def parse_repositories(text: str) -> dict[str, Any]:
    """The addresses of apk's file; those commented out are disabled."""
    repos: dict[str, Any] = {}
    for line in text.splitlines():
        stripped = line.strip()
        address = stripped.lstrip("# ")
        if "://" in address or address.startswith("/"):
            repos[address.split()[-1]] = {
                "comps": [],
                "dist": "",
                "disabled": stripped.startswith("#"),
                "file": REPOSITORIES,
                "uri": address.split()[-1],
            }
    return repos
