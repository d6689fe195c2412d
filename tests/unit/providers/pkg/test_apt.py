"""apt and dpkg themselves, on packages made here, in a root directory of their own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.providers.pkg import apt_repos

TOOLS = ("apt-get", "apt-cache", "dpkg", "dpkg-deb", "dpkg-query")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not a Debian: no {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="dpkg gives files to root, which needs root"),
]

CONFIG = """\
Dir "{root}/";
Dir::State "var/lib/apt/";
Dir::State::status "{root}/var/lib/dpkg/status";
Dir::Cache "var/cache/apt/";
Dir::Etc "etc/apt/";
Dir::Log "var/log/apt/";
Dir::Bin::dpkg "/usr/bin/dpkg";
Dir::Bin::Methods "/usr/lib/apt/methods/";
DPkg::Options {{ "--root={root}"; }};
APT::Sandbox::User "root";
APT::Architecture "all";
APT::Architectures {{ "all"; }};
Acquire::Languages "none";
"""


class RootedHost(Host):
    """Runs apt and dpkg on another root directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, command, **how):
        words = list(command)
        if words[0].startswith("dpkg"):
            words.insert(1, f"--root={self.root}")
        env = {**(how.pop("env", None) or {}), "APT_CONFIG": str(self.root / "apt.conf")}
        assert words[0].startswith(("apt-", "dpkg")), words
        return super().run(words, env=env, **how)


