"""Managed files: where content comes from, what would change, what is changed."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError, UsageError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.modules.file import (
    backups,
    editing,
    making,
    managed,
    ownership,
    searching,
    sums,
)
from saltlite.modules.file import content as modules_content
from saltlite.providers.file import content
from saltlite.providers.file.backups import Backups

ROOT = os.geteuid() == 0
PLAIN = "plain\nsrc\n"


@pytest.fixture
def roots(tmp_path):
    roots = tmp_path / "srv"
    (roots / "sub").mkdir(parents=True)
    (roots / "plain").write_text(PLAIN)
    (roots / "plain").chmod(0o751)
    (roots / "page").write_text("v={{ v }} {{ grains.id }}\n")
    (roots / "sub" / "f").write_text("")
    return roots


@pytest.fixture
def ctx(roots, tmp_path):
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(roots)]}),
    )
    (tmp_path / "cache").mkdir()
    ctx = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory, monkeypatch):
    """Where private files are kept for a while."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def got(ctx, source, source_hash="", template=None, context=None, **options):
    return managed.get_managed(
        ctx, "/x", template, source, source_hash, None, None, None, None, None, "base", context,
        None, **options,
    )  # fmt: skip


def manage(ctx, path, source=None, source_sum=None, mode=None, sfn="", backup="", **options):
    return managed.manage_file(
        ctx, str(path), sfn, None, source, source_sum, None, None, mode, None, "base", backup,
        **options,
    )  # fmt: skip


def changes(ctx, path, source=None, mode=None, **options):
    return managed.check_managed_changes(
        ctx, str(path), source, "", None, None, None, mode, None, options.pop("template", None),
        options.pop("context", None), None, "base", **options,
    )  # fmt: skip


def test_content_of_the_file_server_stays_there(ctx):
    path, known, complaint = got(ctx, "salt://plain")
    assert (path, complaint) == ("", "")
    assert known["hash_type"] == "sha256"
    assert len(known["hsum"]) == 64


def test_templates_are_rendered(ctx, scratch):
    path, known, complaint = got(ctx, "salt://page", template="jinja", context={"v": 3})
    assert Path(path).read_text() == "v=3 x\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert sums.check_hash(path, known["hsum"])
    assert complaint == ""
    with pytest.raises(RenderError):
        got(ctx, "salt://page", template="jinja")
    assert got(ctx, "salt://plain", template="no")[2] == (
        "Specified template format no is not supported"
    )


def test_what_cannot_be_had_is_a_complaint(ctx, tmp_path):
    assert got(ctx, "salt://no")[2] == "Source file salt://no not found in saltenv 'base'"
    assert got(ctx, "/no/such")[2] == "Local file source /no/such does not exist"
    assert got(ctx, "file:///no/such")[2] == "Local file source /no/such does not exist"
    assert got(ctx, "https://host.invalid/x")[2] == (
        "Unable to verify upstream hash of source file https://host.invalid/x, please set"
        " source_hash or set skip_verify or use_etag to True"
    )
    assert got(ctx, None) == ("", {}, "")


def test_files_of_this_machine_are_their_own_content(ctx, roots):
    path = str(roots / "plain")
    assert got(ctx, path)[0] == path
    given = "8" * 32
    assert got(ctx, f"file://{path}", given)[1] == {"hsum": given, "hash_type": "md5"}


def test_a_new_file(ctx, tmp_path):
    path = tmp_path / "a"
    told = manage(ctx, path, contents="x\n")
    assert told == {
        "name": str(path),
        "changes": {"diff": "New file"},
        "comment": f"File {path} updated",
        "result": True,
    }
    assert path.read_text() == "x\n"
    again = manage(ctx, path, contents="x\n")
    assert again["changes"] == {}
    assert again["comment"] == f"File {path} is in the correct state"
    changed = manage(ctx, path, contents="y\n")
    assert changed["changes"] == {"diff": "--- \n+++ \n@@ -1 +1 @@\n-x\n+y\n"}


