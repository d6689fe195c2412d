"""The directories of file_roots: what is in them, who wins, and that nobody gets out of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from saltlite import disk
from saltlite.config.master import FileOptions
from saltlite.fileserver import server as server_module
from saltlite.fileserver.paths import safe_name, safe_parts, split_url
from saltlite.fileserver.roots import Roots
from saltlite.fileserver.server import FileServer

LONG_AGO_S = 1_000_000_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in {
        "one/a.txt": "a\n",
        "one/sub/b.sls": "b\n",
        "one/sub/init.sls": "",
        "one/.hidden/h": "h",
        "two/a.txt": "second\n",
        "two/sub/c.txt": "c",
        "two/only.txt": "two",
        "dev/d.txt": "d",
        "envs/qa/q.txt": "q",
        "outside/secret": "TOP SECRET",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "one/empty").mkdir()
    for link, target in {
        "link": "a.txt",
        "dirlink": "sub",
        "broken": "nosuch",
        "out": "../outside/secret",
        "outdir": "../outside",
        "sub/up": "../a.txt",
        "sub/loop": "..",
    }.items():
        (tmp_path / "one" / link).symlink_to(target)
    os.mkfifo(tmp_path / "one/fifo")
    settle(tmp_path)
    return tmp_path


def settle(tree: Path) -> None:
    """As if nothing had changed for long."""
    for folder, _folders, names in os.walk(tree):
        for name in [*names, "."]:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.utime(path, (LONG_AGO_S, LONG_AGO_S))


def options(tree: Path, **more: Any) -> FileOptions:
    roots = {
        "base": [f"{tree}/one", f"{tree}/two"],
        "dev": [f"{tree}/dev"],
        "gone": [f"{tree}/gone"],
        "__env__": [f"{tree}/envs/__env__"],
    }
    return FileOptions(**{"file_roots": roots, **more})


def server(tree: Path, **more: Any) -> FileServer:
    return FileServer(options(tree, **more))


def content(files: FileServer, path: object, saltenv: object = "base") -> bytes | None:
    return files.piece(path, saltenv, 0)


def test_the_first_root_that_has_a_file_serves_it(tree: Path) -> None:
    files = server(tree)
    assert content(files, "a.txt") == b"a\n"
    assert content(files, "only.txt") == b"two"
    assert content(files, "d.txt") is None
    assert content(files, "d.txt", "dev") == b"d"
    assert content(files, "q.txt", "qa") == b"q"


def test_lists_join_the_roots(tree: Path) -> None:
    files = server(tree, fileserver_followsymlinks=False)
    assert files.files("base") == [
        ".hidden/h", "a.txt", "broken", "link", "only.txt", "out", "sub/b.sls", "sub/c.txt",
        "sub/init.sls", "sub/up",
    ]  # fmt: skip
    assert files.dirs("base") == [
        ".hidden", "dirlink", "empty", "outdir", "sub", "sub/loop"
    ]  # fmt: skip
    assert files.empty_dirs("base") == ["empty"]
    assert files.symlinks("base")["out"] == "../outside/secret"
    assert files.envs() == ["base", "dev", "gone", "__env__"]
    assert (files.files("gone"), files.files("nosuch")) == ([], [])
    assert files.files("qa") == ["q.txt"]


def test_links_are_followed_but_not_in_circles_and_those_that_leave_are_not_named(
    tree: Path,
) -> None:
    files = server(tree)
    assert "dirlink/b.sls" in files.files("base")
    assert "outdir/secret" in files.files("base")
    assert not [name for name in files.files("base") if "loop/" in name]
    assert files.symlinks("base") == {
        "broken": "nosuch", "dirlink": "sub", "dirlink/loop": "..", "dirlink/up": "../a.txt",
        "link": "a.txt", "sub/loop": "..", "sub/up": "../a.txt",
    }  # fmt: skip


def test_links_may_be_left_out_of_lists(tree: Path) -> None:
    files = server(tree, fileserver_ignoresymlinks=True)
    assert files.symlinks("base") == {}
    assert not {"link", "out", "broken", "sub/up"} & set(files.files("base"))
    assert "dirlink" not in files.dirs("base")


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("sub", ["sub/b.sls", "sub/c.txt", "sub/init.sls", "sub/up"]),
        ("/sub/", ["sub/b.sls", "sub/c.txt", "sub/init.sls", "sub/up"]),
        ("sub/b", ["sub/b.sls"]),
        ("a.txt", ["a.txt"]),
        ("..", []),
        ("nosuch", []),
    ],
)
def test_a_prefix_narrows_a_list(tree: Path, prefix: str, expected: list[str]) -> None:
    files = server(tree, fileserver_followsymlinks=False)
    assert files.files("base", prefix) == expected


@pytest.mark.parametrize(
    "rules",
    [
        {"file_ignore_regex": [r"/b[.]sls$", "["]},
        {"file_ignore_glob": ["*/b.sls"]},
        {"file_ignore_glob": ["sub/*"]},
    ],
)
def test_what_is_ignored_is_neither_listed_nor_served(tree: Path, rules: dict[str, Any]) -> None:
    files = server(tree, **rules)
    assert "sub/b.sls" not in files.files("base")
    assert content(files, "sub/b.sls") is None
    assert content(files, "a.txt") == b"a\n"


HOSTILE: list[Any] = [
    "../outside/secret", "sub/../../outside/secret", "a/../../x", "/etc/passwd", "//etc/passwd",
    "a.txt\0", "\0", "", ".", "..", "./..", "sub", "fifo", "sub/..", "x" * 300, "x/" * 5000,
    "a.txt\n", "..%2fx", "\udcff", b"a.txt", 5, None, True, ["a.txt"], {},
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: repr(path)[:20])
def test_no_path_leads_anywhere_else(tree: Path, path: object) -> None:
    files = server(tree)
    assert content(files, path) is None
    assert files.find(path, "base") is None
    assert files.hash(path, "base") is None
    assert files.hash_and_status(path, "base") is None


@pytest.mark.parametrize(
    "env",
    ["..", "../..", ".", "", "/", "qa/..", "qa/../..", "a/b", "\0", "x" * 300, 5, None, ["base"],
     True, {}, b"base", "BASE"],
    ids=lambda env: repr(env)[:20],
)  # fmt: skip
def test_an_environment_is_a_name(tree: Path, env: object) -> None:
    files = server(tree)
    for path in ("a.txt", "one/a.txt", "outside/secret", "q.txt"):
        assert content(files, path, env) is None
    assert files.files(env) == []
    assert files.symlinks(env) == {}


@pytest.mark.parametrize("path", ["out", "outdir/secret"])
def test_links_that_leave_serve_only_where_links_are_followed(tree: Path, path: str) -> None:
    assert content(server(tree), path) == b"TOP SECRET"
    closed = server(tree, fileserver_followsymlinks=False)
    assert content(closed, path) is None
    assert closed.hash(path, "base") is None
    assert content(closed, "dirlink/b.sls") == b"b\n"


def test_devices_are_not_opened(tree: Path) -> None:
    (tree / "one/tty").symlink_to("/dev/null")
    assert content(server(tree), "tty") is None


def test_a_link_put_in_after_the_look_is_caught_by_what_was_opened(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def swapped(path: Any, *args: Any, **kwargs: Any) -> int:
        if str(path).endswith("a.txt"):
            path = f"{tree}/outside/secret"
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr("saltlite.fileserver.roots.os.open", swapped)
    assert content(server(tree, fileserver_followsymlinks=False), "a.txt") is None


def test_pieces(tree: Path) -> None:
    whole = bytes(range(256)) * 100
    (tree / "one/big").write_bytes(whole)
    files = server(tree, file_buffer_size=1000)
    got, begin = b"", 0
    while piece := files.piece("big", "base", begin):
        assert len(piece) <= 1000
        got, begin = got + piece, begin + len(piece)
    assert got == whole
    assert files.piece("big", "base", 10**12) == b""
    assert files.piece("big", "base", 2**63) == b""


def test_lists_are_read_again_when_something_has_changed(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    real = Roots._read_tree
    monkeypatch.setattr(Roots, "_read_tree", lambda *args: reads.append(1) or real(*args))
    files = server(tree)
    for _ in range(3):
        assert "new" not in files.files("base")
    assert len(reads) == 1
    (tree / "two/sub/new").write_text("")
    assert "sub/new" in files.files("base")
    (tree / "two/sub/new").unlink()
    assert "sub/new" not in files.files("base")
    settle(tree)
    assert files.files("gone") == []
    (tree / "gone").mkdir()
    (tree / "gone/x").write_text("")
    assert files.files("gone") == ["x"]


def test_lists_of_a_tree_that_just_changed_are_not_trusted(tree: Path) -> None:
    files = server(tree)
    (tree / "one/x1").write_text("")
    stamp = os.stat(tree / "one").st_mtime_ns
    assert "x1" in files.files("base")
    (tree / "one/x2").write_text("")
    os.utime(tree / "one", ns=(stamp, stamp))  # as a coarse clock would have it
    assert "x2" in files.files("base")


def test_hashes_are_taken_again_when_a_file_has_changed(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    real = server_module.make_hasher
    monkeypatch.setattr(server_module, "make_hasher", lambda *a: taken.append(a) or real(*a))
    monkeypatch.setattr(disk, "TICK_NS", -(10**18))
    files = server(tree)
    first = hashlib.sha256(b"a\n").hexdigest()
    assert [files.hash("a.txt", "base") for _ in range(3)] == [first] * 3
    assert len(taken) == 1
    (tree / "one/a.txt").write_text("b\n")
    assert files.hash("a.txt", "base") == hashlib.sha256(b"b\n").hexdigest()
    assert server(tree, hash_type="md5").hash("a.txt", "base") == hashlib.md5(b"b\n").hexdigest()


def test_environments_of_strangers_do_not_fill_the_memory(tree: Path) -> None:
    roots = Roots(options(tree))
    for number in range(500):
        roots.listing(f"env{number}")
    assert len(roots._listings) <= 64


def test_names_that_cannot_travel_are_left_out(tree: Path) -> None:
    (tree / "one" / os.fsdecode(b"bad\xff")).write_text("")
    assert server(tree).files("base")[0] == ".hidden/h"


def test_unknown_back_ends_are_passed_over(tree: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = server(tree, fileserver_backend=["nosuch", "roots"])
    assert files.backends == ["roots"]
    assert "nosuch is not supported" in caplog.text
    assert files.files("base", only=["gitfs"]) == []
    assert files.files("base", only=["roots"]) != []


@pytest.mark.parametrize(
    ("url", "path", "env"),
    [
        ("salt://a/b", "a/b", None),
        ("a/b", "a/b", None),
        ("salt://a?saltenv=dev", "a", "dev"),
        ("salt://a?x=1&saltenv=dev", "a", "dev"),
        ("salt://|a?saltenv=dev", "a", "dev"),
        ("salt://a?saltenv=", "a", None),
        ("salt:///a", "/a", None),
        ("salt://", "", None),
    ],
)
def test_addresses(url: str, path: str, env: str | None) -> None:
    location = split_url(url)
    assert (location.path, location.saltenv) == (path, env)


def test_paths() -> None:
    assert safe_parts("./a//b/") == ("a", "b")
    assert safe_parts("a\\b") == ("a\\b",)
    assert safe_name("qa") and not safe_name("a/b") and not safe_name("a/") and not safe_name(".")


def test_a_tree_of_ten_thousand_files_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "srv"
    for folder in range(100):
        (root / f"d{folder}").mkdir(parents=True)
        for number in range(100):
            (root / f"d{folder}" / f"f{number}").touch()
    for path in (root, *root.iterdir()):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    walks: list[object] = []
    read = Roots._read_tree
    monkeypatch.setattr(
        Roots, "_read_tree", lambda self, where: walks.append(where) or read(self, where)
    )
    server = FileServer(FileOptions(file_roots={"base": [str(root)]}))
    first = server.files("base")
    assert len(first) == 10_000
    assert server.files("base") == first
    assert server.files("base", "d99") == [f"d99/f{n}" for n in sorted(map(str, range(100)))]
    assert len(server.dirs("base")) == 100
    assert len(walks) == 1
    (root / "d50" / "new").touch()
    assert len(server.files("base")) == 10_001
    assert len(walks) == 2
