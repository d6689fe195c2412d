"""File states beside real Salt's recorded answers."""

from __future__ import annotations

import os
import pwd
import time
from contextlib import nullcontext

import pytest
from file_state_cases import (
    CACHE,
    FAULT,
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
from programs import need
from repository import DATA, read_yaml

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.chunk import Chunk, LowState
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

RECORDED = DATA / "states"
WORLD = read_yaml(RECORDED / "file_world.yaml")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")


def recorded():
    for path in sorted(RECORDED.glob("file_*.yaml")):
        if path.name == "file_world.yaml":
            continue
        for number, case in enumerate(read_yaml(path)):
            marks = [as_root] if of_root(case) else []
            yield pytest.param(case, id=f"{path.stem}-{number}-{case['fun']}", marks=marks)


@pytest.fixture
def ctx(tmp_path):
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / CACHE)),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "t/srv")]}),
    )
    (tmp_path / CACHE).mkdir(parents=True)
    grains = {"id": "x", **WORLD["grains"]}
    ctx = MinionContext(config=config, host=Host(), grains=grains, pillar=WORLD["pillar"])
    ctx.functions = Registry(ctx)
    return ctx


def answer(ctx, case, tmp, web, *, test):
    arguments = filled(case["args"], tmp, web)
    try:
        said = realise(resolve(case["fun"], ctx).call(**arguments), ctx, test=test)
    except SaltliteError as error:
        said = Verdict(result=False, comment=str(error))
    assert isinstance(said, Verdict)
    told = {"result": said.result, "comment": said.comment, "changes": dict(said.changes)}
    return sorted_removals(masked({**told, **said.more}, tmp, web))


def sorted_removals(said):
    """What is removed comes in the order of the directory."""
    for part in ("removed", "deleted"):
        if isinstance(said.get("changes", {}).get(part), list):
            said["changes"][part] = sorted(said["changes"][part])
    return said


@pytest.mark.parametrize("case", list(recorded()))
def test_as_real_salt_did(case, ctx, tmp_path):
    if case["fun"] == "file.patch":
        need("patch")
    tmp = tmp_path / "t"
    prepare(tmp, WORLD, case)
    with served(tmp) if asks_web(case) else nullcontext(WEB) as web:
        hold_against(ctx, case, tmp, web)
    failed = any(one.get("comment") == FAULT for one in case["answers"])
    if "left" in case and not failed and not {1, 2} & set(case.get("differs", ())):
        assert left(tmp) == case["left"]


def as_told_here(case, changes):
    """What Salt shows of a content out of pillar is not shown."""
    shown = changes.get("diff")
    if {"contents_pillar", "dataset_pillar"} & set(case["args"]) and shown not in (
        None,
        "New file",
    ):
        return {**changes, "diff": "<show_changes=False>"}
    return changes


def without_top(case, changes, tmp):
    """Salt's test run of a tree tells its directory too, beside the parts."""
    return {path: its for path, its in changes.items() if path != case["args"]["name"]}


def hold_against(ctx, case, tmp, web):
    for run, (test, wanted) in enumerate(zip(RUNS, case["answers"], strict=True)):
        said = answer(ctx, case, tmp, web, test=test)
        if run in case.get("differs", {}):
            assert said["result"] == case["differs"][run]
            continue
        wanted = sorted_removals(wanted)
        if wanted.get("comment") == FAULT:
            assert said["result"] is False
            continue
        assert said["result"] == wanted["result"], (run, said, wanted)
        if wanted["result"] is False:
            # where nothing was changed Salt may tell of changes
            assert said["changes"] in ({}, wanted["changes"]), run
            continue
        told = as_told_here(case, wanted["changes"])
        if test:  # ours tells what comes, where Salt's test run tells something else
            real = case["answers"][1 if run == 0 else 2]["changes"]
            came = {part: its for part, its in real.items() if part != "errors"}
            assert said["changes"] in (told, without_top(case, told, tmp), came), run
        else:
            assert said["changes"] == told, run
        assert said.get("warnings") == wanted.get("warnings"), run
        if not test:
            assert said["comment"] == wanted["comment"], run


