"""Groups of dnf, patches of dnf and zypper, files that were got or altered: on a small machine.

Results, changes and comments are those of Salt 3006.30 over the same answers of rpm, dnf and
zypper; where its test run tells less than its real run, ours tells what is to come.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Completed
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.pkg import groups, package_files, patches, verifying

DEVELOPMENT = """
Group: Development Tools
 Group-Id: development
 Description: A basic development environment.
 Mandatory Packages:
   autoconf
   gcc
 Default Packages:
   byacc
   git
 Optional Packages:
   cmake
"""
SERVER = """
Environment Group: Server
 Environment-Id: server-environment
 Description: A server.
 Mandatory Groups:
   Development Tools
 Optional Groups:
   Container Management
"""
CONTAINERS = """
Group: Container Management
 Description: Tools for containers
 Default Packages:
   buildah
"""
ALTERED = "S.5....T.  c /etc/bashrc\n.M.......    /bin/bash\nmissing   d /usr/share/doc/bash\n"


class Red:
    """A machine with rpm, dnf and zypper whose packages are a map."""

    def __init__(self, cache: Path) -> None:
        self.there = {"bash": "5.1.8-9", "gcc": "11.4.1-2"}
        self.offered = {
            "bash": "5.1.8-9",
            "autoconf": "2.69-38",
            "gcc": "11.4.1-3",
            "byacc": "2.0-1",
            "git": "2.39-1",
            "cmake": "3.20-1",
            "buildah": "1.3-1",
            "new": "1:2.0-1",
        }
        self.advisories = {"RHSA-2024:1": {"gcc": "11.4.1-3"}, "RHBA-2024:2": {"new": "1:2.0-1"}}
        self.patched: set[str] = {"old-patch"}
        self.altered: dict[str, str] = {}
        self.keeps_altered = False
        self.cache = cache
        self.did: list[str] = []

    def run(self, argv: Any, **how: Any) -> Completed:
        words = [word for word in argv if word not in ("-y", "--quiet")]
        code, out, err = getattr(self, words[0])(words[1:])
        return Completed(pid=1, exit_code=code, stdout=out, stderr=err)

    def which(self, name: str) -> str:
        return f"/usr/bin/{name}"

    def is_dir(self, path: str) -> bool:
        return False

    def read_text(self, path: str) -> None:
        return None

    def rpm(self, words: list[str]) -> tuple[int, str, str]:
        if "-V" in words:
            name = words[-1]
            if name not in self.there:
                return 1, f"package {name} is not installed\n", ""
            return int(name in self.altered), self.altered.get(name, ""), ""
        if "-qp" in words:
            return 0, "".join(self._header(*self._of_file(path)) for path in words[3:]), ""
        return 0, "".join(self._header(*pair) for pair in self.there.items()), ""

    def _of_file(self, path: str) -> tuple[str, str]:
        name, version, release = Path(path).name.removesuffix(".x86_64.rpm").rsplit("-", 2)
        epoch = self.offered.get(name, "").rpartition(":")[0]
        return name, f"{epoch}:{version}-{release}" if epoch else f"{version}-{release}"

    @staticmethod
    def _header(name: str, version: str) -> str:
        epoch, _, rest = version.rpartition(":")
        return "\x1f".join((name, epoch or "(none)", *rest.split("-"), "x86_64")) + "\n"

    def dnf(self, words: list[str]) -> tuple[int, str, str]:
        if words[0] == "environment":
            return 1, "", "No such command: environment. Please use /usr/bin/dnf --help\n"
        if words[:2] == ["group", "info"]:
            known = {"Development Tools": DEVELOPMENT, "Server": SERVER}
            known["Container Management"] = CONTAINERS
            if words[2] not in known:
                return (
                    1,
                    "",
                    f"Warning: Group {words[2]} does not exist.\nError: No groups matched.\n",
                )
            return 0, known[words[2]], ""
        if words[0] == "updateinfo":
            lines = [
                f"{'i' if self._has(name, version) else ' '} {each} bugfix {name}-{version}.x86_64"
                for each, packages in self.advisories.items()
                for name, version in packages.items()
            ]
            return 0, "\n".join(lines), ""
        if "--available" in words:
            names = words[words.index("--available") + 1 :]
            lines = [
                f"{name}.x86_64 {self.offered[name]} base" for name in names if name in self.offered
            ]
            return 0, "\n".join(lines), ""
        if "update" in words:
            return self._update(words)
        if "reinstall" in words:
            self.did.append(" ".join(words))
            if not self.keeps_altered:
                self.altered = {}
            return 0, "", ""
        if "install" in words:
            names = [word for word in words[1:] if not word.startswith("-")]
            return self._install("--downloadonly" in words, names)
        return 0, "", ""

    def _has(self, name: str, version: str) -> bool:
        return self.there.get(name) == version

    def _update(self, words: list[str]) -> tuple[int, str, str]:
        ids = [word.partition("=")[2] for word in words if word.startswith("--advisory=")]
        names = [name for each in ids for name in self.advisories[each] if name in self.there]
        return self._install("--downloadonly" in words, names)

    def _install(self, only_files: bool, names: list[str]) -> tuple[int, str, str]:
        for word in names:
            name = re.sub(r"[-=]\d.*", "", word)
            if name not in self.offered:
                return 1, "", f"Error: Unable to find a match: {name}\n"
            version = self.offered[name]
            if only_files:
                file = f"{name}-{version.rpartition(':')[2]}.x86_64.rpm"
                (self.cache / file).write_text("x")
            else:
                self.there[name] = version
        self.did.append(f"{'get' if only_files else 'install'} {' '.join(names)}")
        return 0, "", ""

    def zypper(self, words: list[str]) -> tuple[int, str, str]:
        if "se" in words:
            rows = {
                **dict.fromkeys(self.patched, "installed"),
                "p-1": "not-installed",
                "p-2": "not-installed",
            }
            rows |= dict.fromkeys(self.patched, "installed")
            lines = [
                f'<solvable status="{status}" name="{name}" summary="About {name}" kind="patch"/>'
                for name, status in rows.items()
            ]
            return 0, "\n".join(lines), ""
        if "search" in words:
            names = words[words.index("--match-exact") + 1 :]
            lines = [
                f'<solvable kind="package" name="{name}" edition="{self.offered[name]}"'
                ' arch="x86_64" repository="oss"/>'
                for name in names
                if name in self.offered
            ]
            return 0, "\n".join(lines), ""
        if "patch:p-1" in words and "p-1" not in self.patched and "--dry-run" in words:
            inside = '<solvable type="package" name="gcc" edition="11.4.1-3" arch="x86_64"/>'
            done = self._has("gcc", "11.4.1-3")
            return 0, "" if done else f"<to-upgrade>{inside}</to-upgrade>", ""
        if "--dry-run" in words:
            return 0, "<install-summary/>", ""
        if words[-1].startswith("patch:"):
            if "patch:p-1" in words and "--download-only" not in words:
                self.patched.add("p-1")
            return self._install("--download-only" in words, ["gcc"])
        if "install" in words:
            names = [word for word in words[words.index("install") :] if not word.startswith("-")]
            if "--force" in words and not self.keeps_altered:
                self.altered = {}
            return self._install("--download-only" in words, names[1:])
        return 0, "", ""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Red:
    monkeypatch.setattr(package_files, "CACHES", (str(tmp_path),))
    monkeypatch.setattr(package_files, "ZYPPER_CACHES", (str(tmp_path),))
    return Red(tmp_path)


def make(machine: Red, family: str = "RedHat") -> MinionContext:
    native = {"RedHat": "yumpkg", "Suse": "zypperpkg", "Alpine": "apkpkg"}[family]
    config = MinionConfig(modules=ModuleOptions(providers={"pkg": native}))
    grains = {"os_family": family, "osarch": "x86_64"}
    ctx = MinionContext(config=config, host=machine, grains=grains, pillar={})  # type: ignore[arg-type]
    ctx.functions = Registry(ctx)
    return ctx


def run(
    machine: Red, fun: str, *, test: bool = False, family: str = "RedHat", **given: Any
) -> tuple[Any, str, Any]:
    ctx = make(machine, family)
    try:
        found = realise(resolve(fun, ctx).call(**given), ctx, test=test)
    except SaltliteError as error:
        return False, str(error), {}
    assert isinstance(found, Verdict)
    return found.result, found.comment, found.changes


def call(machine: Red, fun: str, *given: Any, **named: Any) -> Any:
    return make(machine, named.pop("family", "RedHat")).functions.call(fun, *given, **named)


NAME = "Development Tools"
CHANGES = {
    name: {"old": "", "new": version}
    for name, version in {"autoconf": "2.69-38", "byacc": "2.0-1", "git": "2.39-1"}.items()
}


def test_a_group_is_completed_once(machine: Red) -> None:
    said = f"Group '{NAME}' is partially installed and will be updated"
    assert run(machine, "pkg.group_installed", test=True, name=NAME) == (None, said, CHANGES)
    assert machine.did == []
    said = f"Group '{NAME}' was updated"
    assert run(machine, "pkg.group_installed", name=NAME) == (True, said, CHANGES)
    assert (
        machine.there["gcc"] == "11.4.1-2"
    )  # it was there; that there is a newer one is no matter
    said = f"Group '{NAME}' is already installed"
    for test in (True, False):
        assert run(machine, "pkg.group_installed", test=test, name=NAME) == (True, said, {})


def test_a_group_without_some_and_with_others(machine: Red) -> None:
    machine.there.clear()
    given = {"name": NAME, "skip": ["byacc"], "include": ["cmake"]}
    result, said, changes = run(machine, "pkg.group_installed", test=True, **given)
    assert (result, said) == (None, f"Group '{NAME}' will be installed")
    assert sorted(changes) == ["autoconf", "cmake", "gcc", "git"]
    assert run(machine, "pkg.group_installed", **given) == (
        True,
        f"Group '{NAME}' was installed",
        changes,
    )
    assert run(machine, "pkg.group_installed", **given)[1].endswith("is already installed")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"skip": ["gcc"]}, "The following mandatory packages cannot be skipped: gcc"),
        ({"skip": "byacc"}, "skip must be formatted as a list"),
        ({"include": "cmake"}, "include must be formatted as a list"),
        (
            {"name": "nosuch"},
            "An error was encountered while installing/updating group 'nosuch':"
            " Group 'nosuch' not found.",
        ),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_installed(
    machine: Red, given: dict[str, Any], said: str
) -> None:
    for test in (True, False):
        found = run(machine, "pkg.group_installed", test=test, **{"name": NAME, **given})
        assert found == (False, said, {})
    assert machine.did == []


def test_a_member_that_nobody_offers_fails(machine: Red) -> None:
    result, said, _ = run(machine, "pkg.group_installed", name=NAME, include=["nosuch"])
    assert result is False
    assert said.endswith("errors:\n    - Error: Unable to find a match: nosuch")


def test_groups_are_there_with_dnf_alone(machine: Red) -> None:
    said = "pkg.group_install not available for this platform"
    assert run(machine, "pkg.group_installed", family="Suse", name="x") == (False, said, {})
    with pytest.raises(SaltliteError, match=r"pkg\.group_info"):
        call(machine, "pkg.group_info", "x", family="Suse")


def test_the_functions_of_groups(machine: Red) -> None:
    assert call(machine, "pkg.group_info", "Server") == {
        "mandatory": [NAME],
        "optional": ["Container Management"],
        "default": [],
        "conditional": [],
        "type": "environment group",
        "group": "Server",
        "id": "server-environment",
        "description": "A server.",
    }
    expanded = call(machine, "pkg.group_info", "Server", expand=True)
    assert expanded["mandatory"] == ["autoconf", "gcc"]
    assert expanded["default"] == ["buildah", "byacc", "git"]
    assert call(machine, "pkg.group_diff", NAME)["mandatory"] == {
        "installed": ["gcc"],
        "not installed": ["autoconf"],
    }
    changed = call(machine, "pkg.group_install", NAME, skip=["git"], include=["cmake"])
    assert sorted(changed) == ["autoconf", "byacc", "cmake"]


NEW = {"gcc": {"old": "11.4.1-2", "new": "11.4.1-3"}}
OPEN = "The following advisory patches would be downloaded: "
NOT_NEEDED = "Advisory patch is not needed or related packages are already "


@pytest.mark.parametrize(
    ("family", "patch", "other"),
    [("RedHat", "RHSA-2024:1", "RHBA-2024:2"), ("Suse", "p-1", "p-2")],
)
def test_a_patch_is_installed_once(machine: Red, family: str, patch: str, other: str) -> None:
    given: dict[str, Any] = {"family": family, "name": "x", "advisory_ids": [patch, other]}
    said = f"{OPEN}{patch}, {other}"
    assert run(machine, "pkg.patch_installed", test=True, **given) == (None, said, NEW)
    assert machine.did == []
    result, _, changes = run(machine, "pkg.patch_installed", **given)
    assert (result, changes) == (True, NEW)
    for test in (True, False):
        found = run(machine, "pkg.patch_installed", test=test, **given)
        assert found == (True, f"{NOT_NEEDED}installed", {})
    said = f"Advisory patch {patch} is already installed"
    assert run(machine, "pkg.patch_installed", family=family, name=patch) == (True, said, {})
    given["advisory_ids"] = [patch]
    said = "All specified advisory patches are already installed"
    assert run(machine, "pkg.patch_installed", **given) == (True, said, {})


@pytest.mark.parametrize(("family", "patch"), [("RedHat", "RHSA-2024:1"), ("Suse", "p-1")])
def test_the_files_of_a_patch_are_got_once(machine: Red, family: str, patch: str) -> None:
    given: dict[str, Any] = {"family": family, "name": patch}
    foretold = run(machine, "pkg.patch_downloaded", test=True, **given)
    assert foretold == (None, OPEN + patch, {"gcc": {"old": "", "new": {"11.4.1-3": {}}}})
    result, _, changes = run(machine, "pkg.patch_downloaded", **given)
    file = changes["gcc"]["new"]["11.4.1-3"]
    assert result is True
    assert (Path(file["path"]).name, file["size"]) == ("gcc-11.4.1-3.x86_64.rpm", 1)
    assert machine.there["gcc"] == "11.4.1-2"
    found = run(machine, "pkg.patch_downloaded", **given)
    assert found == (True, f"{NOT_NEEDED}downloaded", {})


def test_patches_that_are_none(machine: Red) -> None:
    said = 'An error was encountered while downloading package(s): Advisory id "nope" not found'
    for family in ("RedHat", "Suse"):
        found = run(machine, "pkg.patch_installed", family=family, name="nope")
        assert found == (False, said, {})
    found = run(machine, "pkg.patch_installed", name="x", advisory_ids=[])
    assert found == (True, "No advisory ids provided", {})
    said = "The pkg.patch_installed state is not available on this platform"
    assert run(machine, "pkg.patch_installed", family="Alpine", name="x") == (False, said, {})
    with pytest.raises(SaltliteError, match='Advisory id "nope" not found'):
        call(machine, "pkg.install", advisory_ids=["nope"])
    assert machine.did == []


def test_patches_by_their_functions(machine: Red) -> None:
    assert call(machine, "pkg.list_patches") == {
        "RHSA-2024:1": {"installed": False, "summary": ["gcc-11.4.1-3.x86_64"]},
        "RHBA-2024:2": {"installed": False, "summary": ["new-1:2.0-1.x86_64"]},
    }
    assert call(machine, "pkg.list_installed_patches", family="Suse") == {
        "old-patch": {"installed": True, "summary": "About old-patch"}
    }
    assert call(machine, "pkg.install", advisory_ids=["RHSA-2024:1"]) == NEW


@pytest.mark.parametrize("family", ["RedHat", "Suse"])
def test_files_are_got_once_and_nothing_is_installed(machine: Red, family: str) -> None:
    given: dict[str, Any] = {"family": family, "name": "new"}
    said = "The following packages would be downloaded: new"
    foretold = run(machine, "pkg.downloaded", test=True, **given)
    assert foretold == (None, said, {"new": {"old": "", "new": {"1:2.0-1": {}}}})
    result, said, changes = run(machine, "pkg.downloaded", **given)
    assert (result, said, list(changes["new"]["new"])) == (True, "", ["1:2.0-1"])
    assert list(call(machine, "pkg.list_downloaded", family=family)) == ["new"]
    settled = (True, "All specified packages are already downloaded", {})
    assert run(machine, "pkg.downloaded", **given) == settled
    assert run(machine, "pkg.downloaded", test=True, **given) == settled
    assert "new" not in machine.there
    assert call(machine, "pkg.install", "git", downloadonly=True, family=family)["git"]["old"] == ""
    found = run(machine, "pkg.downloaded", family=family, name="nosuch")
    assert (found[0], found[2]) == (False, {})


def test_a_file_that_is_no_package_is_left_out(machine: Red, monkeypatch: Any) -> None:
    (machine.cache / "git-2.39-1.x86_64.rpm").write_text("x")
    (machine.cache / "broken-1-1.x86_64.rpm").write_text("x")
    header = machine._header
    monkeypatch.setattr(machine, "_header", lambda *of: "" if of[0] == "broken" else header(*of))
    assert list(call(machine, "pkg.list_downloaded")) == ["git"]


FILES = (
    "/bin/bash:\n    ----------\n    mismatch:\n        - mode\n/etc/bashrc:\n    ----------\n"
    "    mismatch:\n        - size\n        - md5sum\n        - mtime\n    type:\n        config\n"
    "/usr/share/doc/bash:\n    ----------\n    missing:\n        True\n    type:\n        doc"
)
AGAIN = {"bash": {"old": "5.1.8-9", "new": "5.1.8-9"}}


def test_altered_packages_are_put_in_place_again(machine: Red) -> None:
    machine.altered = {"bash": ALTERED}
    given: dict[str, Any] = {"name": "bash", "pkg_verify": True}
    said = (
        "Package 'bash' would be reinstalled because the following files have been altered:\n"
        + FILES
    )
    assert run(machine, "pkg.installed", test=True, **given) == (None, said, AGAIN)
    said = f"Package bash was reinstalled. The following files were remediated:\n{FILES}"
    assert run(machine, "pkg.installed", **given) == (True, said, AGAIN)
    for test in (True, False):
        found = run(machine, "pkg.installed", test=test, **given)
        assert found == (True, "All specified packages are already installed", {})


@pytest.mark.parametrize("family", ["RedHat", "Suse"])
def test_missing_ones_come_first(machine: Red, family: str) -> None:
    machine.altered = {"bash": ALTERED}
    given = {"name": "x", "pkgs": ["bash", "gcc", "git"], "pkg_verify": True, "family": family}
    both = {"git": {"old": "", "new": "2.39-1"}} | AGAIN
    result, said, changes = run(machine, "pkg.installed", test=True, **given)
    assert (result, changes) == (None, both)
    assert said.startswith("The following packages would be installed/updated: git\nPackage 'bash'")
    result, said, changes = run(machine, "pkg.installed", **given)
    assert (result, changes) == (True, both)
    assert said.startswith(
        "The following packages were installed/updated: git\n"
        "The following packages were already installed: bash, gcc\nPackage bash was reinstalled."
    )
    assert run(machine, "pkg.installed", **given)[2] == {}


def test_what_stays_altered_fails(machine: Red) -> None:
    machine.altered, machine.keeps_altered = {"bash": ALTERED}, True
    said = (
        "Reinstall was not successful for package bash. The following files could not be"
        f" remediated:\n{FILES}"
    )
    assert run(machine, "pkg.installed", name="bash", pkg_verify=True) == (False, said, AGAIN)


def test_kinds_of_files_that_do_not_count(machine: Red) -> None:
    machine.altered = {"bash": "S.5....T.  c /etc/bashrc\n"}
    given = {"name": "bash", "pkg_verify": [{"ignore_types": ["config", "doc"]}]}
    said = "All specified packages are already installed"
    assert run(machine, "pkg.installed", **given) == (True, said, {})
    refused = run(machine, "pkg.installed", name="bash", pkg_verify=[{"ignore": ["config"]}])
    said = "pkg_verify takes True, or a list of ignore_types and verify_options;"
    assert refused == (False, f"{said} not {{'ignore': ['config']}}", {})


def test_verify_by_itself(machine: Red) -> None:
    machine.altered = {"bash": ALTERED}
    assert call(machine, "pkg.verify", "bash", ignore_types=["config"]) == {
        "/bin/bash": {"mismatch": ["mode"]},
        "/usr/share/doc/bash": {"missing": True, "type": "doc"},
    }
    assert call(machine, "pkg.verify", "gcc") == {}
    with pytest.raises(SaltliteError, match="package nosuch is not installed"):
        call(machine, "pkg.verify", "nosuch")
    with pytest.raises(SaltliteError, match="'--root /' is no name of an option of rpm"):
        call(machine, "pkg.verify", "bash", verify_options=["--root /"])
    said = "pkg.verify not implemented"
    found = run(machine, "pkg.installed", family="Alpine", name="bash", pkg_verify=True)
    assert found == (False, said, {})


DNF5 = """\
Id                   : development-tools
Name                 : Development Tools
Description          : These tools include general development tools
                     : such as git.
