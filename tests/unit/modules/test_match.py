"""``match.filter_by`` and ``match.search_by``. Recorded of Salt 3006.30."""

from __future__ import annotations

import pytest

from saltlite.config.minion import IdentityOptions, MinionConfig
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.modules import match

MERGE = {"m": 1}


@pytest.fixture
def ctx():
    config = MinionConfig(identity=IdentityOptions(id="web1"))
    return MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})


@pytest.mark.parametrize(
    ("lookup", "options", "found"),
    [
        ({"web*": {"a": 1}}, {"merge": MERGE}, {"a": 1, "m": 1}),
        ({"web*": None}, {"merge": MERGE}, MERGE),
        ({"db*": {"a": 1}}, {"merge": MERGE}, None),
        ({"db*": {"a": 1}, "default": {"d": 1}}, {"merge": MERGE}, {"d": 1}),
        ({"db*": {"a": 1}, "default": {"d": 1}}, {"default": "x", "merge": MERGE}, None),
        ({"web*": "s"}, {}, "s"),
    ],
)
def test_what_is_merged_lies_on_a_hit_alone(lookup, options, found, ctx):
    assert match.filter_by(ctx, lookup, **options) == found


def test_what_is_no_map_cannot_be_merged(ctx):
    with pytest.raises(TypeError, match="non-dict types"):
        match.filter_by(ctx, {"web*": "s"}, merge=MERGE)


def test_an_entry_is_there_once_for_each_of_its_targets_that_fits(ctx):
    lookup = {"a": ["*", "web1", "db*"], "b": ["web*"], "c": ["db*"]}
    assert match.search_by(ctx, lookup) == ["a", "a", "b"]
    assert match.search_by(ctx, {"c": ["db*"]}) is None
