"""Many small files in one reply: between saltlite's own, checked, and never sent to Salt."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions
from saltlite.errors import WireError
from saltlite.fileserver import bundle
from saltlite.fileserver.client import BUNDLE_LEAST, FileClient
from saltlite.fileserver.server import FileServer
from saltlite.fileserver.sources import MasterSource
from saltlite.fileserver.sync import Choice, copy_code

SALT = {
    "_master_opts": {
        "file_roots": {"base": []},
        "top_file_merging_strategy": "merge",
        "env_order": [],
        "default_top": "base",
    }
}
"""What a master of Salt 3006.30 answers to ``env_only``."""

COUNT = 40


class Master:
    """Answers the file server's requests; ``offer`` is what it says of bundles."""

    def __init__(self, root: Path, offer: dict[str, Any]) -> None:
        self.files = FileServer(FileOptions(file_roots={"base": [str(root)]}))
        self.offer = offer
        self.asked: list[dict[str, Any]] = []
        self.spoil: Any = None

    def request(self, load: dict[str, Any]) -> Any:
        self.asked.append(load)
        return getattr(self, load["cmd"])(load)

    def commands(self) -> Counter[str]:
        return Counter(load["cmd"] for load in self.asked)

    def _master_opts(self, load: dict[str, Any]) -> Any:
        assert load["env_only"]
        return {**SALT["_master_opts"], **self.offer}

    def _file_bundle(self, load: dict[str, Any]) -> Any:
        reply = bundle.pack(self.files, load["saltenv"], load["paths"], load["hashes"])
        return self.spoil(reply) if self.spoil else reply

    def _file_list(self, load: dict[str, Any]) -> Any:
        return self.files.files(load["saltenv"], load["prefix"])

    def _file_hash_and_stat(self, load: dict[str, Any]) -> Any:
        found = self.files.hash_and_status(load["path"], load["saltenv"])
        if found is None:
            return ["", None]
        return [{"hash_type": "sha256", "hsum": found[0]}, list(found[1])]

    def _serve_file(self, load: dict[str, Any]) -> Any:
        piece = self.files.piece(load["path"], load["saltenv"], load["loc"]) or b""
        return {"data": piece, "dest": load["path"]}


def content(number: int) -> bytes:
    return b"%d\xff\n" % number * number


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "srv"
    for number in range(COUNT):
        place = root / f"d{number % 3}" / f"ä {number}.conf"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content(number))
    return root


@pytest.fixture
def master(tree: Path) -> Master:
    return Master(tree, {bundle.OFFER: bundle.FILES_LIMIT})


@pytest.fixture
def client(master: Master, tmp_path: Path) -> FileClient:
    return FileClient(MasterSource(master), tmp_path / "cache")


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def is_whole(root: Path, cache: Path) -> bool:
    base = cache / "files/base"
    return names(base) == names(root) and all(
        (base / name).read_bytes() == (root / name).read_bytes() for name in names(root)
    )


def test_all_files_come_in_one_reply(client: FileClient, master: Master, tree: Path) -> None:
    places = client.cache_files(names(tree))
    assert places == [str(client.cachedir / "files/base" / name) for name in names(tree)]
    assert is_whole(tree, client.cachedir)
    assert master.commands() == {"_master_opts": 1, "_file_bundle": 1}
    assert Path(places[0]).stat().st_mode & 0o777 == 0o644
    assert (client.cachedir / "files").stat().st_mode & 0o777 == 0o700


def test_only_what_has_changed_has_content(client: FileClient, master: Master, tree: Path) -> None:
    client.cache_files(names(tree))
    (tree / names(tree)[7]).write_bytes(b"changed")
    (client.cachedir / "files/base" / names(tree)[8]).write_bytes(b"by somebody else")
    sizes: list[list[int]] = []
    master.spoil = lambda reply: sizes.append([file[1] for file in reply["files"]]) or reply
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert [place for place, size in enumerate(sizes[0]) if size != bundle.NOT_HERE] == [7, 8]
    assert master.commands() == {"_master_opts": 1, "_file_bundle": 2}