@as_root
@pytest.mark.parametrize(
    ("fun", "args"),
    [
        ("file.symlink", {"target": "/x"}),
        ("file.directory", {"mode": 700}),
        ("file.managed", {"contents": "x", "mode": 600}),
        ("file.serialize", {"dataset": {}, "mode": "0600"}),
    ],
)
def test_owners_may_be_numbers(ctx, tmp_path, fun, args):
    def applied():
        call = resolve(fun, ctx).call
        return realise(call(name=str(tmp_path / "f"), user=1, group=1, **args), ctx, test=False)

    assert applied().changes
    again = applied()
    assert (again.result, again.changes) == (True, {})
    found = os.lstat(tmp_path / "f")
    assert (found.st_uid, found.st_gid) == (1, 1)


@pytest.mark.parametrize(("fun", "args"), [("directory", {}), ("managed", {"contents": "x"})])
def test_what_is_no_mode_is_one_sentence(ctx, tmp_path, fun, args):
    call = resolve(f"file.{fun}", ctx).call
    said = realise(call(name=str(tmp_path / "f"), mode=888, **args), ctx, test=False)
    assert (said.result, said.comment) == (False, "Failed to change mode to 0888")


def test_no_owner_is_the_empty_text_too(ctx, tmp_path):
    call = resolve("file.managed", ctx).call
    for changes in ({"diff": "New file"}, {}):
        given = {"name": str(tmp_path / "f"), "contents": "x", "user": "", "group": ""}
        assert realise(call(**given), ctx, test=False).changes == changes


def test_directories_made_for_links_have_the_mode_of_links(ctx, tmp_path):
    source, to = tmp_path / "t/srv/tree", tmp_path / "to"
    (source / "plain").mkdir(parents=True)
    (source / "plain/file").write_text("x")
    (source / "links").mkdir()
    (source / "links/one").symlink_to("../plain/file")
    call = resolve("file.recurse", ctx).call
    given = {"source": "salt://tree", "keep_symlinks": True, "sym_mode": "0700"}
    for result in (None, True, True):
        said = realise(call(name=str(to), **given), ctx, test=result is None)
        assert said.result is result
    assert said.changes == {}
    assert [(to / name).stat().st_mode & 0o777 for name in ("links", "plain")] == [0o700, 0o755]


def test_what_a_check_refused_is_not_tried_again_by_a_watch(ctx, tmp_path):
    call = resolve("file.managed", ctx).call
    given = {"name": str(tmp_path / "f"), "contents": "x"}
    said = realise(call(**given, check_cmd="/bin/false"), ctx, test=False)
    assert (said.result, dict(said.more)) == (False, {"skip_watch": True})
    assert realise(call(**given, check_cmd="/bin/true"), ctx, test=False).more == {}


COMMENTS = (  # function, regex, text, and what Salt says and leaves
    ("comment", "key", "# key\n", False, "key: Pattern not found", None),
    ("comment", "key", "x #key\n", True, "Pattern already commented", None),
    ("comment", "^key$", "  key\n", False, "Expected commented lines not found", None),
    ("comment", ".*", "#a", True, "Pattern already commented", None),
    ("comment", ".*", "#a\nb\n", True, "Commented lines successfully", "##a\n#b\n"),
    ("comment", "^#?key=.*$", "#key=1\n", True, "Pattern already commented", None),
    ("comment", "k|y", "#key\n", True, "Commented lines successfully", None),
    ("uncomment", "key$", "key 3\n", False, "key$: Pattern not found", None),
    ("uncomment", "key", "x #key\n", False, "Expected uncommented lines not found", None),
    ("uncomment", "^key", "# key\nkey\n", True, "Uncommented lines successfully", " key\nkey\n"),
    ("uncomment", "^key", "  key\n", True, "Pattern already uncommented", None),
)


@pytest.mark.parametrize(("fun", "regex", "text", "result", "comment", "left"), COMMENTS)
def test_what_counts_as_commented(ctx, tmp_path, fun, regex, text, result, comment, left):
    (tmp_path / "f").write_text(text)
    call = resolve(f"file.{fun}", ctx).call
    said = realise(call(name=str(tmp_path / "f"), regex=regex), ctx, test=False)
    assert (said.result, said.comment) == (result, comment)
    assert (tmp_path / "f").read_text() == (left or text)


