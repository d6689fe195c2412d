"""States of ours in a directory of a user who means harm, in namespaces of their own.

Every case is a function of a :class:`Home`. It plants something, lets root apply states, and says
what has to come of it. Whatever that is, nothing in ``home.outside`` may have changed afterwards:
no owner, no mode, no content, no name.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MALLORY, TRENT = 4242, 4343
WORK = Path("/mnt/hostile")
RACE_S = 3.0
CASE_LIMIT_S = 20

CASES: dict[str, Callable[[Home], None]] = {}


def case(function: Callable[[Home], None]) -> Callable[[Home], None]:
    """Register what is run by its name."""
    CASES[function.__name__] = function
    return function


class Home:
    """What is the user's, what is root's, and how root applies states."""

    def __init__(self, ctx: Any, top: Path) -> None:
        self.ctx, self.top = ctx, top
        self.path, self.outside = top / "home", top / "outside"
        top.mkdir(parents=True)
        self.path.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("root's own\n")
        (self.outside / "secret").chmod(0o600)
        (self.outside / "open").write_text("for everybody\n")
        (self.outside / "below").mkdir()
        (self.outside / "below" / "deep").write_text("deep\n")
        self.own(self.path)
        self.before = self.look()

    def own(self, path: Path, uid: int = MALLORY) -> Path:
        os.lchown(path, uid, uid)
        return path

    def file(self, name: str, text: str = "a=1\n", uid: int = MALLORY) -> Path:
        path = self.path / name
        path.write_text(text)
        return self.own(path, uid)

    def folder(self, name: str, uid: int = MALLORY) -> Path:
        path = self.path / name
        path.mkdir()
        return self.own(path, uid)

    def link(self, name: str, target: Path | str, uid: int = MALLORY) -> Path:
        path = self.path / name
        path.symlink_to(target)
        return self.own(path, uid)

    def hard(self, name: str, of: str = "secret") -> Path:
        path = self.path / name
        path.hardlink_to(self.outside / of)
        return path

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in [self.outside, *sorted(self.outside.rglob("*"))]:
            status = path.lstat()
            text = path.read_text() if stat.S_ISREG(status.st_mode) else ""
            found[str(path)] = (oct(status.st_mode), status.st_uid, status.st_gid, text)
        return found

    def apply(self, fun: str, name: Path | str, **args: Any) -> Any:
        from saltlite.errors import SaltliteError
        from saltlite.highstate.resource import Verdict, realise
        from saltlite.loader.states import resolve

        try:
            declared = resolve(fun, self.ctx).call(name=str(name), **args)
            verdict = realise(declared, self.ctx, test=False)
        except (SaltliteError, OSError) as error:
            verdict = Verdict(result=False, comment=f"{type(error).__name__}: {error}")
        return verdict

    def refused(self, fun: str, name: Path | str, **args: Any) -> None:
        verdict = self.apply(fun, name, **args)
        assert verdict.result is False, verdict
        assert self.look() == self.before, verdict

    def done(self, fun: str, name: Path | str, **args: Any) -> Any:
        verdict = self.apply(fun, name, **args)
        assert verdict.result is True, verdict
        return verdict

    def call(self, fun: str, *args: Any, **keywords: Any) -> Any:
        from saltlite.errors import SaltliteError

        try:
            return self.ctx.functions.call(fun, *args, **keywords)
        except (SaltliteError, OSError) as error:
            return f"refused: {error}"

    @contextlib.contextmanager
    def before_call(self, module: Any, name: str, act: Callable[[], None], when: Any) -> Any:
        """Act once, just before a function is called with arguments that ``when`` agrees to."""
        original, done = getattr(module, name), []

        @functools.wraps(original)
        def hooked(*args: Any, **keywords: Any) -> Any:
            if not done and when(args, keywords):
                done.append(True)
                act()
            return original(*args, **keywords)

        setattr(module, name, hooked)
        try:
            yield
        finally:
            setattr(module, name, original)
        assert done, f"{name} was not called"

    def swap(self, name: str, target: Path) -> Callable[[], None]:
        """Put a link of the user in the place of his directory."""

        def act() -> None:
            (self.path / name).rename(self.path / f"{name}.away")
            self.link(name, target)

        return act


EDITS: dict[str, dict[str, Any]] = {
    "file.append": {"text": "more"},
    "file.prepend": {"text": "more"},
    "file.replace": {"pattern": "root|for|a", "repl": "x", "append_if_not_found": True},
    "file.line": {"mode": "insert", "location": "end", "content": "more"},
    "file.blockreplace": {"content": "more", "append_if_not_found": True},
    "file.comment": {"regex": "^(root|for|a)"},
    "file.keyvalue": {"key": "a", "value": "2", "append_if_not_found": True},
    "file.serialize": {"dataset": {"a": 1}, "serializer": "json"},
    "file.decode": {"encoded_data": "YWJj", "encoding_type": "base64"},
    "file.managed": {"contents": "new"},
    "file.touch": {},
    "ini.options_present": {"sections": {"a": {"b": "c"}}},
}


@case
def managed_over_a_dangling_link(home: Home) -> None:
    for user in ({}, {"user": "mallory"}, {"user": "trent"}):
        path = home.link(f"x{len(user)}{user.get('user')}", home.outside / "new")
        home.refused("file.managed", path, contents="x", **user)


@case
def every_edit_through_a_link(home: Home) -> None:
    for target in ("secret", "open", "new"):
        for number, (fun, args) in enumerate(EDITS.items()):
            path = home.link(f"{target}{number}", home.outside / target)
            verdict = home.apply(fun, path, **args)
            assert verdict.result is False, (fun, target, verdict)
            assert home.look() == home.before, (fun, target, verdict)


@case
def every_edit_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    for fun, args in EDITS.items():
        for name in ("secret", "new"):
            verdict = home.apply(fun, away / name, **args)
            assert verdict.result is False, (fun, name, verdict)
            assert home.look() == home.before, (fun, name, verdict)


@case
def every_edit_of_a_hard_link(home: Home) -> None:
    for number, (fun, args) in enumerate(EDITS.items()):
        path = home.hard(f"x{number}", "open")
        verdict = home.apply(fun, path, **args)
        assert home.look() == home.before, (fun, verdict)


@case
def managed_replaces_the_name_of_a_hard_link(home: Home) -> None:
    path = home.hard("x")
    home.done("file.managed", path, contents="mine", user="mallory", mode="0644")
    assert path.read_text() == "mine\n"
    assert path.stat().st_uid == MALLORY
    assert path.stat().st_nlink == 1


@case
def owner_and_mode_of_a_hard_link_stay(home: Home) -> None:
    path = home.hard("x")
    home.refused("file.managed", path, replace=False, user="mallory", mode="0666")
    home.refused("file.directory", home.path, user="mallory", recurse=["user"])
    home.refused("file.directory", home.path, file_mode="0666", recurse=["mode"])
    for fun, args in (("file.chown", ("mallory", "mallory")), ("file.set_mode", ("0666",))):
        assert "hard links" in str(home.call(fun, str(path), *args)), fun
    assert home.look() == home.before


@case
def a_fifo_neither_waits_nor_takes(home: Home) -> None:
    path = home.path / "pipe"
    os.mkfifo(path)
    home.own(path)
    for fun, args in EDITS.items():
        if fun not in ("file.managed", "file.serialize", "file.touch"):
            home.refused(fun, path, **args)


@case
def what_was_read_is_what_is_written(home: Home) -> None:
    """The content of root's file does not become that of a file of the user."""
    from saltlite.providers.file import content

    path = home.hard("x")
    mine = home.file("mine", "nothing\n")

    def swap() -> None:
        os.replace(mine, path)

    with home.before_call(content, "put_data", swap, lambda args, keywords: True):
        home.refused("file.prepend", path, text="more")
    assert path.read_text() == "nothing\n"


