"""The process that fetches repositories: at once, then once in each interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.gitfs import Gitfs, Remote
from saltlite.master.fileserverupdate import FileserverUpdate


class Turns:
    """A child's life of so many turns."""

    def __init__(self, turns: int) -> None:
        self.left = turns
        self.told: list[str] = []

    @property
    def stopping(self) -> bool:
        return self.left <= 0

    def register(self, _poller: Any) -> None:
        self.told.append("registered")

    def ready(self) -> None:
        self.told.append("ready")

    def beat(self) -> None:
        self.told.append("beat")

    def poll(self, _poller: Any) -> None:
        self.left -= 1


def test_each_remote_is_fetched_once_in_its_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(Remote, "fetch", lambda self: fetched.append(self.repository.public_url))
    updater = FileserverUpdate.__new__(FileserverUpdate)
    extra = {"gitfs_remotes": ["file:///a", {"file:///b": [{"update_interval": 5}]}]}
    updater._gitfs = Gitfs(FileOptions(), tmp_path, extra)
    life: Any = Turns(3)
    updater.run(life)
    assert fetched == ["file:///a", "file:///b"]
    assert life.told == ["registered", "ready", "beat", "beat"]
    later = [one.repository.public_url for one in updater._gitfs.remotes_due(10**9)]
    assert later == ["file:///a", "file:///b"]
