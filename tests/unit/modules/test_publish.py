"""``publish`` over a master that is a plain function."""

from __future__ import annotations

import pytest
from master_function import context

from saltlite.errors import RequestTimeout
from saltlite.modules import publish


def test_a_peers_job_is_polled_until_all_have_answered(monkeypatch):
    monkeypatch.setattr(publish.time, "sleep", lambda _s: None)
    job = {"jid": "1", "minions": ["a", "b"]}
    replies = [job, {}, {"a": {"ret": 1}}, {"a": {"ret": 1}, "b": {"ret": 2, "out": "txt"}}]
    ctx = context(*replies)
    assert publish.publish(ctx, "*", "test.arg", "[1, k=v]") == {"a": 1, "b": 2}
    assert ctx.master.asked[0]["arg"] == [1, "k=v"]
    assert [load["cmd"] for load in ctx.master.asked] == ["minion_pub"] + ["pub_ret"] * 3
    full = publish.full_data(context(*replies), "*", "test.ping")
    assert full["b"] == {"ret": 2, "out": "txt"}


def test_who_is_late_is_left_out():
    ctx = context({"jid": "1", "minions": ["a", "b"]}, {"a": {"ret": 1}})
    assert publish.publish(ctx, "*", "test.ping", timeout=0.01) == {"a": 1}


@pytest.mark.parametrize("reply", [{}, "", None, [], RequestTimeout("x", 1)])
def test_what_is_not_allowed_gives_nothing(reply):
    assert publish.publish(context(reply), "*", "test.ping") == {}


def test_a_publish_is_not_published():
    ctx = context({"jid": "1", "minions": ["a"]})
    assert publish.publish(ctx, "*", "publish.publish") == {}
    assert ctx.master.asked == []


def test_a_runner_of_the_master():
    ctx = context({"x": 1})
    assert publish.runner(ctx, "manage.up", ["a"], timeout=3) == {"x": 1}
    assert ctx.master.asked[0] == {
        "cmd": "minion_runner",
        "fun": "manage.up",
        "arg": ["a"],
        "tmo": 3,
        "no_parse": [],
    }
    late = context(RequestTimeout("x", 1))
    assert publish.runner(late, "manage.up") == "'manage.up' runner publish timed out"
    assert publish.runner(context(), "manage.up") == publish.NO_MASTER
