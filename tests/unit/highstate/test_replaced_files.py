"""What states replace is in the file bucket, is told in their returns, and comes back."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions
from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.run import run_chunk

OLD = "old\n"
Tree = Callable[..., MinionContext]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def ctx(tree: Tree) -> MinionContext:
    return tree({"motd": "new\n", "conf/a": "new\n"})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place


def apply(ctx: MinionContext, function: str, name: object, **arguments: Any) -> dict[str, Any]:
    state, _, fun = function.partition(".")
    test = arguments.pop("test", False)
    chunk = Chunk(
        state=state, fun=fun, name=str(name), ident="the id", sls="", saltenv="base",
        arguments=arguments,
    )  # fmt: skip
    return run_chunk(ctx, chunk, test=test).to_return()


def write(path: Path, text: str = OLD, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


CASES: Mapping[str, dict[str, Any]] = {
    "file.managed": {"contents": "new"},
    "file.replace": {"pattern": "old", "repl": "new"},
    "file.line": {"content": "new", "match": "old", "mode": "replace"},
    "file.append": {"text": "new"},
    "file.prepend": {"text": "new"},
    "file.comment": {"regex": "^old"},
    "file.blockreplace": {
        "marker_start": "# b", "marker_end": "# e", "content": "new", "append_if_not_found": True,
    },
    "file.keyvalue": {"key": "a", "value": "new", "append_if_not_found": True},
    "file.serialize": {"dataset": {"a": 1}, "serializer": "json"},
    "file.decode": {"encoded_data": "bmV3", "encoding_type": "base64"},
    "file.absent": {},
    "file.symlink": {"target": "/nowhere", "force": True, "backupname": "gone"},
    "ini.options_present": {"sections": {"s": {"a": "b"}}},
}  # fmt: skip


@pytest.mark.parametrize("function", CASES)
def test_what_a_state_replaces_is_kept(ctx: MinionContext, place: Path, function: str) -> None:
    path = write(place / "file", OLD if function != "ini.options_present" else "[s]\n")
    before = path.read_text()
    if function == "file.symlink":
        (place / "gone").write_text("was in the way")
    found = apply(ctx, function, path, **CASES[function])
    assert (found["result"], bool(found["changes"])) == (True, True), found
    kept = "gone" if function == "file.symlink" else "file"
    before = "was in the way" if function == "file.symlink" else before
    assert found["replaced"] == {str(place / kept): sha(before)}
    assert "warnings" not in found
    assert ctx.functions.call("bucket.get", sha(before)) == before
    [entry] = ctx.functions.call("bucket.list", str(place / kept))
    assert entry["state"] == f"{function} the id"
    if function != "file.symlink":
        assert (entry["mode"], entry["size"]) == ("0600", len(before))


def test_copy_move_and_hard_link_over_a_file(ctx: MinionContext, place: Path) -> None:
    source, target = write(place / "source", "new\n"), write(place / "target")
    found = apply(ctx, "file.copy", target, source=str(source), force=True)
    assert found["replaced"] == {str(target): sha(OLD)}
    write(target, "second\n")
    found = apply(ctx, "file.hardlink", target, target=str(source), force=True)
    assert found["replaced"] == {str(target): sha("second\n")}
    target.unlink()
    write(target, "third\n")
    found = apply(ctx, "file.rename", target, source=str(source), force=True)
    assert found["replaced"] == {str(target): sha("third\n")}


def test_trees_that_are_replaced_and_removed(ctx: MinionContext, place: Path) -> None:
    (place / "top").mkdir()
    write(place / "top" / "a")
    write(place / "top" / "spare", "spare\n")
    found = apply(ctx, "file.recurse", place / "top", source="salt://conf", clean=True)
    top = place / "top"
    assert found["replaced"] == {str(top / "a"): sha(OLD), str(top / "spare"): sha("spare\n")}
    assert found["before"] == {str(top / "a"): {"sha256": sha(OLD), "size": 4}}
    (top / "below").mkdir()
    (top / "below" / "link").symlink_to("/etc/hostname")
    write(top / "below" / "b", "deep\n")
    found = apply(ctx, "file.absent", top)
    assert found["replaced"] == {
        str(top / "a"): sha("new\n"), str(top / "below/b"): sha("deep\n"),
    }  # fmt: skip


def test_of_a_large_tree_so_many_files_are_kept(
    ctx: MinionContext, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saltlite.highstate.replaced_files.TREE_FILES", 3)
    for number in range(5):
        write(place / str(number), f"{number}\n")
    found = apply(ctx, "file.absent", place)
    assert (found["result"], len(found["replaced"])) == (True, 3)
    assert found["warnings"] == [f"{place}: of its files 3 are kept in the file bucket"]


def test_owner_mode_and_digest_as_they_were(ctx: MinionContext, place: Path) -> None:
    path = write(place / "file", mode=0o600)
    found = apply(ctx, "file.managed", path, contents="new", mode="0644", test=True)
    assert found["changes"]["mode"] == "0644"
    assert found["before"] == {"mode": "0600", "sha256": sha(OLD), "size": 4}
    found = apply(ctx, "file.managed", path, contents="new", mode="0644")
    assert found["before"] == {"mode": "0600", "sha256": sha(OLD), "size": 4}
    found = apply(ctx, "file.managed", path, mode="0640", replace=False)
    assert (found["before"], "replaced" in found) == ({"mode": "0644"}, False)
    assert "before" not in apply(ctx, "file.managed", path, mode="0640", replace=False)
    assert "before" not in apply(ctx, "file.managed", place / "other", contents="new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_as_it_was(ctx: MinionContext, place: Path) -> None:
    path = write(place / "file")
    found = apply(ctx, "file.managed", path, replace=False, user="nobody", group="daemon")
    assert found["changes"] == {"user": "nobody", "group": "daemon"}
    assert found["before"] == {"user": "root", "group": "root"}


def test_nothing_is_kept_where_nothing_changes(ctx: MinionContext, place: Path) -> None:
    path = write(place / "file", "new\n")
    for test in (True, False):
        assert "replaced" not in apply(ctx, "file.managed", path, contents="new", test=test)
    assert "replaced" not in apply(ctx, "file.managed", path, contents="more", test=True)
    assert not (Path(ctx.config.paths.cachedir) / "bucket").exists()


def options(ctx: MinionContext, **changed: Any) -> MinionContext:
    files: FileOptions = replace(ctx.config.files, **changed)
    ctx.config = replace(ctx.config, files=files)
    return ctx


def test_the_option_turns_it_off(ctx: MinionContext, place: Path) -> None:
    ctx = options(ctx, file_bucket=False)
    path = write(place / "file")
    found = apply(ctx, "file.managed", path, contents="new")
    assert (found["result"], "replaced" in found) == (True, False)
    assert not (Path(ctx.config.paths.cachedir) / "bucket").exists()


def test_digests_of_secrets_stay_in_the_index(ctx: MinionContext, place: Path) -> None:
    path = write(place / "file")
    found = apply(ctx, "file.managed", path, contents="new", show_changes=False)
    assert "replaced" not in found
    assert "sha256" not in found["before"]
    assert ctx.functions.call("bucket.list", str(path))[0]["digest"] == sha(OLD)


def test_a_bucket_that_cannot_be_written_is_a_warning(
    ctx: MinionContext, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("saltlite.disk.append_whole", refuse)
    path = write(place / "file")
    found = apply(ctx, "file.managed", path, contents="new")
    assert (found["result"], path.read_text()) == (True, "new\n")
    assert found["warnings"] == [
        f"{path} was not kept in the file bucket: [Errno 28] No space left on device"
    ]


def test_a_place_that_is_no_directory_is_a_warning(ctx: MinionContext, place: Path) -> None:
    cache = Path(ctx.config.paths.cachedir)
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "bucket").write_text("in the way")
    found = apply(ctx, "file.managed", write(place / "file"), contents="new")
    assert found["result"] is True
    assert "was not kept in the file bucket" in found["warnings"][0]


def test_it_is_closed_to_others(ctx: MinionContext, place: Path) -> None:
    apply(ctx, "file.managed", write(place / "file"), contents="new")
    root = Path(ctx.config.paths.cachedir) / "bucket"
    for path in (root, *root.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_large_file_is_not_kept(ctx: MinionContext, place: Path) -> None:
    ctx = options(ctx, file_bucket_file_max_bytes=3)
    found = apply(ctx, "file.managed", write(place / "file"), contents="new")
    assert (found["result"], "replaced" in found, "warnings" in found) == (True, False, False)


@pytest.fixture
def changed(ctx: MinionContext, place: Path) -> Path:
    path = write(place / "file", "one\n", 0o640)
    for text in ("two", "three"):
        apply(ctx, "file.managed", path, contents=text)
    return path


def test_restore_brings_content_and_mode_back(ctx: MinionContext, changed: Path) -> None:
    changed.chmod(0o600)
    call = ctx.functions.call
    expected = {
        "sha256": {"old": sha("three\n"), "new": sha("two\n")},
        "mode": {"old": "0600", "new": "0640"},
    }
    found = call("bucket.restore", str(changed), test=True)
    assert (found["result"], found["changes"]) == (None, expected)
    assert changed.read_text() == "three\n"
    found = call("bucket.restore", str(changed))
    assert (found["result"], found["changes"]) == (True, expected)
    assert found["replaced"] == {str(changed): sha("three\n")}
    assert (changed.read_text(), stat.S_IMODE(changed.stat().st_mode)) == ("two\n", 0o640)
    # What the restoration replaced comes back as well.
    call("bucket.restore", str(changed), sha("three\n")[:12])
    assert changed.read_text() == "three\n"
    call("bucket.restore", str(changed), "1h")
    assert changed.read_text() == "one\n"
    again = call("bucket.restore", str(changed), "1h")
    assert (again["changes"], again["result"]) == ({}, True)


def test_restore_makes_a_removed_file_again(ctx: MinionContext, place: Path) -> None:
    path = write(place / "file", mode=0o604)
    apply(ctx, "file.absent", path)
    found = ctx.functions.call("bucket.restore", str(path))
    assert found["changes"] == {"sha256": {"old": None, "new": sha(OLD)}}
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (OLD, 0o604)


def test_diff_between_moments(ctx: MinionContext, changed: Path) -> None:
    call = ctx.functions.call
    assert call("bucket.diff", str(changed)).splitlines()[2:] == ["@@ -1 +1 @@", "-two", "+three"]
    assert call("bucket.diff", str(changed), "yesterday").splitlines()[3:] == ["-one", "+three"]
    assert call("bucket.diff", str(changed), 1, 0).splitlines()[3:] == ["-one", "+two"]
    link = changed.with_name("link")
    link.symlink_to(changed)
    assert call("bucket.diff", str(link)).splitlines()[3:] == ["-two", "+three"]


def test_lists_by_path_and_time(ctx: MinionContext, changed: Path) -> None:
    call = ctx.functions.call
    assert [one["digest"] for one in call("bucket.list")] == [sha("two\n"), sha("one\n")]
    assert len(call("bucket.list", str(changed.parent))) == 2
    assert len(call("bucket.list", f"{changed.parent}/f*", since="1h", limit=1)) == 1
    assert call("bucket.list", "/nowhere/*") == []
    assert call("bucket.list", since="2999-01-01") == []


@pytest.mark.parametrize(
    "call, words",
    [
        (("bucket.get", "0123456"), "is no digest: 64 hexadecimal digits"),
        (("bucket.get", "../../../etc/passwd"), "is no digest"),
        (("bucket.get", "0123456789"), "no such content is kept"),
        (("bucket.diff", "/nowhere"), "/nowhere: nothing of this file is kept"),
        (("bucket.diff", "relative"), "relative is not an absolute path"),
        (("bucket.list", "", "now and then"), "is no moment: yesterday, today, 90m"),
        (("bucket.list", "", None, 0), "limit: 0 is no number from 1 on"),
    ],
)
def test_mistakes_are_one_line(
    ctx: MinionContext, changed: Path, call: tuple[Any, ...], words: str
) -> None:
    with pytest.raises((FunctionError, UsageError), match=words):
        ctx.functions.call(*call)


def test_moments_that_nothing_is_kept_of(ctx: MinionContext, changed: Path) -> None:
    with pytest.raises(FunctionError, match="9: only 2 are kept, 0 is the newest"):
        ctx.functions.call("bucket.restore", str(changed), 9)
    with pytest.raises(FunctionError, match="was not replaced since; it is as it was then"):
        ctx.functions.call("bucket.restore", str(changed), "2999-01-01")


def test_a_damaged_content_is_not_restored(ctx: MinionContext, changed: Path) -> None:
    digest = sha("two\n")
    place = Path(ctx.config.paths.cachedir) / "bucket" / "content" / digest[:2] / digest[2:]
    place.write_text("other\n")
    with pytest.raises(FunctionError, match="the kept content is damaged"):
        ctx.functions.call("bucket.restore", str(changed))
    assert changed.read_text() == "three\n"


def test_clean(ctx: MinionContext, changed: Path) -> None:
    assert ctx.functions.call("bucket.clean") == {"entries": 0, "bytes": 0}
    assert ctx.functions.call("bucket.clean", everything=True) == {"entries": 2, "bytes": 8}
    assert ctx.functions.call("bucket.list") == []


class TakesPushes:
    """A master link that takes pieces, or does not."""

    def __init__(self, *, taken: bool) -> None:
        self.taken = taken
        self.loads: list[dict[str, Any]] = []

    def request(self, load: dict[str, Any]) -> bool:
        self.loads.append(load)
        return self.taken


@pytest.mark.parametrize("taken", [True, False])
def test_a_copy_on_the_master(ctx: MinionContext, place: Path, taken: bool) -> None:
    ctx = options(ctx, file_bucket_master=True)
    link = TakesPushes(taken=taken)
    ctx.master = link
    found = apply(ctx, "file.managed", write(place / "file"), contents="new")
    digest = sha(OLD)
    assert (link.loads[0]["cmd"], link.loads[0]["path"]) == (
        "_file_recv", ["bucket", digest[:2], digest[2:]],
    )  # fmt: skip
    assert link.loads[0]["data"] == OLD.encode()
    warnings = found.get("warnings", [])
    assert (len(warnings), found["result"]) == (0 if taken else 1, True)
