"""Versions and requirements of Python's packages."""

from __future__ import annotations

import pytest

from saltlite.providers import pip


@pytest.mark.parametrize(
    ("wanted", "version", "met"),
    [
        ("a", "1.0", True),
        ("A[x]>=1.0,<2", "1.5", True),
        ("a>=1.0,<2", "2.0", False),
        ("a == 1.0", "1", True),
        ("a!=1.0", "1.0", False),
        ("a==1.*", "1.9", True),
        ("a==1.*", "2.0", False),
        ("a~=1.4", "1.5", True),
        ("a~=1.4", "2.0", False),
        ("a~=1.4.2", "1.5", False),
        ("a>=2.0", "2.0rc1", False),
        ("a>1.0", "1.0.post1", True),
    ],
)
def test_a_requirement(wanted: str, version: str, met: bool) -> None:
    assert pip.conflicts(wanted, {"a": version}) is not met


def test_an_address_is_called_as_it_says() -> None:
    assert pip.requirement("git+https://h/x.git#egg=ed") == ("ed", "")
    assert pip.conflicts("a", {})
