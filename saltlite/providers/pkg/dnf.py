"""Red Hat's package managers: dnf, and yum where there is no dnf.

``dnf`` may be dnf 4 or dnf5: commands are those that both take, with the options of a command after
it. Source: dnf(8), dnf5(8), yum(8) and their output; shapes observed on Salt 3006.30.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError, FunctionUnavailable, UsageError
from saltlite.providers import textfile
from saltlite.providers.pkg import ini_repos, rpm, versionlock
from saltlite.providers.pkg.names import truth, words
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.protocol import Change, PackageRequest, Versions
from saltlite.providers.pkg.tools import act, ask, complaint, output

REPOSITORIES = "/etc/yum.repos.d"
UPDATES_THERE = 100
"""The exit code of ``check-update`` if there are updates."""

_UNKNOWN = regex(r"No package found for(?:: | \")|^versionlock added: 0$", re.MULTILINE)
"""How versionlock says that it has locked nothing; it counts that as a success."""

BEST = ("--best", "--allowerasing")
"""An installation takes the newest version, or fails. Source: observed on Salt 3006.30."""

_LISTED = regex(r"^(\S+)\.(\S+)\s+((?:\d+:)?[^\s:-]+-\S+)\s+(\S+)\s*$")
_OBSOLETING = regex(r"Obsoleting packages", re.IGNORECASE)

_AVAILABLE = {"dnf": "--available", "yum": "available"}
"""To dnf5 ``available`` is the name of a package, yum has no such option."""


class Dnf(rpm.Rpm):
    """dnf or yum on this machine."""

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The newest version that the enabled repositories have, and that no lock excludes.

        ``update_holds`` tells of locks that will not be there then.
        """
        if not names:
            return {}
        listed = self._list_versions([], names, options)
        newest = {name: listed.get(name, [""])[0] for name in names}
        return newest | self._find_kept_back(newest, options)

    def _find_kept_back(self, newest: Mapping[str, str], options: PackageOptions) -> dict[str, str]:
        """What an installation brings of those that are locked; dnf lists newer ones, too."""
        if options.update_holds or self._find_tool() == "yum" or not any(newest.values()):
            return {}
        try:
            locked = versionlock.versions(self._read_locks())
        except FunctionUnavailable:
            return {}
        names = [name for name, one in newest.items() if one and not _is_allowed(one, locked, name)]
        offered = self.list_offered(names, options) if names else {}
        return {
            name: next((one for one in offered.get(name, []) if _is_allowed(one, locked, name)), "")
            for name in names
        }

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """All versions in the enabled repositories, newest first."""
        return self._list_versions(["--showduplicates"], names, options)

    def _list_versions(
        self, flags: Sequence[str], names: Sequence[str], options: PackageOptions
    ) -> Versions:
        tool = self._find_tool()
        if tool == "yum" and options.update_holds:
            flags = [*flags, "--disableplugin=versionlock"]  # it would leave out newer versions
        argv = [tool, "--quiet", "list", *flags, *repo_flags(options), _AVAILABLE[tool], *names]
        return parse_list(output(self.ctx, argv), self.architecture())

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """What there are newer versions of, that no lock excludes."""
        done = ask(self.ctx, [self._find_tool(), "--quiet", "check-update", *repo_flags(options)])
        if done.exit_code not in (0, UPDATES_THERE):
            raise FunctionError(complaint(done)[0])
        listed = parse_list(done.stdout, self.architecture())
        return {name: versions[0] for name, versions in listed.items()}

    def refresh(self, options: PackageOptions) -> bool:
        """Throw the old lists away and, unless ``check_update`` is off, get new ones."""
        tool, flags = self._find_tool(), repo_flags(options)
        ask(self.ctx, [tool, "--quiet", "--assumeyes", "clean", "expire-cache", *flags])
        if not options.check_update:
            return True
        done = ask(self.ctx, [tool, "--quiet", "--assumeyes", "check-update", *flags])
        return done.exit_code in (0, UPDATES_THERE)

    def change(self, change: Change) -> list[str]:
        """Install, remove and upgrade; downgrades and reinstallations are commands of their own."""
        tool = self._find_tool()
        flags = [*repo_flags(change.options), *flags_of(change.options, tool)]
        if change.action == "upgrade":
            argv = [tool, "--quiet", "-y", *upgrade_words(change.options), *flags]
            return complaint(act(self.ctx, [*argv, *map(target_word, change.targets)]))
        if change.action != "install":
            return complaint(
                act(self.ctx, [tool, "-y", "remove", *map(target_word, change.targets)])
            )
        errors: list[str] = []
        for command, targets in sort_targets(change).items():
            if targets:
                best = BEST if (tool, command) == ("dnf", "install") else ()
                argv = [tool, "-y", command, *best, *flags, *map(target_word, targets)]
                errors += complaint(act(self.ctx, argv))
        return errors

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """What rpm tells of the installed ones."""
        return self.info(names, {"failhard": False, "attr": ",".join(fields)})

    def list_held(self) -> list[str]:
        """The packages that ``versionlock`` keeps at a version."""
        return list(versionlock.versions(self._read_locks()))

    def locks(self) -> list[str]:
        """The same as dnf writes them: name, epoch, version, release.

        Raises:
            FunctionUnavailable: the plug-in is not there.
        """
        return [lock.told for lock in versionlock.parse(self._read_locks())]

    def _read_locks(self) -> str:
        done = ask(self.ctx, [self._find_tool(), "versionlock", "list"])
        if done.exit_code != 0:
            reason = f"{self._find_tool()} needs its plug-in versionlock to hold packages"
            raise FunctionUnavailable("pkg.list_holds", reason)
        return done.stdout

    def hold(self, names: Sequence[str]) -> dict[str, Any]:
        """Lock versions; needs the plug-in ``versionlock``."""
        return {name: self._run_lock(name, "add") for name in names}

    def unhold(self, names: Sequence[str]) -> dict[str, Any]:
        """Unlock versions."""
        return {name: self._run_lock(name, "delete") for name in names}

    def _run_lock(self, name: str, command: str) -> dict[str, Any]:
        adding = command == "add"
        answer: dict[str, Any] = {"name": name, "changes": {}, "result": True, "comment": ""}
        if (name in self.list_held()) == adding:
            said = "already set to be held" if adding else "not being held"
            return answer | {"comment": f"Package {name} is {said}."}
        done = ask(self.ctx, [self._find_tool(), "versionlock", command, name])
        if done.exit_code != 0 or _UNKNOWN.search(f"{done.stdout}\n{done.stderr}"):
            said = "held" if adding else "unheld"
            return answer | {
                "result": False,
                "comment": f"Package {name} was unable to be {said}.",
            }
        said = "now being held" if adding else "no longer held"
        changes = {"new": "hold", "old": ""} if adding else {"new": "", "old": "hold"}
        return answer | {"changes": changes, "comment": f"Package {name} is {said}."}

    def list_repos(self, options: Mapping[str, object]) -> dict[str, Any]:
        """The repositories of all files, with the file of each."""
        repos: dict[str, Any] = {}
        for directory in words(options.get("basedir")) or [REPOSITORIES]:
            for name in self.ctx.host.names(directory):
                if not name.endswith(".repo"):
                    continue
                path = os.path.join(directory, name)
                text = self.ctx.host.read_text(path) or ""
                comments = ini_repos.comments_of(text)
                repos |= {
                    repo: {**fields, **_comment_options(comments.get(repo)), "file": path}
                    for repo, fields in ini_repos.parse(text).items()
                    if repo != "main"
                }
        return repos

    def get_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """One repository by its id."""
        found = dict(self.list_repos(options).get(repo, {}))
        found.pop("file", None)
        return found

    def check_repo(self, repo: str, options: Mapping[str, object]) -> None:
        """Raise UsageError if the repository would have no name or no address."""
        _check_repo(self.list_repos(options).get(repo), _given_options(options))

    def mod_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Make or change a repository; ``{file: {id: options}}``. An empty value takes one away.

        Raises:
            UsageError: a new one has neither ``baseurl`` nor ``mirrorlist`` nor ``metalink``.
        """
        with textfile.hold_name(self.ctx, REPOSITORIES):
            return self._write_repo(repo, options)

    def _write_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        given = _given_options(options)
        there = self.list_repos(options).get(repo)
        _check_repo(there, given)
        values = {name: ini_repos.format_value(value) for name, value in given.items()}
        for name, other in (("mirrorlist", "baseurl"), ("baseurl", "mirrorlist")):
            if there and values.get(name) and other in there:
                values.setdefault(other, None)
        directory = (words(options.get("basedir")) or [REPOSITORIES])[0]
        path = there["file"] if there else os.path.join(directory, f"{repo}.repo")
        text = ini_repos.change(self.ctx.host.read_text(path) or "", repo, values)
        text = ini_repos.with_comments(text, repo, options.get("comments"))
        disk.write_file(Path(path), text.encode(), mode=0o644)
        shown: dict[str, Any] = dict(ini_repos.parse(text))
        kept = {name: value for name, value in given.items() if values[name] is not None}
        return {path: {**shown, repo: {**shown[repo], **kept}}}

    def del_repo(self, repo: str, options: Mapping[str, object]) -> str:
        """Remove a repository, and its file if it was the only one there."""
        with textfile.hold_name(self.ctx, REPOSITORIES):
            return self._delete_repo(repo, options)

    def _delete_repo(self, repo: str, options: Mapping[str, object]) -> str:
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

    def _find_tool(self) -> str:
        found = next((name for name in ("dnf", "yum") if self.ctx.host.which(name)), None)
        if found is None:
            raise CommandError(["dnf"], None, "neither dnf nor yum is there")
        return found


NOT_WRITTEN = ("basedir", "refresh", "file", "disabled", "comments")
"""Keywords of ``mod_repo`` that are no options of a repository."""


def _comment_options(comments: str | None) -> dict[str, str]:
    return {} if comments is None else {"comments": comments}


def _given_options(options: Mapping[str, object]) -> dict[str, Any]:
    """The options of a repository among the keywords of ``mod_repo``."""
    given = {name: value for name, value in options.items() if name not in NOT_WRITTEN}
    if "disabled" in options:
        given["enabled"] = not truth(options["disabled"])
    return given


def _check_repo(there: Mapping[str, object] | None, given: Mapping[str, object]) -> None:
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


def upgrade_words(options: PackageOptions) -> list[str]:
    """The command of an upgrade and what limits it."""
    security = ["--security"] if options.security else []
    return ["upgrade-minimal" if options.minimal else "upgrade", *security]


def repo_flags(options: PackageOptions) -> list[str]:
    """Which repositories a command uses."""
    if options.fromrepo:
        return ["--disablerepo=*", f"--enablerepo={','.join(words(options.fromrepo))}"]
    limits = (("disablerepo", options.disablerepo), ("enablerepo", options.enablerepo))
    return [f"--{name}={','.join(repos)}" for name, repos in limits if repos]


def flags_of(options: PackageOptions, tool: str) -> list[str]:
    """Flags of installations and upgrades with dnf or yum, in Salt's order."""
    flags = []
    if options.disableexcludes:
        which = str(options.disableexcludes)
        everything = "all,*" if which == "all" else which  # dnf says all, dnf5 *
        option = "--disableexcludes=" if tool == "yum" else "--setopt=disable_excludes="
        flags.append(f"{option}{which if tool == 'yum' else everything}")
    if options.branch:
        flags.append(f"--branch={options.branch}")
    flags += [f"--setopt={one}" for one in options.setopt]
    if not options.install_recommends:
        flags.append("--setopt=install_weak_deps=0")
    if options.skip_verify:
        flags.append("--nogpgcheck")
    if options.downloadonly:
        flags.append("--downloadonly")
    return flags