def build(repo: Path, name: str, version: str, depends: str = "") -> str:
    """Make a package; what a list of packages says of it."""
    tree = repo / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "etc").mkdir()
    (tree / "usr/share" / name).mkdir(parents=True)
    control = (
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: A <a@b.c>\n"
        f"{f'Depends: {depends}' + chr(10) if depends else ''}Description: a test\n"
    )
    (tree / "DEBIAN/control").write_text(control)
    (tree / "DEBIAN/conffiles").write_text(f"/etc/{name}.conf\n")
    (tree / f"etc/{name}.conf").write_text(version)
    (tree / f"usr/share/{name}/file").write_text(version)
    file = repo / f"{name}_{version.replace(':', '%3a')}_all.deb"
    subprocess.run(["dpkg-deb", "-b", str(tree), str(file)], check=True, capture_output=True)
    shutil.rmtree(tree)
    data = file.read_bytes()
    return (
        f"{control}Filename: ./{file.name}\nSize: {len(data)}\n"
        f"SHA256: {hashlib.sha256(data).hexdigest()}\n\n"
    )


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    for place in (
        "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial", "var/log/apt", "etc/apt/sources.list.d",
        "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d",
    ):  # fmt: skip
        (root / place).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "var/lib/dpkg/arch").write_text("amd64\n")
    (root / "apt.conf").write_text(CONFIG.format(root=root))
    repo = tmp_path / "repo"
    repo.mkdir()
    listed = build(repo, "sl-foo", "1.0") + build(repo, "sl-foo", "2.0")
    listed += build(repo, "sl-bar", "1:1.0-1", "sl-foo")
    (repo / "Packages").write_text(listed)
    (root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{repo} ./\n")
    return root


@pytest.fixture
def pkg(root, monkeypatch):
    """Call a function of ``pkg`` on that root directory."""
    monkeypatch.setattr(apt_repos, "MAIN", str(root / "etc/apt/sources.list"))
    monkeypatch.setattr(apt_repos, "PARTS", str(root / "etc/apt/sources.list.d"))
    ctx = MinionContext(
        config=MinionConfig(),
        host=RootedHost(root),
        grains={"os_family": "Debian", "osarch": "amd64"},
        pillar={},
    )
    ctx.functions = Registry(ctx)

    def call(function, *args, **kwargs):
        return ctx.functions.call(f"pkg.{function}", *args, **kwargs)

    return call


def test_from_the_first_list_to_the_last_purge(pkg, root):
    outcomes = pkg("refresh_db")
    assert True in outcomes.values()
    assert pkg("list_pkgs") == {}
    assert pkg("latest_version", "sl-foo", refresh=False) == "2.0"
    assert pkg("list_repo_pkgs", "sl-*") == {"sl-foo": ["2.0", "1.0"], "sl-bar": ["1:1.0-1"]}

    assert pkg("install", "sl-foo", version="1.0") == {"sl-foo": {"old": "", "new": "1.0"}}
    assert pkg("install", "sl-foo", version="1.0") == {}
    assert (root / "etc/sl-foo.conf").read_text() == "1.0"
    assert pkg("version", "sl-foo") == "1.0"
    assert pkg("upgrade_available", "sl-foo", refresh=False) is True
    assert pkg("list_upgrades", refresh=False) == {"sl-foo": "2.0"}

    assert pkg("upgrade", refresh=False) == {"sl-foo": {"old": "1.0", "new": "2.0"}}
    changed = pkg("install", pkgs=["sl-bar", {"sl-foo": "<2.0"}])
    assert changed["sl-bar"] == {"old": "", "new": "1:1.0-1"}
    assert pkg("version", "sl-foo") == "1.0"

    assert pkg("remove", "sl-bar") == {"sl-bar": {"old": "1:1.0-1", "new": ""}}
    assert pkg("list_pkgs", removed=True) == {"sl-bar": "1:1.0-1"}
    assert pkg("purge", "sl-bar") == {
        "installed": {},
        "removed": {"sl-bar": {"old": "1:1.0-1", "new": ""}},
    }
    assert not (root / "etc/sl-bar.conf").exists()


def test_a_changed_configuration_file_stays(pkg, root):
    pkg("refresh_db")
    pkg("install", "sl-foo", version="1.0")
    (root / "etc/sl-foo.conf").write_text("mine")
    pkg("install", "sl-foo")
    assert pkg("version", "sl-foo") == "2.0"
    assert (root / "etc/sl-foo.conf").read_text() == "mine"
    pkg("install", "sl-foo", version="1.0", force_conf_new=True)
    assert (root / "etc/sl-foo.conf").read_text() == "1.0"


def test_what_is_held_stays(pkg):
    pkg("refresh_db")
    pkg("install", "sl-foo", version="1.0")
    assert pkg("hold", "sl-foo")["sl-foo"]["changes"] == {"old": "install", "new": "hold"}
    assert pkg("hold", "sl-foo")["sl-foo"]["changes"] == {}
    assert pkg("get_selections", state="hold") == {"hold": ["sl-foo"]}
    assert pkg("upgrade", refresh=False) == {}
    assert pkg("install", "sl-foo") == {"sl-foo": {"old": "1.0", "new": "2.0"}}
    assert pkg("get_selections", state="hold") == {"hold": ["sl-foo"]}
    assert pkg("unhold", "sl-foo")["sl-foo"]["changes"] == {"old": "hold", "new": "install"}


def test_details_and_owners(pkg, root):
    pkg("refresh_db")
    pkg("install", "sl-foo")
    assert "/usr/share/sl-foo/file" in pkg("file_list", "sl-foo")["files"]
    assert pkg("owner", "/etc/sl-foo.conf") == "sl-foo"
    info = pkg("info_installed", "sl-foo")["sl-foo"]
    assert (info["version"], info["architecture"]) == ("2.0", "all")
    assert sorted(pkg("show", "sl-foo")["sl-foo"]) == ["1.0", "2.0"]


def test_package_files_and_what_cannot_be(pkg, root):
    file = next((root.parent / "repo").glob("sl-foo_2.0*"))
    assert pkg("install", sources=[{"sl-foo": str(file)}]) == {"sl-foo": {"old": "", "new": "2.0"}}
    with pytest.raises(FunctionError, match="Unable to locate package sl-nosuch"):
        pkg("install", "sl-nosuch")
    with pytest.raises(FunctionError, match="does not exist on minion"):
        pkg("install", sources=[{"sl-foo": "/nosuch.deb"}])


def test_sources_come_and_go(pkg, root):
    line = "deb http://new.example.com/debian bookworm main"
    file = root / "etc/apt/sources.list.d/new.list"
    made = pkg("mod_repo", line, file=str(file), comments="hello, you", refresh=False)
    assert made[line]["comps"] == ["main"]
    assert file.read_text() == f"{line} #hello, you\n"
    pkg("mod_repo", line, comps="main,contrib", refresh=False)
    assert file.read_text() == f"{line} contrib #hello, you\n"
    pkg("mod_repo", line, disabled=True, refresh=False)
    assert file.read_text().startswith("# deb ")
    assert pkg("get_repo", line)["disabled"] is True
    assert pkg("del_repo", line, refresh=False).endswith(f"has been removed from {file}.\n")
    assert not file.exists()
    with pytest.raises(FunctionError, match="doesn't exist in the sources"):
        pkg("del_repo", line, refresh=False)


def test_a_deb822_source_is_changed_and_removed(pkg, root):
    file = root / "etc/apt/sources.list.d/x.sources"
    file.write_text(
        "# mine\nTypes: deb\nURIs: http://x.example.com\nSuites: a b\nComponents: main\n"
    )
    line = "deb http://x.example.com a main"
    pkg("mod_repo", line, disabled=True, refresh=False)
    assert "Enabled: no" in file.read_text()
    assert pkg("get_repo", line)["disabled"] is True
    pkg("del_repo", line, refresh=False)
    assert "Suites: b\n" in file.read_text()
    assert file.read_text().startswith("# mine\n")
