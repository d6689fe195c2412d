"""Versions and requirements of Python's, Ruby's and Node's packages; what their programs print."""

from __future__ import annotations

import pytest

from saltlite.providers import gem, npm, pip


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


def test_what_gem_and_npm_print() -> None:
    listed = "\n*** LOCAL GEMS ***\n\na (2.0, 1.0)\nb (default: 3.0)\n"
    assert gem.parse_listed(listed) == {"a": ["2.0", "1.0"], "b": ["default: 3.0"]}
    assert gem.parse_outdated("a (1.0 < 2.0)\n") == {"a": "2.0"}
    assert npm.package("@s/c@1.0.0") == ("@s/c", "1.0.0")
    assert npm.package("@s/c") == ("@s/c", None)
    assert npm.parse_done('a remark\n{"added": 1}') == {"added": 1}
    assert npm.parse_done("plain") == "plain"