@case
def recursion_into_links(home: Home) -> None:
    home.folder("d")
    home.link("d/away", home.outside)
    home.link("d/file", home.outside / "secret")
    home.done("file.directory", home.path / "d", user="trent", recurse=["user"])
    assert (home.path / "d" / "away").lstat().st_uid == TRENT
    home.apply(
        "file.directory", home.path / "d", user="mallory", file_mode="0666", dir_mode="0777",
        recurse=["user", "mode"], follow_symlinks=True,
    )  # fmt: skip


@case
def recursion_into_a_swapped_directory(home: Home) -> None:
    from saltlite.providers.file import permissions

    home.folder("d")
    for name in ("secret", "open"):
        (home.folder(f"d{name}") / "x").touch()
        home.own((home.folder(f"d/{name}.d")) / ".", MALLORY)
    home.folder("d/below")
    home.file("d/below/deep", uid=0)
    swap = home.swap("d/below", home.outside / "below")
    acts = lambda args, keywords: not keywords["test"]  # noqa: E731
    with home.before_call(permissions, "_examine", swap, acts):
        home.refused("file.directory", home.path / "d", user="mallory", recurse=["user"])


@case
def a_swapped_directory_is_not_cleaned(home: Home) -> None:
    from saltlite.providers.file import paths

    home.folder("d")
    home.folder("d/below")
    home.file("d/below/deep")
    home.file("d/below/kept")
    swap = home.swap("d/below", home.outside / "below")
    with home.before_call(paths, "remove", swap, lambda args, keywords: "deep" in args[0]):
        home.apply(
            "file.directory", home.path / "d", clean=True,
            exclude_pat=["below", "below/kept"],
        )  # fmt: skip


