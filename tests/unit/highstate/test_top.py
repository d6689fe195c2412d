"""With a master its options lie over the minion's, and its outer tops are added."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.top import TopOptions, find_wanted, options_of
from saltlite.host import Host
from saltlite.loader.registry import Registry


class Master:
    """Has one option, no file, and one outer top."""

    def request(self, load: Mapping[str, Any]) -> Any:
        answers: dict[str, Any] = {
            "_master_opts": {"state_top": "salt://mine.sls", "default_top": None},
            "_master_tops": {"base": ["outer"]},
            "_file_envs": ["base"],
        }
        return answers.get(load["cmd"], [])


@pytest.fixture
def ctx() -> MinionContext:
    return MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={}, master=Master())


def test_a_master_has_the_last_word_where_it_says_something(ctx: MinionContext) -> None:
    options = options_of(ctx)
    assert options.state_top == "mine.sls"
    assert options.default_top == "base"


def test_outer_tops_are_added(ctx: MinionContext) -> None:
    found = find_wanted(ctx, TopOptions())
    assert (found.sls, found.errors) == ({"base": ["outer"]}, [])


class Telling:
    """A master with one SLS file and a top file; counts the events of finished states."""

    FILES: Mapping[str, bytes] = {
        "top.sls": b"base: {'*': [a]}",
        "a.sls": b"one: {test.nop: []}\ntwo: {test.nop: []}",
    }

    def __init__(self, state_events: object) -> None:
        self.state_events = state_events
        self.heard = 0

    def request(self, load: Mapping[str, Any]) -> Any:
        match load["cmd"]:
            case "_master_opts":
                return {"state_events": self.state_events}
            case "_file_envs":
                return ["base"]
            case "_file_list":
                return sorted(self.FILES)
            case "_file_hash_and_stat" if load["path"] in self.FILES:
                digest = hashlib.sha256(self.FILES[load["path"]]).hexdigest()
                return [{"hsum": digest, "hash_type": "sha256"}, [0o644]]
            case "_serve_file":
                data = self.FILES[load["path"]][load["loc"] :]
                return {"data": data, "dest": load["path"]}
            case "_minion_event":
                self.heard += "/prog/" in load["tag"]
        return {}


@pytest.mark.parametrize(
    ("own", "masters", "given", "function", "told"),
    [
        (False, True, {}, ["sls", "a"], 2),
        (False, True, {}, ["highstate"], 2),
        (False, True, {}, ["apply", "a"], 2),
        (False, True, {"state_events": False}, ["sls", "a"], 2),
        (True, False, {}, ["sls", "a"], 2),
        (True, False, {"state_events": False}, ["sls", "a"], 0),
        (False, False, {"state_events": True}, ["highstate"], 2),
        (False, False, {}, ["sls", "a"], 0),
        (False, None, {}, ["sls", "a"], 0),
        (True, True, {"state_events": True}, ["sls_id", "one", "a"], 0),
        (True, True, {}, ["top", "top.sls"], 0),
        (True, True, {"state_events": True}, ["high", {"a": {"test": ["nop"]}}], 0),
    ],
)
def test_events_of_states_are_for_the_minion_or_its_master_to_ask_for(
    tmp_path: Path, own: bool, masters: object, given: Any, function: list[Any], told: int
) -> None:
    config = MinionConfig()
    config = dataclasses.replace(
        config,
        paths=dataclasses.replace(config.paths, cachedir=str(tmp_path)),
        files=dataclasses.replace(config.files, state_events=own, autoload_dynamic_modules=False),
    )
    master = Telling(masters)
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={}, master=master)
    ctx.functions = Registry(ctx)
    ctx.pillar_is_fresh = True
    name, *args = function
    answers = ctx.functions.call(f"state.{name}", *args, **given)
    assert all(answer["result"] for answer in answers.values())
    assert master.heard == told
