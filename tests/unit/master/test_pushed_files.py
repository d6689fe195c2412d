"""Files that minions push: in pieces, in their place, within limits."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.server import FileServer
from saltlite.master import pushed_files
from saltlite.master.commands import files
from saltlite.master.pushed_files import PushRefused, store_piece

LIMIT = 1000


def always() -> bool:
    return True


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


def push(world: World, path: Any, data: Any = b"data", loc: Any = 0, minion: str = "web1") -> Any:
    return world.ask("file_recv", minion, path=path, loc=loc, data=data, size=4)


def test_a_file_in_pieces(world: World, root: Path) -> None:
    kept = root / "cache/minions/web1/files/etc/motd"
    assert push(world, ["etc", "motd"], b"one") is True
    assert push(world, ["etc", "motd"], b"\xff\x00", loc=3) is True
    assert push(world, ["etc", "motd"], "ü", loc=5) is True
    assert kept.read_bytes() == b"one\xff\x00\xc3\xbc"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert push(world, ["etc", "motd"], b"new") is True
    assert kept.read_bytes() == b"new"
    assert push(world, ["none"], b"") is True
    assert (root / "cache/minions/web1/files/none").read_bytes() == b""


BAD_PATHS: list[Any] = [
    ["..", "..", "jobs", "x"], ["../x"], ["a", "/etc/x"], ["a\0"], "str", [], [["a"]], None, 5, {},
    [""], ["."], ["a", ""], ["a/b"], ["a\\b"], ["a", 5], ["x" * 300], ["a"] * 100, [b"a"],
    ["\udcff\udcff"], [None],
]  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS, ids=lambda path: repr(path)[:20])
def test_paths_that_are_none(world: World, root: Path, path: Any) -> None:
    """CVE-2024-38824."""
    assert push(world, path) is False
    assert not list((root / "cache").iterdir())
    assert len(world.refused) == 1


@pytest.mark.parametrize("loc", [-1, 10**12, "0", 1.5, True, None, 3])
def test_pieces_that_do_not_continue_the_file(world: World, root: Path, loc: Any) -> None:
    push(world, ["f"], b"fine")
    assert push(world, ["f"], b"more", loc=loc) is False
    assert (root / "cache/minions/web1/files/f").read_bytes() == b"fine"


def test_a_later_piece_makes_no_file(world: World, root: Path) -> None:
    assert push(world, ["d", "f"], b"more", loc=4) is False
    assert os.listdir(root / "cache") == [pushed_files.LOCKS]


@pytest.mark.parametrize("data", [None, 5, ["x"], {}, "\ud800"], ids=repr)
def test_data_that_is_none(world: World, data: Any) -> None:
    assert push(world, ["f"], data) is False


@pytest.mark.parametrize("minion", ["../x", "..", "", "a/b", ".hidden"])
def test_minions_that_are_none(root: Path, minion: str) -> None:
    with pytest.raises(PushRefused):
        store_piece(root / "cache", minion, ["f"], 0, b"x", limit_bytes=LIMIT, has_key=always)
    assert not list((root / "cache").iterdir())


def test_links_and_fifos_in_the_way_are_not_followed(world: World, root: Path) -> None:
    push(world, ["ok"])
    top = root / "cache/minions/web1/files"
    (top / "dir").symlink_to(root / "outside")
    (top / "file").symlink_to(root / "outside/new")
    os.mkfifo(top / "fifo")
    (root / "outside/hard").write_text("mine")
    os.link(root / "outside/hard", top / "hard")
    (top / "folder").mkdir()
    for path in (["dir", "x"], ["file"], ["fifo"], ["hard"], ["folder"], ["ok", "x"]):
        assert push(world, path) is False
    assert [one.name for one in (root / "outside").iterdir()] == ["hard"]
    assert (root / "outside/hard").read_text() == "mine"


def test_limits(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def store(path: str, begin: int, size: int) -> None:
        store_piece(
            root / "cache", "web1", [path], begin, b"x" * size, limit_bytes=LIMIT, has_key=always
        )

    store("f", 0, LIMIT)
    with pytest.raises(PushRefused, match="larger"):
        store("f", LIMIT, 1)
    with pytest.raises(PushRefused, match="larger"):
        store("g", 0, LIMIT + 1)
    monkeypatch.setattr(pushed_files, "QUOTA_BYTES", LIMIT + 5)
    with pytest.raises(PushRefused, match="share"):
        store("g", 0, 6)
    store("g", 0, 5)
    monkeypatch.setattr(pushed_files, "QUOTA_FILES", 2)
    with pytest.raises(PushRefused, match="share"):
        store("h", 0, 0)


def test_directories_count_as_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushed_files, "QUOTA_FILES", 4)
    store_piece(
        root / "cache", "web1", ["a", "b", "c", "f"], 0, b"", limit_bytes=LIMIT, has_key=always
    )
    with pytest.raises(PushRefused, match="share"):
        store_piece(root / "cache", "web1", ["f"], 0, b"", limit_bytes=LIMIT, has_key=always)


def test_two_pieces_at_once_share_one_quota(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one looks at what the first one has written, however long that takes."""
    monkeypatch.setattr(pushed_files, "QUOTA_BYTES", 10)
    outcomes: list[str] = []

    def store(name: str) -> None:
        try:
            store_piece(
                root / "cache", "web1", [name], 0, b"x" * 6, limit_bytes=LIMIT, has_key=always
            )
            outcomes.append("stored")
        except PushRefused:
            outcomes.append("refused")

    write, others = pushed_files._write_piece, []

    def write_slowly(*given: Any) -> None:
        if not others:
            others.append(threading.Thread(target=store, args=("second",)))
            others[0].start()
            others[0].join(0.3)  # one that does not stand in line is done by then
        write(*given)

    monkeypatch.setattr(pushed_files, "_write_piece", write_slowly)
    store("first")
    others[0].join()
    assert outcomes == ["stored", "refused"]
    assert os.listdir(root / "cache/minions/web1/files") == ["first"]


def test_off_by_default(root: Path) -> None:
    world = World(root)
    assert push(world, ["f"]) is False
    assert world.refused == ["_file_recv minion web1: file_recv is off"]
    assert not list((root / "cache").iterdir())
