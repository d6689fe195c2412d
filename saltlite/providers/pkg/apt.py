"""Debian's package manager: apt-get, apt-cache, dpkg.

The command lines are Salt's, so that what apt logs is the same. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError
from saltlite.providers.pkg import apt_repos, dpkg
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.options import PackageOptions, SourceOptions
from saltlite.providers.pkg.protocol import NO_OPTIONS, Change, PackageRequest, Versions
from saltlite.providers.pkg.tools import act, ask, complaint, output

if TYPE_CHECKING:
    from saltlite.context import MinionContext

ENVIRONMENT = {
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
    "DEBIAN_FRONTEND": "noninteractive",
    "UCF_FORCE_CONFFOLD": "1",
}
"""Nobody is there to answer a question, and a changed configuration file stays."""

LISTS = "/var/lib/apt/lists"
KEEP_CONFIGURATION = (
    "-o",
    "DPkg::Options::=--force-confold",
    "-o",
    "DPkg::Options::=--force-confdef",
)
NEW_CONFIGURATION = ("-o", "DPkg::Options::=--force-confnew")

STATES = ("install", "hold", "deinstall", "purge")
"""What can be wanted of a package. Source: dpkg(1)."""

_CHANGED = regex(r"^Conf (\S+) \((\S+)")
_REMOVED = regex(r"^(?:Remv|Purg) (\S+)")
_REFRESHED = regex(r"^(Get|Hit|Ign|Err):\d+ (.+?)(?: \[[^\]]*\])?$")
_OUTCOMES = {"Get": True, "Hit": None, "Ign": False, "Err": False}


class Apt:
    """apt on this machine."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    # packages

    def list_installed(self, *, removed: bool = False, purge_desired: bool = False) -> Versions:
        """What dpkg has; see Packages."""
        text = output(self.ctx, ["dpkg-query", "--showformat", dpkg.QUERY_FORMAT, "-W"])
        packages = dpkg.parse_packages(text)
        if removed or purge_desired:
            wanted = "deinstall" if removed else "purge"
            chosen = [
                one for one in packages if one.wanted == wanted and one.state != "not-installed"
            ]
        else:
            there = ("installed", "unpacked", "half-configured", "triggers-pending")
            chosen = [one for one in packages if one.state in there or one.state.startswith("trig")]
        return dpkg.by_name(chosen, self._native_architecture())

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The candidates of apt's policy; ``fromrepo`` is a release."""
        release = options.fromrepo or options.repo
        target = ["-o", f"APT::Default-Release={release}"] if release else []
        if not names:
            return {}
        text = output(self.ctx, ["apt-cache", "-q", "policy", *names, *target])
        found = parse_policy(text)
        return {name: found.get(name, "") for name in names}

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """The versions in apt's lists and in dpkg's; all packages without names."""
        globs = not names or any(set(name) & set("*?[") for name in names)
        argv = ["apt-cache", "dump"] if globs else ["apt-cache", "show", *names]
        found: Versions = {}
        for name, version in parse_versions(output(self.ctx, argv)):
            if not names or any(fnmatch.fnmatch(name, glob) for glob in names):
                known = found.setdefault(name, [])
                known += [version] if version not in known else []
        return {name: newest_first(versions) for name, versions in found.items()}

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """What a simulated upgrade would configure."""
        argv = ["apt-get", "--just-print"]
        release = options.fromrepo
        if release:
            argv += ["-o", f"APT::Default-Release={release}"]
        argv.append("upgrade" if options.dist_upgrade is False else "dist-upgrade")
        done = ask(self.ctx, argv, env=ENVIRONMENT)
        if done.exit_code != 0:
            raise FunctionError(f"Problem encountered listing upgrades: {complaint(done)[0]}")
        return parse_simulation(done.stdout)

    def refresh(self, options: PackageOptions) -> dict[str, bool | None]:
        """Get apt's lists: ``True`` got, ``None`` unchanged, ``False`` not got.

        With ``cache_valid_time`` in seconds, lists that are no older stay, and nothing is said.

        Raises:
            FunctionError: apt failed, or, with ``failhard``, any list could not be got.
        """
        age_s = float(options.cache_valid_time or 0)
        if age_s and self._lists_age_s() <= age_s:
            return {}
        done = ask(self.ctx, ["apt-get", "-q", "update"], env=ENVIRONMENT)
        if done.exit_code != 0:
            raise FunctionError(done.stderr.strip() or "apt-get update failed")
        outcomes, errors = parse_refresh(done.stdout)
        if errors and options.failhard:
            raise FunctionError(f"Error getting repos: {', '.join(errors)}")
        return outcomes

    def change(self, change: Change) -> list[str]:
        """Install, remove and the like; downgrades are a command of their own."""
        if change.action == "install":
            return self._install_words(change)
        if change.action == "upgrade":
            argv = upgrade_argv(change.options, [one.name for one in change.targets])
            return complaint(act(self.ctx, argv, env=ENVIRONMENT))
        if change.action == "autoremove":
            purge = ["--purge"] if change.options.purge else []
            argv = ["apt-get", "--assume-yes", *purge, "autoremove"]
            return complaint(act(self.ctx, argv, env=ENVIRONMENT))
        argv = ["apt-get", "-q", "-y", change.action, *(one.name for one in change.targets)]
        return complaint(act(self.ctx, argv, env=ENVIRONMENT))

    def list_unneeded(self) -> list[str]:
        """The packages that ``autoremove`` would take."""
        argv = ["apt-get", "--assume-yes", "--just-print", "autoremove"]
        text = ask(self.ctx, argv, env=ENVIRONMENT).stdout
        return [match.group(1) for match in map(_REMOVED.match, text.splitlines()) if match]

    def _install_words(self, change: Change) -> list[str]:
        down, up = split_downgrades(change)
        flags = install_flags(change.options)
        command = ["install", "--reinstall"] if change.options.reinstall else None
        last = ["--download-only"] if change.options.downloadonly else []
        errors: list[str] = []
        for targets, extra in ((up, []), (down, ["--allow-downgrades"])):
            if targets:
                argv = ["apt-get", "-q", "-y", *flags, *extra, *(command or ["install"])]
                argv += [target_word(one) for one in targets]
                errors += complaint(act(self.ctx, [*argv, *last], env=ENVIRONMENT))
        return errors

    def _native_architecture(self) -> str:
        known = self.ctx.grains.get("osarch")
        return str(known or output(self.ctx, ["dpkg", "--print-architecture"]).strip())

    def _lists_age_s(self) -> float:
        try:
            return time.time() - os.stat(LISTS).st_mtime
        except OSError:
            return float("inf")

    # names and versions

    def compare(self, first: str, second: str) -> int | None:
        """As ``dpkg --compare-versions``."""
        return dpkg.compare(first, second)

    def normalize(self, name: str) -> str:
        """Without ``:all`` and without this machine's architecture."""
        return dpkg.native_name(name, (self._native_architecture(), "all"))

    def parse_arch(self, name: str) -> dict[str, str | None]:
        """``{"name", "arch"}`` of ``name:arch``."""
        plain, colon, architecture = name.rpartition(":")
        if not colon:
            return {"name": name, "arch": None}
        return {"name": plain, "arch": architecture}

    # holding

    def list_held(self) -> list[str]:
        """The packages dpkg is told to hold."""
        return self.selections(None).get("hold", [])

    def selections(self, pattern: str | None) -> dict[str, list[str]]:
        """The packages of each wanted state; ``pattern`` is a glob."""
        argv = ["dpkg", "--get-selections", *([pattern] if pattern else [])]
        return dpkg.parse_selections(output(self.ctx, argv))

    def select(self, wanted: Mapping[str, Sequence[str]], *, clear: bool) -> dict[str, Any]:
        """Set wanted states; ``{name: {"old", "new"}}`` of those that changed.

        With ``clear`` every other package is to go, at the next ``dselect-upgrade``.
        """
        if clear:
            ask(self.ctx, ["dpkg", "--clear-selections"])
        before = _state_of(self.selections("*"))
        lines = [
            f"{name} {state}"
            for state, names in wanted.items()
            for name in names
            if before.get(name) != state
        ]
        if lines:
            done = ask(self.ctx, ["dpkg", "--set-selections"], stdin="\n".join(lines) + "\n")
            if done.exit_code != 0:
                raise FunctionError(complaint(done)[0])
        return {
            name: {"old": before.get(name), "new": state}
            for name, state in (line.split(" ") for line in lines)
        }

    def hold(self, names: Sequence[str]) -> dict[str, Any]:
        """Hold packages, also some that are not installed."""
        return {name: self._set_held_state(name, "hold") for name in names}

    def unhold(self, names: Sequence[str]) -> dict[str, Any]:
        """Let packages go that are held."""
        return {name: self._set_held_state(name, "install") for name in names}

    def _set_held_state(self, name: str, wanted: str) -> dict[str, Any]:
        known = _state_of(self.selections(name))
        state = known.get(name) or next(iter(known.values()), None)
        answer: dict[str, Any] = {"name": name, "changes": {}, "result": True, "comment": ""}
        if wanted == "install" and state is None:
            comment = f"Package {name} does not have a state."
            return answer | {"result": False, "comment": comment}
        already = state == "hold" if wanted == "hold" else state != "hold"
        if already:
            said = "already set to be held" if wanted == "hold" else "already set not to be held"
            return answer | {"comment": f"Package {name} is {said}."}
        self.select({wanted: [name]}, clear=False)
        said = "now being held" if wanted == "hold" else "no longer being held"
        return answer | {
            "changes": {"old": state, "new": wanted},
            "comment": f"Package {name} is {said}.",
        }

    # details

    def file_version(self, path: str) -> str:
        """As ``dpkg-deb`` knows."""
        return output(self.ctx, ["dpkg-deb", "--field", path, "Version"]).strip()

    def files(self, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]] | str:
        """The files of packages; of all packages without names."""
        wanted = list(names) or list(self.list_installed())
        found: dict[str, list[str]] = {}
        for name in wanted:
            done = ask(self.ctx, ["dpkg-query", "-L", name])
            if done.exit_code != 0:
                return f"Error:  dpkg-query: no packages found matching {name}"
            found[name] = dpkg.parse_file_lists(done.stdout)
        return found, []

    def owners(self, paths: Sequence[str]) -> dict[str, str]:
        """As ``dpkg -S`` knows."""
        return {path: dpkg.parse_owner(output(self.ctx, ["dpkg", "-S", path])) for path in paths}

    def info(self, names: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        """Details of installed packages.

        Raises:
            FunctionError: dpkg does not know one of them, unless ``failhard`` is off.
        """
        stray = [f"{name}={value}" for name, value in options.items() if name != "failhard"]
        if stray:
            raise UsageError(f"The following keyword arguments are not valid: {', '.join(stray)}")
        done = ask(self.ctx, ["dpkg-query", "-W", f"-f={dpkg.INFO_FORMAT}", *names])
        if done.stderr.strip() and truth(options.get("failhard", True)):
            raise FunctionError(f"Error getting packages information: {done.stderr.strip()}")
        return {
            fields["name"]: self._show_details(fields)
            for fields, state in dpkg.parse_info(done.stdout)
            if state == "installed"
        }

    def _show_details(self, fields: Mapping[str, str]) -> dict[str, str]:
        details = {name: value for name, value in fields.items() if name != "description"}
        date = self._install_date(fields["name"], fields.get("architecture", ""))
        if date:
            details["install_date"] = date
        details["description"] = f"{fields.get('description', '')}\n"
        copyright_ = self.ctx.host.read_text(f"/usr/share/doc/{fields['name']}/copyright")
        names = dpkg.license_names(copyright_ or "")
        if names:
            details["license"] = ", ".join(names)
        return details

    def _install_date(self, name: str, architecture: str) -> str:
        """When dpkg wrote the package's file list, as ISO 8601 in UTC."""
        for file in (f"{name}.list", f"{name}:{architecture}.list"):
            try:
                modified = os.stat(f"/var/lib/dpkg/info/{file}").st_mtime
            except OSError:
                continue
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(modified))
        return ""

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """What ``apt-cache show`` tells: package, version, field."""
        wanted = {field.lower() for field in fields}
        shown: dict[str, Any] = {}
        for found in dpkg.parse_fields(output(self.ctx, ["apt-cache", "show", *names])):
            name, version = found.pop("Package", ""), found.pop("Version", "")
            if not (name and version):
                continue
            kept = {key: value for key, value in found.items() if key.lower() in wanted}
            shown.setdefault(name, {}).setdefault(version, kept if wanted else found)
        return shown

    # repositories

    def list_repos(self, options: Mapping[str, object]) -> dict[str, Any]:
        """The sources of packages, by their addresses."""
        return apt_repos.list_repos(self.ctx)

    def get_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """One source, found by type, address and distribution of its line."""
        return apt_repos.get_repo(self.ctx, repo)

    def check_repo(self, repo: str, options: Mapping[str, object]) -> None:
        """Raise FunctionError for a line that is no source."""
        apt_repos.plan_repo(self.ctx, repo, SourceOptions.of(options))

    def mod_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Make or change a source."""
        asked = SourceOptions.of(options)
        changed = apt_repos.mod_repo(self.ctx, repo, asked)
        if asked.consolidate:
            apt_repos.consolidate(self.ctx, str(asked.file or "") or None)
        if asked.refresh:
            self.refresh(NO_OPTIONS)
        return changed

    def del_repo(self, repo: str, options: Mapping[str, object]) -> str:
        """Remove a source, or the components of it that the line names."""
        said = apt_repos.del_repo(self.ctx, repo)
        if SourceOptions.of(options).refresh:
            self.refresh(NO_OPTIONS)
        return said


def _state_of(selections: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: state for state, names in selections.items() for name in names}


def target_word(wanted: PackageRequest) -> str:
    """One package as apt-get takes it."""
    if wanted.file:
        return wanted.file
    return wanted.name if wanted.version is None else f"{wanted.name}={wanted.version}"


def install_flags(options: PackageOptions) -> list[str]:
    """The options of apt-get before its command, in Salt's order."""
    flags = ["--allow-downgrades"] if options.force_yes else []
    flags += NEW_CONFIGURATION if options.force_conf_new else KEEP_CONFIGURATION
    if not options.install_recommends:
        flags.append("--no-install-recommends")
    if options.only_upgrade:
        flags.append("--only-upgrade")
    if options.skip_verify:
        flags.append("--allow-unauthenticated")
    release = options.fromrepo
    return [*flags, "-t", str(release)] if release else flags


