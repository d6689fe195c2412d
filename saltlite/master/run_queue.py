"""A worker's way to RunServer."""

from __future__ import annotations

from pathlib import Path

from saltlite.core.dataclasses import asdict
from saltlite.errors import StoreError
from saltlite.master.handover import ConnectionEnded, hand_over
from saltlite.master.run_requests import RunRequest


class RunQueue:
    """A worker's way to RunServer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(self, request: RunRequest) -> None:
        """Hand a request over; it runs, or will soon.

        Raises:
            StoreError: there are too many already, or RunServer is away.
        """
        try:
            taken = hand_over(self._path, asdict(request))
        except (OSError, ConnectionEnded) as error:
            raise StoreError(f"nothing can be run now: {error}") from error
        if not taken:
            raise StoreError("too many runners are at work; try again later")
