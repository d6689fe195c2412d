"""dnf 4, dnf5, yum 3, zypper, pacman and apk in little: their commands, words and exit codes.

Sources: dnf(8), its plug-in versionlock(8), dnf5(8), yum(8), zypper(8), locks(5) of libzypp,
pacman(8), apk(8), and the recorded texts in tests/cases/data/pkg. Only what our providers ask for
is here.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from small_machine import Answer, Program, Stock, plain, said

ARCH = "x86_64"

# --- rpm ------------------------------------------------------------------------------------------


def rpm(stock: Stock, words: Sequence[str]) -> Answer:
    """``-q --queryformat``, for name, epoch, version, release and architecture; ``-V``."""
    if words[0] == "-V":
        return _verified(stock, words[1])
    assert words[0] in ("-qa", "-qp")
    assert words[1] == "--queryformat"
    lines = []
    files = [found for path in words[3:] if (found := stock.of_file(path))]
    for name, full in files if words[0] == "-qp" else stock.installed.items():
        version, release = full.rsplit("-", 1)
        lines.append("\x1f".join((name, "(none)", version, release, ARCH)))
    return 0, said(*lines), ""


def _verified(stock: Stock, name: str) -> Answer:
    if name not in stock.installed:
        return 1, said(f"package {name} is not installed"), ""
    return (1, said(f"S.5....T.    /usr/bin/{name}"), "") if name in stock.altered else (0, "", "")


def _nevra(stock: Stock, word: str) -> tuple[str, str | None]:
    """The name and, of ``name-version-release``, the version."""
    known = {*stock.offered, *stock.installed}
    if word in known:
        return word, None
    name, dash, version = word.partition("-")
    return (name, version) if dash and name in known else (word, None)


# --- dnf and yum ----------------------------------------------------------------------------------

GROUPS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "tools": {"Mandatory": ["foo", "new"], "Default": ["other", "old"], "Optional": ["held"]},
    "few": {"Mandatory": ["foo"]},
}
PATCHES: Mapping[str, Sequence[str]] = {"P-2024-1": ["old", "new"], "P-2024-2": ["held"]}
"""The packages whose newest versions each patch is about."""

DNF_CACHE = "/var/cache/dnf/base-0/packages"
ZYPP_CACHE = "/var/cache/zypp/packages/Main/x86_64"
DNF_LOCKS = "/etc/dnf/plugins/versionlock.list"
DNF5_LOCKS = "/etc/dnf/versionlock.toml"
YUM_LOCKS = "/etc/yum/pluginconf.d/versionlock.list"
_DNF_LOCK = re.compile(r"^(?P<name>[^-]+)-0:(?P<version>.+)\.\*$")
_YUM_LOCK = re.compile(r"^0:(?P<name>[^-]+)-(?P<version>.+)\.\*$")


def _locked(path: str, pattern: re.Pattern[str]) -> dict[str, str]:
    text = Path(path).read_text()
    matches = (pattern.match(line) for line in text.splitlines())
    return {match["name"]: match["version"] for match in matches if match}


def _write_locks(path: str, lines: Iterable[str]) -> None:
    Path(path).write_text("".join(f"\n# Added lock\n{line}\n" for line in lines))


def _listed(title: str, packages: Iterable[tuple[str, str]]) -> str:
    lines = [f"{name + '.' + ARCH:<40}{version:<30}base" for name, version in packages]
    return said(title, *lines) if lines else ""


def _downloaded(stock: Stock, cache: str, targets: int, run: Callable[[Stock], Answer]) -> Answer:
    """What would be put in place, as files in a cache; nothing of what is there already."""
    dry = copy.deepcopy(stock)
    answer = run(dry)
    if answer[0] == 0:
        new = dry.unpacked[len(stock.unpacked) :]
        stock.got({each.partition("=")[0]: each.partition("=")[2] for each in new}, cache)
        stock.balks += len(new) < targets
    return answer


def _advisories(stock: Stock) -> str:
    lines = []
    for name, packages in PATCHES.items():
        for each in packages:
            if each in stock.installed:
                sign = "  " if stock.newer(each) else "i "
                lines.append(f"{sign}{name} bugfix  {each}-{stock.newest(each)}.{ARCH}")
    return said(*lines)


def _advised(stock: Stock, words: Sequence[str]) -> list[str]:
    ids = [word.partition("=")[2] for word in words if word.startswith("--advisory=")]
    return [each for name in ids for each in PATCHES[name] if each in stock.installed] or ["foo"]


class _Red:
    """What dnf and yum have in common: a transaction over what is not locked."""

    locks: str
    pattern: re.Pattern[str]
    hides = False
    """Whether locked versions are left out of lists too."""
    asked_all = False
    """Whether this command has no locks."""

    def __call__(self, stock: Stock, words: Sequence[str]) -> Answer:
        command, *rest = plain(words)
        targets = [word for word in rest if word]
        self.asked_all = "--disableplugin=versionlock" in words
        if command == "versionlock":
            return self.versionlock(stock, targets)
        if command == "list":
            return self.list(stock, words, targets)
        if command == "check-update":
            return self.check_update(stock)
        if command == "clean":
            return 0, said("Cache was expired"), ""
        if command in ("groupinfo", "group", "environment"):
            return self.group(command, targets)
        if command == "updateinfo":
            return self.advisories(stock, words, targets)
        if command == "update":
            targets = _advised(stock, words)
            command = "upgrade"
        if "--downloadonly" in words:

            def run(there: Stock) -> Answer:
                return self.transaction(there, command, targets)

            return _downloaded(stock, DNF_CACHE, len(targets), run)
        return self.transaction(stock, command, targets)

    def advisories(self, stock: Stock, words: Sequence[str], targets: Sequence[str]) -> Answer:
        assert "--all" in words or targets == ["list", "all"]
        return 0, _advisories(stock), ""

    def group(self, command: str, targets: Sequence[str]) -> Answer:
        name = targets[-1]
        if command == "environment" or name not in GROUPS:
            return 1, "", said(f"Error: Module or Group '{name}' does not exist.")
        lines = [f"Group: {name}", " Description: Some packages."]
        for kind, packages in GROUPS[name].items():
            lines += [f" {kind} Packages:", *(f"   {self.marked(each)}" for each in packages)]
        return 0, said(*lines), ""

    def marked(self, package: str) -> str:
        """A member of a group as the list has it."""
        return package

    def allowed(self, stock: Stock, name: str) -> list[str]:
        """The offered versions that no lock excludes."""
        locked = _locked(self.locks, self.pattern).get(name)
        versions = stock.offered.get(name, [])
        return versions if locked is None else [each for each in versions if each == locked]

    def seen(self, stock: Stock, name: str) -> list[str]:
        hides = self.hides and not self.asked_all
        return self.allowed(stock, name) if hides else stock.offered.get(name, [])

    def available(self, stock: Stock, names: Sequence[str]) -> list[tuple[str, str]]:
        """The newest versions that are not installed."""
        found = []
        for name in names or stock.offered:
            there = stock.installed.get(name)
            seen = self.seen(stock, name)
            newer = stock.newer(name) if there else next(iter(seen), None)
            if newer in seen and newer is not None:
                found.append((name, newer))
        return found

    def updates(self, stock: Stock) -> list[tuple[str, str]]:
        return [each for each in self.available(stock, ()) if each[0] in stock.installed]

    def list(self, stock: Stock, words: Sequence[str], targets: Sequence[str]) -> Answer:
        assert "--available" in words or targets[0] == "available"
        names = targets if "--available" in words else targets[1:]
        if "--showduplicates" in words:
            known = names or list(stock.offered)
            found = [(each, one) for each in known for one in reversed(self.seen(stock, each))]
        else:
            found = self.available(stock, names)
        if not found:
            return 1, "", said("Error: No matching Packages to list")
        return 0, _listed("Available Packages", found), ""

    def check_update(self, stock: Stock) -> Answer:
        """What an upgrade would bring: locks count."""
        updates = [each for each in self.updates(stock) if each[1] in self.allowed(stock, each[0])]
        return (100, _listed("", updates), "") if updates else (0, "", "")

    def versionlock(self, stock: Stock, words: Sequence[str]) -> Answer:
        raise NotImplementedError

    def missing(self, names: Sequence[str]) -> Answer:
        raise NotImplementedError

    def transaction(self, stock: Stock, command: str, targets: Sequence[str]) -> Answer:
        if command == "remove":
            gone = [name for name in targets if stock.installed.pop(name, None)]
            none = [name for name in targets if name not in gone]
            return 0, said(*(f"No match for argument: {each}" for each in none), "Complete!"), ""
        if command == "reinstall":
            lost = [n for n in targets if stock.installed.get(n) not in self.allowed(stock, n)]
            if lost:
                return 1, "", said(f"Error: No package {lost[0]} available.")
            stock.put({name: stock.installed[name] for name in targets})
            return 0, said("Complete!"), ""
        if command == "upgrade":
            return self.upgrade(stock, targets)
        assert command in ("install", "downgrade")
        return self.install(stock, targets)

    def upgrade(self, stock: Stock, targets: Sequence[str]) -> Answer:
        absent = [name for name in targets if name not in stock.installed]
        if absent:
            return 1, "", said(f"No match for argument: {absent[0]}", "Error: nothing to upgrade.")
        for name in targets or list(stock.installed):
            newer = stock.newer(name)
            stock.balks += newer is not None and newer not in self.allowed(stock, name)
            if newer in self.allowed(stock, name):
                stock.put({name: str(newer)})
        return 0, "", ""

    def install(self, stock: Stock, targets: Sequence[str]) -> Answer:
        coming: dict[str, str] = {}
        missing = []
        for word in targets:
            file = stock.of_file(word)
            name, version = file or _nevra(stock, word)
            versions = [version] if file else self.allowed(stock, name)
            there = stock.installed.get(name)
            stock.balks += not file and versions != stock.offered.get(name, versions)
            if version is None and there in (versions[:1] or [there]) and there:
                continue  # already installed
            if version == there and there:
                continue
            if not versions or (version and version not in versions):
                missing.append(word)
            else:
                coming[name] = version or str(versions[0])
        if missing and not self.goes_on(missing, coming):
            return self.missing(missing)
        stock.put(coming)
        return 0, said("Complete!"), ""

    def goes_on(self, missing: Sequence[str], coming: Mapping[str, str]) -> bool:
        """Whether the others are installed all the same."""
        return False


class _Dnf(_Red):
    locks, pattern = DNF_LOCKS, _DNF_LOCK

    def missing(self, names: Sequence[str]) -> Answer:
        lines = [f"No match for argument: {name}" for name in names]
        return 1, "", said(*lines, f"Error: Unable to find a match: {' '.join(names)}")

    def versionlock(self, stock: Stock, words: Sequence[str]) -> Answer:
        """Neither an unknown package nor a lock that is not there is an error."""
        locked = _locked(self.locks, self.pattern)
        command, *names = words or ["list"]
        lines = []
        for name in names:
            spec = f"{name}-0:{locked.get(name)}.*"
            if command == "delete" and locked.pop(name, None):
                lines.append(f"Deleting versionlock for: {spec}")
            elif command == "add" and name in locked:
                lines.append(f"Package already locked in equivalent form: {spec}")
            elif command == "add":
                version = stock.installed.get(name) or stock.newest(name)
                if version is None:
                    lines.append(f"No package found for: {name}")
                    stock.balks += 1
                    continue
                locked[name] = version
                lines.append(f"Adding versionlock on: {name}-0:{version}.*")
        specs = [f"{name}-0:{version}.*" for name, version in locked.items()]
        if command != "list":
            _write_locks(self.locks, specs)
        head = "Last metadata expiration check: 0:12:01 ago on Tue 04 Jun 2024 08:00:00 AM UTC."
        return 0, said(head, *(specs if command == "list" else lines)), ""


_OF_ALL = {
    "-y", "-q", "--quiet", "--assumeyes", "--best", "--setopt", "--nogpgcheck", "--disablerepo",
    "--enablerepo", "--disableplugin",
}  # fmt: skip
"""What dnf5 takes anywhere."""
_CHANGING = {"--allowerasing", "--downloadonly"}
_CHOOSING = {"--advisory", "--security"}
_OF_COMMAND: Mapping[str, set[str]] = {
    "list": {"--available", "--upgrades", "--showduplicates"},
    "install": _CHANGING | _CHOOSING,
    "downgrade": _CHANGING,
    "reinstall": _CHANGING,
    "upgrade": _CHANGING | _CHOOSING | {"--minimal"},
    "update": _CHANGING | _CHOOSING | {"--minimal"},
    "updateinfo": {"--all", "--available", "--installed", "--updates"},
    "remove": set(),
    "versionlock": set(),
    "check-update": set(),
    "clean": set(),
    "group": {"--hidden"},
    "environment": set(),
}
"""The commands of dnf5, and what each of them takes behind it."""


class _Dnf5(_Dnf):
    """It has no options of a command before it, and its own forms of lists."""

    locks, pattern = DNF5_LOCKS, re.compile(r"^(?P<name>\S+) (?P<version>\S+)$")

    def __call__(self, stock: Stock, words: Sequence[str]) -> Answer:
        takes = _OF_ALL
        for word in words:
            option = word.partition("=")[0]
            if not word.startswith("-") and takes is _OF_ALL:
                if word not in _OF_COMMAND:
                    return 2, "", said(f'Unknown argument "{word}" for command "dnf5".')
                takes = _OF_ALL | _OF_COMMAND[word]
            elif word.startswith("-") and option not in takes:
                return 2, "", said(f'Unknown argument "{word}" for command "dnf5".')
        return super().__call__(stock, words)

    def available(self, stock: Stock, names: Sequence[str]) -> list[tuple[str, str]]:
        """Also of what is installed in that version."""
        return [(name, str(stock.newest(name))) for name in names if stock.newest(name)]

    def updates(self, stock: Stock) -> list[tuple[str, str]]:
        newer = ((name, stock.newer(name)) for name in stock.installed)
        return [(name, version) for name, version in newer if version]

    def missing(self, names: Sequence[str]) -> Answer:
        lines = [f"No match for argument: {name}" for name in names]
        return 1, "", said("Failed to resolve the transaction:", *lines)

    def advisories(self, stock: Stock, words: Sequence[str], targets: Sequence[str]) -> Answer:
        assert targets == ["list"]
        rows = [
            f"{name} bugfix None     {each}-{stock.newest(each)}.{ARCH} 2024-06-04 08:00:00"
            for name, packages in PATCHES.items()
            for each in packages
            if each in stock.installed and ("--all" in words or stock.newer(each))
        ]
        head = "Name     Type   Severity            Package              Issued"
        return 0, said(head, *rows) if rows else "", ""

    def group(self, command: str, targets: Sequence[str]) -> Answer:
        """An unknown one is no error."""
        which, name = targets
        assert which == "info"
        if command == "environment" or name not in GROUPS:
            return 0, "", ""
        rows = [("Id", f"{name}-id"), ("Name", name), ("Description", "Some packages.")]
        for kind, packages in GROUPS[name].items():
            rows += zip([f"{kind} packages", *[""] * len(packages)], packages, strict=False)
        return 0, said(*(f"{key:<20} : {value}" for key, value in rows)), ""

    def versionlock(self, stock: Stock, words: Sequence[str]) -> Answer:
        """What is unknown, or locked already, is told as an error and is none."""
        command, *names = words
        locked = _locked(self.locks, self.pattern)
        lines = [
            f"# Added by 'versionlock add' command on 2024-06-04 08:00:00\n"
            f"Package name: {name}\nevr = {version}\n"
            for name, version in locked.items()
        ]
        if command == "list":
            return 0, "\n".join(lines), ""
        errors = []
        for name in names:
            version = stock.installed.get(name) or stock.newest(name)
            if command == "delete":
                locked.pop(name, None)
            elif version is None:
                errors.append(f'No package found for "{name}".')
                stock.balks += 1
            else:
                locked[name] = version
        Path(self.locks).write_text(said(*(f"{name} {each}" for name, each in locked.items())))
        return 0, "", said(*errors) if errors else ""


class _Yum(_Red):
    locks, pattern = YUM_LOCKS, _YUM_LOCK
    hides = True

    def marked(self, package: str) -> str:
        return f"+{package}"

    def goes_on(self, missing: Sequence[str], coming: Mapping[str, str]) -> bool:
        return bool(coming)

    def missing(self, names: Sequence[str]) -> Answer:
        lines = [f"No package {name} available." for name in names]
        return 1, said(*lines), said("Error: Nothing to do")

    def versionlock(self, stock: Stock, words: Sequence[str]) -> Answer:
        """The epoch comes first; what is not installed cannot be locked."""
        locked = _locked(self.locks, self.pattern)
        command, *names = words or ["list"]
        before = dict(locked)
        lines = ["Loaded plugins: fastestmirror, versionlock"]
        for name in names:
            if command == "add" and name in stock.installed:
                locked[name] = stock.installed[name]
                lines.append(f"Adding versionlock on: 0:{name}-{locked[name]}")
            elif command == "delete" and name in locked:
                lines.append(f"Deleting versionlock for: 0:{name}-{locked.pop(name)}.*")
        specs = [f"0:{name}-{version}.*" for name, version in locked.items()]
        if command == "list":
            return 0, said(*lines, *specs, "versionlock list done"), ""
        if command == "delete" and before == locked:
            return 1, said(*lines), said("Error: versionlock delete: no matches")
        _write_locks(self.locks, specs)
        stock.balks += locked == before
        past = "added" if command == "add" else "deleted"
        return 0, said(*lines, f"versionlock {past}: {abs(len(locked) - len(before))}"), ""


# --- zypper ---------------------------------------------------------------------------------------

ZYPP_LOCKS = "/etc/zypp/locks"
ZYPP_REPOS = "/etc/zypp/repos.d"
LOCK = "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: {}\n"
_XML = "<?xml version='1.0'?>\n<stream>\n{}</stream>\n"


def _zypp_locks() -> list[str]:
    return re.findall(r"^solvable_name: (.*)$", Path(ZYPP_LOCKS).read_text(), re.MULTILINE)


def zypper(stock: Stock, words: Sequence[str]) -> Answer:
    commands = {
        "search": _zypper_search, "list-updates": _zypper_updates, "refresh": _zypper_refresh,
        "install": _zypper_install, "remove": _zypper_remove, "update": _zypper_update,
        "se": _zypper_patches, "al": _zypper_lock, "rl": _zypper_lock,
        "removerepo": _zypper_remove_repo,
    }  # fmt: skip
    at = next(n for n, word in enumerate(words) if word in commands)
    return commands[words[at]](stock, words[at:])


def _zypper_search(stock: Stock, words: Sequence[str]) -> Answer:
    lines = []
    for name in [word for word in plain(words[1:]) if word != "package"]:
        for version in stock.offered.get(name, []):
            there = stock.installed.get(name)
            status = "installed" if there == version else "other-version"
            lines.append(_solvable(status if there else "not-installed", name, version, "Main"))
        if name in stock.installed and stock.installed[name] not in stock.offered.get(name, []):
            version = stock.installed[name]
            lines.append(_solvable("installed", name, version, "(System Packages)"))
    if not lines:
        return 104, _XML.format('<message type="info">No matching items found.</message>\n'), ""
    found = said('<search-result version="0.0">', "<solvable-list>", *lines)
    return 0, _XML.format(found + said("</solvable-list>", "</search-result>")), ""


def _solvable(status: str, name: str, version: str, repository: str) -> str:
    return (
        f'<solvable status="{status}" name="{name}" kind="package" edition="{version}"'
        f' arch="{ARCH}" repository="{repository}"/>'
    )


def _zypper_updates(stock: Stock, words: Sequence[str]) -> Answer:
    """Those that can be installed: what is locked is left out."""
    lines = [
        f'<update kind="package" name="{name}" edition="{newer}" arch="{ARCH}"'
        f' edition-old="{version}">\n  <summary>x</summary>\n</update>'
        for name, version in stock.installed.items()
        if (newer := stock.newer(name)) and name not in _zypp_locks()
    ]
    found = said('<update-status version="0.6">', "<update-list>", *lines)
    return 0, _XML.format(found + said("</update-list>", "</update-status>")), ""


def _zypper_refresh(stock: Stock, words: Sequence[str]) -> Answer:
    return 0, said("Repository 'Main' is up to date.", "All repositories have been refreshed."), ""


def _zypper_patches(stock: Stock, words: Sequence[str]) -> Answer:
    lines = []
    for name, packages in PATCHES.items():
        needed = any(stock.newer(each) for each in packages)
        status = "not-installed" if needed else "installed"
        lines.append(f'<solvable status="{status}" name="{name}" summary="x" kind="patch"/>')
    found = said('<search-result version="0.0">', "<solvable-list>", *lines)
    return 0, _XML.format(found + said("</solvable-list>", "</search-result>")), ""


def _zypper_install(stock: Stock, words: Sequence[str]) -> Answer:
    """Packages, and those that patches are about."""
    wanted = plain(words[1:])
    patched = [each for word in wanted for each in PATCHES.get(word.removeprefix("patch:"), ())]
    newer = {name: str(stock.newer(name)) for name in patched if stock.newer(name)}
    names = [word for word in wanted if not word.startswith("patch:")]
    if not set(newer).isdisjoint(_zypp_locks()):
        return 4, said("Problem: the patch requires what is locked", "c"), ""
    if "--dry-run" in words:
        lines = [
            f'<solvable type="package" name="{name}" edition="{version}" arch="{ARCH}"/>'
            for name, version in newer.items()
        ]
        return (
            0,
            _XML.format(said("<install-summary>", "<to-upgrade>", *lines, "</to-upgrade>")),
            "",
        )

    def run(there: Stock) -> Answer:
        there.put(newer)
        return _zypper_put(there, names, words)

    if "--download-only" in words:
        return _downloaded(stock, ZYPP_CACHE, len(names), run)
    return run(stock)


def _zypper_put(stock: Stock, names: Sequence[str], words: Sequence[str]) -> Answer:
    coming: dict[str, str] = {}
    lines: list[str] = []
    for word in names:
        file = stock.of_file(word)
        name, version = file or (word.partition("=")[0], word.partition("=")[2])
        known = [version] if file else stock.offered.get(name, [])
        there = stock.installed.get(name)
        if there and version in ("", there) and (version or not stock.newer(name)):
            if "--force" in words and there in known:
                coming[name] = there
            elif "--force" in words:
                told = f"Package '{name}' is not available in your repositories. Cannot reinstall,"
                lines.append(f"{told} upgrade, or downgrade.")
            continue  # already installed
        if not known or (version and version not in known):
            told = f"'{word}' not found in package names. Trying capabilities."
            return 104, said(told, f"No provider of '{word}' found."), ""
        if name in _zypp_locks() and there and not version:
            stock.balks += 1  # there is an update candidate, but it is locked
            continue
        if name in _zypp_locks():
            return 4, said(f"Problem: the to be installed {word} is locked", "c"), ""
        older = there in known and known.index(version or known[0]) > known.index(there)
        if not older or "--oldpackage" in words:
            coming[name] = version or known[0]
    stock.put(coming)
    return 0, said(*lines), ""


def _zypper_remove(stock: Stock, words: Sequence[str]) -> Answer:
    names = plain(words[1:])
    for name in names:
        if name not in stock.installed:
            return 104, said(f"'{name}' not found in package names."), ""
        if name in _zypp_locks():
            return 4, said(f"Problem: conflicting requests: {name} is locked", "c"), ""
    for name in names:
        del stock.installed[name]
    return 0, "", ""


def _zypper_update(stock: Stock, words: Sequence[str]) -> Answer:
    for name in plain(words[1:]) or list(stock.installed):
        newer = stock.newer(name)
        if newer and name not in _zypp_locks():
            stock.put({name: newer})
    return 0, "", ""


def _zypper_lock(stock: Stock, words: Sequence[str]) -> Answer:
    there, names = _zypp_locks(), plain(words[1:])
    if words[0] == "al":
        kept = [*there, *(name for name in names if name not in there)]
        told = "Specified lock has been successfully added."
    else:
        kept = [name for name in there if name not in names]
        told = "1 lock has been successfully removed." if kept != there else "No lock was removed."
    Path(ZYPP_LOCKS).write_text("".join(LOCK.format(name) for name in kept))
    return 0, said(told), ""


def _zypper_remove_repo(stock: Stock, words: Sequence[str]) -> Answer:
    alias = words[1]
    for path in Path(ZYPP_REPOS).glob("*.repo"):
        sections = re.split(r"(?m)^(?=\[)", path.read_text())
        kept = [each for each in sections if not each.startswith(f"[{alias}]")]
        if kept != sections:
            if "".join(kept).strip():
                path.write_text("".join(kept))
            else:
                path.unlink()
            return 0, said(f"Repository '{alias}' has been removed."), ""
    return 3, "", said(f"Repository '{alias}' not found by alias, number or URI.")


# --- pacman ---------------------------------------------------------------------------------------


def pacman(stock: Stock, words: Sequence[str]) -> Answer:
    """A repository has one version of each package, the newest."""
    names = plain([word for word in words if not word.startswith("%n")])
    command = words[0]
    if command == "-Qp":
        return 0, said(" ".join(stock.of_file(words[1]) or ())), ""
    if command == "-Q":
        return 0, said(*(f"{name} {version}" for name, version in stock.installed.items())), ""
    if command == "-Sy":
        return 0, said(":: Synchronizing package databases...", " core is up to date"), ""
    if command == "-Sl":
        return _pacman_list(stock)
    if command == "-Sp" or "-p" in words:
        return _pacman_print(stock, names, upgrade="-u" in words)
    if command in ("-R", "-Rsc"):
        return _pacman_remove(stock, names)
    if command == "-Su" or "-u" in words:
        stock.put(_pacman_newer(stock))
    coming = _pacman_coming(stock, command, names)
    if isinstance(coming, str):
        return 1, "", said(coming)
    if "--needed" in words:
        coming = {name: new for name, new in coming.items() if new != stock.installed.get(name)}
    stock.put(coming)
    return 0, "", ""


def _pacman_list(stock: Stock) -> Answer:
    lines = []
    for name in filter(stock.newest, stock.offered):
        there = stock.installed.get(name)
        same = " [installed]" if there == stock.newest(name) else f" [installed: {there}]"
        lines.append(f"core {name} {stock.newest(name)}{same if there else ''}")
    return 0, said(*lines), ""


def _pacman_newer(stock: Stock) -> dict[str, str]:
    return {name: newer for name in stock.installed if (newer := stock.newer(name))}


def _pacman_print(stock: Stock, names: Sequence[str], *, upgrade: bool) -> Answer:
    missing = [name for name in names if stock.newest(name) is None]
    if missing:
        return 1, "", said(*(f"error: target not found: {name}" for name in missing))
    coming = _pacman_newer(stock) if upgrade else {name: stock.newest(name) for name in names}
    return 0, said(*(f"{name} {version}" for name, version in coming.items())), ""


def _pacman_remove(stock: Stock, names: Sequence[str]) -> Answer:
    missing = [name for name in names if name not in stock.installed]
    if missing:
        return 1, "", said(*(f"error: target not found: {name}" for name in missing))
    for name in names:
        del stock.installed[name]
    return 0, "", ""


def _pacman_coming(stock: Stock, command: str, names: Sequence[str]) -> dict[str, str] | str:
    coming = {}
    for word in names:
        file = stock.of_file(word) if command == "-U" else None
        name, _, version = word.partition("=")
        newest = stock.newest(name)
        if file:
            coming[file[0]] = file[1]
        elif newest is None or version not in ("", newest):
            return f"error: target not found: {word}"
        else:
            coming[name] = newest
    return coming


# --- apk ------------------------------------------------------------------------------------------

WORLD = "/etc/apk/world"
MIRROR = "https://dl-cdn.alpinelinux.org/alpine/v3.19/main"


def _world() -> dict[str, str]:
    """What shall be installed, and in which version."""
    lines = Path(WORLD).read_text().split()
    return {line.partition("=")[0]: line.partition("=")[2] for line in lines}


def _write_world(wanted: Mapping[str, str]) -> None:
    lines = [f"{name}={version}" if version else name for name, version in sorted(wanted.items())]
    Path(WORLD).write_text("".join(f"{line}\n" for line in lines))


def apk(stock: Stock, words: Sequence[str]) -> Answer:
    command, names = words[0], plain(words[1:])
    if command == "info":
        lines = sorted(f"{name}-{version}" for name, version in stock.installed.items())
        return 0, said(*lines), ""
    if command == "policy":
        return 0, "".join(_apk_policy(stock, name) for name in names), ""
    if command == "update":
        return 0, said(f"v3.19 [{MIRROR}]", "OK: 20063 distinct packages available"), ""
    if command == "add":
        return _apk_add(stock, names, upgrade={"-u", "--upgrade"}.isdisjoint(words) is False)
    if command == "del":
        _write_world({each: wish for each, wish in _world().items() if each not in names})
        for name in names:
            stock.installed.pop(name, None)
        return 0, said(f"OK: 7 MiB in {len(stock.installed)} packages"), ""
    if command == "fix" and "--upgrade" in words:
        return _apk_upgrade(stock, names, simulate=False)
    if command == "fix":
        lost = [name for name in names if stock.installed[name] not in stock.offered[name]]
        if lost:
            return 1, "", said(f"ERROR: {lost[0]}: unable to reinstall")
        stock.put({name: stock.installed[name] for name in names})
        return 0, said(f"OK: 7 MiB in {len(stock.installed)} packages"), ""
    assert command == "upgrade"
    return _apk_upgrade(stock, names, simulate="-s" in words)


def _apk_policy(stock: Stock, name: str) -> str:
    there, offered = stock.installed.get(name), stock.offered.get(name, [])
    versions = [*reversed(offered), *([there] if there and there not in offered else [])]
    lines = [f"{name} policy:"]
    for version in versions:
        lines.append(f"  {version}:")
        lines += ["    lib/apk/db/installed"] if version == there else []
        lines += [f"    {MIRROR}"] if version in offered else []
    return said(*lines) if versions else ""


def _apk_add(stock: Stock, names: Sequence[str], *, upgrade: bool) -> Answer:
    """What is installed already stays as it is, unless it is to be upgraded."""
    wanted, coming = _world(), {}
    for word in names:
        file = stock.of_file(word)
        name, version = file or (word.partition("=")[0], word.partition("=")[2])
        known = [*stock.offered.get(name, []), *filter(None, [stock.installed.get(name)])]
        if not file and not known:
            reason = [f"  {name} (no such package):", f"    required by: world[{word}]"]
            return 1, "", said("ERROR: unable to select packages:", *reason)
        if not file and version not in ("", *known):
            reason = [f"  {name}-{known[0]}:", f"    breaks: world[{word}]"]
            return 1, "", said("ERROR: unable to select packages:", *reason)
        keeps = name in stock.installed and not version and not upgrade
        newest = (stock.newer(name) or known[0]) if known else version
        coming[name] = stock.installed[name] if keeps else version or newest
        wanted[name] = version
    _write_world(wanted)
    stock.put({name: new for name, new in coming.items() if new != stock.installed.get(name)})
    return 0, said(f"OK: 7 MiB in {len(stock.installed)} packages"), ""


def _apk_upgrade(stock: Stock, names: Sequence[str], *, simulate: bool) -> Answer:
    """What is in the world with a version stays at it."""
    pinned = {name for name, version in _world().items() if version}
    newer = {
        name: new
        for name in stock.installed
        if (new := stock.newer(name)) and name not in pinned and (not names or name in names)
    }
    lines = [
        f"({number}/{len(newer)}) Upgrading {name} ({stock.installed[name]} -> {version})"
        for number, (name, version) in enumerate(newer.items(), 1)
    ]
    if not simulate:
        stock.put(newer)
    return 0, said(*lines, f"OK: 7 MiB in {len(stock.installed)} packages"), ""


def tar(stock: Stock, words: Sequence[str]) -> Answer:
    """The file of an apk package that says what is in it."""
    assert words[0] == "-xzOf"
    name, version = stock.of_file(words[1]) or ("", "")
    return 0, said("# Generated by abuild", f"pkgname = {name}", f"pkgver = {version}"), ""


DNF: Mapping[str, Program] = {"rpm": rpm, "dnf": _Dnf()}
DNF5: Mapping[str, Program] = {"rpm": rpm, "dnf": _Dnf5()}
YUM: Mapping[str, Program] = {"rpm": rpm, "yum": _Yum()}
ZYPPER: Mapping[str, Program] = {"rpm": rpm, "zypper": zypper}
PACMAN: Mapping[str, Program] = {"pacman": pacman}
APK: Mapping[str, Program] = {"apk": apk, "tar": tar}