def upgrade_argv(options: PackageOptions, names: Sequence[str] = ()) -> list[str]:
    """The command of ``pkg.upgrade``: of everything, or of some installed packages."""
    argv = ["apt-get", "-q", "-y"]
    argv += NEW_CONFIGURATION if options.force_conf_new else KEEP_CONFIGURATION
    if options.force_yes:
        argv.append("--allow-downgrades")
    if options.skip_verify:
        argv.append("--allow-unauthenticated")
    if options.download_only or options.downloadonly:
        argv.append("--download-only")
    if options.allow_downgrades:
        argv.append("--allow-downgrades")
    if names:
        return [*argv, "--only-upgrade", "install", *names]
    return [*argv, "dist-upgrade" if options.dist_upgrade else "upgrade"]


def split_downgrades(change: Change) -> tuple[list[PackageRequest], list[PackageRequest]]:
    """The targets that are older than what is installed, and the others."""
    down: list[PackageRequest] = []
    up: list[PackageRequest] = []
    for wanted in change.targets:
        there = change.installed.get(wanted.name, ())
        older = bool(
            wanted.version and there and all(_is_older(wanted.version, one) for one in there)
        )
        (down if older else up).append(wanted)
    return down, up


def _is_older(first: str, second: str) -> bool:
    return dpkg.compare(first, second) == -1


