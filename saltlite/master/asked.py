"""Who was asked for the latest jobs, at hand for each return.

Ten thousand minions are a megabyte, and most jobs go to the same ones: equal sets are kept once.
What is kept is bounded, in jobs and in bytes; the job store knows of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.master.jobcache import size_of_ids

JOBS_MOST: Final = 500
MOST_BYTES: Final = 32 * 1024 * 1024
"""In each worker; the latest job is kept however large."""


@dataclass(slots=True)
class _Sharing:
    """A set of minions, and how many jobs have it."""

    minions: frozenset[str]
    jobs: int = 0


@dataclass(slots=True)
class AskedMinions:
    """Job id → who is expected to return, of the latest jobs."""

    size_bytes: int = 0
    _jobs: dict[str, _Sharing] = field(default_factory=dict)
    _sets: dict[frozenset[str], _Sharing] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._jobs)

    def get(self, jid: str) -> frozenset[str] | None:
        """Who was asked; ``None`` if it is not known here."""
        found = self._jobs.get(jid)
        return None if found is None else found.minions

    def remember(self, jid: str, minions: Iterable[str]) -> frozenset[str]:
        """Keep who was asked, and let go of what is too much; the set that is kept."""
        # It may be there already; it is then counted once, and is the newest again.
        wanted = frozenset(minions)
        self.forget(jid)
        sharing = self._sets.get(wanted)
        if sharing is None:
            sharing = self._sets[wanted] = _Sharing(wanted)
            self.size_bytes += size_of_ids(wanted)
        sharing.jobs += 1
        self._jobs[jid] = sharing
        while len(self._jobs) > 1 and self._is_too_much():
            self.forget(next(iter(self._jobs)))
        # The shared set, so that the caller does not keep a second one alive.
        return sharing.minions

    def forget(self, jid: str) -> None:
        """Let go of a job, and of its minions if no other has the same."""
        sharing = self._jobs.pop(jid, None)
        if sharing is None:
            return
        sharing.jobs -= 1
        if not sharing.jobs:
            del self._sets[sharing.minions]
            self.size_bytes -= size_of_ids(sharing.minions)

    def _is_too_much(self) -> bool:
        return len(self._jobs) > JOBS_MOST or self.size_bytes > MOST_BYTES