@case
def a_swapped_directory_is_not_removed(home: Home) -> None:
    from saltlite import openat

    home.folder("d")
    home.folder("d/below")
    home.file("d/below/deep")
    swap = home.swap("d/below", home.outside / "below")
    with home.before_call(openat, "_Emptied", swap, lambda args, keywords: args[1] == "below"):
        home.refused("file.absent", home.path / "d")


@case
def removal_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    home.refused("file.absent", away / "secret")
    home.refused("file.absent", away / "below")
    home.refused("file.tidied", f"{away}/", matches=[".*"], rmdirs=True)
    home.refused("file.directory", away / "below", clean=True)
    home.refused("file.prune", away / "below")
    os.chown(home.path, MALLORY, MALLORY)
    home.apply("file.directory", f"{away}/", clean=True)
    for fun in ("file.remove", "file.rmdir"):
        home.call(fun, str(away / "below"))
    home.call("file.find", f"{away}/", delete="fd")


@case
def removal_takes_links_only(home: Home) -> None:
    home.folder("d")
    home.link("d/away", home.outside)
    home.link("d/file", home.outside / "secret")
    home.done("file.absent", home.path / "d")
    assert not (home.path / "d").exists()


@case
def names_made_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    mine = home.file("mine")
    home.refused("file.directory", away / "new", user="mallory")
    home.refused("file.directory", away / "new" / "more", user="mallory", makedirs=True)
    home.refused("file.managed", away / "new" / "x", contents="x", makedirs=True, user="mallory")
    home.refused("file.symlink", away / "new", target="/", user="mallory")
    home.refused("file.symlink", away / "secret", target="/", force=True)
    home.refused("file.hardlink", away / "new", target=str(mine))
    home.refused("file.hardlink", away / "secret", target=str(mine), force=True)
    home.refused("file.mknod", away / "new", ntype="p", user="mallory", mode="0666")
    home.refused("file.copy", away / "new", source=str(mine))
    home.refused("file.copy", away / "secret", source=str(mine), force=True)
    home.refused("file.rename", away / "new", source=str(mine))
    home.refused("file.rename", home.path / "stolen", source=str(away / "secret"))


@case
def copies_of_what_a_link_hides(home: Home) -> None:
    home.link("x", home.outside / "secret")
    home.refused("file.copy", home.path / "copy", source=str(home.path / "x"))
    home.folder("d")
    home.link("d/x", home.outside / "secret")
    home.refused("file.copy", home.path / "copies", source=str(home.path / "d"))
    home.refused("file.managed", home.path / "y", source=str(home.path / "x"))


@case
def copies_over_links(home: Home) -> None:
    source = home.file("source")
    home.link("x", home.outside / "secret")
    home.call("file.copy", str(source), str(home.path / "x"))
    home.call("file.copy", str(source), str(home.link("away", home.outside)))
    home.call("file.move", str(source), str(home.path / "away"))
    home.call("file.rename", str(source), str(home.path / "away" / "new"))
    assert home.look() == home.before


@case
def functions_on_links(home: Home) -> None:
    path = str(home.link("x", home.outside / "secret"))
    for fun, *args in (
        ("file.write", "text"), ("file.append", "text"), ("file.prepend", "text"),
        ("file.truncate", 0), ("file.seek_write", "x", 0), ("file.touch",),
        ("file.chown", "mallory", "mallory"), ("file.chgrp", "mallory"),
        ("file.set_mode", "0666"), ("file.psed", "root", "x"), ("file.sed", "root", "x"),
        ("file.comment", "^root"), ("hashutil.base64_decodefile", "YWJj"),
    ):  # fmt: skip
        if fun.startswith("hashutil"):
            home.call(fun, args[0], path)
        else:
            home.call(fun, path, *args)
        assert home.look() == home.before, fun
    home.done("file.absent", path)


