"""Names that Salt has for the same state, and what ``event.send`` tells."""

from __future__ import annotations

import pytest

from saltlite.highstate.resource import Action
from saltlite.loader.states import functions
from saltlite.states import event


@pytest.mark.parametrize(
    ("name", "other"),
    [("cmd.watch", "wait"), ("module.watch", "wait"), ("event.fire_master", "send")],
)
def test_two_names_of_one_state(name: str, other: str) -> None:
    module, _, function = name.partition(".")
    found = functions(module)
    assert found[function] is found[other]


@pytest.mark.parametrize(("given", "changes"), [(True, {"tag": "a/b", "data": 1}), (False, {})])
def test_an_event_is_a_change_if_it_is_to_be_shown(given: bool, changes: object) -> None:
    declared = event.send(None, "a/b", 1, show_changed=given)
    assert isinstance(declared, Action)
    assert declared.changes == changes
