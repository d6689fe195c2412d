"""Whatever a path, an address or a name is made of, it leads nowhere but below its root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from saltlite.config.master import FileOptions
from saltlite.fileserver.client import FileClient
from saltlite.fileserver.paths import safe_name, safe_parts, split_url
from saltlite.fileserver.server import FileServer
from saltlite.fileserver.sources import LocalSource

PIECES = st.sampled_from(
    ["..", ".", "/", "//", "a", "|", "\\", "\0", "~", "?saltenv=", "&", "=", "%2e", "%2f", "\n",
     "salt://", "http://", "\udcff", "\u202e", "*", "é", " ", "[", "]", "@", ":", "x" * 300]
)  # fmt: skip
HOSTILE = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    HOSTILE, st.none(), st.booleans(), st.integers(), st.floats(), st.binary(),
    st.lists(HOSTILE, max_size=3), st.dictionaries(HOSTILE, HOSTILE, max_size=2),
)  # fmt: skip


def is_below(path: str | Path, root: str) -> bool:
    return os.path.normpath(path).startswith(root + "/")


@given(ANYTHING)
def test_parts_lead_below(path: Any) -> None:
    parts = safe_parts(path)
    if parts is None:
        return
    assert is_below(os.path.join("/root", *parts), "/root")
    assert safe_parts("/".join(parts)) == parts
    assert all(safe_name(part) for part in parts)


@given(ANYTHING)
def test_a_name_is_one_directory(name: Any) -> None:
    if safe_name(name):
        assert os.path.dirname(os.path.normpath(os.path.join("/root", name))) == "/root"


@given(HOSTILE, HOSTILE)
def test_a_copy_lies_in_the_cache(url: str, saltenv: str) -> None:
    client = FileClient(LocalSource(FileServer(FileOptions(file_roots={}))), Path("/cache"))
    for place in (client.cache_path(url, saltenv), client.localfile_path(url)):
        assert place is None or is_below(place, "/cache")


@given(HOSTILE)
def test_every_address_comes_apart(url: str) -> None:
    location = split_url(url)
    assert "?" not in location.path
    assert location.saltenv != ""


@given(ANYTHING, ANYTHING)
def test_the_server_answers_everything(path: Any, saltenv: Any) -> None:
    roots = {"base": ["/nosuch/root"], "__env__": ["/nosuch/envs/__env__"]}
    server = FileServer(FileOptions(file_roots=roots))
    assert server.find(path, saltenv) is None
    assert server.hash(path, saltenv) is None
    assert server.files(saltenv) == []
