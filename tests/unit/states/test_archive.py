"""Archives that are unpacked, beside what Salt 3006.30 answered.

The cases are in tests/cases/data/states/archive.yaml.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tarfile
import zipfile
from contextlib import nullcontext

import pytest
from file_state_cases import (
    BETWEEN,
    CACHE,
    RUNS,
    WEB,
    asks_web,
    filled,
    left,
    masked,
    of_root,
    prepare,
    served,
)  # fmt: skip
from repository import DATA, read_yaml

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states import archive

RECORDED = DATA / "states"
WORLD = read_yaml(RECORDED / "file_world.yaml")
CASES = read_yaml(RECORDED / "archive.yaml")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
EXTRACTED = "salt://x.tar.gz extracted to {}, due to absence of one or more files/dirs"
PRESENT = "All files in archive are already present"


@pytest.fixture
def ctx(tmp_path):
    top = tmp_path / "in/top"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text("A\n")
    (top / "sub/b").write_text("B\n")
    srv = tmp_path / "srv"
    srv.mkdir()
    with tarfile.open(srv / "x.tar.gz", "w:gz") as packed:
        packed.add(top, "top")
    with tarfile.open(srv / "flat.tgz", "w:gz") as packed:
        packed.add(top, "top")
        packed.add(top / "a", "flat")
    with zipfile.ZipFile(srv / "z.zip", "w") as packed:
        packed.writestr("top/a", "A\n")
    return context(tmp_path / "cache", srv)


def context(cache, srv):
    config = MinionConfig(
        paths=PathOptions(cachedir=str(cache)),
        files=FileOptions(file_client="local", file_roots={"base": [str(srv)]}),
    )
    ctx = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(number), marks=[as_root] if of_root(case) else [])
        for number, case in enumerate(CASES)
    ],
)
def test_as_real_salt_did(case, tmp_path):
    by_program = {"options", "use_cmd_unzip"} & set(case["args"])
    if by_program and "zip" in case["args"]["source"] and not shutil.which("unzip"):
        pytest.skip("needs unzip")
    tmp = tmp_path / "t"
    prepare(tmp, WORLD, case)
    (tmp_path / CACHE).mkdir(parents=True)
    ctx = context(tmp_path / CACHE, tmp / "srv")
    said = []
    with served(tmp) if asks_web(case) else nullcontext(WEB) as web:
        for number, test in enumerate(RUNS):
            if number == BETWEEN:
                prepare(tmp, {"setup": case.get("then", [])}, {})
            arguments = filled(case["args"], tmp, web)
            said.append(masked(told(ctx, arguments, test=test), tmp, web))
    for ours, wanted in zip(said[1:3], expected(case), strict=True):
        assert ours["result"] == wanted["result"]
        assert ours.get("warnings") == wanted.get("warnings")
        if wanted["result"]:
            assert (ours["changes"], ours["comment"]) == (wanted["changes"], wanted["comment"])
    for foreseen, came in ((said[0], said[1]), (said[3], said[2])):
        if came["result"] and (came is said[1] or not came["changes"]):
            assert foreseen["result"] is (None if came["changes"] else True)
        elif came["result"] is False:
            assert foreseen["changes"] == {}
    if all(one["result"] for one in case["answers"][1:3]) and "ours" not in case:
        assert left(tmp) == case["left"]


def expected(case):
    """What the two real runs come to; ``ours`` where that is another thing on purpose."""
    theirs = case["answers"][1:3]
    return [{**one, **case.get("ours", {}).get(run, {})} for run, one in enumerate(theirs)]


def told(ctx, arguments, *, test):
    try:
        said = realise(archive.extracted(ctx, **arguments), ctx, test=test)
    except SaltliteError as error:
        said = Verdict(result=False, comment=str(error))
    return {
        "result": said.result, "changes": dict(said.changes), "comment": said.comment, **said.more
    }  # fmt: skip


def apply(ctx, name, source="salt://x.tar.gz", *, test=False, **more):
    return realise(archive.extracted(ctx, str(name), source, **more), ctx, test=test)


def test_is_unpacked_once(ctx, tmp_path):
    name = tmp_path / "d"
    foreseen = apply(ctx, name, test=True)
    assert (foreseen.result, foreseen.changes) == (None, {})
    assert not name.exists()
    done = apply(ctx, name)
    assert (done.result, done.comment) == (True, EXTRACTED.format(f"{name}/"))
    assert done.changes["directories_created"] == [f"{name}/"]
    assert sorted(done.changes["extracted_files"]) == ["top", "top/a", "top/sub", "top/sub/b"]
    assert (name / "top/sub/b").read_text() == "B\n"
    again = apply(ctx, name)
    assert (again.result, again.comment, again.changes) == (True, PRESENT, {})


def test_what_is_missing_comes_back(ctx, tmp_path):
    apply(ctx, tmp_path / "d")
    (tmp_path / "d/top/a").unlink()
    done = apply(ctx, tmp_path / "d")
    assert done.result is True
    assert "directories_created" not in done.changes
    assert (tmp_path / "d/top/a").read_text() == "A\n"


def test_overwrite_unpacks_again(ctx, tmp_path):
    apply(ctx, tmp_path / "d", overwrite=True)
    (tmp_path / "d/top/a").write_text("other\n")
    done = apply(ctx, tmp_path / "d", overwrite=True)
    assert done.comment == f"salt://x.tar.gz extracted to {tmp_path}/d/"
    assert (tmp_path / "d/top/a").read_text() == "A\n"


def test_needs_one_directory_at_its_top(ctx, tmp_path):
    said = apply(ctx, tmp_path / "d", "salt://flat.tgz")
    assert said.result is False
    assert said.comment.startswith("Archive does not have a single top-level directory.")
    assert apply(ctx, tmp_path / "d", "salt://flat.tgz", enforce_toplevel=False).result is True
    assert (tmp_path / "d/flat").read_text() == "A\n"


def test_components_are_stripped(ctx, tmp_path):
    options = {"options": "--strip-components=1", "enforce_toplevel": False}
    assert apply(ctx, tmp_path / "d", **options).result is True
    assert (tmp_path / "d/sub/b").read_text() == "B\n"
    assert apply(ctx, tmp_path / "d", **options).comment == PRESENT


def test_zip(ctx, tmp_path):
    done = apply(ctx, tmp_path / "d", "salt://z.zip")
    assert done.changes["extracted_files"] == ["top/a"]
    assert apply(ctx, tmp_path / "d", "salt://z.zip").comment == PRESENT


def test_a_path_makes_it_needless(ctx, tmp_path):
    said = apply(ctx, tmp_path / "d", if_missing=str(tmp_path))
    assert (said.result, said.comment) == (True, f"Path {tmp_path} exists")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("/d", {"source": "salt://none.tgz"}, "Failed to cache salt://none.tgz, check minion log"),
        ("/d", {"archive_format": "odd"}, "Invalid archive_format 'odd'."),
        ("/d", {"source": "http://x/y.tgz"}, "Unable to verify upstream hash"),
        ("/d", {"source_hash": "md5=" + "0" * 32}, "File is cached to"),
    ],
)
def test_is_refused(ctx, name, more, words):
    with pytest.raises(FunctionError, match=f"^{words}"):
        apply(ctx, name, **more)


@as_root
def test_owners(ctx, tmp_path):
    done = apply(ctx, tmp_path / "d", user="nobody", group="nogroup")
    assert done.changes["updated ownership"] is True
    assert (tmp_path / "d/top/a").owner() == "nobody"
    assert apply(ctx, tmp_path / "d", user="nobody", group="nogroup").comment == PRESENT


@pytest.mark.parametrize("member", ["../out", "top/../../out"])
def test_nothing_outside_is_looked_at_or_removed(ctx, tmp_path, member):
    (tmp_path / "out").mkdir()
    with tarfile.open(tmp_path / "srv/evil.tar", "w") as packed:
        folder = tarfile.TarInfo(member)
        folder.type = tarfile.DIRTYPE
        packed.addfile(folder)
    with pytest.raises(FunctionError, match="outside"):
        apply(
            ctx, tmp_path / "d", "salt://evil.tar", clean=True, force=True, enforce_toplevel=False
        )
    assert (tmp_path / "out").is_dir()


def test_what_options_leave_out_is_not_missed(ctx, tmp_path):
    arguments = {"options": "--exclude=sub --transform=s/top/other/"}
    assert apply(ctx, tmp_path / "d", **arguments).changes["extracted_files"] == ["top/", "top/a"]
    assert os.listdir(tmp_path / "d/other") == ["a"]
    assert apply(ctx, tmp_path / "d", **arguments).comment == PRESENT


def test_an_archive_that_only_a_program_decompresses(ctx, tmp_path):
    packed = (tmp_path / "srv/x.tar.gz").read_bytes()
    (tmp_path / "srv/x.tar").write_bytes(base64.b64encode(packed))
    found = ctx.functions.call("archive.list", "salt://x.tar", options="base64 -d")
    assert found == ["top/", "top/a", "top/sub/", "top/sub/b"]
    with pytest.raises(FunctionError, match="Failed to decompress"):
        ctx.functions.call("archive.list", "salt://x.tar", options="base64 -d --wrong")


def test_each_directory_has_its_own_note_of_the_archive(ctx, tmp_path):
    def state(name, **more):
        value = hashlib.sha256((tmp_path / "srv/x.tar.gz").read_bytes()).hexdigest()
        arguments = {"source_hash": f"sha256={value}", "source_hash_update": True, **more}
        return apply(ctx, tmp_path / name, **arguments)

    for name in ("one", "two"):
        assert state(name).changes["extracted_files"]
    (tmp_path / "in/top/a").write_text("new\n")
    with tarfile.open(tmp_path / "srv/x.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "in/top", "top")
    for name in ("one", "two"):
        assert state(name, test=True).result is None
        assert state(name).comment.endswith("due to source_hash update")
        assert state(name).comment == PRESENT
        assert (tmp_path / name / "top/a").read_text() == "new\n"
    only_hash = {"skip_files_list_verify": True}
    assert "Extraction is not needed" in state("two", **only_hash).comment
    shutil.rmtree(tmp_path / "two")
    assert state("two", **only_hash).changes["extracted_files"]
