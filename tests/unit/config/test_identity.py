from __future__ import annotations

import pytest

from saltlite.config.identity import (
    first_usable,
    names_in_files,
    with_domain,
    without_domain,
)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], "localhost"),
        (["", "localhost", "localhost.localdomain", "web1"], "web1"),
        (["ip6-localhost", "127.0.0.1", "::1", "fe00::0", "0.0.0.0", "10.1.2.3"], "10.1.2.3"),
        (["a.example.org", "b"], "a.example.org"),
    ],
)
def test_the_first_name_that_is_this_machines_own(names, found):
    assert first_usable(names) == found


def test_names_are_looked_up_only_when_needed():
    def names():
        yield "web1"
        raise AssertionError("asked for more")

    assert first_usable(names()) == "web1"


def test_names_in_files(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("box\n")
    (tmp_path / "etc/hosts").write_text(
        "127.0.0.1 localhost # me\n::1\tsix\n10.0.0.1 other\n"
        "127.0.1.1 box.lan box\n\n#127.0.0.1 x\n"
    )
    assert list(names_in_files(tmp_path)) == ["box", "localhost", "six", "box.lan", "box"]
    assert list(names_in_files(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("name", "remove", "left"),
    [
        ("a.b.c", True, "a"),
        ("a.b.c", False, "a.b.c"),
        ("a.b.c", ["x.y", "b.c"], "a"),
        ("a.b.c", ["c"], "a.b"),
        ("a.b.c", [], "a.b.c"),
        ("10.1.2.3", True, "10.1.2.3"),
    ],
)
def test_without_domain(name, remove, left):
    assert without_domain(name, remove) == left


def test_with_domain():
    assert with_domain("a", "b.c") == "a.b.c"
    assert with_domain("a.b.c", "b.c") == "a.b.c"
    assert with_domain("a.", "b.c") == "a."
    assert with_domain("a", "") == "a"
