"""``file.find``: criteria, depths, actions."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import CommandError
from saltlite.host import Completed, Host
from saltlite.modules.file import looking
from saltlite.providers.file import find
from saltlite.providers.file.find import CriterionError, FoundFile

OLD_S = 1_000_000_000


class Machine(Host):
    """A host that keeps what it was asked to run."""

    def __init__(self):
        self.ran = []

    def run(self, command, **options):
        self.ran.append(command)
        if command[0] == "none":
            raise CommandError(command, None, "no such program")
        return Completed(1, 0, f"said {command[-1]}\n", "not shown")


@pytest.fixture
def ctx():
    return MinionContext(config=MinionConfig(), host=Machine(), grains={}, pillar={})


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "t"
    (root / "d" / "e").mkdir(parents=True)
    (root / "a").write_text("l1\nl2\n")
    (root / "ab.log").write_text("q" * 3500)
    (root / "d" / "x").write_text("")
    (root / "d" / "e" / "y.LOG").write_text("l2")
    (root / "link").symlink_to("a")
    (root / "broken").symlink_to("none")
    (root / "into").symlink_to("d")
    os.mkfifo(root / "pipe")
    os.utime(root / "a", (OLD_S, OLD_S))
    return root


def entry(**fields):
    return FoundFile(
        **{"path": "/a", "name": "a", "mode": 0o100644, "uid": 0, "gid": 0, "size": 0, "mtime": 0.0}
        | fields
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"name": "a*"}, ["a", "ab.log"]),
        ({"name": "a?"}, ["a"]),
        ({"name": "*.log"}, ["ab.log"]),
        ({"iname": "*.log"}, ["ab.log", "d/e/y.LOG"]),
        ({"name": "[!a]"}, ["a"]),
        ({"regex": "l"}, ["link"]),
        ({"regex": "log$"}, []),
        ({"iregex": "Y"}, ["d/e/y.LOG"]),
        ({"type": "f", "maxdepth": 1}, ["a", "ab.log", "link"]),
        ({"type": "d", "mindepth": 1}, ["d", "d/e", "into"]),
        ({"type": "l"}, ["broken"]),
        ({"type": "p"}, ["pipe"]),
        ({"type": "p,l"}, ["broken", "pipe"]),
        ({"size": "3k", "type": "f"}, ["ab.log"]),
        ({"size": "+3500", "type": "f"}, ["ab.log"]),
        ({"size": "-2", "type": "f"}, ["d/e/y.LOG", "d/x"]),
        ({"mtime": "1d"}, ["a", "link"]),
        ({"mtime": "-1d", "name": "a*"}, ["ab.log"]),
        ({"grep": "l2"}, ["a", "d/e/y.LOG", "link"]),
        ({"grep": "^l2$"}, ["d/e/y.LOG"]),
        ({"maxdepth": 0}, [""]),
        ({"mindepth": 3}, ["d/e/y.LOG"]),
        ({"mindepth": 2, "maxdepth": 2}, ["d/e", "d/x"]),
        ({"name": "x", "owner": str(os.geteuid())}, ["d/x"]),
        ({"name": "x", "group": "987654"}, []),
    ],
    ids=str,
)
def test_what_is_found(options, expected, tree, ctx):
    found = looking.find(ctx, str(tree), **options)
    assert found == [str(tree / name) if name else str(tree) for name in expected]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"bogus": 1}, 'invalid option "bogus"'),
        ({"name": ""}, 'missing value for "name" option'),
        ({"type": "a"}, 'invalid file type "a"'),
        ({"regex": "("}, 'invalid regular expression: "("'),
        ({"grep": "("}, 'invalid regular expression: "("'),
        ({"size": "1q"}, 'invalid size: "1q"'),
        ({"mtime": "5"}, "invalid time interval: '5'"),
        ({"owner": "nobody-of-this-name"}, 'no such user "nobody-of-this-name"'),
        ({"group": "nobody-of-this-name"}, 'no such group "nobody-of-this-name"'),
    ],
    ids=str,
)
def test_complaints_are_answers(options, complaint, tree, ctx):
    assert looking.find(ctx, str(tree), **options) == f"error: {complaint}"


def test_what_is_printed(tree, ctx):
    shown = looking.find(ctx, str(tree), name="a", print="name,size,type mode,mtime,md5")
    assert shown == [["a", 6, "f", 0o644, OLD_S, "a8be9e797e0f7e75b498d90413d9a7ad"]]
    assert looking.find(ctx, str(tree), "print", name="a") == [str(tree / "a")]
    assert looking.find(ctx, str(tree), type="d", print="name") == ["d", "e", "into", "t"]
    assert looking.find(ctx, str(tree), name="a", print="bogus") == [[]]


def test_commands_get_the_path_as_one_word(tree, ctx):
    (tree / "two words; $(id)").write_text("")
    found = looking.find(ctx, str(tree), name="two*", exec="cat -- {}")
    path = str(tree / "two words; $(id)")
    assert ctx.host.ran == [["cat", "--", path]]
    assert found == [f"cat -- {path}:\nsaid {path}\n\n"]
    assert looking.find(ctx, str(tree), name="a", exec="none {}") == [f"{tree / 'a'}: Failed"]


def test_files_are_deleted(tree, ctx):
    assert looking.find(ctx, str(tree), "delete", name="*.log") == [str(tree / "ab.log")]
    assert not (tree / "ab.log").exists()
    assert looking.find(ctx, str(tree), name="d", delete="f") == []
    assert looking.find(ctx, str(tree), name="d", delete="d") == [str(tree / "d")]
    assert not (tree / "d").exists()


def test_a_link_to_a_directory_is_deleted_not_followed(tree, ctx):
    assert looking.find(ctx, str(tree), name="into", delete="d") == [str(tree / "into")]
    assert not (tree / "into").is_symlink()
    assert (tree / "d" / "x").exists()


def test_globs_in_the_path(tree, ctx):
    assert looking.find(ctx, str(tree / "d*"), name="x") == [str(tree / "d" / "x")]
    assert looking.find(ctx, str(tree / "none")) == []


@pytest.mark.parametrize(
    ("text", "sign", "seconds"),
    [
        ("1w", "", 604800),
        ("+2d3h4m5s", "+", 2 * 86400 + 3 * 3600 + 4 * 60 + 5),
        ("- 1.5D", "-", 1.5 * 86400),
        ("90s", "", 90),
    ],
)
def test_intervals(text, sign, seconds):
    assert find.interval_s(text) == (sign, seconds)


@pytest.mark.parametrize("text", ["", "d", "1y", "1h1d", "1d-2d", "x"])
def test_what_is_no_interval(text):
    with pytest.raises(CriterionError):
        find.interval_s(text)


@given(st.integers(0, 10**9), st.sampled_from("bkmg"))
def test_a_size_is_at_least_and_at_most_itself(number, unit):
    size = number * 1024 ** "bkmg".index(unit)
    for sign in ("", "+", "-"):
        assert find.by_size(f"{sign}{number}{unit}")(entry(size=size))
    assert not find.by_size(f"+{number}{unit}")(entry(size=size - 1))
    assert not find.by_size(f"-{number}{unit}")(entry(size=size + 1))


def test_ages_count_from_now():
    now = time.time()
    assert find.by_age("+1h", now)(entry(mtime=now - 3601))
    assert not find.by_age("+1h", now)(entry(mtime=now - 3599))
    assert find.by_age("-1h", now)(entry(mtime=now - 3599))
