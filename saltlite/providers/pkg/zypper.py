"""SUSE's package manager. Its answers are asked for as XML. Source: zypper(8)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Completed
from saltlite.providers.pkg import Change, Versions, Wanted, ini_repos, rpm
from saltlite.providers.pkg.dnf import newest_first
from saltlite.providers.pkg.requests import truth, words
from saltlite.providers.pkg.tools import act, ask, complaint

REPOSITORIES = "/etc/zypp/repos.d"
LOCKS = "/etc/zypp/locks"
ASK = ("zypper", "--non-interactive", "--xmlout", "--no-refresh")
ACT = ("zypper", "--non-interactive", "--no-refresh")

FINE = (0, 100, 101, 102, 103, 106)
"""Exit codes that mean success, with something to add (updates, reboot …)."""

NOTHING_FOUND = 104

_ELEMENT = re.compile(r"<(?P<name>[\w-]+)(?P<attributes>(?:\s+[\w:-]+=\"[^\"]*\")*)\s*/?>")
_ATTRIBUTE = re.compile(r"([\w:-]+)=\"([^\"]*)\"")
_FRESH = re.compile(r"Repository '(.*)' is up to date")
_GOT = re.compile(r"(?:Retrieving|Building) repository '(.*?)' (?:metadata|cache)")
_BAD = re.compile(r"(?:Skipping repository|Repository) '(.*?)' (?:because|is invalid)")


class Zypper(rpm.Rpm):
    """zypper on this machine."""

    def available(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, str]:
        """The newest version in the repositories."""
        offered = self.offered(names, options) if names else {}
        return {name: offered.get(name, [""])[0] for name in names}

    def offered(self, names: Sequence[str], options: Mapping[str, Any]) -> Versions:
        """All versions in the repositories, newest first; names may be globs."""
        argv = [*ASK, "search", "--details", "--type", "package", "--match-exact"]
        for repo in words(options.get("fromrepo")):
            argv += ["--repo", repo]
        return parse_search(self._asked([*argv, *names]).stdout, self.architecture())

    def upgrades(self, options: Mapping[str, Any]) -> dict[str, str]:
        """What ``list-updates`` names."""
        argv = [*ASK, "list-updates"]
        for repo in words(options.get("fromrepo")):
            argv += ["--repo", repo]
        return parse_updates(self._asked(argv).stdout)

    def refresh(self, options: Mapping[str, Any]) -> dict[str, bool]:
        """Get the lists of each repository: ``True`` for one that was got anew.

        Raises:
            FunctionError: zypper failed.
        """
        force = ["--force"] if truth(options.get("force", True)) else []
        done = ask(self.ctx, ["zypper", "--non-interactive", "refresh", *force])
        if done.exit_code not in FINE:
            raise FunctionError(complaint(done)[0])
        return parse_refresh(done.stdout)

    def change(self, change: Change) -> list[str]:
        """Install, remove, update."""
        done = act(self.ctx, [*ACT, *change_words(change)])
        return [] if done.exit_code in FINE else complaint(done)

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """What rpm tells of the installed ones."""
        return self.info(names, {"failhard": False, "attr": ",".join(fields)})

    def held(self) -> list[str]:
        """The packages that are locked."""
        return parse_locks(self.ctx.host.read_text(LOCKS) or "")

    def hold(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Lock packages."""
        return {name: self._lock(name, "addlock") for name in names}

    def unhold(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Unlock packages."""
        return {name: self._lock(name, "removelock") for name in names}

    def _lock(self, name: str, command: str) -> dict[str, Any]:
        adding = command == "addlock"
        answer: dict[str, Any] = {"name": name, "changes": {}, "result": True, "comment": ""}
        if (name in self.held()) == adding:
            said = "already set to be held" if adding else "not being held"
            return answer | {"comment": f"Package {name} is {said}."}
        done = ask(self.ctx, ["zypper", "--non-interactive", command, name])
        if done.exit_code not in FINE:
            return answer | {"result": False, "comment": complaint(done)[0]}
        said = "now being held" if adding else "no longer being held"
        changes = {"new": "hold", "old": ""} if adding else {"new": "", "old": "hold"}
        return answer | {"changes": changes, "comment": f"Package {name} is {said}."}

    def list_repos(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The repositories by their aliases; switches as booleans."""
        return {alias: fields for alias, (_, fields) in self._repos().items()}

    def _repos(self) -> dict[str, tuple[str, dict[str, Any]]]:
        repos: dict[str, tuple[str, dict[str, Any]]] = {}
        for name in self.ctx.host.names(REPOSITORIES):
            path = os.path.join(REPOSITORIES, name)
            if name.endswith(".repo"):
                for alias, fields in ini_repos.parse(self.ctx.host.read_text(path) or "").items():
                    repos[alias] = (path, {key: _typed(key, each) for key, each in fields.items()})
        return repos

    def get_repo(self, repo: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """One repository by its alias."""
        return dict(self.list_repos(options).get(repo, {}))

    def mod_repo(self, repo: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Make or change a repository; what it is then.

        Raises:
            UsageError: a new one has neither ``url``, ``baseurl`` nor ``mirrorlist``.
        """
        there = self._repos().get(repo)
        values = {
            {"url": "baseurl", "humanname": "name"}.get(name, name): _written(value)
            for name, value in options.items()
            if name not in ("refresh", "gpgautoimport")
        }
        if there is None and not (values.get("baseurl") or values.get("mirrorlist")):
            raise UsageError(
                f"Repository '{repo}' not found, and neither 'baseurl' nor 'mirrorlist' was"
                " specified"
            )
        if there is None:
            values = {"name": repo, "enabled": "1", "autorefresh": "0", **values}
        path = there[0] if there else os.path.join(REPOSITORIES, f"{repo}.repo")
        text = ini_repos.change(self.ctx.host.read_text(path) or "", repo, values)
        disk.write_file(Path(path), text.encode(), mode=0o644)
        return self.get_repo(repo, options)

    def del_repo(self, repo: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Remove a repository: ``{alias: True, "message": what zypper says}``."""
        if repo not in self._repos():
            raise FunctionError(f"Repository '{repo}' not found.")
        done = ask(self.ctx, ["zypper", "--non-interactive", "removerepo", repo])
        if done.exit_code not in FINE:
            raise FunctionError(complaint(done)[0])
        return {repo: True, "message": done.stdout.strip()}

    def _asked(self, argv: Sequence[str]) -> Completed:
        done = ask(self.ctx, argv)
        if done.exit_code not in (*FINE, NOTHING_FOUND):
            raise FunctionError(f"Zypper command failure: {'; '.join(complaint(done))}")
        return done


def change_words(change: Change) -> list[str]:
    """The command and its targets."""
    names = [target_word(one) for one in change.targets]
    if change.action == "install":
        return ["install", *flags_of(change.options), *names]
    if change.action == "upgrade":
        dist = truth(change.options.get("dist_upgrade", change.options.get("dist-upgrade")))
        command = "dist-upgrade" if dist else "update"
        return [command, "--auto-agree-with-licenses", *_from(change.options), *names]
    purge = ["--clean-deps"] if change.action == "purge" else []
    return ["remove", *purge, *names]


def _from(options: Mapping[str, Any]) -> list[str]:
    return [word for repo in words(options.get("fromrepo")) for word in ("--from", repo)]


def flags_of(options: Mapping[str, Any]) -> list[str]:
    """Flags of an installation."""
    flags = ["--auto-agree-with-licenses", "--oldpackage", *_from(options)]
    if truth(options.get("downloadonly")):
        flags.append("--download-only")
    if truth(options.get("reinstall")):
        flags.append("--force")
    if truth(options.get("skip_verify")):
        flags.append("--allow-unsigned-rpm")
    if truth(options.get("no_recommends")):
        flags.append("--no-recommends")
    return flags


def target_word(wanted: Wanted) -> str:
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


def parse_search(text: str, native: str) -> Versions:
    """``search --details``: the versions in repositories, newest first."""
    found: Versions = {}
    for solvable in elements(text, "solvable"):
        if solvable.get("kind") != "package" or solvable.get("repository", "").startswith("("):
            continue  # (System Packages): installed, in no repository
        name = rpm.qualified(solvable.get("name", ""), solvable.get("arch", ""), native)
        known = found.setdefault(name, [])
        edition = solvable.get("edition", "")
        known += [edition] if edition not in known else []
    return {name: newest_first(versions) for name, versions in found.items()}


def parse_updates(text: str) -> dict[str, str]:
    """``list-updates``: the packages and their new versions."""
    return {
        update["name"]: update.get("edition", "")
        for update in elements(text, "update")
        if "name" in update and update.get("kind", "package") == "package"
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


def parse_locks(text: str) -> list[str]:
    """The names in zypp's file of locks."""
    names = (line.partition(":") for line in text.splitlines())
    return [value.strip() for key, _, value in names if key.strip() == "solvable_name"]


def _typed(name: str, value: str) -> Any:
    if name in ("enabled", "autorefresh", "gpgcheck", "keeppackages"):
        return truth(value)
    return int(value) if name == "priority" and value.isdigit() else value


def _written(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)
