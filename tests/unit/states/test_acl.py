"""Access lists, with the real programs in a directory of the test's own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "srv/src/sub").mkdir(parents=True)
    (tmp_path / "srv/src/a").write_text("1\n")
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "srv")]}),
    )
    found = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


def run(ctx: MinionContext, state: str, /, *, test: bool = False, **kwargs: Any) -> Verdict:
    try:
        return realise(resolve(state, ctx).call(**kwargs), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))


def _has_lists() -> bool:
    if not shutil.which("setfacl"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["setfacl", "-m", "u:daemon:r", folder], capture_output=True)
    return done.returncode == 0


has_lists = pytest.mark.skipif(not _has_lists(), reason="needs setfacl and a file system with acl")


@has_lists
def test_entries(ctx: MinionContext, tmp_path: Path) -> None:
    place = tmp_path / "d"
    (place / "sub").mkdir(parents=True)
    (place / "f").write_text("x")
    kwargs = {"name": str(place), "acl_type": "user", "acl_name": "daemon"}
    new = {"acl_name": "daemon", "acl_type": "user", "perms": "rx"}
    told = run(ctx, "acl.present", test=True, perms="rx", **kwargs)
    assert (told.result, told.changes) == (None, {"new": new})
    done = run(ctx, "acl.present", perms="rx", **kwargs)
    assert (done.comment, done.changes) == ("Applied new permissions for daemon", {"new": new})
    assert run(ctx, "acl.present", perms="rx", **kwargs).comment == (
        "Permissions are in the desired state"
    )
    more = run(ctx, "acl.present", perms="rwx", **kwargs)
    assert more.changes["old"]["perms"] == "r-x"
    for _ in range(2):
        deep = run(ctx, "acl.present", perms="rX", recurse=True, **kwargs)
        assert deep.result is True
    assert deep.changes == {}
    found = ctx.functions.call("acl.getfacl", str(place), recursive=True)
    assert {"daemon": {"permissions": {"read": True, "write": False, "execute": False},
                       "octal": 4}} in found[f"{place}/f"]["user"]  # fmt: skip
    gone = {"removed": {"acl_name": "daemon", "acl_type": "user"}}
    assert run(ctx, "acl.absent", test=True, recurse=True, **kwargs).changes == gone
    assert run(ctx, "acl.absent", recurse=True, **kwargs).changes == gone
    assert run(ctx, "acl.absent", recurse=True, **kwargs).changes == {}


@has_lists
@pytest.mark.parametrize(("perms", "letters"), [(0, "---"), ("5", "r-x"), (7, "rwx")])
def test_permissions_as_a_number(
    ctx: MinionContext, tmp_path: Path, perms: Any, letters: str
) -> None:
    kwargs = {"name": str(tmp_path), "acl_type": "user", "perms": perms}
    done = run(ctx, "acl.present", acl_name="daemon", **kwargs)
    assert done.changes == {"new": {"acl_name": "daemon", "acl_type": "user", "perms": perms}}
    assert f"user:daemon:{letters}" in subprocess.getoutput(f"getfacl -p {tmp_path}")
    for _ in range(2):
        again = run(ctx, "acl.list_present", acl_names=["daemon"], **kwargs)
        assert (again.result, again.changes) == (True, {})
    assert run(ctx, "acl.present", acl_name="bin", **{**kwargs, "perms": 8}).result is False


@has_lists
def test_several_names(ctx: MinionContext, tmp_path: Path) -> None:
    kwargs = {"name": str(tmp_path), "acl_type": "default:user"}
    for _ in range(2):
        done = run(ctx, "acl.list_present", acl_names=["games", "bin"], perms="rw", **kwargs)
        assert done.result is True
    assert done.changes == {}
    forced = run(ctx, "acl.list_present", acl_names=["bin"], perms="rw", force=True, **kwargs)
    assert forced.changes["removed"] == ["games"]
    assert run(ctx, "acl.list_absent", acl_names=["games", "bin"], **kwargs).changes == {
        "removed": {"acl_name": "bin", "acl_type": "default:user"}
    }


@has_lists
def test_what_cannot_be(ctx: MinionContext, tmp_path: Path) -> None:
    call = ctx.functions.call
    assert run(ctx, "acl.present", name="/nosuch", acl_type="user", acl_name="bin",
               perms="r").comment == "/nosuch does not exist"  # fmt: skip
    bad = run(ctx, "acl.present", name=str(tmp_path), acl_type="user", acl_name="nosuchuser",
              perms="r")  # fmt: skip
    assert bad.comment.startswith("Error updating permissions for nosuchuser: setfacl: ")
    assert run(ctx, "acl.present", name=str(tmp_path), acl_type="user", perms="q").result is False
    with pytest.raises(FunctionError, match="at least one file"):
        call("acl.getfacl")
    with pytest.raises(FunctionError, match="Invalid argument"):
        call("acl.modfacl", "user", "nosuchuser", "r", str(tmp_path))
    assert call("acl.getfacl", "/nosuch") == {}
    assert call("acl.wipefacls", str(tmp_path)) is True
