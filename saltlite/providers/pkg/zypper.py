"""SUSE's package manager. Its answers are asked for as XML. Source: zypper(8)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.host import Completed
from saltlite.providers import textfile
from saltlite.providers.pkg import ini_repos, rpm
from saltlite.providers.pkg.dnf import newest_first
from saltlite.providers.pkg.names import truth, words
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import Change, PackageRequest, Versions
from saltlite.providers.pkg.tools import act, ask, complaint

REPOSITORIES = "/etc/zypp/repos.d"
LOCKS = "/etc/zypp/locks"
ASK = ("zypper", "--non-interactive", "--xmlout", "--no-refresh")
ACT = ("zypper", "--non-interactive", "--no-refresh")

FINE = (0, 100, 101, 102, 103, 106)
"""Exit codes that mean success, with something to add (updates, reboot …)."""

NOTHING_FOUND = 104

_NOT_AGAIN = "Cannot reinstall"
"""What zypper says of a package that is in no repository; it counts that as a success."""

_ELEMENT = regex(r"<(?P<name>[\w-]+)(?P<attributes>(?:\s+[\w:-]+=\"[^\"]*\")*)\s*/?>")
_ATTRIBUTE = regex(r"([\w:-]+)=\"([^\"]*)\"")
_FRESH = regex(r"Repository '(.*)' is up to date")
_GOT = regex(r"(?:Retrieving|Building) repository '(.*?)' (?:metadata|cache)")
_BAD = regex(r"(?:Skipping repository|Repository) '(.*?)' (?:because|is invalid)")


class Zypper(rpm.Rpm):
    """zypper on this machine."""

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The newest version in the repositories, none of what is locked.

        ``update_holds`` tells of locks that will not be there then.
        """
        locked = [] if options.update_holds else self.list_held()
        offered = self.list_offered(names, options) if names else {}
        return {name: "" if name in locked else offered.get(name, [""])[0] for name in names}

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """All versions in the repositories, newest first; names may be globs."""
        argv = [*ASK, "search", "--details", "--type", "package", "--match-exact"]
        for repo in words(options.fromrepo):
            argv += ["--repo", repo]
        return parse_search(self._ask_zypper([*argv, *names]).stdout, self.architecture())

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """What ``list-updates`` names."""
        argv = [*ASK, "list-updates"]
        for repo in words(options.fromrepo):
            argv += ["--repo", repo]
        return parse_updates(self._ask_zypper(argv).stdout)

    def refresh(self, options: PackageOptions) -> dict[str, bool]:
        """Get the lists of each repository: ``True`` for one that was got anew.

        Raises:
            FunctionError: zypper failed.
        """
        force = ["--force"] if options.force else []
        done = ask(self.ctx, ["zypper", "--non-interactive", "refresh", *force])
        if done.exit_code not in FINE:
            raise FunctionError(complaint(done)[0])
        return parse_refresh(done.stdout)

    def change(self, change: Change) -> list[str]:
        """Install, remove, update."""
        checks = ["--no-gpg-checks"] if change.options.skip_verify else []
        done = act(self.ctx, [*ACT[:2], *checks, *ACT[2:], *change_words(change)])
        if done.exit_code not in FINE:
            return complaint(done)
        again = change.options.reinstall
        return [line for line in done.stdout.splitlines() if again and _NOT_AGAIN in line]

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """What rpm tells of the installed ones."""
        return self.info(names, {"failhard": False, "attr": ",".join(fields)})

    def list_held(self) -> list[str]:
        """The packages that are locked."""
        return list(self.locks())

    def locks(self) -> dict[str, dict[str, str]]:
        """What zypp's file says of each lock."""
        return parse_locks(self.ctx.host.read_text(LOCKS) or "")

    def hold(self, names: Sequence[str]) -> dict[str, Any]:
        """Lock packages."""
        return {name: self._run_lock(name, "al") for name in names}

    def unhold(self, names: Sequence[str]) -> dict[str, Any]:
        """Unlock packages."""
        return {name: self._run_lock(name, "rl") for name in names}

    def _run_lock(self, name: str, command: str) -> dict[str, Any]:
        adding = command == "al"
        answer: dict[str, Any] = {"name": name, "changes": {}, "result": True, "comment": ""}
        if (name in self.list_held()) == adding:
            said = "is already set to be held" if adding else "was already unheld"
            return answer | {"comment": f"Package {name} {said}."}
        done = ask(self.ctx, [*ACT, command, name])
        if done.exit_code not in FINE:
            return answer | {"result": False, "comment": complaint(done)[0]}
        said = "now being held" if adding else "no longer held"
        changes = {"new": "hold", "old": ""} if adding else {"new": "", "old": "hold"}
        return answer | {"changes": changes, "comment": f"Package {name} is {said}."}

    def list_repos(self, options: Mapping[str, object]) -> dict[str, Any]:
        """The repositories by their aliases; switches as booleans."""
        return {alias: fields for alias, (_, fields) in self._read_repos().items()}

    def _read_repos(self) -> dict[str, tuple[str, dict[str, Any]]]:
        repos: dict[str, tuple[str, dict[str, Any]]] = {}
        for name in self.ctx.host.names(REPOSITORIES):
            path = os.path.join(REPOSITORIES, name)
            if name.endswith(".repo"):
                text = self.ctx.host.read_text(path) or ""
                comments = ini_repos.comments_of(text)
                for alias, fields in ini_repos.parse(text).items():
                    shown = {key: _typed_value(key, each) for key, each in fields.items()}
                    repos[alias] = (path, {**shown, "alias": alias})
                    if alias in comments:
                        repos[alias][1]["comments"] = comments[alias]
        return repos

    def get_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """One repository by its alias."""
        return dict(self.list_repos(options).get(repo, {}))

    def check_repo(self, repo: str, options: Mapping[str, object]) -> None:
        """Raise FunctionError if a new repository would have no address."""
        _check_repo(repo, self._read_repos().get(repo), _repo_values(options))

    def mod_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Make or change a repository; what it is then.

        Raises:
            FunctionError: a new one has neither ``url``, ``baseurl`` nor ``mirrorlist``.
        """
        with textfile.hold_name(self.ctx, REPOSITORIES):
            return self._write_repo(repo, options)

    def _write_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        there = self._read_repos().get(repo)
        values = _repo_values(options)
        _check_repo(repo, there, values)
        if there is None:
            values = {"name": repo, "enabled": "1", "autorefresh": "0", **values}
        path = there[0] if there else os.path.join(REPOSITORIES, f"{repo}.repo")
        before = self.ctx.host.read_text(path) or ""
        text = ini_repos.change(before, repo, values)
        text = ini_repos.with_comments(text, repo, options.get("comments"))
        if text == before:
            said = "Specified arguments did not result in modification of repo"
            return {**self.get_repo(repo, options), "comment": said}
        disk.write_file(Path(path), text.encode(), mode=0o644)
        return self.get_repo(repo, options)

    def del_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Remove a repository: ``{alias: True, "message": what zypper says}``."""
        if repo not in self._read_repos():
            raise FunctionError(f"Repository '{repo}' not found.")
        done = ask(self.ctx, ["zypper", "--non-interactive", "removerepo", repo])
        if done.exit_code not in FINE:
            raise FunctionError(complaint(done)[0])
        return {repo: True, "message": done.stdout.strip()}

    def _ask_zypper(self, argv: Sequence[str]) -> Completed:
        done = ask(self.ctx, argv)
        if done.exit_code not in (*FINE, NOTHING_FOUND):
            raise FunctionError(f"Zypper command failure: {'; '.join(complaint(done))}")
        return done


