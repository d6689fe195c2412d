"""Conditions on versions."""

from __future__ import annotations

import pytest

from saltlite.providers.pkg import dpkg, names


@pytest.mark.parametrize(
    ("condition", "found"),
    [(">=1.5", "2.0"), ("<2", "1.6"), (">1.0,<1.6", "1.5"), ("1.*", "1.6"), ("!=2.0", "1.6"),
     ("==1.5", "1.5"), (">9", None), ("1.[05]", "1.5")],
)  # fmt: skip
def test_conditions_on_versions(condition, found):
    assert names.satisfying(condition, ["2.0", "1.6", "1.5"], dpkg.compare) == found
