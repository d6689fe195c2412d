"""The mine and publish modules over a master that is a plain function."""

from types import SimpleNamespace

import pytest

from saltlite.config.minion import IdentityOptions, MineOptions, MinionConfig
from saltlite.core.mine import entries
from saltlite.errors import FunctionUnavailable, RequestTimeout
from saltlite.modules import mine, publish


class Functions:
    known = ("test.ping", "test.echo", "test.fail")

    def __init__(self):
        self.store = {}

    def names(self):
        return list(self.known)

    def call(self, name, *args, **kwargs):
        if name == "data.get":
            return self.store.get(*args)
        if name == "data.update":
            return self.store.update([args]) is None
        if name not in self.known:
            raise FunctionUnavailable(name)
        if name == "test.fail":
            raise OSError("no")
        return True if name == "test.ping" else kwargs.get("text", args[0] if args else None)


class Master:
    def __init__(self, *replies):
        self.asked = []
        self.replies = list(replies)

    def request(self, load):
        self.asked.append(load)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


def context(*replies, functions=None, pillar=None):
    return SimpleNamespace(
        config=MinionConfig(
            identity=IdentityOptions(id="web1"), mine=MineOptions(mine_functions=functions)
        ),
        pillar=pillar or {},
        grains={"kernel": "Linux"},
        functions=Functions(),
        master=Master(*replies) if replies else None,
    )


OPTION = {
    "test.echo": ["hi"],
    "named": [{"mine_function": "test.echo"}, {"text": "x"}, {"allow_tgt": "db1"}],
    "test.fail": [],
    "test.nosuch": [],
}


def test_the_option_is_read():
    found = {entry.name: entry for entry in entries(OPTION)}
    assert (found["named"].fun, found["named"].kwarg) == ("test.echo", {"text": "x"})
    assert found["named"].storage_form(1) == {
        "__data__": 1,
        "__saltmine_acl__": 1,
        "allow_tgt": "db1",
    }
    assert [entry.name for entry in entries(["a.b", 5])] == ["a.b"]
    assert entries("nonsense") == []


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