def test_a_mode_other_than_0600_is_a_change_of_a_new_file(ctx, tmp_path):
    one, two, three = (tmp_path / name for name in "abc")
    assert manage(ctx, one, contents="", mode="0600")["changes"] == {"diff": "New file"}
    made = manage(ctx, two, contents="", mode="4755")
    assert made["changes"] == {"diff": "New file", "mode": "4755"}
    assert stat.S_IMODE(two.stat().st_mode) == 0o4755
    sourced = manage(ctx, three, "salt://plain", {}, keep_mode=True)
    assert sourced["changes"] == {"diff": "New file", "mode": "0751"}
    assert three.read_text() == PLAIN


def test_a_new_file_is_never_open_to_more(ctx, tmp_path, monkeypatch):
    """Its mode is right when its name appears."""
    seen = []
    rename = os.rename

    def watched(source, target):
        seen.append(stat.S_IMODE(os.stat(source).st_mode))
        rename(source, target)

    monkeypatch.setattr(os, "rename", watched)
    manage(ctx, tmp_path / "key", contents="secret", mode="0400")
    assert seen == [0o400]


def test_the_difference_is_hidden_on_request(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("secret\n")
    told = manage(ctx, path, contents="other\n", show_changes=False)
    assert told["changes"] == {"diff": "<show_changes=False>"}


def test_an_empty_file(ctx, tmp_path):
    path = tmp_path / "a"
    told = manage(ctx, path)
    assert told["changes"] == {"new": f"file {path} created"}
    assert told["comment"] == "Empty file"
    assert path.read_text() == ""


def test_parents_are_made_on_request(ctx, tmp_path):
    path = tmp_path / "p" / "q" / "a"
    told = manage(ctx, path, contents="x")
    assert (told["result"], told["comment"]) == (False, "Parent directory not present")
    assert manage(ctx, path, contents="x", mode="0640", makedirs=True)["result"]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
    assert manage(ctx, tmp_path / "r" / "a", contents="x", makedirs=True, dir_mode="711")["result"]
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o711
    (tmp_path / "f").write_text("")
    with pytest.raises(FunctionError, match=r"^Not a directory$"):
        manage(ctx, tmp_path / "f" / "a", contents="x", makedirs=True)


def test_a_wrong_hash_changes_nothing(ctx, tmp_path, roots):
    path = tmp_path / "a"
    path.write_text("old")
    source = str(roots / "plain")
    told = manage(ctx, path, source, {"hash_type": "md5", "hsum": "0" * 32})
    assert told["result"] is False
    assert told["comment"].startswith(f"Specified md5 checksum for {source} ({'0' * 32}) does not")
    assert path.read_text() == "old"
    assert manage(ctx, path, source, {"hash_type": "md5", "hsum": "0"}, skip_verify=True)["result"]
    assert path.read_text() == PLAIN


def test_a_missing_source_changes_nothing(ctx, tmp_path):
    told = manage(ctx, tmp_path / "a", "salt://no", {})
    assert (told["result"], told["comment"]) == (False, "Source file 'salt://no' not found")
    assert not (tmp_path / "a").exists()


def test_links_are_followed_unless_told_not_to(ctx, tmp_path):
    (tmp_path / "a").write_text("old\n")
    link = tmp_path / "link"
    link.symlink_to("a")
    manage(ctx, link, contents="new\n")
    assert link.is_symlink()
    assert (tmp_path / "a").read_text() == "new\n"
    manage(ctx, link, contents="mine\n", follow_symlinks=False)
    assert not link.is_symlink()
    assert (tmp_path / "a").read_text() == "new\n"
    link.unlink()
    link.symlink_to("gone")
    assert manage(ctx, link, contents="x", follow_symlinks=False)["result"]
    assert link.read_text() == "x"


def test_a_directory_is_refused(ctx, tmp_path):
    told = manage(ctx, tmp_path, contents="x")
    assert (told["result"], told["comment"]) == (
        False,
        f"Specified target {tmp_path} is a directory",
    )


def test_an_encoding_that_has_no_such_letter_changes_nothing(ctx, tmp_path):
    path = tmp_path / "a"
    with pytest.raises(UnicodeEncodeError):
        manage(ctx, path, contents="é", encoding="ascii")
    assert not path.exists()
    assert manage(ctx, path, contents="é", encoding="utf-16")["result"]
    assert path.read_bytes().decode("utf-16") == "é"


def test_owners_that_are_not_there(ctx, tmp_path):
    path = tmp_path / "a"
    arguments = (str(path), "", None, None, None, "no such user", None, None, None, "base", "")
    told = managed.manage_file(ctx, *arguments, contents="x")
    assert told["result"] is False
    assert told["comment"] == "User does not exist\n; Failed to change user to no such user"


@pytest.mark.skipif(not ROOT, reason="only root gives files away")
def test_owners_are_right_from_the_first_moment(ctx, tmp_path):
    path = tmp_path / "p" / "a"
    arguments = (str(path), "", None, None, None, "daemon", "daemon", "4750", None, "base", "")
    told = managed.manage_file(ctx, *arguments, contents="x", makedirs=True)
    assert told["changes"] == {
        "diff": "New file", "user": "daemon", "group": "daemon", "mode": "4750"
    }  # fmt: skip
    for one, mode in ((path, 0o4750), (path.parent, 0o750)):
        assert (one.stat().st_uid, one.stat().st_gid) == (1, 1)
        assert stat.S_IMODE(one.stat().st_mode) == mode


def test_what_would_change(ctx, tmp_path, scratch):
    path = tmp_path / "a"
    assert changes(ctx, path, "salt://plain") == {"newfile": str(path)}
    path.write_text(PLAIN)
    path.chmod(0o644)
    assert changes(ctx, path, "salt://plain") == {}
    assert changes(ctx, path, "salt://plain", mode="600") == {"mode": "0600"}
    nobody = (str(path), "", None, None, "", "", None, None, "base")
    assert managed.check_file_meta(ctx, *nobody) == {"user": "", "group": ""}
    assert "diff" in changes(ctx, path, contents="x")
    assert "diff" in changes(ctx, path, "salt://page", template="jinja", context={"v": 1})
    assert changes(ctx, path, "salt://no") == (
        False,
        "Source file salt://no not found in saltenv 'base'",
    )
    assert list(scratch.iterdir()) == []
    assert path.read_text() == PLAIN


def test_a_sentence_about_it(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("x\n")
    nothing = (None,) * 5

    def check(contents, mode=None):
        return managed.check_managed(
            ctx, str(path), *nothing, mode, None, None, None, None, "base", contents
        )

    assert check("x\n") == (True, f"The file {path} is in the correct state")
    told = check("y\n")
    assert told[0] is None
    assert told[1].startswith("The following values are set to be changed:\ndiff: --- \n+++ \n")


def test_the_first_source_that_is_there(ctx, roots):
    assert managed.source_list(ctx, "salt://no", "h", "base") == ("salt://no", "h")
    several = ["salt://no", {"salt://plain": "md5=x"}]
    assert managed.source_list(ctx, several, None, "base") == ("salt://plain", "md5=x")
    assert managed.source_list(ctx, ["/no", "salt://sub"], None, "base") == ("salt://sub", None)
    local = f"file://{roots}/plain"
    assert managed.source_list(ctx, ["/no", local], "h", "base") == (local, "h")
    with pytest.raises(FunctionError, match=r"^none of the specified sources were found$"):
        managed.source_list(ctx, ["salt://no", "salt://neither"], None, "base")


def test_differences(ctx, tmp_path):
    one, two, binary = (tmp_path / name for name in ("one", "two", "binary"))
    one.write_text("a\n")
    two.write_text("b\n")
    binary.write_bytes(b"\0")
    names = (str(one), str(two))
    text = "--- {}\n+++ {}\n@@ -1 +1 @@\n-a\n+b\n"
    assert managed.get_diff(ctx, *names) == text.format(*names)
    assert managed.get_diff(ctx, *names, show_filenames=False) == text.format("", "")
    assert managed.get_diff(ctx, str(one), str(one)) == ""
    assert managed.get_diff(ctx, str(one), str(binary)) == "Replace text file with binary file"
    assert managed.get_diff(ctx, str(binary), str(one)) == "Replace binary file with text file"
    assert "+plain\n" in managed.get_diff(ctx, str(one), "salt://plain")
    with pytest.raises(
        FunctionError, match=r"^Failed to read /no/such: No such file or directory$"
    ):
        managed.get_diff(ctx, "/no/such", str(one))
    with pytest.raises(FunctionError, match=r"- File salt://no not found$"):
        managed.get_diff(ctx, str(one), "salt://no")
    with pytest.raises(FunctionError, match=r"^Path 'rel' is not absolute$"):
        managed.get_diff(ctx, "rel", str(one))


def test_source_hashes(ctx, tmp_path):
    listed = tmp_path / "sums"
    listed.write_text(f"{'A' * 32}  a\n{'b' * 32}  b\n")
    assert sums.get_source_sum(ctx, "/x/b", source_hash=str(listed))["hsum"] == "b" * 32
    assert sums.get_source_sum(ctx, "/x/a", source_hash=f"file://{listed}")["hsum"] == "a" * 32
    assert sums.get_source_sum(ctx, source_hash=f"sha1={'C' * 40}") == {
        "hash_type": "sha1", "hsum": "c" * 40
    }  # fmt: skip
    with pytest.raises(FunctionError, match=r"^Source hash file salt://no not found$"):
        sums.get_source_sum(ctx, source_hash="salt://no")
    with pytest.raises(FunctionError, match=r"^Invalid hash type 'xx'"):
        sums.get_source_sum(ctx, source_hash="xx=1")


def test_templates_of_text(ctx):
    rendered = managed.apply_template_on_contents(
        ctx, "{{ a }}", "jinja", {"a": 1}, {"a": 2}, "base"
    )
    assert rendered == "1"
    refused = managed.apply_template_on_contents(ctx, "", "no", {}, {}, "base")
    assert refused == {
        "result": False, "comment": "Specified template format no is not supported"
    }  # fmt: skip


def test_copies_are_kept_and_restored(ctx, tmp_path):
    path = tmp_path / "my_file"
    path.write_text("one")
    path.chmod(0o640)
    for text in ("two", "three"):
        manage(ctx, path, contents=text, backup="minion")
    kept = backups.list_backups(ctx, str(path))
    assert [Path(row["Location"]).read_text() for row in kept.values()] == ["two", "one"]
    assert kept[1]["Size"] == 3
    location = kept[1]["Location"]
    assert location.startswith(f"{tmp_path}/cache/file_backup{path}_")
    assert stat.S_IMODE(os.stat(location).st_mode) == 0o640
    assert list(backups.list_backups(ctx, str(path), limit="1")) == [0]
    assert list(backups.list_backups_dir(ctx, f"{tmp_path}/")) == ["my_file"]
    restored = backups.restore_backup(ctx, str(path), 1)
    assert restored == {
        "result": True, "comment": f"Successfully restored {location} to {path}"
    }  # fmt: skip
    assert path.read_text() == "one"
    newest = backups.list_backups(ctx, str(path))
    assert Path(newest[0]["Location"]).read_text() == "three"
    removed = backups.delete_backup(ctx, str(path), "0")
    assert removed["comment"] == f"Successfully removed {newest[0]['Location']}"
    assert backups.delete_backup(ctx, str(path), 7) == {
        "result": False, "comment": f"backup_id '7' does not exist for {path}"
    }  # fmt: skip
    assert backups.restore_backup(ctx, str(path), "x")["comment"] == "Invalid backup_id 'x'"


def test_copies_stay_below_their_directory(tmp_path):
    backups = Backups(str(tmp_path / "cache"))
    (tmp_path / "no").mkdir()
    (tmp_path / "a").write_text("x")
    kept = backups.keep(f"{tmp_path}/no/../../{tmp_path.name}/a")
    assert kept.startswith(f"{tmp_path}/cache/file_backup/")
    assert ".." not in kept


def test_a_file_keeps_its_other_names(tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("long content")
    os.link(path, other)
    content.put_data(str(path), b"new")
    assert other.read_bytes() == b"new"


def test_the_name_is_replaced_where_salt_does(ctx, tmp_path):
    """Source: Salt 3006.30, inodes before and after."""
    path, other = tmp_path / "a", tmp_path / "b"
    for change, stays in (
        (lambda name: manage(ctx, path, contents="new\n"), False),
        (lambda name: editing.line(ctx, name, "new", mode="insert", location="end"), False),
        (
            lambda name: editing.blockreplace(ctx, name, content="x", append_if_not_found=True),
            False,
        ),
        (lambda name: editing.comment(ctx, name, "^old"), False),
        (lambda name: editing.replace(ctx, name, "old", "new"), True),
        (lambda name: modules_content.append(ctx, name, "new"), True),
        (lambda name: modules_content.prepend(ctx, name, "new"), True),
    ):
        other.write_text("old\n")
        path.unlink(missing_ok=True)
        os.link(other, path)
        change(str(path))
        assert (other.read_text() != "old\n") is stays
        assert path.samefile(other) is stays
        assert path.read_text() != "old\n"


def test_what_fails_half_way_changes_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")

    def broken():
        yield b"new"
        raise ValueError("stop")

    with pytest.raises(ValueError, match=r"stop"):
        content.put_data(str(path), broken())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_pipes_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "p")
    with pytest.raises(OSError, match=r"Invalid argument"):
        next(content.pieces(str(tmp_path / "p")))
    for endless in (str(tmp_path / "p"), "/dev/zero"):
        with pytest.raises(OSError, match=r"Invalid argument"):
            sums.get_hash(endless)


def test_only_scratch_files_are_dropped(tmp_path, scratch):
    kept = tmp_path / f"{content.SCRATCH_PREFIX}x"
    kept.write_text("")
    content.drop_scratch(str(kept))
    assert kept.exists()
    with content.scratch(b"x") as path:
        assert Path(path).parent == scratch
    assert not os.path.exists(path)


class Recorded(Host):
    """A host that keeps programs."""

    def __init__(self):
        self.ran = []

    def run(self, command, **options):
        self.ran.append(command)
        return Completed(7, 0, "", "")

    def which(self, name):
        return f"/usr/bin/{name}"


def with_options(ctx, **files):
    config = replace(ctx.config, files=replace(ctx.config.files, **files))
    return MinionContext(config=config, host=ctx.host, grains={}, pillar={})


def test_permissions_are_set_and_told(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("")
    path.chmod(0o644)
    user = ownership.get_user(str(path))
    ret, perms = ownership.check_perms(ctx, str(path), {}, user, None, 600)
    told = {"name": str(path), "changes": {"mode": "0600"}, "comment": "", "result": True}
    assert ret == told
    assert perms == {
        "luser": user, "lgroup": ownership.get_group(str(path)), "lmode": "0644", "cmode": "0600"
    }  # fmt: skip
    ret, _ = ownership.check_perms(ctx, str(path), ret, None, None, "keep")
    assert (ret["result"], ret["comment"]) == (False, "Failed to change mode to keep")
    ret, perms = ownership.check_perms(ctx, str(path), None, "no such user", "", None)
    assert perms["cuser"] == "no such user"
    assert ret["comment"] == "User does not exist\n; Failed to change user to no such user"
    with pytest.raises(FunctionError, match=r"^Path not found: /no/such$"):
        ownership.check_perms(ctx, "/no/such", {}, None, None, None)


def test_links_have_no_mode_of_their_own(ctx, tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o644)
    link = tmp_path / "link"
    link.symlink_to("a")
    assert ownership.check_perms(ctx, str(link), {}, None, None, "0600")[0]["changes"] == {}
    followed = ownership.check_perms(ctx, str(link), {}, None, None, "0600", None, True)
    assert followed[0]["changes"] == {"mode": "0600"}


def test_a_dry_run_sets_no_permissions(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("")
    path.chmod(0o644)
    dry = with_options(ctx, test=True)
    ret, _ = ownership.check_perms(dry, str(path), {}, "no such user", None, "0600")
    assert ret["result"] is None
    assert ret["changes"] == {"user": "no such user", "mode": "0600"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    pipe = str(tmp_path / "p")
    assert making.mknod(dry, pipe, "p")["result"] is None
    assert not os.path.exists(pipe)


def test_differences_are_obfuscated(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("secret\n")
    hiding = MinionContext(
        config=replace(ctx.config, extra={"obfuscate_templates": True}),
        host=ctx.host, grains={}, pillar={},
    )  # fmt: skip
    assert changes(hiding, path, contents="x") == {"diff": "<Obfuscated Template>"}
    assert manage(hiding, path, contents="x")["changes"] == {"diff": "<Obfuscated Template>"}


def test_programs_get_words_not_commands(ctx, tmp_path):
    ctx.host = Recorded()
    (tmp_path / "a").write_text("")
    path = str(tmp_path / "a")
    searching.grep(ctx, path, "-f/etc/shadow", "-i")
    editing.sed(ctx, path, "a/b", "$(id)", backup="", limit="l")
    editing.patch(ctx, path, "/p", "-R -s", dry_run=True)
    editing.patch(ctx, str(tmp_path), "/p")
    refuse = ["--forward", "--reject-file=-"]
    assert ctx.host.ran == [
        ["grep", "-i", "-e", "-f/etc/shadow", "--", path],
        ["sed", "-i", "-r", "-e", "/l/ s/a\\/b/$(id)/g", path],
        ["/usr/bin/patch", "-R", "-s", *refuse, "--dry-run", "-i", "/p", path],
        ["/usr/bin/patch", *refuse, "-i", "/p", "-d", str(tmp_path), "-p0"],
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"pass the following arguments separately: -i -n$"):
        searching.grep(ctx, path, "x", "-i -n")
    assert editing.sed(ctx, "/no/such", "a", "b") is False


def test_a_patch_is_applied(ctx, tmp_path):
    if subprocess.run(["which", "patch"], capture_output=True, check=False).returncode:
        pytest.skip("there is no patch")
    path, patch = tmp_path / "a", tmp_path / "p"
    path.write_text("l1\nl2\nl3\n")
    patch.write_text("--- a\n+++ b\n@@ -1,3 +1,3 @@\n l1\n-l2\n+L2\n l3\n")
    assert editing.patch(ctx, str(path), str(patch))["stdout"] == f"patching file {path}"
    assert path.read_text() == "l1\nL2\nl3\n"
    again = editing.patch(ctx, str(path), str(patch))
    assert again["retcode"] == 1
    assert sorted(os.listdir(tmp_path)) == ["a", "cache", "p", "srv"]


def test_labels_and_attributes_stay(tmp_path, monkeypatch):
    """A label goes over to the new file; with anything else the file itself is written."""
    path, label = tmp_path / "a", {}
    path.write_text("old")
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"system_u:object_r:etc_t:s0")
    monkeypatch.setattr(os, "setxattr", lambda path, name, value: label.update({name: value}))
    monkeypatch.setattr(os, "listxattr", lambda path: ["security.selinux"])
    before = path.stat().st_ino
    with path.open():
        content.put_data(str(path), b"new")
        assert path.stat().st_ino != before
    assert label == {"security.selinux": b"system_u:object_r:etc_t:s0"}
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"])
    before = path.stat().st_ino
    content.put_data(str(path), b"newer")
    assert path.stat().st_ino == before
    assert path.read_text() == "newer"
