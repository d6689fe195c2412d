"""Several states of packages as one command: what is taken over, and what stays alone."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.states._pkg.aggregate import aggregate


def pkg(ident: str, fun: str = "installed", **more: Any) -> dict[str, Any]:
    return {"state": "pkg", "fun": fun, "name": ident, "__id__": ident, "order": 1, **more}


def test_the_first_one_wants_what_all_want() -> None:
    low = pkg("one", version=1)
    others = [low, pkg("two"), pkg("three", pkgs=["a", {"b": "2.0"}], refresh=True)]
    joined = aggregate(low, others)
    assert joined["pkgs"] == [{"one": "1"}, "two", "a", {"b": "2.0"}]
    assert joined["refresh"] is True
    assert "version" not in joined
    assert [bool(each.get("__agg__")) for each in others] == [False, True, True]


def test_files_go_with_files() -> None:
    low = pkg("one", sources=[{"one": "/a.deb"}])
    others = [pkg("two"), pkg("three", sources=[{"three": "/b.deb"}])]
    assert aggregate(low, others)["sources"] == [{"one": "/a.deb"}, {"three": "/b.deb"}]


@pytest.mark.parametrize(
    "other",
    [
        pkg("two", "removed"),
        pkg("two", fromrepo="elsewhere"),
        pkg("two", hold=True),
        pkg("two", onlyif="false"),
        pkg("two", aggregate=False),
        pkg("two", pkgs=[{"one": "2.0"}]),
        pkg("two", __agg__=True),
        {**pkg("two"), "state": "pip"},
    ],
    ids=["function", "repository", "hold", "condition", "said so", "versions", "taken", "module"],
)
def test_what_another_command_is_needed_for_stays_alone(other: dict[str, Any]) -> None:
    low = pkg("one", version="1.0")
    was_taken = other.get("__agg__")
    assert aggregate(low, [other]) == low
    assert other.get("__agg__") is was_taken


def test_a_function_that_is_no_state_of_packages_is_left_alone() -> None:
    low = pkg("one", "uptodate")
    assert aggregate(low, [pkg("two", "uptodate")]) == low
