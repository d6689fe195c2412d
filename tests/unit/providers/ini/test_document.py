"""The editor of files with sections and options keeps what it does not change."""

from __future__ import annotations

import pytest

from saltlite.providers.ini.document import parse, same
from saltlite.states import ini

CASES = [
    ("[s]\na = 1\n  b = 2\n\tc\n", {"a": "1\n  b = 2\n\tc"}, "top = 5\n\n[s]\na = 7\nzz = 9\n"),
    (
        "[s]\na = 1\n\n\nb = 2\n\n\n\n[t]\n\nx=1\n",
        {"a": "1", "b": "2"},
        "top = 5\n\n[s]\na = 7\n\n\nb = 2\nzz = 9\n\n[t]\nx = 1\n",
    ),
    (
        "[s]\na=1\n[t]\n[s]\nb=2\na=3\n",
        {"a": "3", "b": "2"},
        "top = 5\n\n[s]\na = 7\nb = 2\nzz = 9\n\n[t]\n",
    ),
    (
        "[s] ; c\na = 1 ; x\nb = c = d\nflag\ne =\n= f\n",
        {},
        "[s] ; c\na = 1 ; x\nb = c = d\nflag\ne =\n= f\ntop = 5\n\n[s]\nzz = 9\na = 7\n",
    ),
    ("[ s ]\n A B = 1\n", {}, "top = 5\n\n[ s ]\nA B = 1\n\n[s]\nzz = 9\na = 7\n"),
    ("a=1\n[s]\nb=2", {"b": "2"}, "a = 1\ntop = 5\n\n[s]\nb = 2\nzz = 9\na = 7\n"),
    ("[s]\r\na = 1\r\n", {"a": "1"}, "top = 5\n\n[s]\na = 7\nzz = 9\n"),
    (
        "[s]\na = 1\n   more\n   # c\n   x\nb=1\n",
        {"a": "1\n   more", "b": "1"},
        "top = 5\n\n[s]\na = 7\n   # c\n   x\nb = 1\nzz = 9\n",
    ),
    (
        "# x\n\n[s]\n#c = 1\n;d = 2\n",
        {},
        "# x\ntop = 5\n\n[s]\n#c = 1\n;d = 2\nzz = 9\na = 7\n",
    ),
]
"""Recorded from ``ini.set_option`` of Salt 3006.30; blanks at the ends of lines left out."""


@pytest.mark.parametrize(("text", "options", "changed"), CASES)
def test_as_real_salt(text: str, options: dict[str, str], changed: str) -> None:
    document = parse(text)
    found = document.sections.get("s")
    assert (found.options if found else {}) == options
    document.section("s").set("zz", "9")
    document.section("s").set("a", "7")
    document.top.set("top", "5")
    assert "\n".join(map(str.rstrip, document.text().split("\n"))) == changed


@pytest.mark.parametrize(("text", "options", "changed"), CASES)
def test_what_is_written_reads_the_same(text: str, options: dict[str, str], changed: str) -> None:
    once = parse(text).text()
    assert parse(once).text() == once


def test_an_option_that_goes_leaves_no_hole_at_the_top() -> None:
    document = parse("[s]\na = 7\n\n\nb = 2\n")
    assert document.section("s").drop("a") == "7"
    assert document.section("s").drop("a") is None
    assert document.text() == "[s]\nb = 2\n"


def test_lines_of_a_value_stay_its_own() -> None:
    document = parse("[s]\n")
    document.section("s").set("k", "one\ntwo")
    again = parse(document.text())
    assert same(again.section("s").options["k"], "one\ntwo")
    assert not same(None, "")


def test_other_separators() -> None:
    document = parse("a: 1\nb|2\nc d 3\n", ":")
    assert document.top.options == {"a": "1"}
    assert document.text(no_spaces=True) == "a:1\nb|2\nc d 3\n"


def test_strict_takes_options_of_no_section_too() -> None:
    declared = ini.options_present("/nowhere", {"a": {"x": "1"}, "kept": "2"}, strict=True)
    steps = declared.plan({"top": "1", "kept": "2", "a": {"x": "1"}})
    assert [step.would for step in steps] == ["Removed key top."]
    assert steps[0].changes == {"top": {"before": "1", "after": None}}
