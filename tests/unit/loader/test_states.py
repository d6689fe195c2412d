"""Names that Salt has for the same state."""

from __future__ import annotations

import pytest

from saltlite.loader.states import functions


@pytest.mark.parametrize(
    ("name", "other"),
    [("cmd.watch", "wait"), ("module.watch", "wait"), ("event.fire_master", "send")],
)
def test_two_names_of_one_state(name: str, other: str) -> None:
    module, _, function = name.partition(".")
    found = functions(module)
    assert found[function] is found[other]
