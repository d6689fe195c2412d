"""The order of versions by dpkg's rules."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite.providers.pkg import dpkg
from saltlite.providers.pkg.apt import newest_first

DEBIAN = [
    ("1.0", "1.0-1", -1), ("1:1.0", "1.0", 1), ("1.0~rc1", "1.0", -1), ("1.10", "1.9", 1),
    ("2.0a", "2.0", 1), ("1.0+dfsg", "1.0", 1), ("0:1", "1", 0), ("1.0~~", "1.0~", -1),
    ("a", "b", -1), ("", "1", -1), ("", "", 0), ("1.0 x", "1.0", None), ("1.0-", "1.0", None),
    ("a:1", "1", None), ("1-1-1", "1-1-2", -1), ("1.01", "1.1", 0),
    ("5.2.15-2+b8", "5.2.15-2+b13", -1),
]  # fmt: skip
VERSIONS = st.text("0123456789abz.+~-:", min_size=1, max_size=12)


@pytest.mark.parametrize(("first", "second", "order"), DEBIAN)
def test_debian(first, second, order):
    assert dpkg.compare(first, second) == order
    assert dpkg.compare(second, first) == (None if order is None else -order)


@given(VERSIONS, VERSIONS)
def test_debian_is_an_order(first, second):
    there, back = dpkg.compare(first, second), dpkg.compare(second, first)
    assert there == (None if back is None else -back)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="no dpkg to compare with")
@settings(max_examples=60, deadline=None)
@given(VERSIONS, VERSIONS)
def test_dpkg_agrees(first, second):
    def asks(operator: str) -> int:
        argv = ["dpkg", "--compare-versions", "--", first, operator, second]
        return subprocess.run(argv, capture_output=True).returncode

    order = dpkg.compare(first, second)
    if order is None:
        assert asks("eq") == 2
    else:
        assert asks({-1: "lt", 0: "eq", 1: "gt"}[order]) == 0


def test_the_newest_is_first():
    assert newest_first(["1.0", "1.0~rc1", "1:0.1", "1.10"]) == ["1:0.1", "1.10", "1.0", "1.0~rc1"]
