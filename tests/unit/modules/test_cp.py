"""``cp.*`` without a master, byte for byte what Salt 3006.30 gives back; and pushing to one."""

from __future__ import annotations

import base64
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry

TREE = {
    "srv/a.txt": "a\n",
    "srv/sub/b.sls": "b: {{ grains.id }} {{ colour }}\n",
    "srv/sub/init.sls": "",
    "srv/sub/up": "a\n",
    "srv/top.sls": "",
    "dev/d.txt": "d\n",
}


class Master:
    """Keeps what is pushed, as long as it is told to take it."""

    def __init__(self) -> None:
        self.takes = True
        self.files: dict[str, bytes] = {}

    def request(self, load: dict[str, Any]) -> Any:
        assert load["cmd"] == "_file_recv"
        assert load["size"] >= load["loc"] + len(load["data"])
        path = "/".join(load["path"])
        assert load["loc"] == len(self.files.get(path, b""))
        if self.takes:
            self.files[path] = self.files.get(path, b"") + load["data"]
        return self.takes


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "srv/sub/deep").mkdir()
    (tmp_path / "srv/run.sh").write_text("x")
    (tmp_path / "srv/run.sh").chmod(0o4751)
    config = MinionConfig(
        files=FileOptions(
            file_client="local",
            file_roots={"base": [f"{tmp_path}/srv"], "dev": [f"{tmp_path}/dev"]},
            file_buffer_size=10,
        ),
        paths=PathOptions(cachedir=f"{tmp_path}/cache"),
        identity=IdentityOptions(id="web1"),
    )
    made = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    made.functions = Registry(made)
    return made


@pytest.fixture
def files(tmp_path: Path) -> str:
    return f"{tmp_path}/cache/files"


def call(ctx: MinionContext, fun: str, *args: Any, **kwargs: Any) -> Any:
    return ctx.functions.call(f"cp.{fun}", *args, **kwargs)


def test_lists(ctx: MinionContext) -> None:
    assert call(ctx, "envs") == ["base", "dev"]
    names = ["a.txt", "run.sh", "sub/b.sls", "sub/init.sls", "sub/up", "top.sls"]
    assert call(ctx, "list_master") == names
    assert call(ctx, "list_master", prefix="su") == [name for name in names if name[0] == "s"]
    assert call(ctx, "list_master", "dev") == ["d.txt"]
    assert call(ctx, "list_master_dirs") == ["sub", "sub/deep"]
    assert call(ctx, "list_master_symlinks") == {}
    assert call(ctx, "list_states") == ["sub", "sub.b", "top"]


def test_caching(ctx: MinionContext, files: str) -> None:
    assert call(ctx, "cache_file", "salt://a.txt") == f"{files}/base/a.txt"
    assert call(ctx, "cache_file", "salt://d.txt", saltenv="dev") == f"{files}/dev/d.txt"
    assert call(ctx, "cache_file", "salt://nosuch") is False
    assert call(ctx, "cache_file", "/nosuch") == "/nosuch"
    assert call(ctx, "cache_files", "salt://a.txt,salt://nosuch") == [f"{files}/base/a.txt", False]
    assert call(ctx, "cache_master", "dev") == [f"{files}/dev/d.txt"]
    assert call(ctx, "is_cached", "salt://a.txt") == f"{files}/base/a.txt"
    assert call(ctx, "is_cached", "salt://top.sls") == ""
    assert call(ctx, "list_minion", "dev") == [f"{files}/dev/d.txt"]
    assert call(ctx, "cache_dest", "salt://x/y?saltenv=dev") == f"{files}/dev/x/y"
    assert call(ctx, "cache_dest", "/etc/hosts") == "/etc/hosts"
    copy = Path(files).parent / "extrn_files/base/etc/hosts"
    assert call(ctx, "cache_dest", "file:///etc/hosts") == str(copy)


def test_caching_directories(ctx: MinionContext, files: str) -> None:
    below = f"{files}/base/sub"
    whole = [f"{below}/b.sls", f"{below}/init.sls", f"{below}/up"]
    assert call(ctx, "cache_dir", "salt://sub") == whole
    assert call(ctx, "cache_dir", "salt://sub/") == whole
    assert call(ctx, "cache_dir", "salt://su") == []
    assert call(ctx, "cache_dir", "salt://sub", include_empty=True) == [*whole, f"{below}/deep"]
    assert call(ctx, "cache_dir", "salt://sub", include_pat="*.sls") == whole[:2]
    assert call(ctx, "cache_dir", "salt://sub", include_pat="E@init") == whole[1:2]
    assert call(ctx, "cache_dir", "salt://sub", exclude_pat="*.sls") == whole[2:]
    with pytest.raises(FunctionError, match="Unsupported path: /tmp"):
        call(ctx, "cache_dir", "/tmp")