@pytest.mark.parametrize(
    "offer",
    [{}, {bundle.OFFER: 0}, {bundle.OFFER: True}, {bundle.OFFER: -5}, {bundle.OFFER: "500"}],
    ids=repr,
)
def test_a_master_that_offers_none_is_never_asked(
    tmp_path: Path, tree: Path, offer: dict[str, Any]
) -> None:
    """As masters of Salt: they get no command and no field that Salt does not know."""
    master = Master(tree, offer)
    client = FileClient(MasterSource(master), tmp_path / "cache")
    client.cache_files(names(tree))
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands() == {
        "_master_opts": 1, "_file_hash_and_stat": 2 * COUNT, "_serve_file": COUNT - 1
    }  # fmt: skip
    known = {"cmd", "env_only", "path", "saltenv", "loc", "gzip"}
    assert all(load.keys() <= known for load in master.asked)


class Gone(Master):
    """A master of Salt behind the link that another one answered at first."""

    def _file_bundle(self, load: dict[str, Any]) -> Any:
        return bundle.NOTHING  # what the link says (minion/capabilities.py)


def test_a_job_goes_on_with_a_master_that_knows_no_bundles(tmp_path: Path, tree: Path) -> None:
    master = Gone(tree, {bundle.OFFER: bundle.FILES_LIMIT})
    client = FileClient(MasterSource(master), tmp_path / "cache")
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands()["_file_hash_and_stat"] == COUNT


@pytest.mark.parametrize("offer", [{}, {bundle.OFFER: bundle.FILES_LIMIT}], ids=["Salt", "ours"])
def test_custom_code_comes_in_bundles(tmp_path: Path, offer: dict[str, Any]) -> None:
    code = tmp_path / "srv/_modules"
    code.mkdir(parents=True)
    for number in range(COUNT):
        (code / f"m{number}.py").write_text(f"N = {number}\n")
    master = Master(tmp_path / "srv", offer)
    client = FileClient(MasterSource(master), tmp_path / "cache")
    target = tmp_path / "extmods/modules"
    synced = copy_code(client, "modules", ["base"], target, Choice(never=["m7"]))
    assert len(synced.names) == COUNT - 1
    assert sorted(names(target)) == sorted(f"m{n}.py" for n in range(COUNT) if n != 7)
    assert (target / "m8.py").read_text() == "N = 8\n"
    one_by_one = {"_file_hash_and_stat": COUNT - 1, "_serve_file": COUNT - 1}
    more = {"_file_bundle": 1} if offer else one_by_one
    assert master.commands() == {"_file_list": 1, "_master_opts": 1, **more}


def test_few_files_are_not_worth_a_question(client: FileClient, master: Master, tree: Path) -> None:
    client.cache_files(names(tree)[: BUNDLE_LEAST - 1])
    assert "_master_opts" not in master.commands()
    assert "_file_bundle" not in master.commands()


def test_a_master_that_takes_few_at_once_is_asked_often(tmp_path: Path, tree: Path) -> None:
    master = Master(tree, {bundle.OFFER: 15})
    client = FileClient(MasterSource(master), tmp_path / "cache")
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands() == {"_master_opts": 1, "_file_bundle": 3}


def test_a_large_file_comes_alone(client: FileClient, master: Master, tree: Path) -> None:
    (tree / "big").write_bytes(b"x" * (bundle.FILE_LIMIT_BYTES + 1))
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands()["_file_hash_and_stat"] == 1


def test_a_reply_is_bounded_and_the_rest_comes_next(
    client: FileClient, master: Master, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "DATA_LIMIT_BYTES", 600)
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands()["_file_bundle"] > 3
    assert master.commands()["_serve_file"] == 0


