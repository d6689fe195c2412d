"""Grains of this process; the values are those of Salt 3006.30."""

from __future__ import annotations

import pytest

from saltlite.grains import process


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LC_ALL": "fr_FR.UTF-8"}, ("fr_FR", "UTF-8")),
        ({"LANG": "de_DE.ISO-8859-1"}, ("de_DE", "ISO8859-1")),
        ({}, (None, None)),
        ({"LANG": "C"}, (None, None)),
    ],
)
def test_default_locale(environ, expected):
    assert process.default_locale(environ) == expected