Installed            : no
Mandatory packages   : gettext
                     : make
Default packages     : patch
Repositories         : fedora
"""
YUM = """
Group: Base
 Group-Id: base
 Description: The basic installation of Linux.
 Mandatory Packages:
   =acl
   +at
    bc
 Conditional Packages:
   -rfkill
"""


@pytest.mark.parametrize(
    ("text", "name", "identity", "members"),
    [
        (
            DNF5,
            "Development Tools",
            "development-tools",
            {"mandatory": ["gettext", "make"], "default": ["patch"]},
        ),
        (YUM, "Base", "base", {"mandatory": ["acl", "at", "bc"], "conditional": ["rfkill"]}),
    ],
)
def test_groups_as_dnf5_and_yum_tell_of_them(
    text: str, name: str, identity: str, members: dict[str, list[str]]
) -> None:
    found = groups.parse_info(text)
    assert found is not None
    assert (found.name, found.id, found.members) == (name, identity, members)
    assert not found.environment


@pytest.mark.parametrize("text", ["", "\n", "garbage", "a b : c\n  : d\n::: | [ + ]\x1f\t\0"])
def test_no_text_is_too_strange(text: str) -> None:
    assert groups.parse_info(text) is None
    assert groups.parse_list(text)["installed"] == []
    assert verifying.parse(text) == {}
    assert patches.parse_advisories(text) == patches.parse_patches(text) == {}
    assert patches.parse_summary(text) == {}


def test_the_list_of_groups() -> None:
    text = """\
Last metadata expiration check: 0:10:00 ago on Mon 01 Jan 2024 10:00:00 AM UTC.
Available Environment Groups:
   Server with GUI (graphical-server-environment)
Installed Groups:
   Container Management (container-management)
Available Groups:
   Development Tools (development)
Available Language Groups:
   Afrikaans Support (af-support) [af]
"""
    assert groups.parse_list(text) == {
        "installed": ["Container Management (container-management)"],
        "available": ["Development Tools (development)"],
        "installed environments": [],
        "available environments": ["Server with GUI (graphical-server-environment)"],
        "available languages": {
            "Afrikaans Support (af-support) [af]": {
                "name": "Afrikaans Support (af-support)",
                "language": "af",
            }
        },
    }


def test_what_differs_in_files() -> None:
    text = (
        "SM5DLUGTP  c /etc/with blank\n..?......    /etc/unread\nmissing     /gone (replaced)\n"
        "Unsatisfied dependencies for bash-1:\n    foo is needed by bash\n"
    )
    assert verifying.parse(text) == {
        "/etc/with blank": {"mismatch": list(verifying.DIFFERS.values()), "type": "config"},
        "/etc/unread": {"mismatch": []},
        "/gone": {"missing": True},
    }
