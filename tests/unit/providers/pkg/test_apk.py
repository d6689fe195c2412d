"""The order of versions by apk's rules."""

from __future__ import annotations

import pytest

from saltlite.providers.pkg import apk

ALPINE = [
    ("1.0-r0", "1.0-r1", -1), ("1.10-r0", "1.9-r0", 1), ("1.0_rc1-r0", "1.0-r0", -1),
    ("1.0_p1-r0", "1.0-r0", 1), ("1.0a-r0", "1.0-r0", 1), ("1.2.4_git20230717-r4", "1.2.4-r9", 1),
    ("x", "1.0-r0", None),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "order"), ALPINE)
def test_alpine(first, second, order):
    assert apk.compare(first, second) == order
