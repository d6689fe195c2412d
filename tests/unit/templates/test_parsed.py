"""YAML that was read before is not read again, and is nobody else's."""

from __future__ import annotations

import pytest

from saltlite.config import yaml
from saltlite.errors import ConfigError
from saltlite.templates import parsed
from saltlite.templates.parsed import ParsedTexts

TEXT = "a: &x {b: [1, 2.5, null]}\nc: *x\nd: 0755\n2: true\n"


@pytest.fixture
def reads(monkeypatch):
    """The texts that were really read."""
    found: list[str] = []

    def load(text: str, path: str):
        found.append(text)
        return yaml.load(text, path)

    monkeypatch.setattr(parsed, "load", load)
    return found


def test_a_text_that_comes_again_is_kept_and_gives_the_same(reads):
    texts = ParsedTexts()
    first = texts.load(TEXT, "one")
    assert texts.size == 0
    again = [texts.load(TEXT, "two") for _ in range(3)][-1]
    assert reads == [TEXT, TEXT]
    assert again == first == yaml.load(TEXT, "")
    assert list(again) == list(first) == ["a", "c", "d", 2]


def test_a_text_that_others_will_ask_for_is_kept_at_once(reads):
    texts = ParsedTexts()
    first = texts.load(TEXT, "", keep=True)
    assert texts.load(TEXT, "") == first
    assert reads == [TEXT]


def test_no_more_than_so_many_texts_are_known_to_have_come_once(reads, monkeypatch):
    monkeypatch.setattr(parsed, "MET_MOST", 3)
    texts = ParsedTexts()
    for _ in range(2):
        for number in range(4):
            texts.load(f"a: {number}", "")
    assert len(reads) == 8
    assert texts.size == 0


def test_what_a_caller_changes_is_seen_by_nobody_else(reads):
    texts = ParsedTexts()
    for _ in range(3):
        mine = texts.load(TEXT, "")
        assert mine["a"] == {"b": [1, 2.5, None]}
        mine["a"]["b"].append("secret of one minion")
        mine["a"]["more"] = 1
    assert reads == [TEXT, TEXT]


def test_an_alias_of_a_kept_text_is_a_value_of_its_own(reads):
    texts = ParsedTexts()
    texts.load(TEXT, "", keep=True)
    kept = texts.load(TEXT, "")
    kept["a"]["b"].clear()
    assert kept["c"] == {"b": [1, 2.5, None]}


def test_an_error_is_told_of_the_file_that_has_it(reads):
    texts = ParsedTexts()
    for path in ("one.sls", "two.sls"):
        with pytest.raises(ConfigError) as caught:
            texts.load("a: 1\na: 2\n", path)
        assert (caught.value.path, caught.value.line) == (path, 2)


def test_the_texts_used_last_are_kept_within_the_bound(reads):
    texts = ParsedTexts(kept_bytes=5000)
    often = "often: 1\n"
    for number in range(200):
        texts.load(often, "")
        texts.load(f"text: {number}\nmore: {'x' * 100}\n", "", keep=True)
        assert texts.size <= 5000
    assert reads.count(often) == 2
    assert len(reads) == 202


@pytest.mark.parametrize("text", ["a: " + "x" * parsed.ONE_BYTES, "[" + "12345," * 130_000 + "1]"])
def test_what_is_very_large_is_not_kept(reads, text):
    texts = ParsedTexts()
    assert texts.load(text, "") == texts.load(text, "")
    assert len(reads) == 2
    assert texts.size == 0


def test_values_of_each_type_are_kept_as_they_are(reads):
    texts = ParsedTexts()
    text = (
        "a: [1, -1.5, .inf, false, null, 'é', !!binary AA==, {}, []]\n7: x\n2.5: y\ntrue: z\n~: n\n"
    )
    first = texts.load(text, "", keep=True)
    assert texts.load(text, "") == first == yaml.load(text, "")
    assert reads == [text]


def test_an_integer_that_is_too_large_to_be_kept_is_read_again(reads):
    texts = ParsedTexts()
    text = f"a: {2**70}\n"
    for _ in range(2):
        assert texts.load(text, "") == {"a": 2**70}
    assert len(reads) == 2
    assert texts.size == 0
