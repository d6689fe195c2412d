"""Git repositories as environments. What is served and listed is as real Salt 3006.30 has it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.gitfs import Gitfs, RemoteOptions, access, remotes
from saltlite.fileserver.gitrepo import Names, RemoteAccess, Repository, RepositoryError
from saltlite.fileserver.server import FileServer, Surroundings

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
WEB = ["sub/a.sls", "sub/deep/d.txt", "sub/l.sls"]
MASTER = [".gitattributes", "crlf.txt", "out", *WEB, "top.sls"]
DEV = sorted([*MASTER, "dev.txt"])


def git(where: Path, *words: str, text: str | None = None) -> None:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(where), *words]
    subprocess.run(command, check=True, capture_output=True, input=text, text=True)


def commit(work: Path, **files: str) -> None:
    for name, text in files.items():
        (work / name.replace("_", ".")).write_text(text)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "x")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("git")
    work = root / "work"
    (work / "sub/deep").mkdir(parents=True)
    (work / "sub/a.sls").write_text("a")
    (work / "sub/deep/d.txt").write_text("d")
    (work / "sub/l.sls").symlink_to("a.sls")
    (work / "out").symlink_to("/etc/passwd")
    git(root, "init", "-q", "-b", "master", str(work))
    (work / "crlf.txt").write_bytes(b"x\r\n$Id$\n")
    commit(work, top_sls="top")
    (work / ".gitattributes").write_text("*.txt text eol=crlf ident\n*.sls export-ignore\n")
    git(work, "add", ".gitattributes")
    git(work, "commit", "-qm", "y")
    git(work, "tag", "v1")
    git(work, "checkout", "-q", "-b", "dev")
    commit(work, dev_txt="dev")
    git(work, "checkout", "-q", "-b", "feature/x")
    commit(work, f_txt="f")
    git(work, "tag", "-a", "ann", "-m", "t")
    git(work, "checkout", "-q", "-b", "evil", "master")
    (work / "deeper").symlink_to("/etc")
    commit(work)
    git(work, "checkout", "-q", "master")
    git(root, "clone", "-q", "--bare", str(work), str(root / "r.git"))
    return root


def server(made: Path, tmp_path: Path, *options: Any, **extra: Any) -> FileServer:
    """A file server with one remote of these options; ``extra`` are global ones."""
    url = f"file://{made}/r.git"
    entries: dict[str, Any] = {"gitfs_remotes": [{url: list(options)} if options else url]}
    around = Surroundings(tmp_path / "cache", {**entries, **extra})
    return FileServer(FileOptions(fileserver_backend=["gitfs"]), around)


def content(files: FileServer, path: str, env: str) -> bytes | None:
    return files.piece(path, env, 0)


def test_branches_and_tags_are_environments(made: Path, tmp_path: Path) -> None:
    files = server(made, tmp_path)
    assert files.envs() == ["ann", "base", "dev", "evil", "feature/x", "v1"]
    assert files.files("base") == files.files("v1") == MASTER
    assert files.files("dev") == DEV
    assert content(files, "f.txt", "feature/x") == content(files, "f.txt", "ann") == b"f"
    assert files.dirs("base") == ["sub", "sub/deep"]
    assert files.symlinks("base") == {"out": "/etc/passwd", "sub/l.sls": "a.sls"}
    assert files.files("master") == files.files("nope") == []
    assert content(files, "top.sls", "master") is None


def test_files_are_as_they_are_in_the_repository(made: Path, tmp_path: Path) -> None:
    assert content(server(made, tmp_path), "crlf.txt", "base") == b"x\r\n$Id$\n"


def test_links_lead_within_the_repository_only(made: Path, tmp_path: Path) -> None:
    files = server(made, tmp_path)
    assert content(files, "sub/l.sls", "base") == b"a"
    assert content(files, "out", "base") is None
    assert content(files, "deeper/passwd", "evil") is None
    assert content(server(made, tmp_path, {"root": "deeper"}), "passwd", "evil") is None


def test_root_and_mountpoint(made: Path, tmp_path: Path) -> None:
    files = server(made, tmp_path, {"root": "sub"}, {"mountpoint": "salt://m/n"}, {"base": "dev"})
    assert files.files("base") == ["m/n/a.sls", "m/n/deep/d.txt", "m/n/l.sls"]
    assert files.dirs("base") == ["m/n", "m/n/deep"]
    assert content(files, "m/n/a.sls", "base") == b"a"
    assert content(files, "a.sls", "base") is None
    found = files.find("m/n/a.sls", "base")
    assert found is not None
    assert found.rel == "m/n/a.sls"
    assert "master" in files.envs()


def test_what_is_configured_for_one_environment(made: Path, tmp_path: Path) -> None:
    own = [{"prod": [{"ref": "v1"}, {"root": "sub"}]}, {"base": [{"mountpoint": "q"}]}]
    files = server(made, tmp_path, {"saltenv": own}, {"disable_saltenv_mapping": True})
    assert files.envs() == ["base", "prod"]
    assert files.files("prod") == ["a.sls", "deep/d.txt", "l.sls"]
    assert content(files, "q/top.sls", "base") == b"top"
    assert content(files, "dev.txt", "dev") is None


def test_one_branch_for_all_environments(made: Path, tmp_path: Path) -> None:
    files = server(made, tmp_path, {"all_saltenvs": "dev"})
    assert files.files("base") == files.files("v1") == DEV
    assert files.files("nope") == []


def test_a_branch_to_fall_back_to(made: Path, tmp_path: Path) -> None:
    files = server(made, tmp_path, gitfs_fallback="dev")
    assert files.files("nope") == DEV
    assert files.files("base") == MASTER


def test_lists_of_environments(made: Path, tmp_path: Path) -> None:
    files = server(
        made, tmp_path, gitfs_saltenv_whitelist=["base", "f.*"], gitfs_saltenv_blacklist="ba*"
    )
    assert files.envs() == ["feature/x"]
    assert files.files("base") == files.files("dev") == []


def test_ref_types(made: Path, tmp_path: Path) -> None:
    assert server(made, tmp_path, gitfs_ref_types=["tag"]).envs() == ["ann", "v1"]


def test_the_first_remote_that_has_a_file_serves_it(made: Path, tmp_path: Path) -> None:
    url = f"file://{made}/r.git"
    two = [{url: [{"root": "sub"}]}, {url: [{"name": "second"}, {"mountpoint": "m"}]}]
    files = server(made, tmp_path, gitfs_remotes=two)
    assert content(files, "a.sls", "base") == b"a"
    assert content(files, "m/top.sls", "base") == b"top"


def test_an_update_is_seen_by_who_read_before_and_what_is_gone_is_gone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", "master", str(work))
    commit(work, a="1")
    git(work, "branch", "old")
    extra = {"gitfs_remotes": [f"file://{work}"]}
    around = Surroundings(tmp_path / "cache", extra)
    options = FileOptions(fileserver_backend=["gitfs"])
    reader, updater = FileServer(options, around), FileServer(options, around)
    assert content(reader, "a", "base") == content(reader, "a", "old") == b"1"
    for text in ("2", "3", "4"):
        commit(work, a=text)
        assert updater.update() is True
        assert content(reader, "a", "base") == text.encode()
    git(work, "branch", "-D", "old")
    assert updater.update() is True
    assert updater.update() is False
    assert reader.envs() == ["base"]
    assert content(reader, "a", "old") is None
    assert len(list((tmp_path / "cache").glob("gitfs/*/trees/*"))) <= 2


def test_a_remote_that_is_gone_leaves_what_was_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", "master", str(work))
    commit(work, a="1")
    files = FileServer(
        FileOptions(fileserver_backend=["gitfs"]),
        Surroundings(tmp_path / "cache", {"gitfs_remotes": [f"file://{work}"]}),
    )
    assert files.files("base") == ["a"]
    work.rename(tmp_path / "away")
    with caplog.at_level(logging.ERROR):
        assert files.update() is False
    assert "git fetch exits with 128" in caplog.text
    assert content(files, "a", "base") == b"1"


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "sub/../../x", "sub\0", "", ".", 5, None, b"top.sls", "x" * 5000],
)
def test_no_path_leads_elsewhere(made: Path, tmp_path: Path, path: Any) -> None:
    assert server(made, tmp_path).piece(path, "base", 0) is None


@pytest.mark.parametrize(
    "env", ["../x", "-c", "--upload-pack=x", "HEAD", "base^", "v1~1", "refs/heads/dev", 5, None, ""]
)
def test_no_environment_is_anything_but_a_name(made: Path, tmp_path: Path, env: Any) -> None:
    files = server(made, tmp_path)
    assert files.files(env) == []
    assert files.piece("top.sls", env, 0) is None


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {tmp}/PWNED", "--upload-pack=touch {tmp}/PWNED", "fd::3", "x::y"]
)
def test_no_address_runs_a_command(tmp_path: Path, url: str) -> None:
    repository = Repository(tmp_path, RemoteAccess(url.replace("{tmp}", str(tmp_path))), "")
    with pytest.raises(RepositoryError):
        repository.update()
    assert not (tmp_path / "PWNED").exists()


def test_a_branch_named_like_an_option_is_a_name(tmp_path: Path) -> None:
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", "master", str(work))
    commit(work, a="1")
    git(work, "update-ref", "refs/heads/--upload-pack=x", "HEAD")
    files = FileServer(
        FileOptions(fileserver_backend=["gitfs"]),
        Surroundings(tmp_path / "cache", {"gitfs_remotes": [f"file://{work}"]}),
    )
    assert content(files, "a", "--upload-pack=x") == b"1"


def test_passwords_are_in_no_argument_and_no_log(tmp_path: Path) -> None:
    found = access("https://me:s3%20cret@example.test/r.git", RemoteOptions())
    assert (found.url, found.user, found.password) == (
        "https://example.test/r.git",
        "me",
        "s3 cret",
    )
    plain = Repository(tmp_path, RemoteAccess("http://example.test/r", user="u", password="p"), "")
    with pytest.raises(RepositoryError, match="insecure_auth"):
        plain.update()


def test_two_remotes_share_no_directory(tmp_path: Path) -> None:
    entries = [
        "file:///a",
        {"file:///a": [{"name": "x"}]},
        "file:///a_",
        {"file:///a": {"user": "u"}},
    ]
    found = [one.repository.place for one in remotes({"gitfs_remotes": entries}, tmp_path)]
    assert len(set(found)) == len(entries)


@pytest.mark.parametrize("junk", [None, 5, "x", {"a": 1}, [{}], [{"a": 1, "b": 2}], [[]]])
def test_junk_in_the_options_is_survived(tmp_path: Path, junk: Any) -> None:
    assert Gitfs(FileOptions(), tmp_path, {"gitfs_remotes": junk}).envs() == []


def test_commits_are_looked_up_not_parsed() -> None:
    names = Names({"a": "1" * 40}, {"a": "2" * 40, "t": "3" * 40})
    assert names.commit("a") == "1" * 40
    assert names.commit("a", ("tag",)) == "2" * 40
    assert names.commit("3" * 40) == "3" * 40
    assert names.commit("4" * 40) is None


def test_its_directories_are_private(made: Path, tmp_path: Path) -> None:
    assert server(made, tmp_path).envs()
    (place,) = (tmp_path / "cache/gitfs").iterdir()
    assert os.stat(place).st_mode & 0o077 == 0
