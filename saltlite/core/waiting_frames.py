"""Frames that wait for somebody who may be away: bounded, and the oldest give way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


class WaitingFrames:
    """Frames in the order in which they came: ``most`` of them, and ``most_bytes`` together."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._frames: deque[bytes] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._frames)

    def __iter__(self) -> Iterator[bytes]:
        """The oldest first."""
        return iter(self._frames)

    def __getitem__(self, index: int) -> bytes:
        """The oldest has the index 0."""
        return self._frames[index]

    def add(self, frame: bytes) -> int:
        """One more; how many of the oldest give way to it. One that is too large alone goes too."""
        self._frames.append(frame)
        self._bytes += len(frame)
        before = len(self._frames)
        while len(self._frames) > self._most or self._bytes > self._most_bytes:
            self.drop(1)
        return before - len(self._frames)

    def drop(self, count: int) -> None:
        """The oldest wait no more."""
        for _ in range(count):
            self._bytes -= len(self._frames.popleft())