KEYS = (  # text, arguments, and what Salt leaves and tells
    ("key =1\n", {"key": "key", "value": "2"}, "key =1\n", ""),
    ("  key=1\n", {"key": "key", "value": "1"}, "key=1\n", "-   key=1\n+ key=1\n"),
    ("key= 1 \n", {"key": "key", "value": "1"}, "key= 1 \n", ""),
    ("key=1", {"key": "key", "value": "2"}, "key=2\n", "- key=1\n+ key=2\n"),
    ("k=1\n", {"key": "k", "value": 2}, "k=2\n", "- k=1\n+ k=2 (from int type)\n"),
    ("#k=1\n", {"key": "k", "value": "1", "uncomment": "#"}, "k=1\n", "- #k=1\n+ k=1\n"),
    ("#  k=1\n", {"key": "k", "value": "1", "uncomment": "#"}, "#  k=1\n", ""),
    ("k=1\n#k=2\n", {"key": "k", "value": "1", "uncomment": "#"}, "k=1\n#k=2\n", ""),
    (
        "#k=1\nk=2\n",
        {"key": "k", "value": "1", "uncomment": "#"},
        "k=1\n",
        "- #k=1\n+ k=1\n- k=2\n",
    ),
    ("x\n", {"key": "k", "value": "1", "count": 0, "append_if_not_found": True}, "x\n", ""),
    (
        "x\n",
        {"key_values": {"a": "1", "b": "2"}, "prepend_if_not_found": True},
        "b=2\na=1\nx\n",
        "  <SOF>\n+ b=2\n+ a=1\n",
    ),
    (
        "x\n",
        {"key": "a", "value": "1", "prepend_if_not_found": True, "append_if_not_found": True},
        "x\na=1\n",
        "- <EOF>\n+ a=1\n+ <EOF>\n",
    ),
)


@pytest.mark.parametrize(("text", "args", "left", "told"), KEYS)
def test_keys_are_found_as_salt_finds_them(ctx, tmp_path, text, args, left, told):
    (tmp_path / "f").write_text(text)
    call = resolve("file.keyvalue", ctx).call
    said = realise(call(name=str(tmp_path / "f"), **args), ctx, test=False)
    assert (said.result, said.changes) == (True, {"diff": told} if told else {})
    assert (tmp_path / "f").read_text() == left


def test_a_link_to_a_directory_is_not_followed_unasked(ctx, tmp_path):
    (tmp_path / "real").mkdir(mode=0o755)
    (tmp_path / "d").symlink_to(tmp_path / "real")
    call = resolve("file.directory", ctx).call
    for follow, mode in ((False, 0o755), (True, 0o700)):
        declared = call(name=str(tmp_path / "d"), mode="0700", follow_symlinks=follow)
        assert realise(declared, ctx, test=False).result
        assert (tmp_path / "real").stat().st_mode & 0o777 == mode


def test_cleaning_has_no_depth(ctx, tmp_path):
    said = resolve("file.directory", ctx).call(name=str(tmp_path), clean=True, max_depth=1)
    assert (said.result, said.comment) == (False, "Cannot specify both max_depth and clean")


def test_a_directory_is_not_copied_over_a_file(ctx, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("x")
    call = resolve("file.copy", ctx).call
    said = realise(
        call(name=str(tmp_path / "f"), source=str(tmp_path / "d"), force=True), ctx, test=True
    )
    assert said.result is False


@pytest.mark.parametrize(("newline", "left"), [(True, "x\n\n"), (False, "x")])
def test_contents_end_as_declared(ctx, tmp_path, newline, left):
    call = resolve("file.managed", ctx).call
    given = {"name": str(tmp_path / "f"), "contents": "x\n\n", "contents_newline": newline}
    assert realise(call(**given), ctx, test=False).result
    assert (tmp_path / "f").read_text() == left


CONTENTS = (  # contents, contents_newline, and what real Salt writes
    ("x\r\n", True, "x\n"),
    ("x\r\ny", False, "x\ny"),
    ("\r", True, "\n"),
    ("a\x0bb\u2028c", True, "a\nb\nc\n"),
    (["", "x", "", "y\r\n"], True, "x\ny\n"),
    (["x\n\n", "y"], True, "x\n\ny\n"),
    (["x", "\n"], True, "x\n\n"),
    (["", ""], True, ""),
    ([0, "x"], False, "0\nx"),
)


@pytest.mark.parametrize(("contents", "newline", "left"), CONTENTS)
def test_contents_are_lines(ctx, tmp_path, contents, newline, left):
    call = resolve("file.managed", ctx).call
    given = {"name": str(tmp_path / "f"), "contents": contents, "contents_newline": newline}
    assert realise(call(**given), ctx, test=False).result
    assert (tmp_path / "f").read_bytes().decode() == left


def test_an_empty_list_is_no_content(ctx, tmp_path):
    with pytest.raises(FunctionError, match="not a string or list of strings"):
        resolve("file.managed", ctx).call(name=str(tmp_path / "f"), contents=[])


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ({"contents": "x", "mode": "99999"}, {"diff": "New file"}),
        ({"mode": "abc"}, {"new": "file {} created"}),
        ({"contents": "x", "check_cmd": "/bin/false"}, {}),
    ],
)
def test_a_failed_run_tells_what_it_has_changed(ctx, tmp_path, given, changes):
    name = str(tmp_path / "f")
    said = realise(resolve("file.managed", ctx).call(name=name, **given), ctx, test=False)
    assert said.result is False
    assert said.changes == {key: text.format(name) for key, text in changes.items()}
    assert os.path.exists(name) is bool(changes)


