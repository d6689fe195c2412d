"""Editing files: every recorded answer of real Salt, and laws that hold for any text."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.modules.file import content, editing, searching
from saltlite.providers.file import edits, texts
from saltlite.providers.file.edits import Block
from saltlite.providers.file.edits import replace_blocks as block_replaced
from saltlite.providers.file.lines import Edit, edit_lines

CASES = DATA / "file"
CALLS = {
    "lines": editing.line,
    "blocks": editing.blockreplace,
    "comments": editing.comment_line,
    "replacing": editing.replace,
}


@pytest.fixture
def ctx(tmp_path_factory):
    paths = PathOptions(cachedir=str(tmp_path_factory.mktemp("cache")))
    return MinionContext(config=MinionConfig(paths=paths), host=Host(), grains={}, pillar={})


def recorded():
    for name, function in CALLS.items():
        for number, case in enumerate(read_yaml(CASES / f"{name}.yaml")):
            yield pytest.param(function, case, id=f"{name}-{number}")


@pytest.mark.parametrize(("function", "case"), list(recorded()))
def test_as_real_salt_did(ctx, function, case, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(case["text"].encode())
    if "error" in case:
        with pytest.raises((FunctionError, TypeError, re.error, ValueError, LookupError)) as caught:
            function(ctx, str(path), **case["call"])
        assert str(caught.value).replace(str(tmp_path), "/tmp/fm/t") == case["error"]
        assert path.read_bytes() == case["text"].encode()
        return
    assert function(ctx, str(path), **case["call"]) == case["says"]
    assert path.read_bytes().decode() == case["becomes"]


words = st.text("ab# =\t", max_size=6)
lines = st.lists(words, max_size=8).map(lambda parts: "".join(f"{part}\n" for part in parts))


@given(st.text())
def test_lines_join_to_the_text(text):
    assert "".join(texts.split_lines(text)) == text


@given(lines, st.sampled_from(["a", "^a", "ab?$", "b", " "]), st.sampled_from(["#", "//", ";"]))
def test_what_is_commented_out_comes_back(text, regex, char):
    before = texts.split_lines(text)
    there = edits.comment_lines(before, regex, char)
    if any(line.startswith(tuple(char)) for line in there.old):
        return
    assert edits.uncomment_lines(there.new, regex, char).lines == there.old


@given(lines, st.sampled_from(["a", "a+", "^a", "=$"]))
def test_what_no_longer_matches_is_not_replaced_again(text, pattern):
    wanted = edits.Replacement(pattern=pattern, repl="c")
    once = edits.replace_matches(text.encode(), wanted)
    assert edits.replace_matches(once, wanted) == once


@given(lines, st.text("abc", min_size=1, max_size=5))
def test_what_was_appended_is_found(text, content):
    wanted = edits.Replacement(pattern="zz", repl=content, append_if_not_found=True)
    once = edits.replace_matches(text.encode(), wanted)
    assert f"{content}\n".encode() in once
    assert edits.replace_matches(once, wanted) == once


@given(lines, lines, st.sampled_from(["append", "prepend"]))
def test_a_block_is_put_once(text, content, place):
    block = Block(
        marker_start="<begin>",
        marker_end="<end>",
        content=content,
        append_if_not_found=place == "append",
        prepend_if_not_found=place == "prepend",
    )
    once = block_replaced(text, block)
    assert f"<begin>\n{content}<end>\n" in once
    assert block_replaced(once, block) == once


@given(lines, st.text("ab", min_size=1, max_size=4), st.sampled_from(["after", "before"]))
def test_a_line_that_is_ensured_stays(text, content, anchor):
    edit = Edit(mode="ensure", content=content, indent=False, **{anchor: "^X$"})
    there = texts.split_lines(f"{text}X\n{text}")
    once = edit_lines(there, edit)
    assert edit_lines(once, edit) == once
    assert len(once) - len(there) in (0, 1)


def test_copies_have_the_mode_of_the_file(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("secret\n")
    path.chmod(0o640)
    editing.replace(ctx, str(path), "secret", "other", backup=".orig")
    copy = tmp_path / "a.orig"
    assert copy.read_text() == "secret\n"
    assert copy.stat().st_mode & 0o777 == path.stat().st_mode & 0o777 == 0o640


def test_a_dry_run_changes_nothing(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("a\n")
    assert editing.replace(ctx, str(path), "a", "b", dry_run=True).endswith("-a\n+b\n")
    assert editing.blockreplace(
        ctx, str(path), "<", ">", "x", append_if_not_found=True, dry_run=True
    )
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "a\n"


def test_a_link_is_followed_and_its_copy_linked(ctx, tmp_path):
    (tmp_path / "a").write_text("a\n")
    link = tmp_path / "link"
    link.symlink_to("a")
    editing.replace(ctx, str(link), "a", "b")
    assert link.is_symlink()
    assert link.read_text() == "b\n"
    assert os.readlink(tmp_path / "link.bak") == "a.bak"
    assert (tmp_path / "link.bak").read_text() == "a\n"


@pytest.mark.parametrize("keep", [True, False])
def test_the_file_stays_the_same_one_if_asked(ctx, keep, tmp_path):
    path = tmp_path / "a"
    path.write_text("longer than after\n")
    before = path.stat().st_ino
    with path.open() as held:  # so that the number is not given to the next file
        editing.replace(ctx, str(path), "longer.*", "b", backup=False, preserve_inode=keep)
        assert (path.stat().st_ino == before) is keep
        assert held.read() == ("b\n" if keep else "longer than after\n")
    assert path.read_text() == "b\n"


def test_what_is_not_text_is_left_alone(ctx, tmp_path):
    path = tmp_path / "a"
    for text in (b"a\0b", b"a\xff", b"a latin \xe9 text that does not decode"):
        path.write_bytes(text)
        with pytest.raises((UsageError, UnicodeDecodeError)):
            editing.replace(ctx, str(path), "a", "b")
        assert path.read_bytes() == text


def test_an_encoding_is_kept(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_bytes("é\r\n".encode("utf-16"))
    editing.replace(ctx, str(path), "é", "ü", encoding="utf-16", backup=False)
    assert path.read_bytes().decode("utf-16") == "ü\r\n"


def test_lines_are_written_appended_and_prepended(ctx, tmp_path):
    path = tmp_path / "a"
    assert content.write(ctx, str(path), "b", 5) == f'Wrote 2 lines to "{path}"'
    assert content.append(ctx, str(path), args="c=d") == f'Wrote 1 lines to "{path}"'
    assert content.prepend(ctx, str(path), "a") == f'Prepended 1 lines to "{path}"'
    assert path.read_text() == "a\nb\n5\nc=d\n"
    path.write_text("open end")
    content.append(ctx, str(path), "x")
    assert path.read_text() == "open end\nx\n"
    with pytest.raises(FileNotFoundError):
        content.append(ctx, str(tmp_path / "none"), "x")


def test_psed_edits_lines_that_its_limit_chooses(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("a1\nb1\n")
    assert editing.psed(ctx, str(path), "1", "2", limit="^b") is None
    assert path.read_text() == "a1\nb2\n"
    assert (tmp_path / "a.bak").read_text() == "a1\nb1\n"
    editing.psed(ctx, str(path), "1\nb", "x", multi=True)
    assert path.read_text() == "ax2\n"
    with pytest.raises(re.error):
        editing.psed(ctx, str(path), "(", "x")
    assert path.read_text() == "ax2\n"


def test_contents_are_searched(ctx, tmp_path):
    path = tmp_path / "a"
    path.write_text("one\ntwo words\n" + "x" * 200_000 + "needle\n")
    name = str(path)
    assert searching.contains(name, "needle")
    assert searching.contains(name, "one\ntwo")
    assert not searching.contains(name, "needles")
    assert searching.contains_regex(name, "^wo words$", "t")
    assert not searching.contains_regex(name, "^words")
    assert searching.contains_glob(name, "one*needle*")
    assert searching.search(ctx, name, "one\ntwo")
    assert searching.search(ctx, name, "ONE", flags="IGNORECASE")
    assert not searching.search(ctx, name, "ONE")
    assert not searching.search(ctx, str(tmp_path / "none"), "x", ignore_if_missing=True)
    with pytest.raises(FunctionError, match=r"Invalid re flag given: BOGUS"):
        searching.search(ctx, name, "x", flags=["BOGUS"])