NOT_WRITTEN = ("refresh", "gpgautoimport", "comments")
"""Keywords of ``mod_repo`` that are no options of a repository."""


def _repo_values(options: Mapping[str, object]) -> dict[str, str | None]:
    return {
        {"url": "baseurl", "humanname": "name"}.get(name, name): ini_repos.format_value(value)
        for name, value in options.items()
        if name not in NOT_WRITTEN
    }


def _check_repo(repo: str, there: object, values: Mapping[str, str | None]) -> None:
    if there is None and not (values.get("baseurl") or values.get("mirrorlist")):
        raise FunctionError(
            f"Repository '{repo}' not found, and neither 'baseurl' nor 'mirrorlist' was specified"
        )


def change_words(change: Change) -> list[str]:
    """The command and its targets."""
    names = [target_word(one) for one in change.targets]
    if change.action == "install":
        exact = any(one.version for one in change.targets)
        return ["install", *flags_of(change.options, exact), *names]
    if change.action == "upgrade":
        command = "dist-upgrade" if change.options.dist_upgrade else "update"
        repos = words(change.options.fromrepo)
        only = [word for repo in repos for word in ("--repo", repo)]
        return [command, "--auto-agree-with-licenses", *only, *names]
    return ["remove", *names]


def flags_of(options: PackageOptions, exact: bool) -> list[str]:
    """Flags of an installation, in Salt's order; ``exact``: an older version may be asked for."""
    flags = ["--auto-agree-with-licenses", "--name"]
    if options.downloadonly:
        flags.append("--download-only")
    repos = words(options.fromrepo)
    if repos:
        flags += ["--force", "--force-resolution"]
        flags += [word for repo in repos for word in ("--from", repo)]
    elif options.reinstall:
        flags.append("--force")
    recommends = options.install_recommends
    if options.no_recommends or not recommends:
        flags.append("--no-recommends")
    return [*flags, "--oldpackage"] if exact else flags


