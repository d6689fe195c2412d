"""What a function gets of the files: copies where Salt has them, whole, and only when needed."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RequestTimeout, SaltliteError, WireError
from saltlite.fileserver.client import FileClient, TransferError, file_client
from saltlite.fileserver.server import FileServer
from saltlite.fileserver.sources import LocalSource, MasterSource
from saltlite.host import Host

BIG = bytes(range(256)) * 1000


class Master:
    """Answers the file server's requests; ``wire`` says how texts in replies arrive."""

    def __init__(self, root: Path, *, as_bytes: bool = False, piece_bytes: int = 1000) -> None:
        roots = {"base": [f"{root}/srv"], "dev": [f"{root}/dev"]}
        self.files = FileServer(FileOptions(file_roots=roots, file_buffer_size=piece_bytes))
        self.as_bytes = as_bytes
        self.asked: list[dict[str, Any]] = []
        self.spoil = 0

    def request(self, load: dict[str, Any]) -> Any:
        self.asked.append(load)
        return getattr(self, load["cmd"])(load)

    def _file_hash_and_stat(self, load: dict[str, Any]) -> Any:
        found = self.files.hash_and_status(load["path"], load["saltenv"])
        if found is None:
            return ["", None]
        return [{"hash_type": "sha256", "hsum": found[0]}, list(found[1])]

    def _serve_file(self, load: dict[str, Any]) -> Any:
        piece = self.files.piece(load["path"], load["saltenv"], load["loc"]) or b""
        if self.spoil:
            self.spoil -= 1
            piece = piece[::-1]
        reply: dict[Any, Any] = {"data": piece, "dest": load["path"]}
        if load.get("gzip"):
            packer = zlib.compressobj(load["gzip"], wbits=31)
            reply |= {"data": packer.compress(piece) + packer.flush(), "gzip": load["gzip"]}
        return {key.encode(): value for key, value in reply.items()} if self.as_bytes else reply

    def _file_list(self, load: dict[str, Any]) -> Any:
        return self.files.files(load["saltenv"], load["prefix"])

    def _file_envs(self, load: dict[str, Any]) -> Any:
        return self.files.envs()

    def _symlink_list(self, load: dict[str, Any]) -> Any:
        return self.files.symlinks(load["saltenv"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, content in {
        "srv/a.txt": b"a\n",
        "srv/sub/b": b"b",
        "srv/big": BIG,
        "srv/empty.txt": b"",
        "dev/d.txt": b"d",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture(params=["local", "master", "daemon"])
def client(request: pytest.FixtureRequest, root: Path) -> FileClient:
    master = Master(root, as_bytes=request.param == "daemon")
    source = LocalSource(master.files) if request.param == "local" else MasterSource(master)
    return FileClient(source, root / "cache")


@pytest.fixture
def master(root: Path) -> Master:
    return Master(root)


@pytest.fixture
def remote(root: Path, master: Master) -> FileClient:
    return FileClient(MasterSource(master), root / "cache")


@pytest.mark.parametrize(
    ("url", "place", "content"),
    [
        ("salt://a.txt", "files/base/a.txt", b"a\n"),
        ("salt://sub/b", "files/base/sub/b", b"b"),
        ("salt://./sub//b", "files/base/sub/b", b"b"),
        ("salt://big", "files/base/big", BIG),
        ("salt://empty.txt", "files/base/empty.txt", b""),
        ("salt://d.txt?saltenv=dev", "files/dev/d.txt", b"d"),
    ],
)
def test_copies_lie_where_salt_has_them(
    client: FileClient, root: Path, url: str, place: str, content: bytes
) -> None:
    assert client.is_cached(url) == ""
    assert client.cache_file(url) == str(root / "cache" / place)
    assert (root / "cache" / place).read_bytes() == content
    assert client.is_cached(url) == str(root / "cache" / place)
    assert client.read(url) == content
    assert (root / "cache/files").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "url", ["salt://nosuch", "salt://sub", "salt:///a.txt", "salt://../dev/d.txt", "/nosuch",
            "salt://", "salt://a.txt?saltenv=../dev", "salt://d.txt", "file:///nosuch"]
)  # fmt: skip
def test_what_is_not_there(client: FileClient, root: Path, url: str) -> None:
    assert client.cache_file(url) == ""
    assert client.read(url) is None
    assert not list((root / "cache").rglob("*")) if (root / "cache").exists() else True


@pytest.mark.parametrize("url", ["relative", "", "../x"])
def test_a_path_is_absolute(client: FileClient, url: str) -> None:
    with pytest.raises(FunctionError, match=f"Path '{url}' is not absolute"):
        client.cache_file(url)


def test_paths_of_this_machine_are_their_own_copies(client: FileClient, root: Path) -> None:
    path = str(root / "srv/a.txt")
    assert client.cache_file(path) == path
    assert client.cache_file(f"file://{path}") == path
    digest = hashlib.sha256(b"a\n").hexdigest()
    assert client.hash_file(path) == {"hash_type": "sha256", "hsum": digest}
    assert client.hash_file("salt://a.txt") == client.hash_file(path)
    assert client.hash_file("salt://nosuch") is None
    stat = client.stat("salt://a.txt")
    assert stat is not None and stat[0] & 0o170000 == 0o100000


def test_only_what_has_changed_is_fetched(remote: FileClient, master: Master, root: Path) -> None:
    def served() -> int:
        return sum(load["cmd"] == "_serve_file" for load in master.asked)

    for _ in range(3):
        remote.cache_file("salt://a.txt")
    assert served() == 1
    (root / "srv/a.txt").write_bytes(b"changed\n")
    assert remote.read("salt://a.txt") == b"changed\n"
    assert served() == 2


def test_a_copy_that_somebody_changed_is_replaced(remote: FileClient) -> None:
    Path(remote.cache_file("salt://a.txt")).write_text("bad")
    assert remote.read("salt://a.txt") == b"a\n"


def test_a_file_that_arrives_spoilt_is_fetched_again(remote: FileClient, master: Master) -> None:
    master.spoil = 1
    assert remote.read("salt://big") == BIG


def test_a_file_that_never_arrives_leaves_the_old_copy(
    remote: FileClient, master: Master, root: Path
) -> None:
    remote.cache_file("salt://big")
    (root / "srv/big").write_bytes(BIG + b"more")
    master.spoil = 10_000
    with pytest.raises(TransferError):
        remote.cache_file("salt://big")
    kept = root / "cache/files/base/big"
    assert kept.read_bytes() == BIG
    assert list(kept.parent.iterdir()) == [kept]


def test_pieces_may_be_compressed(remote: FileClient, master: Master, root: Path) -> None:
    assert remote.get_file("salt://big", str(root / "got"), gzip=5) == str(root / "got")
    assert (root / "got").read_bytes() == BIG
    assert master.asked[-1]["gzip"] == 5


class WatchedMaster(Master):
    """Tells of the second piece when it is asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.second = threading.Event()

    def request(self, load: dict[str, Any]) -> Any:
        reply = super().request(load)
        if load.get("loc"):
            self.second.set()
        return reply


def test_the_next_piece_is_asked_for_while_one_is_worked_on(root: Path) -> None:
    master = WatchedMaster(root)
    pieces = MasterSource(master).pieces("big", "base", len(BIG), None)
    first = next(pieces)
    assert master.second.wait(10)
    assert [load["loc"] for load in master.asked] == [0, 1000]
    assert first + b"".join(pieces) == BIG
    assert [load["loc"] for load in master.asked] == list(range(0, len(BIG), 1000))


def test_who_stops_reading_leaves_no_thread(root: Path) -> None:
    threads = threading.active_count()
    pieces = MasterSource(WatchedMaster(root)).pieces("big", "base", len(BIG), None)
    next(pieces)
    pieces.close()
    assert threading.active_count() == threads


def test_a_file_of_one_piece_needs_no_thread(root: Path, master: Master) -> None:
    master.files = FileServer(FileOptions(file_roots={"base": [f"{root}/srv"]}))
    threads = threading.active_count()
    pieces = MasterSource(master).pieces("a.txt", "base", 2, None)
    assert next(pieces) == b"a\n"
    assert threading.active_count() == threads
    assert list(pieces) == []
    assert len(master.asked) == 1


class TwoWayMaster(Master):
    """Has a second way; both wait for each other, so that neither can be asked alone."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.together = threading.Barrier(2)
        self.is_open = False

    @contextlib.contextmanager
    def beside(self) -> Iterator[Master]:
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False

    def _serve_file(self, load: dict[str, Any]) -> Any:
        # The first piece comes alone, and so does the last one of an even number.
        if 0 < load["loc"] < len(BIG) - 1000:
            self.together.wait(10)
        return super()._serve_file(load)


def test_two_pieces_are_asked_for_at_once(root: Path) -> None:
    master = TwoWayMaster(root)
    size = len(BIG) - 1000 if len(BIG) // 1000 % 2 else len(BIG)
    pieces = MasterSource(master).pieces("big", "base", size, None)
    assert b"".join(pieces) == BIG[:size]
    assert sorted(load["loc"] for load in master.asked) == list(range(0, size, 1000))
    assert not master.is_open


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_pieces_of_any_lengths_make_the_file(size: int, lengths: list[int]) -> None:
    content = bytes(range(size))

    class Fickle:
        """A master whose pieces are of another length each time."""

        def __init__(self) -> None:
            self.turn = 0
            self.lock = threading.Lock()

        def request(self, load: Any) -> Any:
            with self.lock:
                self.turn += 1
                length = lengths[self.turn % len(lengths)]
            return {"data": content[load["loc"] : load["loc"] + length], "dest": "x"}

        @contextlib.contextmanager
        def beside(self) -> Iterator[Any]:
            yield self

    assert b"".join(MasterSource(Fickle()).pieces("x", "base", size, None)) == content


def test_a_way_that_fails_ends_the_file_and_both_threads(root: Path) -> None:
    class Failing(TwoWayMaster):
        def _serve_file(self, load: dict[str, Any]) -> Any:
            if load["loc"] >= 3000:
                raise RequestTimeout("tcp://192.0.2.1:4506", 1.0)
            return super()._serve_file(load)

    master, threads = Failing(root), threading.active_count()
    with pytest.raises(RequestTimeout):
        list(MasterSource(master).pieces("big", "base", len(BIG), None))
    assert threading.active_count() == threads
    assert not master.is_open


@pytest.mark.parametrize("reply", [{"data": b"junk", "gzip": 5}, [], "x", None])
def test_malformed_pieces_are_an_error(remote: FileClient, master: Master, reply: Any) -> None:
    master._serve_file = lambda _load: reply  # type: ignore[method-assign]
    with pytest.raises(WireError):
        remote.cache_file("salt://big")


@pytest.mark.parametrize("reply", ["x", None, 5, {}])
def test_malformed_lists_are_an_error(remote: FileClient, master: Master, reply: Any) -> None:
    master._file_list = lambda _load: reply  # type: ignore[method-assign]
    with pytest.raises(WireError):
        remote.list_files()


def test_an_unknown_hash_is_an_error(remote: FileClient, master: Master) -> None:
    master._file_hash_and_stat = lambda _load: [  # type: ignore[method-assign]
        {"hash_type": "crc32", "hsum": "00"}, [0o100644, 0, 0, 1, 0, 0, 2]
    ]  # fmt: skip
    with pytest.raises(SaltliteError, match="crc32"):
        remote.cache_file("salt://a.txt")


def test_a_directory_becomes_a_file_and_back(client: FileClient, root: Path) -> None:
    client.cache_file("salt://sub/b")
    (root / "srv/sub/b").unlink()
    (root / "srv/sub").rmdir()
    (root / "srv/sub").write_text("now a file")
    assert client.read("salt://sub") == b"now a file"
    (root / "srv/sub").unlink()
    (root / "srv/sub").mkdir()
    (root / "srv/sub/b").write_text("b again")
    assert client.read("salt://sub/b") == b"b again"


def test_destinations(client: FileClient, root: Path) -> None:
    folder = root / "into"
    folder.mkdir()
    assert client.get_file("salt://sub/b", str(folder)) == f"{folder}/b"
    assert client.get_file("salt://sub/b", f"{folder}/") == f"{folder}/b"
    deep = str(folder / "x/y")
    with pytest.raises(FunctionError):
        client.get_file("salt://a.txt", deep)
    assert client.get_file("salt://a.txt", deep, makedirs=True) == deep
    assert client.get_file("salt://nosuch", str(folder / "z")) == ""
    assert not (folder / "z").exists()


def test_an_existing_file_keeps_its_mode_and_a_link_stays_one(
    client: FileClient, root: Path
) -> None:
    target, link = root / "target", root / "to-it"
    target.write_text("old")
    target.chmod(0o751)
    link.symlink_to("target")
    client.get_file("salt://a.txt", str(link))
    assert link.is_symlink()
    assert target.read_bytes() == b"a\n"
    assert target.stat().st_mode & 0o777 == 0o751


@pytest.mark.parametrize("kind", ["fifo", "device", "directory link"])
def test_what_is_no_file_is_not_replaced(client: FileClient, root: Path, kind: str) -> None:
    place = root / "place"
    if kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/null" if kind == "device" else root / "srv")
    before = os.lstat(place)
    if kind == "directory link":
        assert client.get_file("salt://big", str(place)) == f"{place}/big"
    else:
        with pytest.raises(FunctionError, match="is not a regular file"):
            client.get_file("salt://a.txt", str(place))
    assert os.lstat(place).st_ino == before.st_ino


def test_the_longest_names(client: FileClient, root: Path) -> None:
    for name in ("x" * 255, "\u4e2d" * 85):
        (root / "srv" / name).write_text(name)
        assert client.read(f"salt://{name}") == name.encode()


def test_local_copies(client: FileClient, root: Path) -> None:
    source = root / "srv/a.txt"
    copy = client.cache_local(str(source))
    assert copy == f"{root}/cache/localfiles{source}"
    assert Path(copy).read_bytes() == b"a\n"
    assert client.is_cached(str(source)) == copy
    assert client.cache_local("/nosuch") == ""
    client.cache_file("salt://sub/b")
    assert client.list_cache_files() == sorted([f"{root}/cache/files/base/sub/b", copy])


def test_one_client_for_each_context(root: Path, master: Master) -> None:
    files = FileOptions(file_roots={"base": [f"{root}/srv"]})
    paths = PathOptions(cachedir=str(root / "cache"))
    config = MinionConfig(files=files, paths=paths)
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    client = file_client(ctx)
    assert file_client(ctx) is client
    assert client.list_files() == ["a.txt", "big", "empty.txt", "sub/b"]
    with_master = MinionContext(config=config, host=Host(), grains={}, pillar={}, master=master)
    assert file_client(with_master).list_files("dev") == ["d.txt"]
    assert master.asked


# --- the web ---------------------------------------------------------------------------------


class Web(http.server.BaseHTTPRequestHandler):
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("If-None-Match") or "-")
        if self.path.startswith("/missing"):
            self.send_error(404)
            return
        if self.headers.get("If-None-Match") == '"1"':
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Etag", '"1"')
        length = 10_000 if self.path.startswith("/short") else 4
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(b"data")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    Web.seen.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_of_the_web_lie_apart(remote: FileClient, root: Path, web: str) -> None:
    place = root / "cache/extrn_files/base" / web[7:].replace(":", "") / "x/y-a=b"
    assert remote.cache_file(f"{web}/x/y?a=b") == str(place)
    assert place.read_bytes() == b"data"
    assert remote.is_cached(f"{web}/x/y?a=b") == str(place)


def test_a_hash_spares_the_way(remote: FileClient, web: str) -> None:
    digest = hashlib.sha256(b"data").hexdigest()
    for _ in range(3):
        remote.cache_file(f"{web}/f", source_hash=digest)
    assert len(Web.seen) == 1
    remote.cache_file(f"{web}/f", source_hash="0" * 64)
    assert len(Web.seen) == 2


def test_an_etag_spares_the_body(remote: FileClient, web: str) -> None:
    for _ in range(2):
        assert Path(remote.cache_file(f"{web}/f", use_etag=True)).read_bytes() == b"data"
    assert Web.seen == ["-", '"1"']


@pytest.mark.parametrize(
    ("path", "words"),
    [("/missing", "Error: HTTP 404: Not Found reading http"), ("/short", "4 of 10000|Incomplete")],
)
def test_what_the_web_does_not_give_is_an_error_and_no_file(
    remote: FileClient, root: Path, web: str, path: str, words: str
) -> None:
    with pytest.raises(FunctionError, match=words):
        remote.cache_file(f"{web}{path}".replace("http://", "http://user:s3cret@"))
    assert not [one for one in (root / "cache").rglob("*") if one.is_file()]


def test_a_password_is_in_no_error(remote: FileClient) -> None:
    with pytest.raises(FunctionError) as caught:
        remote.cache_file("http://user:s3cret@127.0.0.1:1/x")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://host/../../../etc/x", "http://../../x", "http:///x", "http://h"]
)
def test_an_address_names_no_place_outside_the_cache(remote: FileClient, url: str) -> None:
    place = remote.cache_path(url)
    assert place is None or "cache/extrn_files/base/" in str(place)
    assert ".." not in str(place)


CONTENTS = st.sampled_from(
    [b"", b"a", b"b", b"ab", BIG, BIG[1:] + b"x", BIG + BIG, BIG + BIG[::-1]]
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["source", "copy", "gone"]), CONTENTS), max_size=6))
def test_a_copy_is_the_file_whatever_was_done_to_either(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("local")
    source = root / "srv" / "f"
    source.parent.mkdir()
    source.write_bytes(b"first")
    server = FileServer(FileOptions(file_roots={"base": [str(source.parent)]}))
    client = FileClient(LocalSource(server), root / "cache")
    for what, content in [("source", b"first"), *steps]:
        copy = root / "cache" / "files" / "base" / "f"
        path = source if what == "source" else copy
        if what == "gone":
            copy.unlink(missing_ok=True)
        elif path.parent.is_dir():
            path.write_bytes(content)
            os.utime(path, (1, 1))  # times say nothing
        assert client.cache_file("salt://f") == str(copy)
        assert copy.read_bytes() == source.read_bytes()
