"""Returns that a returner is to have and does not have yet, on disk.

A job notes its return here before it says that it is over, and removes it when its returners have
had it. What is left of a process that has gone, because the minion was stopped in order and then
all that it had started with it, is given to the returners by the next start. A returner that was
at work when it was killed gets the return twice.

Source: docs/returners.md#when-a-minion-is-stopped.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Final

from saltlite.core.dataclasses import asdict, dataclass, field, replace
from saltlite.core.ids import valid_jid
from saltlite.disk import child, make_dir, read_regular, remove, write_file
from saltlite.errors import StoreError, WireError
from saltlite.process import start_ticks
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

TRIES_MOST: Final = 3
"""How often a return is given to its returners; one may end each process that tries it."""

FILE_LIMIT_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Delivery:
    """The return ``ret`` for the returners ``names``, in the hands of process ``pid``.

    ``started`` is when that process did: another one may get the same id.
    """

    names: list[str]
    ret: dict[str, Any] = field(repr=False)
    pid: int = 0
    started: int = 0
    tries: int = 0

    def is_in_hand(self) -> bool:
        """Whether its process still runs."""
        return self.pid > 0 and start_ticks(self.pid) == self.started != 0


class Undelivered:
    """The directory of those returns; a name is the job's id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def take(self, jid: str, delivery: Delivery) -> bool:
        """Note that this process gives a return to its returners; ``False`` if it cannot be."""
        return self._write(jid, delivery)

    def take_again(self, jid: str) -> Delivery | None:
        """What another process has left, which is this one's from now on; ``None``: nothing is."""
        found = self._read(jid)
        if found is None or found.is_in_hand():
            return None
        # Counted on disk before it is tried: the return may be what ends each process.
        if found.tries >= TRIES_MOST or not self._write(jid, found):
            log.error("Job %s: %s did not take its return", jid, ", ".join(found.names))
            self.remove(jid)
            return None
        return found

    def note_had(self, jid: str, name: str) -> None:
        """One of its returners needs it no more."""
        found = self._read(jid)
        left = [] if found is None else [one for one in found.names if one != name]
        if found is None or not left:
            self.remove(jid)
        elif left != found.names:
            # Writing counts one up, and a returner that has had it is no further try.
            self._write(jid, replace(found, names=left, tries=found.tries - 1))

    def remove(self, jid: str) -> None:
        """The returners have had it."""
        try:
            remove(child(self._path, jid))
        except StoreError as error:
            log.warning("%s", error)

    def list_left(self) -> list[str]:
        """The jobs whose return nobody has in hand, the oldest first."""
        try:
            names = sorted(filter(valid_jid, os.listdir(self._path)))
        except OSError:
            return []
        found = ((name, self._read(name)) for name in names)
        return [name for name, one in found if one is not None and not one.is_in_hand()]

    def _write(self, jid: str, delivery: Delivery) -> bool:
        pid = os.getpid()
        mine = replace(delivery, pid=pid, started=start_ticks(pid), tries=delivery.tries + 1)
        try:
            make_dir(self._path)
            write_file(child(self._path, jid), pack_bin(asdict(mine)), flush=False)
        except (StoreError, WireError) as error:
            log.warning("Job %s goes to its returners without a note on disk: %s", jid, error)
            return False
        return True

    def _read(self, jid: str) -> Delivery | None:
        try:
            data = read_regular(child(self._path, jid), limit_bytes=FILE_LIMIT_BYTES)
            if data is None:
                return None
            fields: Any = unpack_bin(data)
            return Delivery(**fields)
        # TypeError: another version has written other fields.
        except (WireError, StoreError, TypeError) as error:
            log.error("Job %s: what its returners were to have is lost: %s", jid, error)
            self.remove(jid)
            return None