def target_word(wanted: PackageRequest) -> str:
    """One package as zypper takes it."""
    if wanted.file:
        return wanted.file
    return wanted.name if wanted.version is None else f"{wanted.name}={wanted.version}"


def elements(text: str, name: str) -> list[dict[str, str]]:
    """The attributes of all elements of this name. Enough for zypper's flat XML.

    A real parser would load entities and libraries for a list of attributes.
    """
    from xml.sax.saxutils import unescape

    quotes = {"&quot;": '"', "&apos;": "'"}
    return [
        {key: unescape(value, quotes) for key, value in _ATTRIBUTE.findall(match["attributes"])}
        for match in _ELEMENT.finditer(text)
        if match["name"] == name
    ]


@dataclass(frozen=True, slots=True)
class Solvable:
    """A package, patch or pattern of an answer; empty is what it does not say."""

    name: str = ""
    kind: str | None = None
    arch: str = ""
    edition: str = ""
    repository: str = ""


def _read_solvables(text: str, element: str) -> list[Solvable]:
    return [read_fields(Solvable, each) for each in elements(text, element)]


def parse_search(text: str, native: str) -> Versions:
    """``search --details``: the versions in repositories, newest first."""
    found: Versions = {}
    for solvable in _read_solvables(text, "solvable"):
        if solvable.kind != "package" or solvable.repository.startswith("("):
            continue  # (System Packages): installed, in no repository
        known = found.setdefault(rpm.qualify_name(solvable.name, solvable.arch, native), [])
        known += [solvable.edition] if solvable.edition not in known else []
    return {name: newest_first(versions) for name, versions in found.items()}


def parse_updates(text: str) -> dict[str, str]:
    """``list-updates``: the packages and their new versions."""
    return {
        update.name: update.edition
        for update in _read_solvables(text, "update")
        if update.name and update.kind in (None, "package")
    }


def parse_refresh(text: str) -> dict[str, bool]:
    """``refresh``: whether the lists of each repository were got anew."""
    outcomes: dict[str, bool] = {}
    for line in text.splitlines():
        for pattern, outcome in ((_GOT, True), (_FRESH, False), (_BAD, False)):
            match = pattern.search(line)
            if match:
                outcomes[match.group(1)] = outcome
                break
    return outcomes


def parse_locks(text: str) -> dict[str, dict[str, str]]:
    """Zypp's file of locks: the other lines of each block by its ``solvable_name``."""
    locks = {}
    for block in text.split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        name = fields.pop("solvable_name", "")
        if name:
            locks[name] = fields
    return locks


def _typed_value(name: str, value: str) -> Any:
    if name in ("enabled", "autorefresh", "gpgcheck", "keeppackages"):
        return truth(value)
    return value
