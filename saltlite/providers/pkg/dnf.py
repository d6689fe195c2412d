"""Red Hat's package managers: dnf, and yum where there is no dnf.

Source: dnf(8), yum(8) and their output; shapes of modules.md 10.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.errors import CommandError, FunctionError, UsageError
from saltlite.providers.pkg import Change, Versions, Wanted, ini_repos, rpm
from saltlite.providers.pkg.requests import truth, words
from saltlite.providers.pkg.tools import act, ask, complaint, output

REPOSITORIES = "/etc/yum.repos.d"
UPDATES_THERE = 100
"""The exit code of ``check-update`` if there are updates."""

BEST = ("--best", "--allowerasing")
"""An installation takes the newest version, or fails. Source: observed on Salt 3006.30."""

_LISTED = re.compile(r"^(\S+)\.(\S+)\s+((?:\d+:)?[^\s:-]+-\S+)\s+(\S+)\s*$")
_LOCK = re.compile(r"^(?P<name>[^\s:]+?)-(?:\d+:)?[^-\s]+-[^-\s]+$")


class Dnf(rpm.Rpm):
    """dnf or yum on this machine."""

    def available(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, str]:
        """The newest version that the enabled repositories have."""
        if not names:
            return {}
        argv = [self._tool(), "--quiet", *repo_flags(options), "list", "available", *names]
        listed = parse_list(output(self.ctx, argv), self.architecture())
        return {name: listed.get(name, [""])[0] for name in names}

    def offered(self, names: Sequence[str], options: Mapping[str, Any]) -> Versions:
        """All versions in the enabled repositories, newest first."""
        argv = [self._tool(), "--quiet", *repo_flags(options), "--showduplicates", "list"]
        text = output(self.ctx, [*argv, "available", *names])
        return parse_list(text, self.architecture())

    def upgrades(self, options: Mapping[str, Any]) -> dict[str, str]:
        """What there are newer versions of."""
        tool = self._tool()
        command = ["list", "--upgrades"] if tool == "dnf" else ["check-update"]
        done = ask(self.ctx, [tool, "--quiet", *repo_flags(options), *command])
        if done.exit_code not in (0, UPDATES_THERE):
            raise FunctionError(complaint(done)[0])
        listed = parse_list(done.stdout, self.architecture())
        return {name: versions[0] for name, versions in listed.items()}

    def refresh(self, options: Mapping[str, Any]) -> bool:
        """Throw the old lists away and, unless ``check_update`` is off, get new ones."""
        tool, flags = self._tool(), repo_flags(options)
        ask(self.ctx, [tool, "--quiet", "--assumeyes", "clean", "expire-cache", *flags])
        if not truth(options.get("check_update", True)):
            return True
        done = ask(self.ctx, [tool, "--quiet", "--assumeyes", "check-update", *flags])
        return done.exit_code in (0, UPDATES_THERE)

    def change(self, change: Change) -> list[str]:
        """Install, remove and upgrade; downgrades and reinstallations are commands of their own."""
        tool = self._tool()
        flags = [*repo_flags(change.options), *flags_of(change.options)]
        if change.action == "upgrade":
            argv = [tool, "--quiet", "-y", *flags, *upgrade_words(change.options)]
            return complaint(act(self.ctx, [*argv, *map(target_word, change.targets)]))
        if change.action != "install":
            return complaint(
                act(self.ctx, [tool, "-y", "remove", *map(target_word, change.targets)])
            )
        errors: list[str] = []
        for command, targets in sorted_targets(change).items():
            if targets:
                best = BEST if (tool, command) == ("dnf", "install") else ()
                argv = [tool, "-y", *best, *flags, command, *map(target_word, targets)]
                errors += complaint(act(self.ctx, argv))
        return errors

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """What rpm tells of the installed ones."""
        return self.info(names, {"failhard": False, "attr": ",".join(fields)})

    def held(self) -> list[str]:
        """The packages that the plug-in ``versionlock`` holds."""
        return parse_locks("\n".join(self.locks()))

    def locks(self) -> list[str]:
        """The same as the plug-in writes them: name, epoch, version, release."""
        lines = output(self.ctx, [self._tool(), "versionlock", "list"]).splitlines()
        return [line.strip() for line in lines if _LOCK.match(line.strip().removesuffix(".*"))]

    def hold(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Lock versions; needs the plug-in ``versionlock``."""
        return {name: self._lock(name, "add") for name in names}

    def unhold(self, names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Unlock versions."""
        return {name: self._lock(name, "delete") for name in names}

    def _lock(self, name: str, command: str) -> dict[str, Any]:
        adding = command == "add"
        answer: dict[str, Any] = {"name": name, "changes": {}, "result": True, "comment": ""}
        if (name in self.held()) == adding:
            said = "already set to be held" if adding else "not being held"
            return answer | {"comment": f"Package {name} is {said}."}
        done = ask(self.ctx, [self._tool(), "versionlock", command, name])
        if done.exit_code != 0:
            said = "held" if adding else "unheld"
            return answer | {
                "result": False,
                "comment": f"Package {name} was unable to be {said}.",
            }
        said = "now being held" if adding else "no longer held"
        changes = {"new": "hold", "old": ""} if adding else {"new": "", "old": "hold"}
        return answer | {"changes": changes, "comment": f"Package {name} is {said}."}

    def list_repos(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The repositories of all files, with the file of each."""
        repos: dict[str, Any] = {}
        for directory in words(options.get("basedir")) or [REPOSITORIES]:
            for name in self.ctx.host.names(directory):
                if not name.endswith(".repo"):
                    continue
                path = os.path.join(directory, name)
                sections = ini_repos.parse(self.ctx.host.read_text(path) or "")
                repos |= {
                    repo: {**fields, "file": path}
                    for repo, fields in sections.items()
                    if repo != "main"
                }
        return repos

    def get_repo(self, repo: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """One repository by its id."""
        found = dict(self.list_repos(options).get(repo, {}))
        found.pop("file", None)
        return found

    def mod_repo(self, repo: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Make or change a repository; ``{file: {id: options}}``. An empty value takes one away.

        Raises:
            UsageError: a new one has neither ``baseurl`` nor ``mirrorlist`` nor ``metalink``.
        """
        given = {name: value for name, value in options.items() if name not in NOT_WRITTEN}
        if "disabled" in options:
            given["enabled"] = not truth(options["disabled"])
        there = self.list_repos(options).get(repo)
        _check_repo(there, given)
        values = {name: _written(value) for name, value in given.items()}
        for name, other in (("mirrorlist", "baseurl"), ("baseurl", "mirrorlist")):
            if there and values.get(name) and other in there:
                values.setdefault(other, None)
        directory = (words(options.get("basedir")) or [REPOSITORIES])[0]
        path = there["file"] if there else os.path.join(directory, f"{repo}.repo")
        text = ini_repos.change(self.ctx.host.read_text(path) or "", repo, values)
        for comment in words(options.get("comments")):
            text = ini_repos.with_comment(text, repo, comment)
        disk.write_file(Path(path), text.encode(), mode=0o644)
        shown: dict[str, Any] = dict(ini_repos.parse(text))
        kept = {name: value for name, value in given.items() if values[name] is not None}
        return {path: {**shown, repo: {**shown[repo], **kept}}}

    def del_repo(self, repo: str, options: Mapping[str, Any]) -> str:
        """Remove a repository, and its file if it was the only one there."""
        there = self.list_repos(options).get(repo)
        if there is None:
            places = words(options.get("basedir")) or [REPOSITORIES]
            return f"Error: the {repo} repo does not exist in {places}"
        path = there["file"]
        text = ini_repos.without(self.ctx.host.read_text(path) or "", repo)
        if not ini_repos.parse(text):
            disk.remove(Path(path))
            return f"File {path} containing repo {repo} has been removed"
        disk.write_file(Path(path), text.encode(), mode=0o644)
        return f"Repo {repo} has been removed from {path}"

    def _tool(self) -> str:
        found = next((name for name in ("dnf", "yum") if self.ctx.host.which(name)), None)
        if found is None:
            raise CommandError(["dnf"], None, "neither dnf nor yum is there")
        return found


NOT_WRITTEN = ("basedir", "refresh", "file", "disabled", "comments")
"""Keywords of ``mod_repo`` that are no options of a repository."""


def _check_repo(there: Mapping[str, Any] | None, given: Mapping[str, Any]) -> None:
    """Raise UsageError if a repository would have no name or no address."""
    sources = ("baseurl", "mirrorlist", "metalink")
    if there is None:
        created = "The repo does not exist and needs to be created, but"
        if not given.get("name"):
            raise UsageError(f"{created} a name was not given")
        if not any(given.get(one) for one in sources):
            raise UsageError(
                f"{created} none of the following required attributes were passed:"
                f" {', '.join(sources)}"
            )
        return
    for name, other in (("baseurl", "mirrorlist"), ("mirrorlist", "baseurl")):
        gone = name in given and not given[name]
        if gone and not (given.get(other) or there.get(other)):
            raise UsageError(f"Cannot delete {name} without specifying {other}")


def upgrade_words(options: Mapping[str, Any]) -> list[str]:
    """The command of an upgrade and what limits it."""
    security = ["--security"] if truth(options.get("security")) else []
    return [*security, "upgrade-minimal" if truth(options.get("minimal")) else "upgrade"]


def _written(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    lines = value if isinstance(value, (list, tuple)) else str(value).splitlines()
    return "\n ".join(str(line) for line in lines)  # a blank first: no line is a section


def repo_flags(options: Mapping[str, Any]) -> list[str]:
    """Which repositories a command uses."""
    if options.get("fromrepo"):
        return ["--disablerepo=*", f"--enablerepo={','.join(words(options['fromrepo']))}"]
    return [
        f"--{name}={','.join(words(options[name]))}"
        for name in ("disablerepo", "enablerepo")
        if options.get(name)
    ]


def flags_of(options: Mapping[str, Any]) -> list[str]:
    """Flags of installations and upgrades, in Salt's order."""
    flags = []
    if options.get("disableexcludes"):
        flags.append(f"--disableexcludes={options['disableexcludes']}")
    if options.get("branch"):
        flags.append(f"--branch={options['branch']}")
    flags += [f"--setopt={one}" for one in words(options.get("setopt"))]
    if "install_recommends" in options and not truth(options["install_recommends"]):
        flags.append("--setopt=install_weak_deps=0")
    if truth(options.get("skip_verify")):
        flags.append("--nogpgcheck")
    if truth(options.get("downloadonly")):
        flags.append("--downloadonly")
    return flags


def sorted_targets(change: Change) -> dict[str, list[Wanted]]:
    """The targets of each command: downgrade what is older, reinstall what is to be."""
    again = truth(change.options.get("reinstall"))
    targets: dict[str, list[Wanted]] = {"install": [], "downgrade": [], "reinstall": []}
    for wanted in change.targets:
        there = change.installed.get(wanted.name, ())
        version = wanted.version
        older = version and there and all(rpm.compare(version, one) < 0 for one in there)
        same = there and (version is None or any(rpm.compare(version, one) == 0 for one in there))
        command = "downgrade" if older else "reinstall" if again and same else "install"
        targets[command].append(wanted)
    return targets


def target_word(wanted: Wanted) -> str:
    """One package as dnf takes it: name, version and architecture in that order."""
    if wanted.file:
        return wanted.file
    if wanted.version is None:
        return wanted.name
    name, dot, architecture = wanted.name.rpartition(".")
    if dot and architecture in ("i686", "i386", "x86_64", "noarch", "aarch64"):
        return f"{name}-{wanted.version}.{architecture}"
    return f"{wanted.name}-{wanted.version}"


def parse_list(text: str, native: str) -> Versions:
    """``list`` and ``check-update``: the versions of each package, newest first.

    yum wraps long lines; what follows ``Obsoleting Packages`` does not count.
    """
    found: Versions = {}
    for line in _unwrapped(text):
        if line.startswith("Obsoleting Packages"):
            break
        match = _LISTED.match(line)
        if match is None or match.group(4).startswith("@"):
            continue
        name = rpm.qualified(match.group(1), match.group(2), native)
        known = found.setdefault(name, [])
        known += [match.group(3)] if match.group(3) not in known else []
    return {name: newest_first(versions) for name, versions in found.items()}


def _unwrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if line[:1].isspace() and lines and len(lines[-1].split()) < 3:
            lines[-1] = f"{lines[-1]} {line.strip()}"
        else:
            lines.append(line)
    return lines


def newest_first(versions: Sequence[str]) -> list[str]:
    """Versions in rpm's order, the newest first."""
    from functools import cmp_to_key

    return sorted(versions, key=cmp_to_key(rpm.compare), reverse=True)


def parse_locks(text: str) -> list[str]:
    """The names in ``versionlock list``: ``bash-0:5.1.8-9.el9.*``; exclusions do not count."""
    names = []
    for line in text.splitlines():
        match = _LOCK.match(line.strip().removesuffix(".*"))
        if match and not line.startswith("!"):
            names.append(match.group("name"))
    return names
