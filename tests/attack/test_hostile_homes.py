"""States that run as root in a directory of somebody else are not led outside of it."""

from __future__ import annotations

import sys

import hostile_homes
import pytest
from isolated_states import in_namespace


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What became of every case: an empty text, or what went wrong."""
    work = tmp_path_factory.mktemp("hostile")
    program = [sys.executable, hostile_homes.__file__]
    return in_namespace(program, [list(hostile_homes.CASES)], work / "namespace")[0]


@pytest.mark.parametrize("name", hostile_homes.CASES)
def test_nothing_outside_changes(told, name):
    if told[name]:
        pytest.fail(told[name], pytrace=False)