@case
def a_file_of_the_user_is_not_run_as_root(home: Home) -> None:
    path = home.file("program", "#!/bin/sh\n")
    home.refused("file.managed", path, replace=False, user="root", mode="4755")
    assert not path.stat().st_mode & stat.S_ISUID


@case
def new_parents_are_not_given_away(home: Home) -> None:
    """A directory that was just made and given away is swapped before what is in it is made."""
    from saltlite.providers.file import paths

    def swap() -> None:
        (home.path / "a").rename(home.path / "b")
        home.link("a", home.outside)

    acts = lambda args, keywords: str(args[0]).endswith("a/new")  # noqa: E731
    with home.before_call(paths, "reach", swap, acts):
        home.refused(
            "file.managed", home.path / "a" / "new" / "x", contents="x", user="mallory",
            makedirs=True,
        )  # fmt: skip


@case
def links_of_root_are_followed(home: Home) -> None:
    (home.outside / "free").mkdir()
    home.link("away", home.outside / "free", uid=0)
    home.done("file.managed", home.path / "away" / "x", contents="x")
    assert (home.outside / "free" / "x").read_text() == "x\n"
    target = home.file("target")
    home.done("file.managed", home.link("link", target, uid=0), contents="y")
    assert target.read_text() == "y\n"
    home.done("file.append", home.path / "link", text="z")
    assert target.read_text() == "y\nz\n"
    shutil.rmtree(home.outside / "free")


@case
def links_of_the_user_are_followed_to_what_is_his(home: Home) -> None:
    target = home.file("target")
    link = home.link("link", "target")
    home.done("file.managed", link, contents="y", user="mallory")
    assert link.is_symlink()
    assert target.read_text() == "y\n"
    home.folder("www")
    home.link("public", "www")
    home.done("file.managed", home.path / "public" / "x", contents="x", user="mallory")
    assert (home.path / "www" / "x").stat().st_uid == MALLORY
    home.refused("file.managed", link, contents="z", user="trent")


@case
def links_in_directories_of_root_are_followed(home: Home) -> None:
    folder = home.folder("closed", uid=0)
    target = home.file("target")
    home.link("closed/link", target)
    home.done("file.managed", folder / "link", contents="y")
    assert target.read_text() == "y\n"


@case
def what_is_mounted_is_written_in_place(home: Home) -> None:
    """As ``/etc/hosts`` in a container; and a directory that is mounted has no link in its path."""
    source, path = home.top / "source", home.file("hosts")
    source.write_text("old\n")
    folder = home.folder("mounted")
    for one, other in ((source, path), (home.path, folder)):
        subprocess.run(["mount", "--bind", str(one), str(other)], check=True)
    try:
        for fun in ("file.append", "file.prepend", "file.managed", "file.replace"):
            home.done(fun, path, **EDITS[fun])
        assert source.stat().st_ino == path.stat().st_ino
        assert source.read_text() != "old\n"
        home.done("file.managed", folder / "x", contents="x", user="mallory")
        assert (home.path / "x").read_text() == "x\n"
    finally:
        for one in (folder, path):
            subprocess.run(["umount", str(one)], check=True)


@case
def a_loop_and_a_long_chain_end(home: Home) -> None:
    home.link("loop", "loop", uid=0)
    home.refused("file.managed", home.path / "loop" / "x", contents="x")
    for number in range(60):
        home.link(f"l{number}", f"l{number + 1}", uid=0)
    home.refused("file.append", home.path / "l0", text="x")


def tar_of(home: Home, **files: str) -> str:
    """An archive that is root's; ``__`` in a name is a slash."""
    path = home.top / "archive.tar"
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size, info.mode = len(text), 0o600
            archive.addfile(info, io.BytesIO(text.encode()))
    return str(path)


def zip_of(home: Home, **files: str) -> str:
    """The same as a ZIP file."""
    path = home.top / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return str(path)


ARCHIVES = (tar_of, zip_of)
UNPACKED: dict[str, Any] = {"enforce_toplevel": False, "overwrite": True}