def test_local_files(ctx: MinionContext, tmp_path: Path) -> None:
    source = str(tmp_path / "srv/a.txt")
    copy = f"{tmp_path}/cache/localfiles{source}"
    assert call(ctx, "cache_local_file", source) == copy
    Path(source).write_text("changed")
    assert call(ctx, "cache_local_file", source) == copy
    assert Path(copy).read_text() == "changed"
    assert call(ctx, "cache_local_file", "/nosuch") == ""


def test_getting_files(ctx: MinionContext, tmp_path: Path) -> None:
    dest = f"{tmp_path}/new/dest"
    assert call(ctx, "get_file", "salt://a.txt", dest) is False
    assert call(ctx, "get_file", "salt://a.txt", dest, makedirs=True) == dest
    assert call(ctx, "get_file", "salt://a.txt", f"{tmp_path}/new/") == f"{tmp_path}/new/a.txt"
    assert call(ctx, "get_file", "salt://nosuch", dest) == ""
    templated = call(ctx, "get_file", "salt://a.txt", f"{tmp_path}/new/{{{{grains.id}}}}",
                     template="jinja")  # fmt: skip
    assert templated == f"{tmp_path}/new/web1"
    with pytest.raises(FunctionError, match="Unsupported path: /etc/hosts"):
        call(ctx, "get_file", "/etc/hosts", dest)
    assert call(ctx, "get_file_str", "salt://a.txt") == "a\n"
    assert call(ctx, "get_file_str", "salt://nosuch") is False


def test_getting_directories(ctx: MinionContext, tmp_path: Path) -> None:
    dest = f"{tmp_path}/into"
    got = [f"{dest}/sub/b.sls", f"{dest}/sub/deep", f"{dest}/sub/init.sls", f"{dest}/sub/up"]
    assert call(ctx, "get_dir", "salt://sub/", dest) == got
    assert Path(got[0]).read_text() == TREE["srv/sub/b.sls"]
    assert Path(got[1]).is_dir()
    assert call(ctx, "get_dir", "salt://nosuch", dest) == []


@pytest.mark.parametrize(
    ("url", "dest", "expected"),
    [
        ("salt://a.txt", "", "{cache}/files/base/a.txt"),
        ("salt://a.txt", None, "a\n"),
        ("salt://a.txt", "{tmp}/u", "{tmp}/u"),
        ("salt://a.txt", "{tmp}/", "{tmp}/index.html"),
        ("salt://sub/up", "{tmp}/", "{tmp}/up"),
        ("salt://nosuch", "{tmp}/u", False),
        ("salt://nosuch", "", False),
        ("salt://a.txt", "{tmp}/none/u", False),
        ("/etc/hosts", "{tmp}/u", "/etc/hosts"),
        ("file:///nosuch", "{tmp}/u", "/nosuch"),
    ],
)
def test_addresses(
    ctx: MinionContext, tmp_path: Path, url: str, dest: str | None, expected: Any
) -> None:
    def placed(text: Any) -> Any:
        places = {"tmp": tmp_path, "cache": f"{tmp_path}/cache"}
        return text.format(**places) if isinstance(text, str) else text

    assert call(ctx, "get_url", url, placed(dest)) == placed(expected)


def test_templates(ctx: MinionContext, tmp_path: Path) -> None:
    dest = f"{tmp_path}/rendered"
    source = "salt://sub/b.sls"
    assert call(ctx, "get_template", source, dest, colour="red") == dest
    assert Path(dest).read_text() == "b: web1 red\n"
    assert Path(dest).stat().st_mode & 0o777 == 0o600
    assert call(ctx, "get_template", source, dest, context={"colour": "blue"}) == dest
    assert Path(dest).read_text() == "b: web1 blue\n"
    with pytest.raises(RenderError):
        call(ctx, "get_template", source, dest)
    assert call(ctx, "get_template", "salt://nosuch", dest) == ""
    assert call(ctx, "get_template", source, dest, template="nosuch") == ""
    assert call(ctx, "get_template", source, f"{tmp_path}/none/x", colour="red") == ""


def test_hashes_and_modes(ctx: MinionContext, tmp_path: Path) -> None:
    found = {
        "hash_type": "sha256",
        "hsum": "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7",
    }
    assert call(ctx, "hash_file", "salt://a.txt") == found
    assert call(ctx, "hash_file", f"{tmp_path}/srv/a.txt") == found
    assert call(ctx, "hash_file", "salt://nosuch") == ""
    assert call(ctx, "hash_file", "/nosuch") == [{}, None]
    assert call(ctx, "stat_file", "salt://run.sh") == "4751"
    assert call(ctx, "stat_file", "salt://run.sh", octal=False) == 0o104751
    assert call(ctx, "stat_file", "salt://nosuch") is None
    assert call(ctx, "stat_file", "run.sh") is None


# --- salt-cp's end -----------------------------------------------------------------------------


