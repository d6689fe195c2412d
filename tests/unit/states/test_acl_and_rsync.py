"""Access lists and copies by rsync, with the real programs in a directory of the test's own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError, UsageError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers import acl

LISTED = """\
# file: /tmp/a\\040b
# owner: root
# group: staff
# flags: --t
user::rwx
user:daemon:rwx\t\t\t#effective:r--
group::r-x\t\t\t#effective:r--
mask::r--
other::r-x
default:user::rwx
default:group:a\\134b:r-x

# file: /tmp/c
# owner: root
# group: root
user::rw-
"""


def test_what_getfacl_prints() -> None:
    first, second = acl.parse(LISTED)
    assert (first.path, first.owner, first.group, first.flags) == (
        "/tmp/a b",
        "root",
        "staff",
        "--t",
    )
    daemon = first.entries[1]
    assert (daemon.name, daemon.permissions, daemon.effective) == ("daemon", "rwx", "r--")
    assert first.entries[-1].default
    assert first.entries[-1].name == "a\\b"
    assert len(second.entries) == 1


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("user", ("user", False)),
        ("d:group", ("group", True)),
        ("default:mask", ("mask", True)),
        ("u", ("user", False)),
    ],
)
def test_kinds(given: str, wanted: tuple[str, bool]) -> None:
    assert acl.kind_of(given) == wanted


@pytest.mark.parametrize("given", ["", "acl", "x", "default:", "user:x"])
def test_no_kinds(given: str) -> None:
    with pytest.raises(FunctionError, match="is no kind of entry"):
        acl.kind_of(given)


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


needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="needs rsync")


@needs_rsync
def test_a_copy(ctx: MinionContext, tmp_path: Path) -> None:
    source, target = tmp_path / "srv/src", tmp_path / "to"
    kwargs = {"name": str(target), "source": f"{source}/"}
    missing = run(ctx, "rsync.synchronized", **kwargs)
    assert missing.comment == f"Destination directory {target} was not found."
    foretold = run(ctx, "rsync.synchronized", prepare=True, test=True, **kwargs)
    assert not target.exists()
    done = run(ctx, "rsync.synchronized", prepare=True, **kwargs)
    assert foretold.changes == done.changes == {"copied": "a\nsub/", "deleted": "N/A"}
    assert done.comment.startswith("- sent ")
    assert run(ctx, "rsync.synchronized", **kwargs).changes == {}
    (target / "other").write_text("x")
    (source / "a").write_text("longer\n")
    only = run(ctx, "rsync.synchronized", dryrun=True, delete=True, **kwargs)
    assert only.result is None
    assert (target / "other").exists()
    more = run(ctx, "rsync.synchronized", delete=True, **kwargs)
    assert more.changes == {"copied": "a", "deleted": "other"}
    assert run(ctx, "rsync.synchronized", name=str(target), source="/nosuch/").result is False


@needs_rsync
def test_from_the_master(ctx: MinionContext, tmp_path: Path) -> None:
    call = ctx.functions.call
    assert call("rsync.rsync", "salt://src", str(tmp_path / "one"))["retcode"] == 0
    assert (tmp_path / "one/src/a").read_text() == "1\n"
    assert call("rsync.rsync", "salt://src/", str(tmp_path / "two"))["retcode"] == 0
    assert (tmp_path / "two/a").read_text() == "1\n"
    with pytest.raises(FunctionError, match="salt://none does not exist"):
        call("rsync.rsync", "salt://none", str(tmp_path / "x"))
    with pytest.raises(UsageError, match="src and dst cannot be empty"):
        call("rsync.rsync", "", "/x")
    with pytest.raises(FunctionError, match="does not exist"):
        call("rsync.config", str(tmp_path / "none"))
