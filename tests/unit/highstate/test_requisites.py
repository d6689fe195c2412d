"""The table of requisites: what each kind wants in a run and in a test run, and its spellings."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.highstate import requisites
from saltlite.highstate.requisites import KINDS, Demand, Requisite
from saltlite.highstate.state_return import StateReturn

CHANGED: dict[str, Any] = {"result": True, "changes": {"a": 1}}
CLEAN: dict[str, Any] = {"result": True, "changes": {}}
FAILED: dict[str, Any] = {"result": False, "changes": {"a": 1}}
WOULD: dict[str, Any] = {"result": None, "changes": {"a": 1}}
MIGHT: dict[str, Any] = {"result": None, "changes": {}}
NOTHING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("demand", "met"),
    [
        (requisites.SUCCESS, (CHANGED, CLEAN, WOULD, MIGHT, NOTHING)),
        (requisites.FAILURE, (FAILED, WOULD, MIGHT, NOTHING)),
        (requisites.CHANGES, (CHANGED, WOULD)),
        (requisites.FORESEEN, (CHANGED, FAILED, WOULD, MIGHT, NOTHING)),
    ],
)
def test_what_an_demand_is(demand: Demand, met: tuple[dict[str, Any], ...]) -> None:
    every = (CHANGED, CLEAN, FAILED, WOULD, MIGHT, NOTHING)
    assert [one for one in every if demand.is_met(StateReturn(one))] == [
        one for one in every if one in met
    ]


def test_names_are_unique_and_inverses_those_of_salt() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert {kind.inverse for kind in KINDS if kind.inverse} == {
        f"{name}_in"
        for name in ("require", "watch", "prereq", "onchanges", "onfail", "listen", "use")
    }
    assert "listen_in" not in requisites.TURNED


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_settles_the_order_holds_back_too(kind: Requisite) -> None:
    assert kind.settles_order is (kind.wants is not None)
    assert not kind.runs_first or kind is requisites.PREREQ


def test_what_extend_adds_to_and_what_no_function_gets() -> None:
    assert {"require", "require_all", "listen_any", "prerequired"} <= requisites.JOINED
    assert not {"use", "require_in"} & requisites.JOINED
    assert {"require", "require_all", "use_in", "listen_any"} <= requisites.SPELLINGS
