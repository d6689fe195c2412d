"""Asking the minion by its bus: what is fired, what counts as an answer, and that one hangs up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.context import NoEvents
from saltlite.providers.running_minion import ask_minion, has_no_minion


class Bus:
    """A minion's bus with one answer, and what was done with it."""

    def __init__(self, answer: dict[str, Any] | None, *, is_there: bool = True) -> None:
        self.answer = answer
        self.is_there = is_there
        self.done: list[Any] = []

    def listen(self, tag: str) -> Bus:
        self.done.append(("listen", tag))
        return self

    def connect_confirmed(self, timeout_s: float) -> bool:
        return self.is_there

    def fire(self, tag: str, data: dict[str, Any]) -> None:
        self.done.append(("fire", tag, data))
        if "refused" in data:
            raise OSError

    def get(self, timeout_s: float) -> Any:
        return None if self.answer is None else SimpleNamespace(data=self.answer)

    def close(self) -> None:
        self.done.append("close")


def context(bus: Bus) -> Any:
    return SimpleNamespace(listen=bus.listen, events=bus)


@pytest.mark.parametrize("answer", [{"complete": True}, {}, None])
def test_it_is_listened_for_before_it_is_asked(answer: dict[str, Any] | None) -> None:
    bus = Bus(answer)
    assert ask_minion(context(bus), "manage_x", {"func": "list"}, "/salt/x") == answer
    assert bus.done == [("listen", "/salt/x"), ("fire", "manage_x", {"func": "list"}), "close"]


def test_nothing_is_fired_where_nobody_hears_it() -> None:
    bus = Bus({"complete": True}, is_there=False)
    assert ask_minion(context(bus), "manage_x", {}, "/salt/x") is None
    assert bus.done == [("listen", "/salt/x"), "close"]


def test_it_hangs_up_also_when_it_cannot_ask() -> None:
    bus = Bus(None)
    with pytest.raises(OSError):
        ask_minion(context(bus), "manage_x", {"refused": True}, "/salt/x")
    assert bus.done[-1] == "close"


def test_without_a_bus_there_is_no_minion() -> None:
    for ctx in (
        SimpleNamespace(listen=None, events=Bus({})),
        SimpleNamespace(listen=Bus({}).listen, events=NoEvents()),
    ):
        assert has_no_minion(ctx)  # type: ignore[arg-type]
        assert ask_minion(ctx, "manage_x", {}, "/salt/x") is None  # type: ignore[arg-type]
