"""Arguments that were accepted and never read: each makes the difference it is for."""

from __future__ import annotations

import hashlib
import os
import pwd
import subprocess
from pathlib import Path
from typing import Any

import pytest
from programs import need

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.modules.mysql import has_password

TEXT = "* * * * * true\n"
WRONG = "md5=" + "0" * 32
RIGHT = "sha256=" + hashlib.sha256(TEXT.encode()).hexdigest()
NO_MATCH = "does not have the declared hash"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/tab").write_text(TEXT)
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "srv")]}),
    )
    found = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


def run(ctx: MinionContext, state: str, /, *, test: bool = False, **kwargs: Any) -> Verdict:
    try:
        declared = resolve(state, ctx).call(**kwargs)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))
    return realise(declared, ctx, test=test)


@pytest.mark.parametrize("state", ["file.append", "file.prepend", "file.blockreplace"])
@pytest.mark.parametrize("several", [False, True])
def test_hash_of_a_source(ctx: MinionContext, tmp_path: Path, state: str, several: bool) -> None:
    own, target = tmp_path / "srv/tab", tmp_path / "f"
    target.write_text("x\n")
    more = {"append_if_not_found": True} if state == "file.blockreplace" else {}

    def given(expected: str) -> dict[str, Any]:
        if several:
            return {"sources": [str(own)], "source_hashes": [expected]}
        return {"source": str(own), "source_hash": expected}

    refused = run(ctx, state, name=str(target), **given(WRONG), **more)
    assert refused.result is False
    assert NO_MATCH in refused.comment
    assert target.read_text() == "x\n"
    assert run(ctx, state, name=str(target), **given(RIGHT), **more).result is True
    assert TEXT in target.read_text()


