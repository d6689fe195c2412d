"""Packages that are got but not installed, and those that are put in place again.

The answers are those of Salt 3006.30 to the same declarations, with an apt that keeps its state in
a file; where its test run tells other changes than its real run, ours tells those to come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from package_machine import Machine, make

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.loader.states import resolve
from saltlite.providers.pkg import apt_files


class Caching(Machine):
    """A machine whose apt also has a cache of package files, in a directory."""

    def __init__(self, archives: Path) -> None:
        super().__init__()
        self.archives = archives

    def names(self, path: str) -> list[str]:
        return sorted(file.name for file in self.archives.iterdir())

    def apt_get(self, words: list[str], stdin: str) -> tuple[int, str, str]:
        if "--download-only" not in words:
            return super().apt_get(words, stdin)
        for each in words[words.index("install") + 1 : -1]:
            name, _, version = each.partition("=")
            offered = self.has["offered"].get(name, [])
            if not offered:
                return 100, "", f"E: Unable to locate package {name}\n"
            if name not in self.has["installed"]:
                (self.archives / f"{name}_{version or offered[0]}_amd64.deb").write_text("")
        return 0, "", ""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caching:
    monkeypatch.setattr(apt_files, "ARCHIVES", str(tmp_path))
    return Caching(tmp_path)


def run(machine: Machine, fun: str, *, test: bool = False, **given: Any) -> tuple[Any, str, Any]:
    ctx = make(machine)
    try:
        found = realise(resolve(fun, ctx).call(**given), ctx, test=test)
    except SaltliteError as error:
        return False, str(error), {}
    assert isinstance(found, Verdict)
    return found.result, found.comment, found.changes


@pytest.mark.parametrize(
    ("given", "names", "settled"),
    [
        ({"name": "new"}, "new", "packages"),
        ({"name": "new", "version": "1.9"}, "new", "packages (matching specified versions)"),
        (
            {"name": "x", "pkgs": ["new", {"other": "0.5-1"}]},
            "new, other",
            "packages (matching specified versions)",
        ),
    ],
)
def test_files_are_got_once_and_nothing_is_installed(
    machine: Caching, given: dict[str, Any], names: str, settled: str
) -> None:
    installed = dict(machine.has["installed"])
    said = f"The following packages would be downloaded: {names}"
    assert run(machine, "pkg.downloaded", test=True, **given) == (None, said, {})
    assert machine.names("") == []
    assert run(machine, "pkg.downloaded", **given) == (True, f"Packages downloaded: {names}", {})
    assert len(machine.names("")) == len(names.split(", "))
    said = f"All specified {settled} are already downloaded"
    assert run(machine, "pkg.downloaded", **given) == (True, said, {})
    assert run(machine, "pkg.downloaded", test=True, **given) == (True, said, {})
    assert machine.has["installed"] == installed


def test_a_file_of_another_version_will_not_do(machine: Caching) -> None:
    (machine.archives / "new_1.9_amd64.deb").write_text("")
    assert (
        run(machine, "pkg.downloaded", name="new", version="2.0")[1] == "Packages downloaded: new"
    )
    assert machine.names("") == ["new_1.9_amd64.deb", "new_2.0_amd64.deb"]


def test_what_cannot_be_got_fails(machine: Caching) -> None:
    failed = (
        "Problem encountered installing package(s). Additional info follows:\n\nerrors:\n    - "
    )
    said = f"{failed}E: Unable to locate package nosuch"
    assert run(machine, "pkg.downloaded", name="nosuch") == (False, said, {})
    said = "The following packages failed to download: foo"
    assert run(machine, "pkg.downloaded", name="foo") == (False, said, {})
    said = "No packages to download provided"
    assert run(machine, "pkg.downloaded", name="x", pkgs=[]) == (True, said, {})


def test_without_a_list_of_what_was_got_the_declaration_is_refused(machine: Caching) -> None:
    ctx = make(machine)
    ctx.grains["os_family"] = "Alpine"
    ctx.config = MinionConfig(modules=ModuleOptions(providers={"pkg": "apkpkg"}))
    refused = resolve("pkg.downloaded", ctx).call(name="new")
    said = "The pkg.downloaded state is not available on this platform"
    assert refused == Verdict(result=False, comment=said)


REINSTALLED = {"foo": {"old": "1.0", "new": "1.0"}}
NEW = {"new": {"old": "", "new": "2.0"}}


def test_what_is_there_is_reinstalled_each_time(machine: Caching) -> None:
    given = {"name": "foo", "reinstall": True}
    said = "The following packages would be reinstalled: foo"
    assert run(machine, "pkg.installed", test=True, **given) == (None, said, REINSTALLED)
    for _ in range(2):
        said = "Package foo was reinstalled."
        assert run(machine, "pkg.installed", **given) == (True, said, REINSTALLED)


def test_what_is_missing_is_installed_first(machine: Caching) -> None:
    given = {"name": "x", "pkgs": ["foo", "new"], "reinstall": True}
    would = (
        "The following packages would be installed/updated: new\n"
        "The following packages would be reinstalled: foo"
    )
    assert run(machine, "pkg.installed", test=True, **given) == (None, would, NEW | REINSTALLED)
    result, said, changes = run(machine, "pkg.installed", **given)
    assert (result, changes) == (True, NEW | REINSTALLED)
    assert said.startswith("The following packages were installed/updated: new\n")
    assert said.endswith("Package foo was reinstalled.")


def test_apt_reinstalls_the_newest_version_unless_one_is_named(machine: Caching) -> None:
    newest = {"old": {"old": "1.0", "new": "1.1"}}
    assert run(machine, "pkg.installed", test=True, name="old", reinstall=True)[2] == newest
    same = {"old": {"old": "1.0", "new": "1.0"}}
    given = {"name": "old", "version": "1.0", "reinstall": True}
    assert run(machine, "pkg.installed", test=True, **given)[2] == same
    assert run(machine, "pkg.installed", **given)[2] == same
    assert run(machine, "pkg.installed", name="old", reinstall=True)[2] == newest


def test_a_failed_reinstallation_fails(machine: Caching) -> None:
    machine.has["fail"] = ["apt"]
    result, said, changes = run(machine, "pkg.installed", name="foo", reinstall=True)
    assert (result, changes) == (False, {})
    assert said.endswith("E: it broke")


def test_dpkg_verifies_too(machine: Caching, monkeypatch: pytest.MonkeyPatch) -> None:
    altered = {"foo": "??5??????   /usr/bin/foo\nmissing     /usr/share/foo\n"}
    usual = machine.dpkg

    def dpkg(words: list[str], stdin: str) -> tuple[int, str, str]:
        if words[0] == "--verify":
            done = any("--reinstall" in line for line in machine.did)
            return 0, "" if done else altered.get(words[1], ""), ""
        return usual(words, stdin)

    def apt_get(words: list[str], stdin: str) -> tuple[int, str, str]:
        if "--reinstall" in words:
            machine.did.append(" ".join(words))
        return 0, "", ""

    monkeypatch.setattr(machine, "dpkg", dpkg)
    monkeypatch.setattr(machine, "apt_get", apt_get)
    given = {"name": "foo", "pkg_verify": True}
    result, said, changes = run(machine, "pkg.installed", test=True, **given)
    assert (result, changes) == (None, REINSTALLED)
    assert said.startswith("Package 'foo' would be reinstalled")
    assert "/usr/bin/foo:\n    ----------\n    mismatch:\n        - md5sum" in said
    result, _, changes = run(machine, "pkg.installed", **given)
    assert (result, changes) == (True, REINSTALLED)
    assert machine.did[-1].endswith("install --reinstall foo=1.0")  # not the newest one
    assert run(machine, "pkg.installed", **given)[2] == {}


def test_one_that_is_altered_and_shall_be_held(
    machine: Caching, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = {"foo": "??5??????   /usr/bin/foo\n"}
    usual, usual_get = machine.dpkg, machine.apt_get

    def dpkg(words: list[str], stdin: str) -> tuple[int, str, str]:
        told = (0, altered.get(words[-1], ""), "")
        return told if words[0] == "--verify" else usual(words, stdin)

    def apt_get(words: list[str], stdin: str) -> tuple[int, str, str]:
        if "--reinstall" in words:
            altered.clear()
        return usual_get(words, stdin)

    monkeypatch.setattr(machine, "dpkg", dpkg)
    monkeypatch.setattr(machine, "apt_get", apt_get)
    given = {"name": "foo", "pkg_verify": True, "hold": True}
    both = {"foo": {"old": "1.0\ninstall", "new": "1.0\nhold"}}
    assert run(machine, "pkg.installed", test=True, **given)[::2] == (None, both)
    assert run(machine, "pkg.installed", **given)[::2] == (True, both)
    assert run(machine, "pkg.installed", **given)[::2] == (True, {})
