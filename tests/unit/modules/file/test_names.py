"""Paths are cut and joined."""

from __future__ import annotations

from saltlite.modules.file import names


def test_paths_are_cut_and_joined():
    assert names.basename("/a/b") == "b"
    assert names.dirname("/a/b/") == "/a/b"
    assert names.join("/", "usr", "x") == "/usr/x"
    assert names.normpath("a/b/c/..") == "a/b"
    assert names.pardir() == ".."
