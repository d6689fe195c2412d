"""What functions need of a minion, and a master that is a plain function."""

from __future__ import annotations

from types import SimpleNamespace

from saltlite.config.minion import IdentityOptions, MineOptions, MinionConfig
from saltlite.errors import FunctionUnavailable


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
