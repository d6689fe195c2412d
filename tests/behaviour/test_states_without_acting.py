"""States that are only planned: by their own word, their SLS, the call, the minion, the pillar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry

NOT_DONE = "Not done: noop"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path


def context(place: Path, **options: Any) -> MinionContext:
    settings = {
        "root_dir": str(place / "root"),
        "file_client": "local",
        "id": "web1",
        "file_roots": {"base": [str(place / "tree")]},
        **options,
    }
    (place / "minion").write_text(json.dumps(settings))
    config = load_minion(str(place), {}, cache_id=False)
    made = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    made.functions = Registry(made)
    return made


def run(ctx: MinionContext, place: Path, states: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Apply states; the answers by id."""
    (place / "tree" / "one.sls").write_text("#!json\n" + json.dumps(states))
    found = ctx.functions.call("state.apply", "one", **given)
    assert isinstance(found, dict), found
    return {answer["__id__"]: answer for answer in found.values()}


def managed(path: Path, *more: Any) -> dict[str, Any]:
    return {"file.managed": [{"name": str(path)}, {"contents": "x"}, *more]}


def changing(*more: Any) -> dict[str, Any]:
    return {"test.succeed_with_changes": [{"name": "any"}, *more]}


NOOP = {"noop": True}


def test_a_state_says_what_it_would_do_and_does_nothing(place: Path) -> None:
    here, there = place / "here", place / "there"
    found = run(context(place), place, {"a": managed(here, NOOP), "b": managed(there)})
    assert (here.exists(), there.exists()) == (False, True)
    assert found["a"]["result"] is None
    assert found["a"]["changes"]
    assert found["a"]["comment"].endswith(NOT_DONE)
    assert found["a"]["__noop__"] is True
    assert (found["b"]["result"], "__noop__" in found["b"]) == (True, False)


def test_what_is_in_order_says_so(place: Path) -> None:
    here = place / "here"
    here.write_text("x\n")
    found = run(context(place), place, {"a": managed(here, NOOP)})
    assert found["a"]["result"] is True
    assert NOT_DONE not in found["a"]["comment"]


@pytest.mark.parametrize(
    ("options", "pillar", "given"),
    [
        ({"state_noop": True}, {}, {}),
        ({"state_noop": ["o*"]}, {}, {}),
        ({}, {"state_noop": True}, {}),
        ({}, {"state_noop": ["one"]}, {}),
        ({}, {"state_noop": "one"}, {}),
        ({}, {}, {"noop": True}),
    ],
)
def test_a_minion_a_tree_or_a_call(
    place: Path, options: dict[str, Any], pillar: dict[str, Any], given: dict[str, Any]
) -> None:
    ctx = context(place, **options)
    ctx.pillar, ctx.pillar_is_fresh = pillar, True
    here = place / "here"
    # No state can say of itself that it is to be done all the same.
    found = run(ctx, place, {"a": managed(here, {"noop": False})}, **given)
    assert (found["a"]["result"], here.exists()) == (None, False)


def test_other_trees_are_done(place: Path) -> None:
    here = place / "here"
    run(context(place, state_noop=["two.*"]), place, {"a": managed(here)})
    assert here.exists()


@pytest.mark.parametrize("requisite", ["watch", "onchanges", "listen", "prereq"])
def test_nobody_reacts_to_what_was_not_done(place: Path, requisite: str) -> None:
    here = place / "here"
    states = {
        "a": managed(here, NOOP),
        "b": {"cmd.wait": [{"name": f"touch {place}/done"}, {requisite: [{"file": "a"}]}]},
    }
    if requisite in ("onchanges", "prereq"):
        states["b"]["cmd.run"] = states["b"].pop("cmd.wait")
    found = run(context(place), place, states)
    assert not (place / "done").exists(), found
    assert not here.exists()


def test_what_requires_it_runs(place: Path) -> None:
    there = place / "there"
    states = {"a": managed(place / "here", NOOP), "b": managed(there, {"require": [{"file": "a"}]})}
    assert run(context(place), place, states)["b"]["result"] is True
    assert there.exists()


def test_it_does_not_react_itself_and_does_not_wait(place: Path) -> None:
    states = {
        "a": changing(),
        "b": {
            "cmd.wait": [
                {"name": f"touch {place}/done"},
                {"watch": [{"test": "a"}]},
                NOOP,
                {"retry": {"attempts": 5, "interval": 60}},
            ]
        },
    }
    found = run(context(place), place, states)
    assert found["b"]["result"] is None
    assert not (place / "done").exists()


def test_a_single_state_and_a_test_run(place: Path) -> None:
    ctx, here = context(place), place / "here"
    found = ctx.functions.call("state.single", "file.touch", str(here), noop=True)
    assert [one["result"] for one in found.values()] == [None]
    assert not here.exists()
    # A test run is one already: all is as it would be without.
    (answer,) = run(ctx, place, {"a": managed(here, NOOP)}, test=True).values()
    assert NOT_DONE not in answer["comment"]
    assert answer["result"] is None


def test_the_check_of_a_tree_knows_it(place: Path) -> None:
    (place / "tree" / "one.sls").write_text("#!json\n" + json.dumps({"a": managed(place, NOOP)}))
    found = context(place).functions.call("state.check", "one")
    assert "noop" not in json.dumps(found)


def test_an_audit_does_nothing_and_tells_the_master(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, here = context(place), place / "here"
    (place / "tree" / "one.sls").write_text("#!json\n" + json.dumps({"a": managed(here)}))
    fired = []
    call = ctx.functions.call

    def record(name: str, *args: Any, **kwargs: Any) -> Any:
        if name != "event.fire_master":
            return call(name, *args, **kwargs)
        fired.append(args)
        return True

    monkeypatch.setattr(type(ctx.functions), "call", lambda _self, *a, **k: record(*a, **k))
    ctx.functions.call("state.audit", "one")
    assert not here.exists()
    here.write_text("x\n")
    ctx.functions.call("state.audit", "one")
    ctx.functions.call("state.audit", "none")
    assert [tag for _data, tag in fired] == [
        "salt/audit/web1/drift",
        "salt/audit/web1/clean",
        "salt/audit/web1/failed",
    ]
    first = fired[0][0]
    assert (first["checked"], first["drift"], first["failed"]) == (1, 1, 0)
    (resource,) = first["resources"]
    assert (resource["id"], resource["function"], resource["result"]) == ("a", "file.managed", None)
    assert fired[1][0]["resources"] == []