def test_a_pipe_makes_way_for_a_content_and_takes_a_mode(ctx, tmp_path):
    name = str(tmp_path / "f")
    os.mkfifo(name, 0o644)
    call = resolve("file.managed", ctx).call
    said = realise(call(name=name, mode="0600"), ctx, test=True)
    assert said.changes == {"mode": "0600"}
    assert realise(call(name=name, contents="x"), ctx, test=True).changes == {"newfile": name}
    said = realise(call(name=name, contents="x"), ctx, test=False)
    assert (said.result, said.changes) == (True, {"diff": "New file"})
    assert (tmp_path / "f").read_text() == "x\n"


def test_what_is_no_file_is_not_there_without_create(ctx, tmp_path):
    said = realise(
        resolve("file.managed", ctx).call(name=str(tmp_path), create=False), ctx, test=False
    )
    assert (said.result, said.comment) == (
        True,
        f"File {tmp_path} is not present and is not set for creation",
    )


SERIALIZED = (  # what real Salt writes
    ({"dataset": {"é": "ü"}}, '"\\xE9": "\\xFC"\n'),
    ({"dataset": {"é": "ü"}, "serializer_opts": [{"allow_unicode": True}]}, "é: ü\n"),
    ({"dataset": {"a": 1}, "serializer_opts": [{"explicit_start": True}]}, "---\na: 1\n"),
    ({"dataset": {"é": "ü"}, "serializer": "json"}, '{\n  "é": "ü"\n}\n'),
)


@pytest.mark.parametrize(("args", "text"), SERIALIZED)
def test_data_is_written_as_salt_writes_it(ctx, tmp_path, args, text):
    call = resolve("file.serialize", ctx).call
    assert realise(call(name=str(tmp_path / "f"), **args), ctx, test=False).result
    assert (tmp_path / "f").read_text() == text


def test_a_plist_has_no_empty_line_at_its_end(ctx, tmp_path):
    call = resolve("file.serialize", ctx).call
    realise(call(name=str(tmp_path / "f"), dataset={}, serializer="plist"), ctx, test=False)
    assert (tmp_path / "f").read_text().endswith("</plist>\n")
    assert not (tmp_path / "f").read_text().endswith("\n\n")


@pytest.mark.parametrize(
    "args",
    [
        {"dataset": {"a": 1}, "merge_if_exists": True},
        {"dataset": {"a": "text"}, "serializer": "configparser"},
        {"dataset": {}, "serializer": "json", "serializer_opts": [{"bogus": 1}]},
    ],
)
def test_data_that_do_not_fit_change_nothing(ctx, tmp_path, args):
    (tmp_path / "f").write_text("- 1\n")
    with pytest.raises(SaltliteError):
        resolve("file.serialize", ctx).call(name=str(tmp_path / "f"), **args)
    assert (tmp_path / "f").read_text() == "- 1\n"