def test_what_is_not_there_is_not_had(client: FileClient, tree: Path) -> None:
    wanted = [*names(tree), "nosuch", "../srv/secret", "/etc/passwd", "d0", "a?saltenv=base"]
    (tree.parent / "secret").write_text("secret")
    assert client.cache_files(wanted)[COUNT:] == ["", "", "", "", ""]
    assert is_whole(tree, client.cachedir)


def turned(reply: dict[str, Any]) -> dict[str, Any]:
    """Another content of the same size for each file."""
    whole = zlib.decompress(reply["data"], wbits=31)
    packer = zlib.compressobj(wbits=31)
    return {**reply, "data": packer.compress(whole[::-1]) + packer.flush()}


def bomb(reply: dict[str, Any]) -> dict[str, Any]:
    packer = zlib.compressobj(9, wbits=31)
    return {**reply, "data": packer.compress(bytes(64 * 1024 * 1024)) + packer.flush()}


@pytest.mark.parametrize(
    "spoil",
    [
        turned,
        bomb,
        lambda reply: {},
        lambda reply: "",
        lambda reply: [reply],
        lambda reply: {**reply, "hash_type": "crc32"},
        lambda reply: {**reply, "hash_type": None},
        lambda reply: {**reply, "data": b"no gzip"},
        lambda reply: {**reply, "data": reply["data"][:-20]},
        lambda reply: {**reply, "data": "text"},
        lambda reply: {**reply, "files": reply["files"] * 2},
        lambda reply: {**reply, "files": [["x", 2**70]] * COUNT},
        lambda reply: {**reply, "files": [["x", -2]] * COUNT},
        lambda reply: {**reply, "files": [["x", True]] * COUNT},
        lambda reply: {**reply, "files": [5] * COUNT},
        lambda reply: {**reply, "files": [[None, 1]] * COUNT},
        lambda reply: {**reply, "files": []},
    ],
)
def test_what_arrives_spoilt_is_fetched_one_by_one(
    client: FileClient, master: Master, tree: Path, spoil: Any
) -> None:
    master.spoil = spoil
    client.cache_files(names(tree))
    assert is_whole(tree, client.cachedir)
    assert master.commands()["_serve_file"] > 0


def test_files_go_where_a_map_says(client: FileClient, master: Master, tree: Path) -> None:
    to = tree.parent / "to"
    (to / "d0").mkdir(parents=True)
    (to / "d0/mine").write_text("stays")
    places = {name: f"{to}/{name}" for name in names(tree)}
    assert client.get_files(places) == list(places.values())
    assert all((to / name).read_bytes() == (tree / name).read_bytes() for name in names(tree))
    assert (to / "d0/mine").read_text() == "stays"
    assert master.commands() == {"_master_opts": 1, "_file_bundle": 1}


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "up/secret", "d0/../../secret", "\0", "d0", "", "nosuch"]
)
def test_a_path_that_leads_elsewhere_is_no_file(tree: Path, path: str) -> None:
    (tree.parent / "secret").write_text("secret")
    (tree / "up").symlink_to("..")
    server = FileServer(
        FileOptions(file_roots={"base": [str(tree)]}, fileserver_followsymlinks=False)
    )
    reply = bundle.pack(server, "base", [path], [""])
    assert reply["files"] == [["", bundle.NOT_HERE]]
    assert zlib.decompress(reply["data"], wbits=31) == b""
    for env in ("..", "/", "dev", 5, None, ["base"]):
        assert bundle.pack(server, env, ["d0/ä 0.conf"], [""])["files"][0][0] == ""


def test_the_hash_is_of_the_content_that_is_sent(tree: Path) -> None:
    server = FileServer(FileOptions(file_roots={"base": [str(tree)]}))
    for text in (b"one", b"two"):
        (tree / "f").write_bytes(text)
        reply = bundle.pack(server, "base", ["f"], [""])
        kind, arrived = bundle.unpack(reply, 1)
        assert (kind, arrived) == (
            "sha256", [bundle.Arrived(hashlib.sha256(text).hexdigest(), text)]
        )  # fmt: skip
    with pytest.raises(WireError, match="not what was asked for"):
        bundle.unpack(reply, 0)
