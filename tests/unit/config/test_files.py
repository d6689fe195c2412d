"""A configuration that somebody else could have written is not read. security: CVE-2021-22004."""

from __future__ import annotations

import glob
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from saltlite.cli.options import daemon_parser
from saltlite.config.files import find_paths
from saltlite.config.load import load_master, load_minion
from saltlite.errors import UntrustedFile

NOBODY = pwd.getpwnam("nobody")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "conf"
    for name in ("master.d", "minion.d"):
        (made / name).mkdir(parents=True)
    for name in ("master", "minion", "master.d/a.conf", "minion.d/a.conf", "more"):
        (made / name).write_text("timeout: 3\n" if name == "more" else f"root_dir: {tmp_path}\n")
    for name in ("master", "minion"):
        (made / name).write_text(f"root_dir: {tmp_path}\ninclude: more\nid: w\n")
    return made


def load(role: str, directory: Path) -> Any:
    return {"master": load_master, "minion": load_minion}[role](directory, environ={})


PLACES = ["{0}", "{0}.d/a.conf", "more", "{0}.d", "."]


@pytest.mark.parametrize("role", ["master", "minion"])
@pytest.mark.parametrize("place", PLACES)
def test_what_everybody_may_write_is_refused(directory: Path, role: str, place: str) -> None:
    path = directory / place.format(role)
    path.chmod(path.stat().st_mode | 0o002)
    with pytest.raises(UntrustedFile) as caught:
        load(role, directory)
    assert str(caught.value) == f"{path}: everybody may write here; chmod o-w {path}"


@as_root
@pytest.mark.parametrize("role", ["master", "minion"])
@pytest.mark.parametrize("place", PLACES)
def test_what_belongs_to_a_stranger_is_refused(directory: Path, role: str, place: str) -> None:
    path = directory / place.format(role)
    os.chown(path, NOBODY.pw_uid, -1)
    with pytest.raises(UntrustedFile) as caught:
        load(role, directory)
    assert str(caught.value).startswith(f"{path}: belongs to user nobody, allowed: root")


@as_root
def test_a_link_to_a_strangers_file_is_refused(directory: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "home"
    theirs.mkdir()
    os.chown(theirs, NOBODY.pw_uid, -1)
    (theirs / "x").write_text("timeout: 4\n")  # root's, but they may put another in its place
    (directory / "master.d/b.conf").symlink_to(theirs / "x")
    with pytest.raises(UntrustedFile):
        load_master(directory, environ={})


@as_root
def test_files_of_the_user_that_the_daemon_runs_as_are_read(directory: Path) -> None:
    os.chown(directory / "master.d/a.conf", NOBODY.pw_uid, -1)
    assert load_master(directory, {"user": "nobody"}, environ={}).process.user == "nobody"


def test_a_directory_for_all_with_the_sticky_bit_is_no_reason(directory: Path) -> None:
    directory.chmod(0o1777)
    assert load_master(directory, environ={}).paths.conf_file == str(directory / "master")


@as_root
def test_the_client_file_of_another_user_does_not_count(
    directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".saltrc").write_text("timeout: 99\n")
    environ = {"HOME": str(tmp_path)}
    assert load_master(directory, environ=environ, client=True).jobs.timeout == 99
    os.chown(tmp_path / ".saltrc", NOBODY.pw_uid, -1)
    assert load_master(directory, environ=environ, client=True).jobs.timeout == 3
    assert "Not used: " in caplog.text


@as_root
@pytest.mark.parametrize("role", ["master", "minion"])
def test_what_a_group_may_write_is_named_in_one_line_by_the_daemon(
    directory: Path, tmp_path: Path, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    for path, gid in ((directory / role, NOBODY.pw_gid), (directory / f"{role}.d", 0)):
        path.chmod(0o770)
        os.chown(path, 0, gid)
    loader = {"master": load_master, "minion": load_minion}[role]
    loader(directory, environ={})
    assert caplog.messages == []  # commands are quiet
    loader(directory, environ={}, daemon=True)
    (line,) = caplog.messages
    assert line.endswith(f"chmod g-w if that is not meant: {directory / role} (group nogroup)")
    loader(directory, {"user": "nobody"}, environ={}, daemon=True)
    assert len(caplog.messages) == 1  # its own group


# --- Saltfile ------------------------------------------------------------------------------------


def parse(directory: Path, *words: str) -> Any:
    options, _ = daemon_parser("master", "").parse_command(words, {"HOME": str(directory)})
    return options


@pytest.fixture
def saltfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "Saltfile"
    path.write_text("salt-master:\n  user: somebody\n")
    monkeypatch.chdir(tmp_path)
    return path


def make_untrusted(path: Path, how: str) -> None:
    if how == "mode":
        path.chmod(0o666)
    elif os.geteuid():
        pytest.skip("gives a file away")
    else:
        os.chown(path, NOBODY.pw_uid, -1)


@pytest.mark.parametrize("how", ["mode", "owner"])
def test_a_saltfile_that_lies_about_is_overlooked_with_a_warning(
    saltfile: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(saltfile.parent).user == "somebody"
    make_untrusted(saltfile, how)
    assert parse(saltfile.parent).user is None
    said = capsys.readouterr().err
    assert said.startswith(f"WARNING: not used: {saltfile}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("how", ["mode", "owner"])
def test_a_saltfile_that_was_named_is_refused(
    saltfile: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_untrusted(saltfile, how)
    with pytest.raises(SystemExit) as caught:
        parse(saltfile.parent, "--saltfile", str(saltfile))
    assert caught.value.code == 1
    assert capsys.readouterr().err.count("\n") == 1


# Paths of includes and of file roots are found as ``glob`` finds them.


NAMES = ["b.conf", "a.conf", ".hidden.conf", ".conf", "a.conf.bak", "A.CONF", "x[1].conf", "d"]
PATTERNS = [
    "*.conf", "a.conf", "none.conf", "*", "?.conf", "[ab].conf", "x[[]1].conf", "x[1].conf", "d",
    "d/", "none/*.conf", "d/*.conf", "*/*.conf", "**/*.conf", "a.conf/*.conf", "dangling",
    "./*.conf", "", "d/../*.conf",
]  # fmt: skip


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_two_ways_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, absolute: bool
) -> None:
    for name in NAMES[:-1]:
        (tmp_path / name).touch()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "c.conf").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    whole = os.path.join(tmp_path, pattern) if absolute else pattern
    assert find_paths(whole) == sorted(glob.glob(whole))