@as_root
def test_a_line_is_told_with_owner_and_mode(ctx, tmp_path):
    path = tmp_path / "f"
    path.write_text("a\n")
    call = resolve("file.line", ctx).call
    given = {"content": "b", "mode": "ensure", "after": "a", "user": "daemon", "file_mode": 600}
    for test in (True, False):
        said = realise(call(name=str(path), **given), ctx, test=test)
        assert {**said.changes, "diff": ""} == {"diff": "", "user": "daemon", "mode": "0600"}
    assert realise(call(name=str(path), **given), ctx, test=False).changes == {}
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "a\nb\n")


@pytest.mark.parametrize("fun", ["append", "prepend"])
def test_a_directory_gets_no_lines_in_a_test_run_either(ctx, tmp_path, fun):
    call = resolve(f"file.{fun}", ctx).call
    for test in (True, False):
        assert realise(call(name=str(tmp_path), text="a"), ctx, test=test).result is False


def test_a_difference_shows_the_ends_of_lines_as_they_are(ctx, tmp_path):
    (tmp_path / "f").write_bytes(b"a\r\nb")
    call = resolve("file.prepend", ctx).call
    said = realise(call(name=str(tmp_path / "f"), text="x"), ctx, test=False)
    assert said.changes == {"diff": "--- \n+++ \n@@ -1,2 +1,3 @@\n+x\n a\r\n b"}


def test_cleaning_leaves_what_is_required(ctx, tmp_path):
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    for name in ("mine", "sub/mine", "other", "named"):
        (top / name).write_text("")
    low = [
        {"state": "file", "fun": "managed", "__id__": "one", "name": f"{top}/mine"},
        {"state": "file", "fun": "managed", "__id__": "two", "name": f"{top}/sub/mine"},
    ]
    ctx.state["lowstate"] = LowState(map(Chunk.from_low, low))
    require = [{"file": "one"}, {"file": "two"}, {"file": f"{top}/named"}]
    call = resolve("file.directory", ctx).call
    done = realise(call(name=str(top), clean=True, require=require), ctx, test=False)
    assert done.changes["removed"] == [f"{top}/other"]
    assert sorted(os.listdir(top)) == ["mine", "named", "sub"]


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("fun", ["managed", "serialize"])
def test_what_comes_from_pillar_is_not_shown(ctx, tmp_path, fun, test):
    (tmp_path / "f").write_text("secret: old\n")
    of_pillar = {"managed": {"contents_pillar": "key"}, "serialize": {"dataset_pillar": "key"}}
    ctx.pillar = {"key": {"secret": "new"}}
    call = resolve(f"file.{fun}", ctx).call
    said = realise(call(name=str(tmp_path / "f"), **of_pillar[fun]), ctx, test=test)
    assert said.changes["diff"] == "<show_changes=False>"
    assert "old" not in repr(said)
    assert (tmp_path / "f").read_text() == f"secret: {'old' if test else 'new'}\n"


@pytest.mark.parametrize("test", [True, False])
def test_a_copy_goes_and_only_in_a_real_run(ctx, tmp_path, test):
    prepare(tmp_path / "t", WORLD, {})
    realise(resolve("file.cached", ctx).call(name="salt://plain"), ctx, test=False)
    copy = tmp_path / CACHE / "files/base/plain"
    assert copy.is_file()
    said = realise(resolve("file.not_cached", ctx).call(name="salt://plain"), ctx, test=test)
    assert (said.result, dict(said.changes)) == (None if test else True, {"deleted": True})
    assert copy.is_file() == test


def test_rejects_are_left_only_in_a_real_run(ctx, tmp_path):
    need("patch")
    (tmp_path / "f").write_text("other\n")
    (tmp_path / "p").write_text("--- a\n+++ b\n@@ -1 +1 @@\n-one\n+1\n")
    rejects = tmp_path / "rej"
    for test in (True, False):
        declared = resolve("file.patch", ctx).call(
            name=str(tmp_path / "f"), source=str(tmp_path / "p"), reject_file=str(rejects)
        )
        assert realise(declared, ctx, test=test).result is False
        assert rejects.exists() != test
    assert (tmp_path / "f").read_text() == "other\n"
    assert sorted(os.listdir(tmp_path)) == ["f", "p", "rej", "var"]


