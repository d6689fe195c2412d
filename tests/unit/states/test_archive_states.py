"""Archives that are unpacked: what was observed on Salt 3006.30."""

from __future__ import annotations

import os
import tarfile
import zipfile

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states import archive

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
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(srv)]}),
    )
    ctx = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


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
        ("/d", {"source_hash": "md5=" + "0" * 32}, "salt://x.tar.gz does not match the desired"),
    ],
)
def test_is_refused(ctx, name, more, words):
    with pytest.raises(FunctionError, match=f"^{words}"):
        apply(ctx, name, **more)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_owners(ctx, tmp_path):
    done = apply(ctx, tmp_path / "d", user="nobody", group="nogroup")
    assert done.changes["updated ownership"] is True
    assert (tmp_path / "d/top/a").owner() == "nobody"
    assert apply(ctx, tmp_path / "d", user="nobody", group="nogroup").comment == PRESENT
