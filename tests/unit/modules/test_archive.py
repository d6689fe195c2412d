"""``archive.*``: what is in archives, and that they put nothing where it does not belong."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

VERBOSE = {
    "dirs": ["src/", "src/d/"],
    "files": ["src/a", "src/d/b"],
    "links": ["src/l"],
    "top_level_dirs": ["src/"],
    "top_level_files": [],
    "top_level_links": [],
}


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "src/d").mkdir(parents=True)
    (tmp_path / "src/a").write_text("a" * 1000)
    (tmp_path / "src/a").chmod(0o750)
    (tmp_path / "src/d/b").write_text("b")
    (tmp_path / "src/l").symlink_to("a")
    files = FileOptions(file_client="local", file_roots={"base": [str(tmp_path)]})
    config = MinionConfig(files=files, paths=PathOptions(cachedir=f"{tmp_path}/cache"))
    made = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    made.functions = Registry(made)
    return made


def call(ctx: MinionContext, fun: str, *args: Any, **kwargs: Any) -> Any:
    return ctx.functions.call(f"archive.{fun}", *args, **kwargs)


def make_tar(tmp_path: Path, name: str, mode: str = "w") -> str:
    with tarfile.open(tmp_path / name, mode) as archive:  # type: ignore[call-overload]
        archive.add(tmp_path / "src", "src")
    return str(tmp_path / name)


def make_zip(tmp_path: Path, name: str, members: dict[str, str]) -> str:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "mode"),
    [("t.tar", "w"), ("t.tgz", "w:gz"), ("t.tar.bz2", "w:bz2"), ("t.tar.xz", "w:xz")],
)
def test_tar_files(ctx: MinionContext, tmp_path: Path, name: str, mode: str) -> None:
    path = make_tar(tmp_path, name, mode)
    assert call(ctx, "list", path) == ["src/", "src/a", "src/d/", "src/d/b", "src/l"]
    assert call(ctx, "list", path, verbose=True) == VERBOSE
    assert call(ctx, "list", path, strip_components=1) == ["a", "d/", "d/b", "l"]
    assert call(ctx, "list", path, strip_components=9) == []
    assert call(ctx, "list", f"salt://{name}") == call(ctx, "list", path)


def test_zip_files(ctx: MinionContext, tmp_path: Path) -> None:
    path = make_zip(tmp_path, "z.zip", {"a": "", "d/b": ""})
    assert call(ctx, "list", path) == ["a", "d/", "d/b"]
    assert call(ctx, "list", path, verbose=True)["top_level_files"] == ["a"]
    assert call(ctx, "is_encrypted", path) is False


def test_the_copy_goes_when_it_is_not_wanted(ctx: MinionContext, tmp_path: Path) -> None:
    make_tar(tmp_path, "t.tar")
    copy = tmp_path / "cache/files/base/t.tar"
    call(ctx, "list", "salt://t.tar")
    assert copy.exists()
    call(ctx, "list", "salt://t.tar", clean=True)
    assert not copy.exists()
    call(ctx, "list", str(tmp_path / "t.tar"), clean=True)
    assert (tmp_path / "t.tar").exists()


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("{tmp}/src/a", {}, "Unable to guess archive format, please pass"),
        ("{tmp}/src/a", {"archive_format": "foo"}, "Unsupported archive format 'foo'."),
        ("{tmp}/src/a", {"archive_format": "zip"}, "{tmp}/src/a is not a ZIP file."),
        ("{tmp}/src/a", {"archive_format": "tar"}, "Unable to list contents of {tmp}/src/a."),
        ("{tmp}/none.tar", {}, "Failed to list contents of {tmp}/none.tar: [Errno 2]"),
        ("{tmp}/none.zip", {}, "Failed to list contents of {tmp}/none.zip: [Errno 2]"),
        ("salt://none.tar", {}, "Failed to cache salt://none.tar"),
        ("none.tar", {}, "Path 'none.tar' is not absolute"),
        ("{tmp}/src/a", {"archive_format": "rar"}, "rar command not available, is it installed?"),
    ],
)
def test_what_cannot_be_listed(
    ctx: MinionContext, tmp_path: Path, name: str, kwargs: dict[str, Any], words: str
) -> None:
    if "rar" in words and (shutil.which("rar") or shutil.which("unrar")):
        pytest.skip("rar is installed here")
    with pytest.raises(FunctionError) as caught:
        call(ctx, "list", name.format(tmp=tmp_path), **kwargs)
    assert str(caught.value).startswith(words.format(tmp=tmp_path))


@pytest.mark.parametrize("count", [-1, "x", 1.5])
def test_how_many_components(ctx: MinionContext, tmp_path: Path, count: Any) -> None:
    path = make_tar(tmp_path, "t.tar")
    with pytest.raises(FunctionError, match="'strip_components' must be a positive integer"):
        call(ctx, "list", path, strip_components=count)


def test_making_and_unpacking_zip_files(ctx: MinionContext, tmp_path: Path) -> None:
    made, into = f"{tmp_path}/made.zip", tmp_path / "into"
    assert call(ctx, "zip", made, "src", cwd=str(tmp_path)) == [
        "src/", "src/d/", "src/a", "src/l", "src/d/b"
    ]  # fmt: skip
    assert call(ctx, "unzip", made, str(into)) == ["src/", "src/d/", "src/a", "src/l", "src/d/b"]
    assert (into / "src/a").read_text() == "a" * 1000
    assert stat.S_IMODE((into / "src/a").stat().st_mode) == 0o750
    some = call(ctx, "unzip", made, str(tmp_path / "some"), excludes="src/a,src/l", trim_output=2)
    assert some == ["src/", "src/d/", "List trimmed after 2 files."]
    assert not (tmp_path / "some/src/a").exists()
    whole = call(ctx, "zip", f"{tmp_path}/abs.zip", [f"{tmp_path}/src/a", f"{tmp_path}/src/d"])
    top = str(tmp_path).lstrip("/")
    assert whole == [f"{top}/src/a", f"{top}/src/d/", f"{top}/src/d/b"]


def test_sources_that_are_not_there(ctx: MinionContext, tmp_path: Path) -> None:
    made = f"{tmp_path}/made.zip"
    assert call(ctx, "zip", made, "nosuch", cwd=str(tmp_path)) == []
    assert call(ctx, "zip", made, f"{tmp_path}/nosuch*") == []
    assert call(ctx, "zip", f"{tmp_path}/no/dir.zip", f"{tmp_path}/src") == []
    with pytest.raises(FunctionError, match="Relative paths require the 'cwd' parameter"):
        call(ctx, "zip", made, "src")
    with pytest.raises(FunctionError, match="User 'no-such-user' does not exist"):
        call(ctx, "zip", made, f"{tmp_path}/src", runas="no-such-user")
    assert not os.path.exists(made)


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..", "out/evil"])
def test_no_member_is_written_outside(ctx: MinionContext, tmp_path: Path, name: str) -> None:
    into = tmp_path / "deep/into"
    into.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (into / "out").symlink_to(tmp_path / "outside")
    path = make_zip(tmp_path, "evil.zip", {"fine": "", name: "EVIL"})
    with pytest.raises(FunctionError, match="would be written outside"):
        call(ctx, "unzip", path, str(into))
    assert not list(tmp_path.rglob("evil"))
    assert not list((tmp_path / "outside").iterdir())


def test_a_link_in_an_archive_is_made_last_and_leads_nothing_out(
    ctx: MinionContext, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("way")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(tmp_path / "outside"))
        archive.writestr("way/evil", "EVIL")
    with pytest.raises(FunctionError):
        call(ctx, "unzip", str(path), str(tmp_path / "into"))
    assert not list((tmp_path / "outside").iterdir())


def test_links_in_archives(ctx: MinionContext, tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("d/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../a")
        archive.writestr("a", "content")
    assert call(ctx, "list", str(path), verbose=True)["links"] == ["d/link"]
    assert call(ctx, "unzip", str(path), str(tmp_path / "into")) == ["d/link", "a"]
    assert (tmp_path / "into/d/link").read_text() == "content"


@pytest.mark.parametrize("path", ["{tmp}/src/a", "{tmp}/none.zip"])
def test_what_cannot_be_unpacked(ctx: MinionContext, tmp_path: Path, path: str) -> None:
    with pytest.raises(FunctionError, match="Exception encountered unpacking zipfile: "):
        call(ctx, "unzip", path.format(tmp=tmp_path), str(tmp_path / "into"))


needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, ("tar", "gzip"))), reason="tar and gzip are not installed"
)


@needs_programs
def test_tar(ctx: MinionContext, tmp_path: Path) -> None:
    made = f"{tmp_path}/made.tar"
    assert call(ctx, "tar", "cf", made, "a,d", cwd=f"{tmp_path}/src") == []
    assert sorted(call(ctx, "tar", "tf", made)) == ["a", "d/", "d/b"]
    assert call(ctx, "tar", "cf", made, ["*"], cwd=f"{tmp_path}/src") == []
    assert call(ctx, "list", made) == ["a", "d/", "d/b", "l"]
    (tmp_path / "into").mkdir()
    assert call(ctx, "tar", "-xf", made, "a", dest=f"{tmp_path}/into") == []
    assert os.listdir(tmp_path / "into") == ["a"]
    said = call(ctx, "tar", "xf", f"{tmp_path}/{{{{grains.id}}}}.tar", template="jinja")
    assert said[0] == f"tar: {tmp_path}/web1.tar: Cannot open: No such file or directory"
    assert ctx.state["retcode"] == 2
    with pytest.raises(FunctionError, match="Tar options can not be empty"):
        call(ctx, "tar", "", made)


@needs_programs
def test_gzip(ctx: MinionContext, tmp_path: Path) -> None:
    source = tmp_path / "src/a"
    assert call(ctx, "gzip", str(source)) == []
    assert not source.exists()
    assert call(ctx, "gunzip", f"{source}.gz", options="--keep") == []
    assert source.exists() and (tmp_path / "src/a.gz").exists()
    assert call(ctx, "gunzip", "/nosuch.gz") == ["gzip: /nosuch.gz: No such file or directory"]


def test_missing_programs(ctx: MinionContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nosuch")
    with pytest.raises(FunctionError, match=r"The 'rar' binary was not found in \$PATH\."):
        call(ctx, "rar", "/tmp/x.rar", "a")
    with pytest.raises(FunctionError, match="None of provided binaries"):
        call(ctx, "unrar", "/tmp/x.rar", "/tmp/into")
    with pytest.raises(FunctionError, match="'zip' binary"):
        call(ctx, "cmd_zip", "/tmp/x.zip", "a")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may work as somebody else")
def test_working_as_somebody_else(ctx: MinionContext) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = make_zip(folder, "z.zip", {"a": "content"})
        into = folder / "into"
        into.mkdir()
        with pytest.raises(FunctionError, match="Permission denied"):
            call(ctx, "unzip", path, str(into), runas="nobody")
        into.chmod(0o777)
        assert call(ctx, "unzip", path, str(into), runas="nobody") == ["a"]
        assert (into / "a").stat().st_uid == nobody
    assert os.geteuid() == 0