def test_the_largest_and_oldest_go(ctx, tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    for name, days in (("new", 0), ("old", 3)):
        (top / name).write_text("x")
        os.utime(top / name, (time.time() - days * 86400,) * 2)
    call = resolve("file.tidied", ctx).call
    arguments = {"age": 2, "age_size_only": "age", "time_comparison": "mtime"}
    said = realise(call(name=str(top), **arguments), ctx, test=False)
    assert said.changes == {"removed": [f"{top}/old"]}
    for wrong in ({"size": "many"}, {"age": "old"}, {"matches": ["("]}):
        with pytest.raises(SaltliteError, match=next(iter(wrong))):
            call(name=str(top), **wrong)


@pytest.mark.parametrize("arguments", [{"contents": "hidden\n"}, {"source": "{tmp}/new"}])
@pytest.mark.parametrize("test", [True, False])
def test_what_is_not_to_be_shown_is_not(ctx, tmp_path, arguments, test):
    (tmp_path / "new").write_text("hidden\n")
    (tmp_path / "f").write_text("secret\n")
    call = resolve("file.managed", ctx).call
    given = filled(arguments, tmp_path)
    said = realise(call(name=str(tmp_path / "f"), show_changes=False, **given), ctx, test=test)
    assert said.changes["diff"] == "<show_changes=False>"
    assert "hidden" not in repr(said)
    assert "secret" not in repr(said)


def test_options_of_the_format_are_those_of_its_parser(ctx, tmp_path):
    (tmp_path / "f").write_text("[foo]\nbar = %(x)s\n")
    call = resolve("file.serialize", ctx).call
    declared = call(
        name=str(tmp_path / "f"), dataset={"foo": {"abc": 123}}, serializer="configparser",
        merge_if_exists=True, serializer_opts=[{"defaults": {"y": "n"}}],
        deserializer_opts=[{"defaults": {"x": "baz"}}],
    )  # fmt: skip
    assert realise(declared, ctx, test=False).result
    lines = (tmp_path / "f").read_text().split()
    assert lines[:4] == ["[DEFAULT]", "y", "=", "n"]
    assert {"bar", "baz", "x", "abc", "123"} <= set(lines)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_lines_of_any_encoding(ctx, tmp_path, encoding):
    file = tmp_path / "f"

    def state(fun, **more):
        call = resolve(f"file.{fun}", ctx).call
        said = realise(call(name=str(file), encoding=encoding, **more), ctx, test=False)
        assert said.result is True
        assert "é" in said.changes["diff"]
        again = realise(call(name=str(file), encoding=encoding, **more), ctx, test=True)
        assert (again.result, dict(again.changes)) == (True, {})

    file.write_bytes("é\nold".encode(encoding))
    state("append", text=["ü"])
    state("prepend", text=["ß"])
    state("comment", regex="old", backup=False)
    assert file.read_bytes() == "ß\né\n#old\nü\n".encode(encoding)


def test_what_is_of_another_encoding_is_not_lost(ctx, tmp_path):
    file = tmp_path / "f"
    file.write_bytes("é\n".encode())
    given = {"name": str(file), "encoding": "ascii", "encoding_errors": "replace"}
    for fun, more in (("append", {"text": "ü"}), ("comment", {"regex": "x"})):
        with pytest.raises(SaltliteError, match="'ascii' codec can't decode"):
            realise(resolve(f"file.{fun}", ctx).call(**given, **more), ctx, test=False)
    assert file.read_bytes() == "é\n".encode()
    file.write_bytes(b"x\n")
    realise(resolve("file.append", ctx).call(**given, text="ü"), ctx, test=False)
    assert file.read_bytes() == b"x\n?\n"
    for fun in ("append", "replace"):
        more = {"pattern": "x", "repl": "y"} if fun == "replace" else {"text": "y"}
        with pytest.raises(SaltliteError, match="unknown encoding: odd"):
            resolve(f"file.{fun}", ctx).call(name=str(file), encoding="odd", **more)


def test_a_block_is_content_then_what_was_gathered_then_sources(ctx, tmp_path):
    prepare(tmp_path / "t", WORLD, {})
    (tmp_path / "f").write_text("# S\n# E\n")
    name = str(tmp_path / "f")
    taker = {"state": "file", "fun": "blockreplace", "name": name, "__id__": "block"}
    low = [
        {"state": "file", "fun": "accumulated", "name": "gathered", "__id__": "gathered"},
        {**taker, "require": [{"file": "gathered"}]},
    ]
    ctx.state["lowstate"] = LowState(map(Chunk.from_low, low))
    realise(
        resolve("file.accumulated", ctx).call(name="gathered", filename=name, text=["A", "B"]),
        ctx,
        test=False,
    )
    call = resolve("file.blockreplace", ctx).call
    marks = {"marker_start": "# S", "marker_end": "# E", "backup": False, "__id__": "block"}
    given = {"content": "first", "sources": ["salt://plain", "salt://tree/a"], **marks}
    assert realise(call(name=name, **given), ctx, test=False).result is True
    assert (tmp_path / "f").read_text() == "# S\nfirst\nA\nB\nplain\nsrc\nA\n# E\n"
    assert realise(call(name=name, **given), ctx, test=True).result is True


def test_a_content_is_checked_where_and_under_the_ending_that_is_said(ctx, tmp_path):
    (tmp_path / "checks").mkdir()
    command = f"sh -c 'cp $0 {tmp_path}/seen; basename $0 > {tmp_path}/name; ls {tmp_path}/checks'"
    given = {"contents": "new", "check_cmd": command, "tmp_ext": ".conf"}
    call = resolve("file.managed", ctx).call
    here = {"name": str(tmp_path / "f"), "tmp_dir": str(tmp_path / "checks"), **given}
    assert realise(call(**here), ctx, test=False).result is True
    assert (tmp_path / "seen").read_text() == "new\n"
    assert (tmp_path / "name").read_text().startswith("__salt.tmp.")
    assert (tmp_path / "name").read_text().endswith(".conf\n")
    assert os.listdir(tmp_path / "checks") == []
    (tmp_path / "f").unlink()
    said = realise(call(**{**here, "tmp_dir": str(tmp_path / "none")}), ctx, test=False)
    assert said.result is False
    assert "No such file" in said.comment
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    ("shown", "said"), [(True, "\nout s3cret\nerr"), (False, "")], ids=["shown", "hidden"]
)
def test_a_failure_tells_what_the_check_said_unless_changes_are_hidden(ctx, tmp_path, shown, said):
    command = "sh -c 'echo out $(cat $0); echo err >&2; exit 3'"
    given = {"contents": "s3cret", "check_cmd": command, "show_changes": shown}
    declared = resolve("file.managed", ctx).call(name=str(tmp_path / "f"), **given)
    verdict = realise(declared, ctx, test=False)
    assert verdict.result is False
    assert verdict.comment == f"check_cmd execution failed{said}"
    assert not (tmp_path / "f").exists()


