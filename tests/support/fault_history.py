"""The history of a run of the fault lab: JSON lines, written at the edges, to be read again.

Every line has ``kind`` and ``at``, a moment of the monotonic clock in seconds; other fields that
end with ``_s`` are moments of the same clock, or lengths of time. Who writes what:

=========== ============================================================== =========================
kind        fields                                                         by
=========== ============================================================== =========================
script      seed, jobs, faults, masters, connections                       the lab, first of all
fault       name, begun_s, ended_s, back_within_s, minions, pids,          the nemesis
            is_disk_lost, ended_daemon, nodes
asked       number, what, minions, digest, node                            the load
published   number, jid, asked_s, answered_s, node                         the load
refused     number, said, asked_s, answered_s, node                        the load
cli         number, minions, begun_s, ended_s, limit_s, exit_code, said,   the load
            was_killed, node
fired       number, origin                                                 the load
event       subscriber, number, origin                                     subscribers
link        subscriber, connections, lost                                  subscribers
log         daemon, line                                                   who reads the logs
run         minion, number, what (start or finish), at_s                   minions, from their files
seen, acked minion, jid                                                    the simulator
job         jid, number, fun                                               the job store, at the end
return      jid, minion, retcode, digest                                   the job store, at the end
usage       when (before, after), processes, zombies, files                the lab
=========== ============================================================== =========================

``node`` and ``origin`` are the master that was asked; ``nodes`` are those that a fault is done to,
``["engine"]`` if it is PostgreSQL.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]

DRAFTS = "drafts"
"""The place of half-written files, in ``usage``. A killed writer leaves one, swept in an hour."""


class HistoryFile:
    """Where the threads of the lab write what they see."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def note(self, kind: str, **fields: Any) -> None:
        """Write one line."""
        line = json.dumps({"kind": kind, "at": round(time.monotonic(), 4), **fields})
        with self._lock:
            if not self._file.closed:
                self._file.write(f"{line}\n")

    def copy(self, line: str) -> None:
        """Add a line of another writer."""
        self._file.write(f"{line}\n")

    def close(self) -> None:
        with self._lock:
            self._file.close()


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a history; one that was cut by the death of its writer is none."""
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and "kind" in line:
            yield line


class History:
    """A whole run, for who asks about it."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)
        self._of: dict[str, list[Line]] = {}
        for line in self.lines:
            self._of.setdefault(line["kind"], []).append(line)

    @staticmethod
    def read(*paths: Path) -> History:
        return History(line for path in paths if path.exists() for line in read_lines(path))

    def of(self, kind: str) -> list[Line]:
        """All lines of a kind, in the order in which they were written."""
        return self._of.get(kind, [])


def digest_of(value: object) -> str:
    """What stands for a return in a history: sixteen digits."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