def newest_first(versions: Sequence[str]) -> list[str]:
    """Versions in dpkg's order, the newest first."""
    from functools import cmp_to_key

    return sorted(versions, key=cmp_to_key(_compare_versions), reverse=True)


def _compare_versions(first: str, second: str) -> int:
    return dpkg.compare(first, second) or 0


def parse_policy(text: str) -> dict[str, str]:
    """``apt-cache policy``: the candidate of each package, ``""`` for ``(none)``."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = line.rstrip().removesuffix(":")
        elif line.strip().startswith("Candidate:") and name:
            candidate = line.partition(":")[2].strip()
            found.setdefault(name, "" if candidate == "(none)" else candidate)
    return found


def parse_versions(text: str) -> Iterator[tuple[str, str]]:
    """``apt-cache show`` or ``apt-cache dump``: name and version of each version there is."""
    name = ""
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Package":
            name = value.split()[0] if value.strip() else ""
        elif key == "Version" and name and not value.startswith("("):  # (null): only depended on
            yield name, value.strip()


def parse_simulation(text: str) -> dict[str, str]:
    """``apt-get --just-print upgrade``: the packages to be configured and their versions."""
    matches = map(_CHANGED.match, text.splitlines())
    return {match.group(1): match.group(2) for match in matches if match}


def parse_refresh(text: str) -> tuple[dict[str, bool | None], list[str]]:
    """``apt-get -q update``: what came of each list, and the lists with an error.

    Of several lines about a list the last one counts.
    """
    outcomes: dict[str, bool | None] = {}
    errors: list[str] = []
    for kind, name in _parse_refresh(text):
        outcomes[name] = _OUTCOMES[kind]
        errors += [name] if kind == "Err" else []
    return outcomes, errors


def _parse_refresh(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = _REFRESHED.match(line.strip())
        if match:
            yield match.group(1), match.group(2)
