"""``state.event`` on a minion: what it prints of the bus, and when it ends."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import with_functions

Event = namedtuple("Event", "tag data")
HEARD = [Event("salt/a", {"n": 1}), None, Event("other", {}), Event("salt/b", {"n": 2})]


class Bus:
    """Hears what is in a list; ``None`` is a time in which nothing comes."""

    def __init__(self) -> None:
        self.left = list(HEARD)
        self.prefix: str | None = None
        self.closed = False

    def listen(self, prefix: str) -> Bus:
        self.prefix = prefix
        return self

    def get(self, _timeout_s: float) -> Any:
        return self.left.pop(0)

    def close(self) -> None:
        self.closed = True


def context(bus: Bus | None) -> MinionContext:
    listen = None if bus is None else bus.listen
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={}, listen=listen)
    return with_functions(ctx)


def test_what_matches_is_printed_until_there_were_so_many(capsys):
    bus = Bus()
    context(bus).functions.call("state.event", "salt/*", count=2)
    assert capsys.readouterr().out == 'salt/a\t{"n": 1}\nsalt/b\t{"n": 2}\n'
    assert (bus.prefix, bus.closed, bus.left) == ("salt/", True, [])


def test_quiet_only_waits(capsys):
    bus = Bus()
    context(bus).functions.call("state.event", count=1, quiet=True)
    assert capsys.readouterr().out == ""
    assert len(bus.left) == len(HEARD) - 1


def test_without_a_bus_it_says_so():
    with pytest.raises(FunctionError, match="there is no event bus"):
        context(None).functions.call("state.event")