def test_files_that_are_sent_as_text(ctx: MinionContext, tmp_path: Path) -> None:
    into = f"{tmp_path}/dest"
    assert call(ctx, "recv", {"/src/x": "grüße\n"}, into) == {into: True}
    assert Path(into).read_text() == "grüße\n"
    Path(into).chmod(0o741)
    assert call(ctx, "recv", {"/src/x": "new"}, into) == {into: True}
    assert Path(into).stat().st_mode & 0o777 == 0o741
    folder = f"{tmp_path}/srv"
    assert call(ctx, "recv", {"/src/x": "1"}, folder) == {f"{folder}/x": True}
    assert call(ctx, "recv", {"/src/../../x": "1"}, f"{folder}/") == {f"{folder}/x": True}
    assert call(ctx, "recv", {"/src/x": "1"}, f"{tmp_path}/no/dir") == "Destination unavailable"
    assert call(ctx, "recv", {}, into) == {}


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data)).decode()


def test_files_that_are_sent_in_pieces(ctx: MinionContext, tmp_path: Path) -> None:
    dest = f"{tmp_path}/deep/er/dest"
    assert call(ctx, "recv_chunked", dest, packed(b"\xff" * 10), mode=0o750) is True
    assert call(ctx, "recv_chunked", dest, packed(b"\x00" * 10), append=True, mode=0o750) is True
    assert Path(dest).read_bytes() == b"\xff" * 10 + b"\x00" * 10
    assert Path(dest).stat().st_mode & 0o7777 == 0o750
    plain = base64.b64encode(b"again").decode()
    assert call(ctx, "recv_chunked", dest, plain, compressed=False) is True
    assert Path(dest).read_bytes() == b"again"
    assert Path(dest).stat().st_mode & 0o7777 == 0o750


@pytest.mark.parametrize(
    ("dest", "chunk", "words"),
    [
        ("{tmp}/x", "YWJj", "Not a gzipped file (b'ab')"),
        ("{tmp}/x", "a", "Invalid base64-encoded string: number of data characters (1)"),
        ("{tmp}/srv", packed(b"x"), "[Errno 21] Is a directory: '{tmp}/srv'"),
        ("{tmp}/srv/a.txt/b", packed(b"x"), "{tmp}/srv/a.txt"),
        ("{tmp}/x", packed(b"\0" * (65 << 20)), "a piece is larger than"),
    ],
    ids=["no gzip", "no base64", "directory", "below a file", "bomb"],
)
def test_a_piece_that_is_not_taken(
    ctx: MinionContext, tmp_path: Path, dest: str, chunk: str, words: str
) -> None:
    said = call(ctx, "recv_chunked", dest.format(tmp=tmp_path), chunk)
    assert words.format(tmp=tmp_path) in said


# --- pushing -----------------------------------------------------------------------------------


@pytest.fixture
def master(ctx: MinionContext) -> Master:
    ctx.master = Master()
    return ctx.master


@pytest.mark.parametrize("size", [0, 1, 10, 11, 25])
def test_pushing_a_file(ctx: MinionContext, master: Master, tmp_path: Path, size: int) -> None:
    source = tmp_path / "data"
    source.write_bytes(os.urandom(size))
    assert call(ctx, "push", str(source)) is True
    assert master.files == {str(source).lstrip("/"): source.read_bytes()}
    assert call(ctx, "push", str(source), upload_path="/else/where", remove_source=True) is True
    assert "else/where" in master.files
    assert not source.exists()


def test_pushing_through_a_link(ctx: MinionContext, master: Master, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("srv/a.txt")
    assert call(ctx, "push", str(tmp_path / "link")) is True
    assert call(ctx, "push", str(tmp_path / "link"), keep_symlinks=True) is True
    top = str(tmp_path).lstrip("/")
    assert master.files == {f"{top}/srv/a.txt": b"a\n", f"{top}/link": b"a\n"}


@pytest.mark.parametrize("path", ["relative", "/tmp/../etc/hosts", "/nosuch", "/", ""])
def test_what_cannot_be_pushed(ctx: MinionContext, master: Master, path: str) -> None:
    assert call(ctx, "push", path) is False
    assert master.files == {}


def test_a_master_that_takes_nothing(ctx: MinionContext, master: Master, tmp_path: Path) -> None:
    master.takes = False
    source = tmp_path / "srv/a.txt"
    assert call(ctx, "push", str(source), remove_source=True) is False
    assert source.exists()
    assert call(ctx, "push_dir", str(tmp_path / "srv")) is False
    ctx.master = None
    assert call(ctx, "push", str(source)) is False


def test_pushing_a_directory(ctx: MinionContext, master: Master, tmp_path: Path) -> None:
    assert call(ctx, "push_dir", str(tmp_path / "srv"), glob="*.sls", upload_path="/up") is True
    assert sorted(master.files) == ["up/sub/b.sls", "up/sub/init.sls", "up/top.sls"]
    assert call(ctx, "push_dir", "relative") is False
