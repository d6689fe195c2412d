"""The part of a minion that has beacons, for functions that ask it: its loop side, in a thread."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.core.fields import read_fields
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.minion.beacon_messages import CodeAnswer
from saltlite.minion.beacon_process import answer
from saltlite.minion.beacons import Beacons
from saltlite.transport.bus import Event


class BeaconMinion:
    """Answers ``manage_beacons`` as a minion does; runs no beacon."""

    def __init__(self, root: Path, own: Any = None, pillar: Any = None) -> None:
        conf = root / "etc" / "minion"
        config = MinionConfig(paths=PathOptions(conf_file=str(conf), cachedir=str(root / "cache")))
        self.ctx = with_functions(
            MinionContext(
                config=config, host=Host(), grains={}, pillar={}, events=self, listen=self.listen
            )
        )
        self._heard: list[_Listener] = []
        self.beacons = _Answering(self, own or {}, pillar or {})

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        if tag == "manage_beacons":
            asyncio.run(self.beacons.manage(data))
        for each in self._heard:
            if tag.startswith(each.prefix):
                each.events.put(Event(tag, dict(data)))

    def listen(self, prefix: str) -> Any:
        listener = _Listener(prefix, self._heard)
        self._heard.append(listener)
        return listener


class _Answering(Beacons):
    """Asks about code here, not in a process."""

    def __init__(self, minion: BeaconMinion, own: Any, pillar: Any) -> None:
        super().__init__(minion, None, own, every_s=1.0)  # type: ignore[arg-type]
        self._ctx = minion.ctx
        self.set_facts({}, {"beacons": pillar}, "")

    async def _ask_child(self, start: dict[str, Any]) -> CodeAnswer:
        return read_fields(CodeAnswer, answer(start, self._ctx))


class _Listener:
    def __init__(self, prefix: str, among: list[_Listener]) -> None:
        self.prefix = prefix
        self.events: queue.Queue[Event] = queue.Queue()
        self._among = among

    def connect_confirmed(self, _timeout_s: float) -> bool:
        return True

    def get(self, _timeout_s: float) -> Event | None:
        return None if self.events.empty() else self.events.get()

    def close(self) -> None:
        self._among.remove(self)