@as_root
@pytest.mark.parametrize("fun", ["managed", "copy", "directory", "symlink"])
def test_the_user_is_also_called_owner(ctx, tmp_path, fun):
    (tmp_path / "src").write_text("x")
    more = {
        "managed": {"contents": "x"},
        "copy": {"source": str(tmp_path / "src")},
        "directory": {},
        "symlink": {"target": str(tmp_path / "src")},
    }
    declared = resolve(f"file.{fun}", ctx).call(
        name=str(tmp_path / "f"), owner="daemon", **more[fun]
    )
    assert realise(declared, ctx, test=False).result is True
    assert (tmp_path / "f").lstat().st_uid == pwd.getpwnam("daemon").pw_uid


def test_a_context_that_is_not_set_is_not_passed_over(ctx, tmp_path):
    said = resolve("file.managed", ctx).call(
        name=str(tmp_path / "f"), contents="x", selinux={"setype": "etc_t"}
    )
    assert said.result is False
    assert "selinux.fcontext_policy_present" in said.comment


@pytest.mark.parametrize(
    ("asked", "content"),
    [({"use_etag": True}, "two"), ({"skip_verify": True}, "one")],
    ids=["use_etag", "skip_verify"],
)
def test_what_a_server_has_now_counts_only_where_it_is_asked(ctx, tmp_path, asked, content):
    """As Salt 3006.30, which looks no more at a file that it fetched without verifying it."""
    (tmp_path / "srv").mkdir()
    with served(tmp_path) as web:
        for text in ("one", "two"):
            (tmp_path / "srv" / "f").write_text(text)
            declared = resolve("file.managed", ctx).call(
                name=str(tmp_path / "f"), source=f"{web}/f", **asked
            )
            assert realise(declared, ctx, test=False).result is True
    assert (tmp_path / "f").read_text() == content
