"""The order of versions by rpm's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.providers.pkg import rpm

RPM = [
    ("1.0-1", "1.0-2", -1), ("1:1.0-1", "2.0-1", 1), ("1.0~rc1-1", "1.0-1", -1),
    ("1.0^git1-1", "1.0-1", 1), ("1.0^git1-1", "1.0.1-1", -1), ("1.0", "1.0-7", 0),
    ("2.50", "2.5", 1), ("1.0a", "1.0", 1), ("1.0.a", "1.0.1", -1), ("10", "9", 1),
    ("1.0_1", "1.0.1", 0), ("4.18.0-513.el8", "4.18.0-513.5.1.el8_9", -1),
]  # fmt: skip
VERSIONS = st.text("0123456789abz.+~-:", min_size=1, max_size=12)


@pytest.mark.parametrize(("first", "second", "order"), RPM)
def test_rpm(first, second, order):
    assert rpm.compare(first, second) == order
    assert rpm.compare(second, first) == -order


@given(VERSIONS, VERSIONS, VERSIONS)
def test_rpm_is_an_order(first, second, third):
    assert rpm.compare(first, second) == -rpm.compare(second, first)
    if rpm.compare_parts(first, second) <= 0 and rpm.compare_parts(second, third) <= 0:
        assert rpm.compare_parts(first, third) <= 0