@case
def archives_are_not_unpacked_through_links(home: Home) -> None:
    for make in ARCHIVES:
        for user in ({}, {"user": "mallory"}):
            source = make(home, away__secret="x", away__new="x", plain="x")
            folder = home.folder(f"{make.__name__}{len(user)}")
            (folder / "away").symlink_to(home.outside)
            home.own(folder / "away")
            home.refused("archive.extracted", folder, source=source, **UNPACKED, **user)
            assert not list(folder.glob(".salt-*"))


@case
def archives_replace_links_and_names(home: Home) -> None:
    for make in ARCHIVES:
        source = make(home, one="x", two="x")
        folder = home.folder(make.__name__)
        (folder / "one").hardlink_to(home.outside / "secret")
        (folder / "two").hardlink_to(home.outside / "open")
        home.done("archive.extracted", folder, source=source, user="mallory", **UNPACKED)
        assert (folder / "one").read_text() == "x"
        assert (folder / "one").stat().st_uid == MALLORY
        assert not list(folder.glob(".salt-*"))


@case
def zip_files_unpacked_by_a_function(home: Home) -> None:
    home.link("away", home.outside)
    home.call("archive.unzip", zip_of(home, away__new="x", away__secret="x"), str(home.path))
    home.call("archive.unzip", zip_of(home, new="x"), str(home.path / "away"))
    home.call("archive.cmd_unzip", zip_of(home, new="x"), str(home.path / "away"))
    assert home.look() == home.before
    home.hard("x")
    home.call("archive.unzip", zip_of(home, x="new"), str(home.path))
    assert (home.path / "x").read_text() == "new"


@case
def archives_below_a_link(home: Home) -> None:
    home.link("away", home.outside)
    for make in ARCHIVES:
        source = make(home, new="x", below__deep="x")
        for name in ("away", "away/new", "away/below"):
            for more in ({}, {"user": "mallory", "clean": True}):
                home.refused(
                    "archive.extracted", home.path / name, source=source, **UNPACKED, **more
                )


@case
def members_are_not_given_away_through_links(home: Home) -> None:
    """The archive is there already; only its owner is to be set."""
    given = {"user": "mallory", "enforce_toplevel": False}
    source = tar_of(home, away__secret="root's own\n")
    home.link("away", home.outside)
    home.refused("archive.extracted", home.path, source=source, **given)
    folder = home.folder("d")
    source = tar_of(home, secret="root's own\n")
    (folder / "secret").hardlink_to(home.outside / "secret")
    home.refused("archive.extracted", folder, source=source, **given)


@case
def a_directory_is_swapped_while_an_archive_is_unpacked(home: Home) -> None:
    from saltlite.states._archive import unpacking

    for make in ARCHIVES:
        name = make.__name__
        source = make(home, below__deep="x", below__new="x")
        home.folder(name)
        home.folder(f"{name}/below")
        swap = home.swap(f"{name}/below", home.outside / "below")
        with home.before_call(unpacking.Archive, "unpack", swap, lambda args, keywords: True):
            home.refused(
                "archive.extracted", home.path / name, source=source, user="mallory", **UNPACKED
            )


@case
def files_from_the_master(home: Home) -> None:
    (WORK / "roots" / "tree").mkdir(exist_ok=True)
    for name in ("x", "secret"):
        (WORK / "roots" / "tree" / name).write_text("from the master\n")
    away = home.link("away", home.outside)
    x = str(home.link("x", home.outside / "secret"))
    for fun, *args in (
        ("cp.get_file", "salt://tree/x", x), ("cp.get_file", "salt://tree/x", f"{away}/new"),
        ("cp.get_file", "salt://tree/x", f"{away}/new/x", "jinja", "base", True),
        ("cp.get_dir", "salt://tree", str(away)), ("cp.get_dir", "salt://tree", f"{away}/new"),
        ("cp.get_url", "salt://tree/x", x), ("cp.get_template", "salt://tree/x", x),
        ("cp.recv", {"x": "text"}, x), ("cp.recv_chunked", x, "YWJj", False, False),
        ("cp.recv_chunked", x, "YWJj", True, False), ("cp.recv_chunked", f"{away}/n", "YWJj"),
        ("hashutil.base64_decodefile", "YWJj", f"{away}/new"),
    ):  # fmt: skip
        home.call(fun, *args)
        assert home.look() == home.before, (fun, args)
    home.refused("file.recurse", away, source="salt://tree")
    home.refused("file.recurse", away / "new", source="salt://tree", user="mallory")
    home.refused("file.recurse", away / "below", source="salt://tree", clean=True)
    folder = home.folder("d")
    home.link("d/x", home.outside / "secret")
    home.refused("file.recurse", folder, source="salt://tree", user="trent")


KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


@case
def keys_of_the_user(home: Home) -> None:
    mallory = WORK / "mallory"
    mallory.mkdir()
    home.own(mallory)
    given = {"user": "mallory", "enc": "ed25519"}
    ssh = mallory / ".ssh"
    keys, known = ssh / "authorized_keys", ssh / "known_hosts"
    ssh.symlink_to(home.outside)
    home.own(ssh)
    home.refused("ssh_auth.present", KEY, **given)
    ssh.unlink()
    ssh.mkdir()
    home.own(ssh)
    for target in ("secret", "new"):
        keys.symlink_to(home.outside / target)
        home.own(keys)
        home.refused("ssh_auth.present", KEY, **given)
        keys.unlink()
    known.symlink_to(home.outside / "open")
    home.own(known)
    home.call("ssh.rm_known_host", "mallory", "example.org")
    home.call("ssh.hash_known_hosts", "mallory")
    home.done("ssh_auth.present", KEY, **given)
    assert keys.stat().st_uid == MALLORY
    keys.rename(mallory / "mine")
    keys.symlink_to("../mine")
    home.own(keys)
    home.done("ssh_auth.absent", KEY, **given)
    assert KEY not in (mallory / "mine").read_text()
    assert keys.is_symlink()


@case
def the_text_of_another_file_is_not_saved(home: Home) -> None:
    """What was read through a link is not written to the file that took its place."""
    from saltlite import disk

    mine = home.file("mine", "")
    path = home.link("x", home.outside / "secret")

    def swap() -> None:
        os.replace(mine, path)

    with home.before_call(disk, "rewrite", swap, lambda args, keywords: True):
        home.refused("ini.options_present", path, sections={"a": {"b": "c"}})
    assert path.read_text() == ""
    assert not path.is_symlink()


@case
def repositories_below_a_link(home: Home) -> None:
    if shutil.which("git") is None:
        return
    (home.outside / "empty").mkdir()
    before = home.look()
    path = home.link("repository", home.outside / "empty")
    for fun in ("git.init", "git.status"):
        assert "not followed" in str(home.call(fun, str(path))), fun
    home.apply("git.present", path)
    home.apply("git.latest", "file:///nowhere", target=str(path))
    for name in ("new", "new/below"):
        home.call("git.init", str(path / name))
        home.apply("git.present", path / name)
        home.call("git.clone", str(path / name), "file:///nowhere")
    assert home.look() == before
    (home.outside / "empty").rmdir()


@case
def patches_of_linked_files(home: Home) -> None:
    if shutil.which("patch") is None:
        return
    patch = home.top / "a.patch"
    patch.write_text("--- a\n+++ a\n@@ -1 +1 @@\n-for everybody\n+changed\n")
    home.refused("file.patch", home.link("x", home.outside / "open"), source=str(patch))
    home.refused("file.patch", home.link("away", home.outside) / "open", source=str(patch))
    home.refused("file.patch", home.hard("y", "open"), source=str(patch))


# --- programs that root has run on a path ------------------------------------------------------


def acl_of(path: Path) -> str:
    return subprocess.run(
        ["getfacl", "--absolute-names", str(path)], capture_output=True, text=True, check=True
    ).stdout


@case
def access_lists_of_what_a_link_hides(home: Home) -> None:
    if shutil.which("setfacl") is None:
        return
    names = ("secret", "below", "below/deep")
    before = [acl_of(home.outside / name) for name in names]

    def look() -> None:
        assert [acl_of(home.outside / name) for name in names] == before

    file, folder = home.link("x", home.outside / "secret"), home.link("d", home.outside / "below")
    hard = home.hard("h")
    given = {"acl_type": "user", "acl_name": "mallory", "perms": "rwx"}
    for path in (file, folder, folder / "deep", hard):
        home.apply("acl.present", path, **given)
        look()
        home.apply("acl.present", path, recurse=True, **given)
        look()
        for more in ({}, {"recursive": True}):
            home.call("acl.modfacl", "user", "mallory", "rwx", str(path), **more)
            look()
    for name in names:
        words = ["setfacl", "-m", "user:trent:rwx", str(home.outside / name)]
        subprocess.run(words, check=True)
    before = [acl_of(home.outside / name) for name in names]
    for path in (file, folder, folder / "deep", hard):
        home.apply("acl.absent", path, acl_type="user", acl_name="trent")
        for more in ({}, {"recursive": True}):
            home.call("acl.delfacl", "user", "trent", str(path), **more)
            home.call("acl.wipefacls", str(path), **more)
            look()
    for name in names:
        subprocess.run(["setfacl", "-b", str(home.outside / name)], check=True)
    own = home.folder("own")
    home.file("own/x")
    for more in ({}, {"recurse": True}):
        home.done("acl.present", own, **given, **more)
    assert "user:mallory:rwx" in acl_of(own)
    assert "user:mallory:rwx" in acl_of(own / "x")


