"""Versions of Ruby's packages."""

from __future__ import annotations

import pytest

from saltlite.providers import gem


@pytest.mark.parametrize(
    ("have", "wanted", "met"),
    [
        ("1.5", "1.5.0", True),
        ("default: 2.1.0", "2.1.0", True),
        ("4.2", "~> 4.0", True),
        ("5.0", "~> 4.0", False),
        ("4.0.9", "~> 4.0.1", True),
        ("4.1", "~> 4.0.1", False),
        ("3.0", ">= 2, != 3.0", False),
        ("2.0.rc1", ">= 2.0", False),
    ],
)
def test_a_version_of_a_gem(have: str, wanted: str, met: bool) -> None:
    assert gem.satisfies(have, wanted) is met
