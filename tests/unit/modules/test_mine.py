"""``mine`` over a master that is a plain function."""

from __future__ import annotations

import pytest
from master_function import context

from saltlite.modules import mine

OPTION = {
    "test.echo": ["hi"],
    "named": [{"mine_function": "test.echo"}, {"text": "x"}, {"allow_tgt": "db1"}],
    "test.fail": [],
    "test.nosuch": [],
}


def test_an_update_sends_what_works(caplog):
    ctx = context(True, functions=OPTION, pillar={"mine_functions": ["test.ping"]})
    assert mine.update(ctx) is True
    (load,) = ctx.master.asked
    assert load["data"] == {
        "test.echo": "hi",
        "named": {"__data__": "x", "__saltmine_acl__": 1, "allow_tgt": "db1"},
        "test.ping": True,
    }
    assert load["clear"] is False
    assert "Function test.nosuch in mine_functions not available" in caplog.text
    assert "Function test.fail in mine_functions failed to execute" in caplog.text


def test_an_update_of_nothing():
    assert mine.update(context(True)) is None
    ctx = context(True)
    assert mine.update(ctx, clear=True, mine_functions=["test.ping"]) is True
    assert ctx.master.asked[0]["clear"] is True


def test_what_is_configured_and_there():
    ctx = context(functions=OPTION)
    assert mine.valid(ctx) == {
        "test.echo": ["hi"],
        "named": {"test.echo": [{"text": "x"}]},
        "test.fail": [],
    }
    assert mine.valid(context()) is None


def test_one_thing_is_sent():
    ctx = context(True)
    assert mine.send(ctx, "mine_own", mine_function="test.echo", text="y", __pub_fun="x") is True
    assert ctx.master.asked[0]["data"] == {"mine_own": "y"}
    assert mine.send(ctx, "test.nosuch") is False


@pytest.mark.parametrize(
    ("fun", "reply", "found"),
    [
        ("a", {"web1": 1, "db1": 2}, {"db1": 2}),
        ("a,b", {"a": {"web1": 1, "db1": 2}}, {"a": {"db1": 2}}),
        (["a"], {"a": {"web1": 1}}, {"a": {}}),
        ("a", {}, {}),
        ("a", "", ""),
    ],
)
def test_others_only(fun, reply, found):
    assert mine.get(context(reply), "*", fun, exclude_minion=True) == found
    assert mine.get(context(reply), "*", fun) == reply


def test_without_a_master_the_mine_is_ones_own():
    ctx = context(functions=OPTION)
    assert mine.update(ctx) is True
    assert mine.get(ctx, "*", "test.echo") == {"web1": "hi"}
    assert mine.get(ctx, "kernel:Linux", "named,test.echo,x", "grain") == {
        "named": {"web1": "x"},
        "test.echo": {"web1": "hi"},
    }
    assert mine.get(ctx, "db1", "test.echo") == {}
    assert mine.get(ctx, "( web1", "test.echo", "compound") == {}
    assert mine.delete(ctx, "named") is True
    assert mine.get(ctx, "*", "named") == {}
    assert mine.flush(ctx) is True
    assert mine.get(ctx, "*", "test.echo") == {}
