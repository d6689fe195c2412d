"""What functions may ask of the daemon around them, for contexts of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from saltlite.core.plain import Plain, PlainMap


class EventSink(Protocol):
    """Where events go: the minion's own bus, or the master's."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put one event on the bus; ``_stamp`` is added."""


class LocalCommands(Protocol):
    """What runners need of LocalClient."""

    def cmd(
        self, tgt: str | list[str], fun: str | list[str], arg: Iterable[Plain] = (), **kwargs: Any
    ) -> PlainMap:
        """Publish, wait, and give back ``{minion id: return}``."""

    def cmd_cli(
        self, tgt: str | list[str], fun: str | list[str], arg: Iterable[Plain] = (), **kwargs: Any
    ) -> Iterator[dict[str, Any]]:
        """By minion id: ``ret``, ``retcode``, ``jid`` and ``out``; ``no_return`` if silent."""

    def cmd_batch(
        self, tgt: str | list[str], fun: str | list[str], arg: Iterable[Plain] = (), **kwargs: Any
    ) -> Iterator[dict[str, Any]]:
        """As ``cmd``, one by one, at most ``batch`` minions at work at a time."""

    def subset_of(
        self, tgt: str | list[str], fun: str | list[str], tgt_type: str, subset: int, **kwargs: Any
    ) -> list[str]:
        """At most ``subset`` of the targets, at random."""

    def follow(
        self, jid: str, minions: Iterable[str], records: Any, timeout: float | None = None
    ) -> Iterator[dict[str, Any]]:
        """A job that was published before: as ``cmd_cli``, from its beginning."""

    def call_master(self, load: PlainMap) -> Plain:
        """One clear command with the local user's key; raises MasterRefused, RequestTimeout."""