def sort_targets(change: Change) -> dict[str, list[PackageRequest]]:
    """The targets of each command: downgrade what is older, reinstall what is to be."""
    again = change.options.reinstall
    targets: dict[str, list[PackageRequest]] = {"install": [], "downgrade": [], "reinstall": []}
    for wanted in change.targets:
        there = change.installed.get(wanted.name, ())
        version = wanted.version
        older = version and there and all(rpm.compare(version, one) < 0 for one in there)
        same = there and (version is None or any(rpm.compare(version, one) == 0 for one in there))
        command = "downgrade" if older else "reinstall" if again and same else "install"
        targets[command].append(wanted)
    return targets


def target_word(wanted: PackageRequest) -> str:
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
    for line in _unwrap_lines(text):
        if _OBSOLETING.match(line):
            break
        match = _LISTED.match(line)
        if match is None or match.group(4).startswith("@"):
            continue
        name = rpm.qualify_name(match.group(1), match.group(2), native)
        known = found.setdefault(name, [])
        known += [match.group(3)] if match.group(3) not in known else []
    return {name: newest_first(versions) for name, versions in found.items()}


def _unwrap_lines(text: str) -> list[str]:
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


def _is_allowed(version: str, locked: Mapping[str, Sequence[str]], name: str) -> bool:
    """Whether a version may be installed: the package has no lock, or one at it."""
    return name not in locked or any(rpm.compare(version, one) == 0 for one in locked[name])
