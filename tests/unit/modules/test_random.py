"""``random``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import string

import pytest
from local_minion import make


@pytest.mark.parametrize(
    ("options", "letters"),
    [
        ({}, string.ascii_letters + string.digits + string.punctuation),
        ({"punctuation": False}, string.ascii_letters + string.digits),
        ({"chars": "ab"}, "ab"),
        ({"lowercase": False, "digits": False, "punctuation": False}, string.ascii_uppercase),
    ],
)
def test_random_texts_are_of_these_characters(options, letters, call):
    text = call("random.get_str", 200, **options)
    assert len(text) == 200
    assert set(text) <= set(letters)
    assert text != call("random.get_str", 200, **options)


def test_without_a_seed_it_is_chance(call):
    assert len({call("random.rand_int", 1, 10**12) for _ in range(20)}) == 20
    assert sorted(call("random.shuffle", [3, 1, 2])) == [1, 2, 3]
    assert call("random.rand_int", 1, 100, seed="s") == call("random.rand_int", 1, 100, seed="s")


def test_the_id_is_the_seed(tmp_path):
    call = make(tmp_path).functions.call
    assert call("random.seed", 1000) == call("random.seed", 1000, hash="web1")