@case
def copies_by_rsync_below_a_link(home: Home) -> None:
    if shutil.which("rsync") is None:
        return
    source = home.top / "source"
    source.mkdir()
    (source / "new").write_text("x")
    away = home.link("away", home.outside)
    for name in (away, away / "below", away / "made"):
        home.apply("rsync.synchronized", name, source=f"{source}/", prepare=True, delete=True)
        home.call("rsync.rsync", f"{source}/", str(name))
        home.call("rsync.rsync", f"{source}/", f"{name}/", delete=True)
        assert home.look() == home.before, name
    home.done("rsync.synchronized", home.path / "own", source=f"{source}/", prepare=True)
    assert (home.path / "own" / "new").read_text() == "x"


@case
def archives_by_programs_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    mine = str(home.file("mine"))
    source = tar_of(home, new="x", secret="x")
    for dest, cwd in ((str(away), None), (None, str(away)), (str(away / "below"), None)):
        home.call("archive.tar", "xf", source, dest=dest, cwd=cwd)
    home.call("archive.tar", "cf", str(away / "new.tar"), sources=[mine])
    for fun in ("zip", "cmd_zip"):
        home.call(f"archive.{fun}", str(away / "new.zip"), [mine])
    home.call("archive.gzip", str(away / "open"))
    home.call("archive.gzip", str(away / "below" / "deep"))
    if shutil.which("gzip"):
        (home.top / "free").mkdir()
        packed = home.top / "free" / "x"
        packed.write_text("x")
        subprocess.run(["gzip", str(packed)], check=True)
        home.link("free", home.top / "free")
        home.call("archive.gunzip", str(home.path / "free" / "x.gz"))
        assert not packed.exists()
    assert home.look() == home.before


@case
def environments_and_packages_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    for path in (away, away / "below", away / "new"):
        home.call("virtualenv.create", str(path), venv_bin="venv", clear=True)
        home.apply("virtualenv.managed", path, venv_bin="venv")
        assert home.look() == home.before, path
    if shutil.which("npm"):
        home.call("npm.install", dir=str(away))
        home.call("npm.uninstall", "x", dir=str(away))
        assert home.look() == home.before


@case
def keys_and_certificates_below_a_link(home: Home) -> None:
    away = home.link("away", home.outside)
    key = home.call("x509.create_private_key", algo="ec")
    for path in (away / "new", away / "secret"):
        home.call("x509.create_private_key", algo="ec", path=str(path))
        home.call("x509.create_certificate", signing_private_key=key, CN="x", path=str(path))
        home.call("x509.create_csr", private_key=key, CN="x", path=str(path))
        home.call("x509.write_pem", key, str(path))
        for fun, given in (
            ("private_key_managed", {"algo": "ec"}),
            ("certificate_managed", {"signing_private_key": key, "CN": "x"}),
            ("csr_managed", {"private_key": key, "CN": "x"}),
            ("pem_managed", {"text": key}),
        ):
            for more in ({}, {"user": "mallory", "mode": "0644", "backup": True}):
                home.apply(f"x509.{fun}", path, **given, **more)
                home.apply(f"x509.{fun}", path, **given, **more, makedirs=True)
                assert home.look() == home.before, fun
    home.call("x509.create_certificate", signing_private_key=key, CN="x", copypath=str(away))
    home.apply(
        "x509.certificate_managed", home.path / "crt", signing_private_key=key, CN="x",
        copypath=str(away),
    )  # fmt: skip
    link = home.link("link", home.outside / "secret")
    home.apply("x509.private_key_managed", link, algo="ec", user="mallory", mode="0666")
    home.apply("x509.private_key_managed", home.hard("h"), algo="ec", user="mallory", mode="0666")