def test_more_hashes_than_sources(ctx: MinionContext, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n")
    said = run(ctx, "file.append", name=str(tmp_path / "f"), sources=["salt://tab"],
               source_hashes=[WRONG, WRONG])  # fmt: skip
    assert said.comment == "source_hashes has more entries than sources"


@as_root
@pytest.mark.parametrize(
    ("given", "target", "wanted"),
    [({}, "/b", (1, 60)), ({"user": "bin"}, "/b", (2, 60)), ({"group": "bin"}, "/a", (1, 2))],
)
def test_a_link_keeps_its_owner(
    ctx: MinionContext, tmp_path: Path, given: dict[str, str], target: str, wanted: tuple[int, int]
) -> None:
    link = tmp_path / "l"
    link.symlink_to("/a")
    os.chown(link, 1, 60, follow_symlinks=False)
    kwargs = {"name": str(link), "target": target, "inherit_user_and_group": True, **given}
    assert run(ctx, "file.symlink", test=True, **kwargs).result is None
    assert run(ctx, "file.symlink", **kwargs).result is True
    found = link.lstat()
    assert (found.st_uid, found.st_gid) == wanted
    assert run(ctx, "file.symlink", test=True, **kwargs).result is True


@pytest.mark.parametrize("function", ["check_perms", "check_managed", "manage_file"])
def test_a_context_is_refused(ctx: MinionContext, tmp_path: Path, function: str) -> None:
    path = str(tmp_path / "srv/tab")
    args: dict[str, list[Any]] = {
        "check_perms": [path, None, "root", "root", "0644"],
        "check_managed": [path, None, None, None, "root", "root", "0644"] + [None] * 4 + ["base"],
        "manage_file": [path, "", None, None, {}, "root", "root", "0644", None, "base", None],
    }
    with pytest.raises(FunctionError, match="selinux: the context of a file is not set"):
        ctx.functions.call(f"file.{function}", *args[function], setype="etc_t")


def test_passwordless_by_socket() -> None:
    native = {"plugin": "mysql_native_password", "authentication_string": ""}
    socket = {"plugin": "unix_socket", "authentication_string": ""}
    assert has_password(native, None, None) is True
    assert has_password(native, None, None, unix_socket=True) is False
    assert has_password(socket, None, None, unix_socket=True) is True


def git(cwd: Path, *words: str) -> str:
    who = {
        f"GIT_{one}_{what}": "a@b" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    env = {**os.environ, **who}
    return subprocess.run(
        ["git", *words], cwd=cwd, env=env, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    need("git")
    place = tmp_path / "up"
    place.mkdir()
    git(place, "init", "-q", "-b", "main", ".")
    git(place, "commit", "-q", "--allow-empty", "-m", "1")
    git(place, "tag", "v1")
    git(place, "tag", "v2")
    git(tmp_path, "clone", "-q", str(place), "c")
    return place


def test_tags_that_are_gone(ctx: MinionContext, tmp_path: Path, upstream: Path) -> None:
    git(upstream, "tag", "-d", "v1")
    kwargs = {"name": str(upstream), "target": str(tmp_path / "c"), "rev": "main"}
    assert run(ctx, "git.latest", sync_tags=False, **kwargs).changes == {}
    assert run(ctx, "git.latest", test=True, **kwargs).changes == {"deleted_tags": ["v1"]}
    done = run(ctx, "git.latest", **kwargs)
    assert done.changes == {"deleted_tags": ["v1"]}
    assert done.comment == (
        f"Repository {tmp_path}/c is up-to-date\n\nChanges made: The following tags were removed"
        " from the local checkout: v1"
    )
    assert git(tmp_path / "c", "tag").split() == ["v2"]
    assert run(ctx, "git.latest", **kwargs).changes == {}


def test_branches_to_fetch(ctx: MinionContext, tmp_path: Path, upstream: Path) -> None:
    git(upstream, "branch", "other")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "2")
    kwargs = {"name": str(upstream), "target": str(tmp_path / "c"), "rev": "main"}
    assert run(ctx, "git.latest", refspec_branch="main", **kwargs).result is True
    assert "origin/other" not in git(tmp_path / "c", "branch", "-a")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "3")
    assert run(ctx, "git.latest", **kwargs).result is True
    assert "origin/other" in git(tmp_path / "c", "branch", "-a")


def test_a_revision_of_a_bare_clone(ctx: MinionContext, tmp_path: Path, upstream: Path) -> None:
    said = run(ctx, "git.latest", name=str(upstream), target=f"{tmp_path}/b", rev="x", bare=True)
    assert said.comment == "'rev' is not compatible with the 'mirror' and 'bare' arguments"


@pytest.mark.parametrize(
    ("wanted", "retcode"),
    [("h", 0), (["h"], 0), ("x,hi", 0), (["", "x"], 0), (["x"], 3), ([5], 3)],
)
def test_success_is_a_part_of_the_output(ctx: MinionContext, wanted: Any, retcode: int) -> None:
    for stream, redirect in (("success_stdout", ""), ("success_stderr", " >&2")):
        done = ctx.functions.call(
            "cmd.run_all", f"echo hi{redirect}; exit 3", python_shell=True, **{stream: wanted}
        )
        assert done["retcode"] == retcode


def test_a_file_that_is_there_is_not_fetched(ctx: MinionContext, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(TEXT)
    given = {"name": str(tmp_path / "f"), "source": "http://127.0.0.1:1/none"}
    for mode in ("0640", "0600"):
        done = run(ctx, "file.managed", source_hash=RIGHT, mode=mode, **given)
        assert (done.result, done.changes) == (True, {"mode": mode})
    assert run(ctx, "file.managed", source_hash=RIGHT, test=True, **given).result is True
    assert run(ctx, "file.managed", source_hash=WRONG, **given).result is False


BLOCKS = """
acc1:
  file.accumulated: [{filename: F}, {text: one}, {require_in: [{file: first}]}]
acc2:
  file.accumulated: [{filename: F}, {text: [two, three]}, {watch_in: [{file: second}]}]
first:
  file.blockreplace: [{name: F}, {marker_start: A1}, {marker_end: A2}]
second:
  file.blockreplace: [{name: F}, {marker_start: B1}, {marker_end: B2}, {content: own}]
"""


def test_blocks_take_what_they_wait_for(ctx: MinionContext, tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_text("A1\nA2\nB1\nB2\n")
    (tmp_path / "srv/blocks.sls").write_text(BLOCKS.replace("F", str(target)))
    for _ in range(2):
        answers = ctx.functions.call("state.sls", "blocks")
        assert all(each["result"] is True for each in answers.values())
        assert target.read_text() == "A1\none\nA2\nB1\nown\ntwo\nthree\nB2\n"


@as_root
def test_an_id_with_two_names(
    ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name = pwd.getpwnam

    def named(name: str) -> pwd.struct_passwd:
        return by_name("games" if name == "games2" else name)

    monkeypatch.setattr(pwd, "getpwnam", named)
    place = tmp_path / "d"
    place.mkdir()
    os.chown(place, by_name("games").pw_uid, 0)
    for state in ("file.directory", "file.symlink", "file.managed"):
        path = str(place if state == "file.directory" else tmp_path / state)
        more = {"file.symlink": {"target": "/x"}, "file.managed": {"contents": "x"}}.get(state, {})
        for wanted in ("games", "games2", "games2"):
            assert run(ctx, state, name=path, user=wanted, **more).result is True
        assert run(ctx, state, name=path, user="games2", **more).changes == {}
