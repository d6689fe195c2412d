"""The file server's commands on the wire."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.server import FileServer
from saltlite.master.commands import files


class World:
    """What the handlers reach."""

    def __init__(self, root: Path, **options: Any) -> None:
        roots = {"base": [f"{root}/srv"], "dev": [f"{root}/dev"]}
        config = FileOptions(**{"file_roots": roots, "file_buffer_size": 4, **options})
        self.refused: list[str] = []
        self.ctx: Any = SimpleNamespace(
            files=FileServer(config),
            config=SimpleNamespace(
                files=config, paths=SimpleNamespace(cachedir=str(root / "cache"))
            ),
            keys=SimpleNamespace(load_accepted=lambda _minion: object()),
            refusals=SimpleNamespace(refuse=lambda *words: self.refused.append(" ".join(words))),
        )

    def ask(self, cmd: str, minion: str = "web1", **load: Any) -> Any:
        handler = getattr(files, cmd)
        return handler(self.ctx, SimpleNamespace(id=minion, load={"cmd": f"_{cmd}", **load}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("srv/sub", "srv/empty", "dev", "cache", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "srv/a.txt").write_text("0123456789")
    (tmp_path / "srv/sub/b").write_text("b")
    (tmp_path / "dev/d").write_text("d")
    (tmp_path / "srv/link").symlink_to("a.txt")
    return tmp_path


@pytest.fixture
def world(root: Path) -> World:
    return World(root, file_recv=True)


DIGEST = {"hash_type": "sha256", "hsum": hashlib.sha256(b"0123456789").hexdigest()}


def test_replies_are_those_of_the_protocol(world: World, root: Path) -> None:
    asked = {"path": "a.txt", "saltenv": "base"}
    stat = list(os.stat(root / "srv/a.txt"))
    assert world.ask("file_hash", **asked) == DIGEST
    assert world.ask("file_hash_and_stat", **asked) == [DIGEST, stat]
    assert world.ask("file_find", **asked) == {
        "path": f"{root}/srv/a.txt", "rel": "a.txt", "stat": stat, "back": "roots"
    }  # fmt: skip
    assert world.ask("serve_file", **asked, loc=0) == {"data": b"0123", "dest": "a.txt"}
    assert world.ask("serve_file", **asked, loc=8) == {"data": b"89", "dest": "a.txt"}
    assert world.ask("serve_file", **asked, loc=10) == {"data": "", "dest": "a.txt"}
    assert world.ask("file_list", saltenv="base", prefix="") == ["a.txt", "link", "sub/b"]
    assert world.ask("file_list", saltenv="base") == ["a.txt", "link", "sub/b"]
    assert world.ask("file_list", saltenv="base", prefix="sub") == ["sub/b"]
    assert world.ask("file_list", saltenv="base", fsbackend=["git"]) == []
    assert world.ask("file_list", saltenv="base", fsbackend="roots") != []
    assert world.ask("dir_list", saltenv="base") == ["empty", "sub"]
    assert world.ask("file_list_emptydirs", saltenv="base") == ["empty"]
    assert world.ask("symlink_list", saltenv="base") == {"link": "a.txt"}
    assert world.ask("file_envs") == ["base", "dev"]


def test_missing_files(world: World) -> None:
    asked = {"path": "nosuch", "saltenv": "base"}
    assert world.ask("file_hash", **asked) == ""
    assert world.ask("file_hash_and_stat", **asked) == ["", None]
    assert world.ask("file_find", **asked) == {"path": "", "rel": ""}
    assert world.ask("serve_file", **asked, loc=0) == {"data": "", "dest": ""}


def test_a_query_names_the_environment(world: World) -> None:
    reply = world.ask("serve_file", path="d?saltenv=dev", saltenv="base", loc=0)
    assert reply == {"data": b"d", "dest": "d"}


def test_compressed_pieces(world: World) -> None:
    reply = world.ask("serve_file", path="a.txt", saltenv="base", loc=4, gzip=9)
    assert reply["gzip"] == 9
    assert zlib.decompress(reply["data"], wbits=31) == b"4567"


@pytest.mark.parametrize("loc", [-1, 2**64, "0", 1.5, True, None, [], {}, b"0"], ids=repr)
def test_places_that_are_none(world: World, loc: Any) -> None:
    reply = world.ask("serve_file", path="a.txt", saltenv="base", loc=loc)
    assert reply == {"data": "", "dest": ""}


@pytest.mark.parametrize("gzip", [-1, 10, 99, "x", 1.5, True, [1], {}, b"5"], ids=repr)
def test_levels_that_are_none(world: World, gzip: Any) -> None:
    reply = world.ask("serve_file", path="a.txt", saltenv="base", loc=0, gzip=gzip)
    assert reply == {"data": "", "dest": ""}


@pytest.mark.parametrize(
    "load",
    [
        {"saltenv": ["base"]},
        {"saltenv": None},
        {"saltenv": {}},
        {"saltenv": "base", "prefix": 5},
        {"saltenv": "base", "prefix": ["sub"]},
        {"saltenv": "base", "fsbackend": 5},
        {"saltenv": "base", "fsbackend": {"roots": 1}},
    ],
    ids=str,
)
@pytest.mark.parametrize("cmd", ["file_list", "dir_list", "file_list_emptydirs", "symlink_list"])
def test_malformed_wishes_get_empty_lists(world: World, cmd: str, load: dict[str, Any]) -> None:
    assert world.ask(cmd, **load) in ([], {})