@case
def other_functions_that_write_a_path(home: Home) -> None:
    away = home.link("away", home.outside)
    link = home.link("x", home.outside / "secret")
    for path in (str(link), str(away / "new"), str(away / "secret")):
        home.call("http.query", "http://127.0.0.1:9/", text_out=path, headers_out=path)
        home.call("apache.useradd", path, "u", "p")
        home.call("apache.userdel", path, "u")
        home.call("iptables.save", path)
        home.call("gpg.export_key", "x", output=path)
        home.call("file.restore_backup", path, 0)
        home.call("sysctl.persist", "a", "1", path)
        home.call("mount.set_fstab", "/mnt/x", "/dev/x", "ext4", config=path)
        home.call("jinja.load_map", path, "x")
        home.call("file.mkdir", path)
        home.call("file.makedirs", f"{path}/a/")
        home.call("file.makedirs_perms", f"{path}/a", user="mallory")
        home.call("file.symlink", "/", path)
        home.call("file.link", str(home.path / "x"), path)
        home.call("file.mknod", path, "p")
        home.call("file.copy", str(home.path / "x"), path)
        home.call("file.lchown", path, "mallory", "mallory")
        home.call("file.set_selinux_context", path, "x")
        home.call("file.chattr", path, operator="add", attributes="i")
        home.call("file.extract_hash", path)
        home.call("file.open_mode", path)
        home.call("file.delete_backup", path, 0)
        home.call("file.mkdir", path, user="mallory", mode="0777")
        assert home.look() == home.before, path


@case
def a_race_for_the_owner(home: Home) -> None:
    """The user swaps a directory and a link all the time, while root gives him the tree."""
    home.folder("d")
    below = home.folder("d/below")
    for name in ("deep", "other"):
        home.file(f"d/below/{name}")
    home.link("d/away", home.outside / "below")
    with swapping(home.path / "d" / "below", home.path / "d" / "away"):
        end = time.monotonic() + RACE_S
        while time.monotonic() < end:
            for user in ("trent", "mallory"):
                home.apply(
                    "file.directory", home.path / "d", user=user, group=user, file_mode="0640",
                    recurse=["user", "group", "mode"],
                )  # fmt: skip
                home.apply("file.managed", below / "deep", contents=user, user=user)
                home.apply("file.append", below / "other", text=f"{user}{time.monotonic()}")
            home.apply("file.absent", below / "deep")
            assert home.look() == home.before


@contextlib.contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Another process that exchanges two names until it is ended."""
    spare = one.with_name("spare")
    child = os.fork()
    if not child:
        while True:
            with contextlib.suppress(OSError):
                os.rename(one, spare)
                os.rename(other, one)
                os.rename(spare, other)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _give_up(*_: Any) -> None:
    raise AssertionError(f"the case took {CASE_LIMIT_S} s")


def main() -> None:
    from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.registry import Registry

    with open("/etc/passwd", "a") as users, open("/etc/group", "a") as groups:
        for name, uid in (("mallory", MALLORY), ("trent", TRENT)):
            users.write(f"{name}:x:{uid}:{uid}::{WORK}/{name}:/bin/sh\n")
            groups.write(f"{name}:x:{uid}:\n")
    roots = WORK / "roots"
    roots.mkdir(parents=True)
    config = MinionConfig(
        paths=PathOptions(cachedir=str(WORK / "cache"), conf_file=str(WORK / "minion")),
        files=FileOptions(file_client="local", file_roots={"base": [str(roots)]}),
    )
    grains = {"os_family": "Debian", "os": "Debian", "kernel": "Linux", "osmajorrelease": 12}
    told: dict[str, str] = {}
    signal.signal(signal.SIGALRM, _give_up)
    for name in json.loads(sys.stdin.readline()):
        ctx = MinionContext(config=config, host=Host(), grains=grains, pillar={})
        ctx.functions = Registry(ctx)
        home = Home(ctx, WORK / name)
        signal.alarm(CASE_LIMIT_S)
        try:
            CASES[name](home)
            changed = home.look() != home.before
            told[name] = f"changed: {home.look()}" if changed else ""
        except Exception:  # noqa: BLE001 - the test shows it
            told[name] = traceback.format_exc()
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
