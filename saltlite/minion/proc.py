"""``cachedir/proc/<jid>``: what runs, readable by others, and what was cut short.

One file per job that was taken and is not over: the job map of
docs/architecture.md#who-owns-which-file-on-disk with ``pid`` and
the process's start time, so that a process id used again is not taken for the job. A job that waits
for its turn has ``pid`` 0. The loop writes a file when it takes a job, the job process when it
starts, and whoever sees the end removes it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_jid
from saltlite.disk import child, make_dir, read_regular, remove, write_file
from saltlite.errors import StoreError, WireError
from saltlite.minion.taken_job import UNASKED, UNRETURNED, TakenJob
from saltlite.process import start_ticks
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

SHOWN = (
    "jid", "fun", "arg", "tgt", "tgt_type", "ret", "user", "metadata", "master_id", "schedule",
)  # fmt: skip
"""Fields of the job map that others may see."""

_KEPT = (*SHOWN, UNASKED, UNRETURNED)
"""Those that its return needs, should it be cut short."""


@dataclass(frozen=True, slots=True)
class ProcEntry:
    """A job of this or an earlier run. ``pid`` 0: it has not been started."""

    job: TakenJob
    pid: int
    started: int

    @property
    def jid(self) -> str:
        """The job's id."""
        return self.job.jid

    def alive(self) -> bool:
        """Whether its process still runs."""
        return self.pid > 0 and start_ticks(self.pid) == self.started != 0


def show_job(job: TakenJob, pid: int) -> dict[str, Any]:
    """A job as ``saltutil.running`` and the proc file show it."""
    return {name: job.fields[name] for name in SHOWN if name in job.fields} | {"pid": pid}


class ProcDir:
    """The directory of those files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, job: TakenJob, pid: int, master: str) -> None:
        """Note that ``job`` of ``master`` waits (``pid`` 0) or runs.

        Raises:
            StoreError: it cannot be written.
        """
        entry = {name: job.fields[name] for name in _KEPT if name in job.fields}
        entry |= {"pid": pid, "started": start_ticks(pid) if pid else 0, "master": master}
        make_dir(self._path)
        write_file(child(self._path, job.jid), pack_bin(entry), flush=False)

    def __contains__(self, jid: str) -> bool:
        return child(self._path, jid).exists()

    def remove(self, jid: str) -> None:
        """The job is over."""
        try:
            remove(child(self._path, jid))
        except StoreError as error:
            log.warning("%s", error)

    def entries(self) -> Iterator[ProcEntry]:
        """All jobs noted; what is not readable is removed and named."""
        try:
            # A job id begins with its time, so the oldest come first.
            names = sorted(entry.name for entry in self._path.iterdir())
        except OSError:
            return
        for name in names:
            entry = self._read_entry(name)
            if entry is not None:
                yield entry

    def _read_entry(self, name: str) -> ProcEntry | None:
        path = child(self._path, name)
        try:
            data = read_regular(path, limit_bytes=16 << 20)
            if data is None:  # its job has just ended
                return None
            job = unpack_bin(data)
            # A copy under another name would get a job returned for that is none.
            if not isinstance(job, dict) or job.get("jid") != name or not valid_jid(name):
                raise WireError("not a job")
            pid, started = job.pop("pid", 0), job.pop("started", 0)
            # Exactly int: ``True`` would be process 1.
            if type(pid) is not int or type(started) is not int or "fun" not in job:
                raise WireError("not a job")
            return ProcEntry(TakenJob.of(job), pid, started)
        except (WireError, StoreError) as error:
            log.warning("%s is not a job's file and is removed: %s", path, error)
            self._discard_file(path)
            return None

    def _discard_file(self, path: Path) -> None:
        try:
            remove(path)
        except StoreError as error:
            log.warning("%s", error)
