"""With a master its options lie over the minion's, and its outer tops are added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.top import TopOptions, options_of, wanted
from saltlite.host import Host


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
    found = wanted(ctx, TopOptions())
    assert (found.sls, found.errors) == ({"base": ["outer"]}, [])
